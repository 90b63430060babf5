# SPDX-License-Identifier: Apache-2.0
"""`python -m ompass` is the command `ompass`."""

from ompass.commands.main import main

main()

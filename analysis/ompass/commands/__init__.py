# SPDX-License-Identifier: Apache-2.0
"""Commands: one module per subcommand. They parse options, call other layers and print."""

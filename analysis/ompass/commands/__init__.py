# SPDX-License-Identifier: Apache-2.0
"""Commands: one module per subcommand; they parse options, call the layers below and print."""

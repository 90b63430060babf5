# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/programs/kinds on every runtime and compiler, under the tool and the extension."""

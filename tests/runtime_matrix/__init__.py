# SPDX-License-Identifier: Apache-2.0
"""Runs tests/programs/kinds and a Fortran program on every runtime, under the tool and the extension."""

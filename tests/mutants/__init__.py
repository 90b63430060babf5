# SPDX-License-Identifier: Apache-2.0
"""Small wrong changes of the code, which the quick tests must notice."""

# SPDX-License-Identifier: Apache-2.0
"""Makes small wrong changes to the code. The quick tests must detect each of them."""

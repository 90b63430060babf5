# SPDX-License-Identifier: Apache-2.0
"""`./run papers NAME`: measures what a paper measured, and writes the comparison, docs/papers/NAME.md."""

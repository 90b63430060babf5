# SPDX-License-Identifier: Apache-2.0
"""`./run papers NAME`: repeats a paper's measurements, and writes a comparison, docs/papers/NAME.md."""

# SPDX-License-Identifier: Apache-2.0
"""Measures which lines the fuzzer's inputs and the quick tests execute: `./run coverage`."""

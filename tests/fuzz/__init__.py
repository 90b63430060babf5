# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the readers of run directories: `./run fuzz`.

packed_run.h turns an input into a run directory, readers.h reads it with every analysis, fuzz_run.cpp is the
fuzzer. seeds.py makes the first inputs. `found` has inputs that a reader once failed on; a native test reads
them.
"""

# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the readers of run directories: `./run fuzz`.

packed_run.h turns an input into a run directory, readers.h reads it by one of all analyses, fuzz_run.cpp is
the fuzzer. seeds.py makes the first inputs.
"""

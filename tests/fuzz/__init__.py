# SPDX-License-Identifier: Apache-2.0
"""Fuzzes the readers of run directories: `./run fuzz`.

packed_run.h turns an input into a run directory. readers.h runs one of the analyses on it. fuzz_run.cpp is
the fuzzer. seeds.py makes the first inputs from the golden runs, the runs of record.py, and the inputs that
fuzzing found.
"""

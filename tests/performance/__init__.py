# SPDX-License-Identifier: Apache-2.0
"""Records the performance of this commit on this machine, and compares two records: `./run performance`.

record.py runs benchmarks of tests/benchmarks and collects their samples. compare.py tests the differences.
"""

# SPDX-License-Identifier: Apache-2.0
"""Pericàs, Amer, Taura and Matsuoka, *Analysis of Data Reuse in Task-Parallel Runtimes*, 2013."""

# SPDX-License-Identifier: Apache-2.0
"""Contreras and Martonosi, "Characterizing and improving the performance of Intel TBB" (IISWC 2008)."""

# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of third-party suites with tool and extension, and compares them with stock runs.

suites.py lists the suites and how their programs are built. programs.py finds and builds the programs.
ways.py lists the ways to load tool and extension. reference.py compares a run with the stock runs. judge.py
runs a program in every way and repeats what differs.
"""

# SPDX-License-Identifier: Apache-2.0
"""Programs that end, fork, unload, or lack something at random moments, recorded and judged: `./run faults`.

kinds.py lists the faults, cases.py derives a run from a seed, runs.py runs it with and without the tool, and
judge.py compares both and reads the recording.
"""

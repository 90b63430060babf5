# SPDX-License-Identifier: Apache-2.0
"""`./run faults`: records programs that end, fork, unload libraries or run out of resources at any moment.

kinds.py lists the faults. cases.py derives a run from a seed. runs.py runs it with and without the tool.
surroundings.py makes the faults around the program. judge.py compares both runs and reads the recording.
"""

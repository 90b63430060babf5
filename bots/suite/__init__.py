# SPDX-License-Identifier: Apache-2.0
"""The suite of benchmark programs: finds, plans, measures and summarises. `./run suite` starts it."""

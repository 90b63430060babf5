# SPDX-License-Identifier: Apache-2.0
"""The suite of benchmark programs: finding them, planning, measuring, and results."""

from ompass.suite.journal import SuiteJournal
from ompass.suite.measurement import measure
from ompass.suite.plan import Configuration, Plan, Selection, make_plan
from ompass.suite.programs import BuiltProgram, find_programs
from ompass.suite.results import SuiteResults, read_results, write_results

__all__ = [
    "BuiltProgram",
    "Configuration",
    "Plan",
    "Selection",
    "SuiteJournal",
    "SuiteResults",
    "find_programs",
    "make_plan",
    "measure",
    "read_results",
    "write_results",
]

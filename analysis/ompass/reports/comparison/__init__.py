# SPDX-License-Identifier: Apache-2.0
"""Reports of a comparison of runs or sweeps: terminal page and JSON. They compute no figure."""

from ompass.reports.comparison.as_json import json_comparison
from ompass.reports.comparison.content import ComparisonContent, Side, compare_sides, side_of
from ompass.reports.comparison.terminal import print_comparison

__all__ = [
    "ComparisonContent",
    "Side",
    "compare_sides",
    "json_comparison",
    "print_comparison",
    "side_of",
]

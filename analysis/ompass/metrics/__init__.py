# SPDX-License-Identifier: Apache-2.0
"""Metrics: pure functions of the model. They print nothing, read no file and know no symbol."""

from ompass.metrics.breakdown import Breakdown, RegionShare, Scope, ThreadShare, time_breakdown
from ompass.metrics.constructs import ConstructTotals, construct_totals
from ompass.metrics.facts import Finding
from ompass.metrics.findings import find_causes
from ompass.metrics.granularity import Bin, granularity

__all__ = [
    "Bin",
    "Breakdown",
    "ConstructTotals",
    "Finding",
    "RegionShare",
    "Scope",
    "ThreadShare",
    "construct_totals",
    "find_causes",
    "granularity",
    "time_breakdown",
]

# SPDX-License-Identifier: Apache-2.0
"""Metrics: pure functions of the model. They print nothing, read no files and resolve no symbols."""

from ompass.metrics.breakdown import Breakdown, RegionShare, Scope, ThreadShare, time_breakdown
from ompass.metrics.constructs import ConstructTotals, construct_totals
from ompass.metrics.curves import Gap, bends, gaps
from ompass.metrics.diseases import Evidence, Loss, Verdict, diagnose
from ompass.metrics.facts import Finding
from ompass.metrics.findings import find_causes
from ompass.metrics.granularity import Bin, granularity
from ompass.metrics.inflation import Inflation, WorkOf, inflation
from ompass.metrics.locality import Locality, locality
from ompass.metrics.presence import Presence, knows_switches
from ompass.metrics.scaling import (
    CURVES,
    MeanStates,
    Measured,
    RecordingCost,
    Samples,
    ScalingPoint,
    measured,
    recording_cost,
    scaling_point,
    spread,
)
from ompass.metrics.shares import share
from ompass.metrics.waits import LoopTotals, WaitedFor, WaitTotals, loop_totals, wait_totals

__all__ = [
    "CURVES",
    "Bin",
    "Breakdown",
    "ConstructTotals",
    "Evidence",
    "Finding",
    "Gap",
    "Inflation",
    "Locality",
    "LoopTotals",
    "Loss",
    "MeanStates",
    "Measured",
    "Presence",
    "RecordingCost",
    "RegionShare",
    "Samples",
    "ScalingPoint",
    "Scope",
    "ThreadShare",
    "Verdict",
    "WaitTotals",
    "WaitedFor",
    "WorkOf",
    "bends",
    "construct_totals",
    "diagnose",
    "find_causes",
    "gaps",
    "granularity",
    "inflation",
    "knows_switches",
    "locality",
    "loop_totals",
    "measured",
    "recording_cost",
    "scaling_point",
    "share",
    "spread",
    "time_breakdown",
    "wait_totals",
]

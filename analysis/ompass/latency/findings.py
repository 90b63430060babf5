# SPDX-License-Identifier: Apache-2.0
"""Judges sampled loads of data that other threads wrote, or that lie on another node."""

from __future__ import annotations

from collections.abc import Iterator

from ompass.latency.metrics import OwnerLoads, loads_by_owner
from ompass.metrics import thresholds
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.model import Run, share
from ompass.units import count, percent

_SHARED = (
    "pad data so that different threads write to different cache lines, and sum up in private "
    "variables (a reduction) instead of shared ones"
)
_FAR = (
    "let the threads that use data touch them first, or run tasks near their data "
    "(libomp_ext.so, bound threads)"
)


def memory_contention(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs that wait for cache lines modified by other cores, or for memory of other nodes."""
    for loads in loads_by_owner(facts.loads):
        if loads.owner.kind not in ("task", "kernel", "implicit") or loads.n < thresholds.LEAST_LOADS:
            continue
        part = share(loads.slowed_cycles, loads.cycles)
        # Loads overlap each other and computation, so their cycles are an upper bound of the loss.
        lost_ns = min(loads.waited_cycles * 1e9 / _core_hz(facts.run), facts.processor.work_running_ns)
        if part < thresholds.SLOWED_PART or facts.breakdown.share(lost_ns) < thresholds.LOADS_SHARE:
            continue
        yield _evidence(facts, loads, part, lost_ns)


def _core_hz(run: Run) -> float:
    """Returns the nominal rate of the cores: the rate of the time stamp counter."""
    return run.clock_hz if run.clock_kind == "tsc" else thresholds.UNKNOWN_CORE_HZ


def _evidence(facts: Facts, loads: OwnerLoads, part: float, lost_ns: float) -> Evidence:
    modified, far = loads.modified_share, loads.source_share("other node")
    return evidence(
        f"{percent(part)} of the cycles of {count(loads.n)} sampled loads were spent on data that another "
        f"core had just written ({percent(modified)} of the loads) or on another node ({percent(far)}): "
        f"at most {percent(facts.breakdown.share(lost_ns))} of the thread-time",
        lost_ns,
        loads.owner.construct if loads.owner.construct >= 0 else None,
        cure=_SHARED if modified >= far else _FAR,
        loads=loads.n,
        mean_cycles=loads.mean_cycles,
        slowed_share=part,
        modified_share=modified,
        other_node_share=far,
    )

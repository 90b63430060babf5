# SPDX-License-Identifier: Apache-2.0
"""Judges the sizes of teams: fewer threads than the program could have, or than it asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.breakdown import RegionShare
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.metrics.processors import processors_of
from ompass.units import duration, plural

_NESTED_CURE: Final = (
    "call it outside of the other region, or allow nested teams (OMP_MAX_ACTIVE_LEVELS) and give the outer "
    "region fewer threads"
)
_LIMITS: Final = ("OMP_THREAD_LIMIT", "KMP_DEVICE_THREAD_LIMIT", "KMP_ALL_THREADS", "OMP_TEAMS_THREAD_LIMIT")
_TRUE: Final = frozenset({"true", "1", "yes", "on", "t", "y", ".true."})


def fewer_threads(facts: Facts) -> Iterator[Evidence]:
    """Yields regions with fewer threads than the program could have had."""
    for region in facts.breakdown.regions:
        n_most = _n_possible(facts, region)
        lost_ns = _missing_ns(facts, region)
        if not lost_ns:
            continue
        n_asked = _n_asked(facts, region)
        limit = f" and there are {n_most} processors" if n_most < n_asked else ""
        asked = "OMP_NUM_THREADS asks for" if facts.n_wanted else "other regions had"
        if region.n_smaller:
            asked = "the program asked for"
        where = " inside of another region" if region.level > 1 else ""
        reason = _reason(facts, region) if region.n_smaller else ""
        yield evidence(
            f"{plural(region.n_instances, 'instance')} of this region{where} had "
            f"{plural(region.max_team_size, 'thread')}, although {asked} {n_asked}{limit}, and ran for "
            f"{duration(region.wall_ns)}{reason and f'. The probable reason: {reason}'}",
            lost_ns,
            region.construct,
            cure=_NESTED_CURE if region.level > 1 else "",
            team=region.max_team_size,
            threads=n_most,
        )


def smaller_team(facts: Facts) -> Iterator[Evidence]:
    """Yields notes on outermost regions whose teams were smaller than requested, if that costs little."""
    for region in facts.breakdown.regions:
        if region.level != 1 or not region.n_smaller or _missing_ns(facts, region):
            continue
        yield evidence(
            f"the program asked for {plural(region.n_requested, 'thread')} and got fewer in "
            f"{plural(region.n_smaller, 'instance')} of this region; its largest team had "
            f"{region.max_team_size}. The probable reason: {_reason(facts, region)}",
            0,
            region.construct,
            is_note=True,
            asked=region.n_requested,
            team=region.max_team_size,
            instances=region.n_smaller,
        )


def _n_asked(facts: Facts, region: RegionShare) -> int:
    """Returns the requested number of threads; without a request, the size of the largest team."""
    largest = max((r.max_team_size for r in facts.breakdown.regions), default=0)
    return region.n_requested or facts.n_wanted or largest


def _n_possible(facts: Facts, region: RegionShare) -> int:
    """Returns the possible number of threads of the region: as requested, but at most one per processor."""
    n_asked = _n_asked(facts, region)
    # A missing thread has no binding, so all processors of the process count.
    return min(n_asked, int(processors_of(facts.run)) or n_asked)


def _missing_ns(facts: Facts, region: RegionShare) -> float:
    """Returns the work that missing threads could have taken over; 0 if it is little."""
    breakdown = facts.breakdown
    n_most = _n_possible(facts, region)
    if n_most < 2 or not breakdown.wall_ns or facts.crowded:
        return 0.0
    # If other regions run at the same time, no thread is missing.
    active = sum(r.states.work_ns + r.states.create_ns for r in breakdown.regions) / breakdown.wall_ns
    missing = n_most - region.max_team_size
    # A damaged recording may lack the size of a team.
    if missing <= 0 or not region.max_team_size or active >= thresholds.ACTIVE_PART * n_most:
        return 0.0
    work_ns = region.states.work_ns + region.states.create_ns
    lost_ns = min(work_ns / region.max_team_size, region.wall_ns, breakdown.wall_ns) * missing
    return lost_ns if lost_ns >= thresholds.FEWER_SHARE * n_most * breakdown.wall_ns else 0.0


def _reason(facts: Facts, region: RegionShare) -> str:
    """Returns the probable reason why the region got fewer threads than it asked for."""
    environment = facts.environment
    for name in _LIMITS:
        limit = environment.get(name, "").strip()
        if limit.isdigit() and int(limit) < region.n_requested:
            return f"{name}={limit}"
    if region.level > 1 and region.max_team_size == 1:
        levels = environment.get("OMP_MAX_ACTIVE_LEVELS", "")
        set_to = f"={levels}" if levels else ", by default 1"
        return f"the limit on nested teams (OMP_MAX_ACTIVE_LEVELS{set_to})"
    n_processors = int(processors_of(facts.run))
    if environment.get("OMP_DYNAMIC", "").strip().lower() in _TRUE:
        return "OMP_DYNAMIC, which lets the runtime choose the size" + (
            f" by the {plural(n_processors, 'processor')} of the process" if n_processors else ""
        )
    return (
        "a limit that the program sets: omp_set_dynamic, omp_set_max_active_levels or a thread_limit clause"
    )

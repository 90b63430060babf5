# SPDX-License-Identifier: Apache-2.0
"""Judges of threads and regions: serial part, imbalance, locks, the cost of waiting together."""

from __future__ import annotations

from dataclasses import replace

from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope
from ompass.metrics.facts import Facts, Finding, problem
from ompass.units import count, duration, percent, plural


def serial_part(facts: Facts) -> list[Finding]:
    """Time outside parallel regions, and Amdahl's bound from it."""
    breakdown = facts.breakdown
    if breakdown.scope is Scope.PROGRAM:
        return []
    serial_ns = max(facts.run.wall_ns - facts.region_wall_ns, 0)
    work_ns = breakdown.states.work_ns
    if not serial_ns + work_ns:
        return []
    fraction = serial_ns / (serial_ns + work_ns)
    if fraction < thresholds.SERIAL_SHARE or serial_ns < thresholds.SERIAL_FLOOR_NS:
        return []
    n_threads = breakdown.n_threads
    bound = 1.0 / (fraction + (1.0 - fraction) / n_threads)
    return [
        problem(
            "serial_fraction",
            title="A serial part limits the speed-up",
            because=f"the program spent {duration(serial_ns)} outside parallel regions, "
            f"{percent(fraction)} of its work: with {plural(n_threads, 'thread')} the speed-up stays below "
            f"{bound:.2f}, with any number below {1.0 / fraction:.1f} (Amdahl)",
            cure="parallelise what runs before, between and after the regions "
            "(reading input, setting up data, checking results), or measure a larger problem",
            # what the other threads could have done meanwhile
            cost_ns=serial_ns * (n_threads - 1),
            serial_ns=serial_ns,
            serial_fraction=fraction,
            speedup_bound=bound,
            speedup_limit=1.0 / fraction,
        )
    ]


def imbalance(facts: Facts, *, with_tasks: bool) -> list[Finding]:
    """Regions whose threads did unequal work.

    `with_tasks` False leaves out regions with tasks, where a starved run is unequal as a consequence.
    """
    breakdown = facts.breakdown
    found = []
    for region in breakdown.regions:
        n_threads = len(region.threads)
        if (
            n_threads < 2
            or region.imbalance < thresholds.IMBALANCE_RATIO
            or (region.n_tasks and not with_tasks)
        ):
            continue
        # Work that was uneven but hurt nobody (the others found something else to do) is no problem.
        most = max(region.threads, key=lambda t: (t.states.work_ns, -t.thread))
        uneven_ns = most.states.work_ns * n_threads - region.states.work_ns
        # Time in locks is unequal by nature, and named on its own.
        lost_ns = min(uneven_ns, region.states.idle_ns + region.states.sync_ns - region.lock_ns)
        if breakdown.share(lost_ns) < thresholds.IMBALANCE_SHARE:
            continue
        least_ns = min(t.states.work_ns for t in region.threads)
        if region.n_tasks:
            cure = "split the longest tasks and create them first, so the last tasks to run are short"
        else:
            cure = "share the loop in smaller pieces (schedule(dynamic) or guided), or turn it into tasks"
        uneven = problem(
            "imbalance",
            title="Work is unevenly shared between threads",
            because=f"thread {most.thread} worked {duration(most.states.work_ns)}, "
            f"{region.imbalance:.2f} times the mean, the least loaded one {duration(least_ns)}; "
            f"the others waited for {percent(breakdown.share(lost_ns))} of the thread-time",
            cure=cure,
            cost_ns=lost_ns,
            construct=region.construct,
            max_over_mean=region.imbalance,
            max_work_ns=most.states.work_ns,
            min_work_ns=least_ns,
            busiest_thread=most.thread,
        )
        # A single thread at work, and no task: a loop is rarely so uneven, a cut-off above the input is.
        alone = not region.n_tasks and region.imbalance >= thresholds.UNDIVIDED_PART * n_threads
        found.append(_undivided(uneven) if alone else uneven)
    return found


def _undivided(uneven: Finding) -> Finding:
    return replace(
        uneven,
        kind="undivided",
        title="One thread does all the work",
        because=f"{uneven.because}, and no task was created",
        cure="create tasks: lower the cut-off below which the serial code runs, or share the loop",
    )


def lock_contention(facts: Facts) -> list[Finding]:
    """Time in locks, critical, ordered and atomic constructs."""
    breakdown = facts.breakdown
    if breakdown.share(breakdown.lock_ns) < thresholds.LOCK_SHARE:
        return []
    blamed = max(breakdown.regions, key=lambda r: (r.lock_ns, -r.construct), default=None)
    return [
        problem(
            "lock_contention",
            title="Threads wait for each other at locks",
            because=f"{duration(breakdown.lock_ns)} of thread-time, "
            f"{percent(breakdown.share(breakdown.lock_ns))}, went into "
            "entering locks, critical, ordered or atomic constructs",
            cure="do less under the lock, use one lock per piece of data, give critical sections different "
            "names, or replace the lock by an atomic or a reduction",
            cost_ns=breakdown.lock_ns,
            construct=blamed.construct if blamed else None,
            lock_ns=breakdown.lock_ns,
            lock_share=breakdown.share(breakdown.lock_ns),
        )
    ]


def waiting(facts: Facts) -> list[Finding]:
    """The price of barriers and waits themselves: short regions, frequent waits."""
    breakdown = facts.breakdown
    sync_ns = breakdown.states.sync_ns - breakdown.lock_ns
    if breakdown.share(sync_ns) < thresholds.SYNC_SHARE or not breakdown.regions:
        return []
    blamed = max(breakdown.regions, key=lambda r: (r.states.sync_ns - r.lock_ns, -r.construct))
    mean_wall_ns = blamed.wall_ns / blamed.n_instances if blamed.n_instances else 0.0
    if blamed.n_instances > 1 and mean_wall_ns < thresholds.SHORT_REGION_NS:
        title = "Parallel regions are too short"
        because = f"{count(blamed.n_instances)} instances took {duration(mean_wall_ns)} each, and "
        cure = "merge regions into one (a parallel region around the outer loop), or run small cases serially"
    else:
        title = "Waiting together is expensive"
        because = ""
        cure = "wait less often: drop taskwaits and barriers that no data needs (nowait, depend clauses)"
    return [
        problem(
            "synchronization",
            title=title,
            because=f"{because}barriers and waits cost {percent(breakdown.share(sync_ns))} "
            "of the thread-time beyond any lack of tasks",
            cure=cure,
            cost_ns=sync_ns,
            construct=blamed.construct,
            sync_share=breakdown.share(sync_ns),
            instances=blamed.n_instances,
            mean_instance_ns=mean_wall_ns,
        )
    ]

# SPDX-License-Identifier: Apache-2.0
"""Judges threads and regions: the serial part, unequal shares, locks, barriers, page faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.breakdown import RegionShare, Scope
from ompass.metrics.facts import Evidence, Facts, evidence, faulting_ns, system_error_ns
from ompass.metrics.processors import processor_time
from ompass.metrics.waits import LoopTotals, WaitTotals
from ompass.model import LOCKS, OUTSIDE, UNSHARED_LOOPS, Run, SystemUse, share
from ompass.samples.metrics import (
    Line,
    LocatedSample,
    Owner,
    main_use_of_memory,
    owners_by_samples,
    shared_line,
)
from ompass.units import count, duration, percent, plural


def serial_fraction(facts: Facts) -> Iterator[Evidence]:
    """Yields the work of one thread outside of parallel regions, and Amdahl's bound from it."""
    breakdown, run = facts.breakdown, facts.run
    if breakdown.scope is Scope.PROGRAM or facts.n_threads < 2:
        return
    outside_ns = _alone_ns(run)
    left_out_ns = max(thresholds.SERIAL_FLOOR_NS, _python_startup_ns(facts)) + _verification_ns(run)
    serial_ns = max(outside_ns + run.earlier_cpu_ns - left_out_ns, 0)
    work_ns = facts.processor.work_running_ns
    if not serial_ns + work_ns:
        return
    fraction = serial_ns / (serial_ns + work_ns)
    n_processors = facts.n_processors
    lost_ns = serial_ns * (n_processors - 1)
    # Thread-time in regions without preemption: on a quiet machine, the time of all processors.
    in_regions_ns = facts.breakdown.thread_time_ns - facts.processor.preempted_ns
    lost = lost_ns / (serial_ns * n_processors + in_regions_ns or 1)
    if fraction < thresholds.SERIAL_SHARE or n_processors < 2:
        return
    n_threads = max((r.max_team_size for r in breakdown.regions), default=0) or facts.n_threads
    bound = 1.0 / (fraction + (1.0 - fraction) / n_threads)
    ran, line = _what_ran(facts)
    yield evidence(
        f"one thread computed for {duration(serial_ns)} outside of parallel regions, {percent(fraction)} of "
        f"all work: on {plural(n_threads, 'thread')} the speed-up stays below {bound:.2f}, on any "
        f"number below {1.0 / fraction:.1f} (Amdahl){ran}",
        # the time of the other processors
        lost_ns,
        is_note=lost < thresholds.SERIAL_COST,
        line=line,
        serial_ns=serial_ns,
        earlier_ns=run.earlier_cpu_ns,
        serial_fraction=fraction,
        speedup_bound=bound,
        speedup_limit=1.0 / fraction,
    )


def python_startup(facts: Facts) -> Iterator[Evidence]:
    """Yields a note on the time in which Python imports and compiles before the first region."""
    startup_ns = _python_startup_ns(facts)
    work_ns = facts.processor.work_running_ns
    if share(startup_ns, startup_ns + work_ns) < thresholds.SERIAL_SHARE:
        return
    yield evidence(
        f"the program computed for {duration(startup_ns)} before its first parallel region, in which Python "
        f"imports modules and compiles code (threads worked for {duration(work_ns)} in regions); this is not "
        "a serial part of the program",
        0,
        is_note=True,
        startup_ns=startup_ns,
    )


def _python_startup_ns(facts: Facts) -> int:
    """Returns the processor time of a Python program before its first region; 0 for other programs."""
    run = facts.run
    if not facts.is_python:
        return 0
    return min(run.first_region_cpu_ns, _alone_ns(run) + run.earlier_cpu_ns)


def second_runtime(facts: Facts) -> Iterator[Evidence]:
    """Yields time that looks serial because regions ran on a second runtime, which is not recorded."""
    if not facts.run.other_runtime:
        return
    because = (
        f"the program or a library calls the OpenMP runtime {facts.run.other_runtime}, too, but a run "
        "records only one runtime"
    )
    for serial in serial_fraction(facts):
        if not serial.is_note:
            serial_ns, fraction = (dict(serial.numbers)[name] for name in ("serial_ns", "serial_fraction"))
            yield evidence(
                f"{because}: work on the other runtime looks like a serial part of "
                f"{duration(round(serial_ns))}, {percent(fraction)} of all work",
                serial.cost_ns,
                serial_ns=serial_ns,
                serial_fraction=fraction,
            )
            return
    yield evidence(f"{because}: the figures exclude work on the other runtime", 0, is_note=True)


def _what_ran(facts: Facts) -> tuple[str, Line | None]:
    """Returns, in words, the function with the most samples of the serial part, and a line for this part.

    If the samples cannot show the function, there is no line, and the words are empty or state the reason.
    """
    serial = [sample for sample in facts.samples if sample.owner.kind == "serial"]
    counts: Counter[Line | None] = Counter()
    for sample in serial:
        counts[sample.own_line] += sample.weight
    n_samples = counts.total()
    by_function: Counter[str] = Counter()
    for line, n in counts.items():
        by_function[line.function if line else ""] += n
    by_function.pop("", None)
    earlier_ns = facts.run.earlier_cpu_ns
    if facts.is_python:
        return "", None  # samples do not distinguish imports from the program's work
    if facts.samples and earlier_ns > _alone_ns(facts.run) and not _are_sampled(facts, n_samples, earlier_ns):
        return "; most of it came before the first use of OpenMP, when no samples were taken", None
    # Samples do not distinguish phases.
    if n_samples < thresholds.LEAST_SAMPLES or not by_function or _verification_ns(facts.run):
        return "", None
    function, n = by_function.most_common(1)[0]
    inside = [line for line in counts if line is not None and line.function == function]
    hottest = max(inside, key=lambda line: (counts[line], line.place))
    words = f"; {percent(n / n_samples)} of its samples are in {function}, most of them at {hottest.place}"
    if 2 * counts[hottest] >= n_samples:
        return words, hottest
    return words, shared_line(serial, thresholds.SERIAL_LINE * n_samples) or hottest


def _are_sampled(facts: Facts, n_samples: int, ns: int) -> bool:
    """True if there are at least half as many samples as this processor time should give."""
    return bool(facts.sample_hz) and 2 * n_samples * 1e9 >= ns * facts.sample_hz


def _alone_ns(run: Run) -> int:
    """Returns the longest computing time of a thread outside of parallel regions."""
    alone = (r for r in run.regions if r.construct == OUTSIDE and r.work_ns)
    return max((r.work_ns - r.work_preempted_ns - r.work_blocked_ns for r in alone), default=0)


def _verification_ns(run: Run) -> int:
    """Returns the time of the phases in which the program checks its result."""
    own = {d.id for d in run.definitions if d.kind == "phase" and d.name.lower().startswith("verif")}
    return sum(row.work_ns for row in run.constructs if row.construct in own)


# ---------------------------------------------------------------- regions without tasks


def _plain(facts: Facts) -> Iterator[RegionShare]:
    return (r for r in facts.breakdown.regions if not r.n_tasks and len(r.threads) > 1)


def _work_of(region: RegionShare) -> dict[int, int]:
    """Returns the computing time of each thread of the region. Other programs do not affect it."""
    return {t.thread: processor_time(t).work_running_ns for t in region.threads}


def undivided(facts: Facts) -> Iterator[Evidence]:
    """Yields regions without tasks in which one thread does nearly all the work.

    If a loop with the finding loop_imbalance contains this work, the region has no finding of its own.
    """
    uneven = {found.construct for found in loop_imbalance(facts) if not found.is_note}
    uneven_ns = [loop.max_thread_ns for loop in facts.loops if loop.construct in uneven]
    for region in _plain(facts):
        work = _work_of(region)
        most = max(work, key=lambda thread: (work[thread], -thread))
        lost_ns = facts.of_program(_lost_ns(region))
        if not work[most] or work[most] < thresholds.UNDIVIDED_PART * sum(work.values()):
            continue
        if any(abs(ns - work[most]) <= _SAME_WORK * work[most] for ns in uneven_ns):
            continue
        if facts.breakdown.share(lost_ns) < thresholds.UNDIVIDED_SHARE:
            continue
        yield evidence(
            f"thread {most} worked {duration(work[most])}, {percent(work[most] / sum(work.values()))} of all "
            f"work in this region, and no task was created; the others waited for "
            f"{percent(facts.breakdown.share(lost_ns))} of the thread-time",
            lost_ns,
            region.construct,
            busiest_thread=most,
            max_work_ns=work[most],
        )


_SAME_WORK: Final = 0.1  # largest difference between the work of a region and of the loop that contains it


def short_regions(facts: Facts) -> Iterator[Evidence]:
    """Yields regions that are too short to justify fork and join."""
    for region in _plain(facts):
        if region.n_instances < thresholds.FINE_MIN_TASKS:
            continue
        work_ns = share(processor_time(region).work_running_ns, region.n_parts)
        lost_ns = facts.of_program(_lost_ns(region))
        if work_ns >= thresholds.SHORT_REGION_NS or _barriers_inside(facts, region):
            continue
        if facts.breakdown.share(lost_ns) < thresholds.SYNC_SHARE:
            continue
        yield evidence(
            f"{count(region.n_instances)} instances gave each thread {duration(work_ns)} of work and took "
            f"{duration(region.wall_ns / region.n_instances)} each; entering, leaving and waiting for each "
            f"other cost {percent(facts.breakdown.share(lost_ns))} of the thread-time",
            lost_ns,
            region.construct,
            instances=region.n_instances,
            mean_instance_ns=region.wall_ns / region.n_instances,
            work_per_thread_ns=work_ns,
        )


def _lost_ns(region: RegionShare) -> int:
    """Returns the time in which threads of a region waited for each other, without locks."""
    return region.states.idle_ns + region.states.sync_ns - region.lock_ns


def _barriers_inside(facts: Facts, region: RegionShare) -> bool:
    """True if inner barriers, of all regions, are so frequent that they are the problem."""
    return _n_inner_barriers(facts) > thresholds.BARRIERS_INSIDE * region.n_parts


def _n_inner_barriers(facts: Facts) -> int:
    """Returns how often threads met inner barriers.

    Subtracts the ends of regions, because gcc programs report them like other barriers.
    """
    n_met = sum(w.n_waits for w in facts.waits if w.kind.endswith("barrier"))
    return n_met - sum(r.n_parts for r in facts.breakdown.regions)


def frequent_barriers(facts: Facts) -> Iterator[Evidence]:
    """Yields barriers with little work between them."""
    breakdown = facts.breakdown
    barriers = [w for w in facts.waits if w.kind.endswith("barrier") and w.kind != "region barrier"]
    n_waits = _n_inner_barriers(facts)
    waited_ns = facts.of_program(sum(w.wait_ns for w in barriers))
    if n_waits < thresholds.FINE_MIN_TASKS or breakdown.share(waited_ns) < thresholds.SYNC_SHARE:
        return
    step_ns = sum(processor_time(r).work_running_ns for r in breakdown.regions) / n_waits
    if step_ns >= thresholds.SHORT_STEP_NS:
        return
    blamed = max(barriers, key=lambda w: (w.wait_ns, -w.construct))
    yield evidence(
        f"threads worked for {duration(step_ns)} between two barriers, and each met "
        f"{count(n_waits // facts.n_threads)} of them; waiting there took "
        f"{percent(breakdown.share(waited_ns))} of the thread-time",
        waited_ns,
        blamed.construct,
        sync_share=breakdown.share(waited_ns),
        work_per_barrier_ns=step_ns,
    )


def costly_waits(facts: Facts) -> Iterator[Evidence]:
    """Yields the cost of barriers and waits that no other finding explains."""
    breakdown = facts.breakdown
    sync_ns = facts.unexplained(breakdown.states.sync_ns - breakdown.lock_ns)
    if not breakdown.regions or breakdown.share(sync_ns) < thresholds.SYNC_SHARE:
        return
    region = max(breakdown.regions, key=lambda r: (r.states.sync_ns - r.lock_ns, -r.construct))
    yield evidence(
        f"barriers and waits cost {percent(breakdown.share(sync_ns))} of the thread-time, in addition to any "
        "lack of tasks",
        sync_ns,
        region.construct,
        sync_share=breakdown.share(sync_ns),
        instances=region.n_instances,
    )


def loop_imbalance(facts: Facts) -> Iterator[Evidence]:
    """Yields worksharing constructs that give threads unequal shares.

    Waits of iterations for earlier ones also unbalance a loop. If they explain the imbalance, the finding is
    only a note.
    """
    # On a busy machine, the times of loops depend on other programs; computing times do not.
    uneven_ns = sum(_uneven_ns(region) for region in _plain(facts))
    in_order_ns = _sum_ns(facts, _ORDER)
    for loop in facts.loops:
        # On a busy machine, uninterrupted threads take more of a dynamic loop than others.
        if loop.kind in UNSHARED_LOOPS or not (facts.calm or loop.kind in _FIXED_LOOPS):
            continue
        lost_ns = facts.unexplained(loop.imbalance_ns) if facts.calm else min(loop.imbalance_ns, uneven_ns)
        if facts.breakdown.share(lost_ns) < thresholds.IMBALANCE_SHARE:
            continue
        yield evidence(
            _uneven(loop, percent(facts.breakdown.share(lost_ns))),
            lost_ns,
            loop.construct,
            cure=_cure_of(loop),
            is_note=loop.kind != "sections" and lost_ns <= 2 * in_order_ns,
            imbalance=loop.imbalance,
            instances=loop.n_led,
        )


def _uneven(loop: LoopTotals, lost: str) -> str:
    """Returns the sentence about unequal shares, which cost `lost` of the thread-time."""
    most, mean = duration(loop.max_thread_ns), duration(loop.mean_thread_ns)
    behind_one_ns = len(loop.threads) * (loop.max_thread_ns - loop.mean_thread_ns)
    if 2 * behind_one_ns < loop.imbalance_ns:
        return (
            f"in each of {loop.n_led:,} executions of this {loop.kind}, threads waited for the slowest one, "
            f"in total for {lost} of the thread-time; it was not always the same thread: over all "
            f"executions, the busiest one took {most}, against {mean} on average"
        )
    return (
        f"the busiest thread in this {loop.kind} took {most}, against {mean} on average; the others waited "
        f"behind it for {lost} of the thread-time"
    )


_FIXED_LOOPS: Final = frozenset({"loop", "static loop", "sections"})
"""The constructs that the runtime divides before they begin."""


def _cure_of(loop: LoopTotals) -> str:
    """Returns the cure for unequal shares; empty for the usual cure."""
    each, n_threads = (share(n, loop.n_led) for n in (loop.n_iterations, loop.n_entered))
    if loop.kind not in ("sections", "workshare") and 0 < each < n_threads:
        return (
            f"the loop has {each:.3g} iteration{'s' * (each != 1)} for {n_threads:.3g} threads: divide the "
            "work of an iteration, or join nested loops (collapse)"
        )
    if not loop.has_chunks or loop.kind in _FIXED_LOOPS:
        return ""
    if loop.n_chunks >= thresholds.SPLIT_CHUNKS * loop.n_entered:
        return "one iteration takes as long as many others: divide its work, or begin with it"
    return "use smaller chunks"


def _uneven_ns(region: RegionShare) -> int:
    """Returns the sum over threads of (largest computing time - the thread's); 0 for small differences."""
    work = _work_of(region)
    most_ns, sum_ns = max(work.values()) * len(work), sum(work.values())
    return most_ns - sum_ns if most_ns >= thresholds.IMBALANCE_RATIO * sum_ns else 0


def _is_divided_while_running(facts: Facts) -> bool:
    """True if threads take the chunks of loops at run time, so other programs can cause unequal work."""
    taken_ns = sum(o.time_ns for o in facts.loops if o.kind not in (*_FIXED_LOOPS, *UNSHARED_LOOPS))
    return facts.breakdown.share(taken_ns) >= thresholds.IMBALANCE_SHARE


def imbalance(facts: Facts) -> Iterator[Evidence]:
    """Yields regions without tasks whose threads did unequal work."""
    if not facts.calm and _is_divided_while_running(facts):
        return
    for region in _plain(facts):
        work = _work_of(region)
        most = max(work, key=lambda thread: (work[thread], -thread))
        mean_ns = sum(work.values()) / len(work) or 1.0
        # Uneven work is not a problem if no thread waited (the others found work elsewhere).
        lost_ns = min(_uneven_ns(region), _lost_ns(region))
        if facts.breakdown.share(lost_ns) < thresholds.IMBALANCE_SHARE:
            continue
        yield evidence(
            f"thread {most} worked {duration(work[most])}, {work[most] / mean_ns:.2f} times the mean, the "
            f"least loaded one {duration(min(work.values()))}; the others waited for "
            f"{percent(facts.breakdown.share(lost_ns))} of the thread-time",
            lost_ns,
            region.construct,
            max_over_mean=work[most] / mean_ns,
            max_work_ns=work[most],
            min_work_ns=min(work.values()),
            busiest_thread=most,
        )


# ---------------------------------------------------------------- locks

_NAMED_CURE = (
    "do less inside it, use one lock per piece of data, or replace it by an atomic or a reduction; other "
    "sections with that name share its lock"
)


_ORDER: Final = frozenset({"ordered", "doacross"})  # waits for earlier iterations
_POLLING: Final = frozenset({"taskyield"})


def _costliest(facts: Facts, kinds: Collection[str]) -> WaitTotals | None:
    waits = (w for w in facts.waits if w.kind in kinds)
    return max(waits, key=lambda w: (w.wait_ns, -w.construct), default=None)


def _sum_ns(facts: Facts, kinds: Collection[str]) -> int:
    return sum(w.wait_ns for w in facts.waits if w.kind in kinds)


def _is_costly(facts: Facts, lock_ns: int) -> bool:
    """True if this time in locks is worth a finding."""
    if facts.breakdown.share(facts.of_program(lock_ns)) < thresholds.LOCK_SHARE:
        return False
    return facts.calm or facts.lacks_work(facts.breakdown.regions)


def iteration_order(facts: Facts) -> Iterator[Evidence]:
    """Yields iterations that waited for earlier ones, at ordered blocks or in doacross loops."""
    wait, waited_ns = _costliest(facts, _ORDER), _sum_ns(facts, _ORDER)
    if wait is None or not _is_costly(facts, waited_ns):
        return
    yield evidence(
        f"iterations waited {duration(waited_ns)}, {percent(facts.breakdown.share(waited_ns))} of the "
        f"thread-time, until earlier iterations, on other threads, had reached the same point; "
        f"{count(wait.n_long)} waits at this line were longer than 1 us",
        waited_ns,
        wait.construct,
        waits=wait.n_waits,
        waited_share=facts.breakdown.share(waited_ns),
    )


def polling(facts: Facts) -> Iterator[Evidence]:
    """Yields taskyields in which threads polled because they had no task to run."""
    wait, waited_ns = _costliest(facts, _POLLING), _sum_ns(facts, _POLLING)
    if wait is None or not _is_costly(facts, waited_ns):
        return
    yield evidence(
        f"threads called taskyield again and again for {duration(waited_ns)}, "
        f"{percent(facts.breakdown.share(waited_ns))} of the thread-time, without a task to run",
        waited_ns,
        wait.construct,
        waits=wait.n_waits,
        waited_share=facts.breakdown.share(waited_ns),
    )


def _are_mostly_free(wait: WaitTotals) -> bool:
    """True if threads hardly ever wait for each other at these locks, and take them very often."""
    return (
        wait.wait_ns < thresholds.FREE_LOCK_NS * wait.n_waits
        and wait.n_long < thresholds.FREE_LOCK_LONG_SHARE * wait.n_waits
    )


_CRITICAL_TITLE: Final = "Threads wait for each other at a critical section"
_FREE_TITLE: Final = "Threads take locks too often"
_FREE_CURE: Final = (
    "take the lock once for many items, or use an atomic update, a reduction, or a copy for each thread"
)


def contention(facts: Facts) -> Iterator[Evidence]:
    """Yields time in locks, critical and atomic constructs."""
    breakdown = facts.breakdown
    lock_ns = breakdown.lock_ns - _sum_ns(facts, _ORDER | _POLLING)
    if not _is_costly(facts, lock_ns):
        return
    kinds = frozenset(LOCKS.values()) - _ORDER - _POLLING
    waits = [wait for wait in facts.waits if wait.kind in kinds]
    contended = [wait for wait in waits if not _are_mostly_free(wait)]
    if _is_costly(facts, sum(wait.wait_ns for wait in contended)):
        waits = contended
    wait = max(waits, key=lambda w: (w.wait_ns, -w.construct), default=None)
    region = max(breakdown.regions, key=lambda r: (r.lock_ns, -r.construct), default=None)
    critical = wait is not None and wait.kind == "critical"
    name = facts.critical_names.get(wait.construct) if wait and critical else None
    spent_ns = min(wait.wait_ns, lock_ns) if wait and critical else lock_ns
    what = "entering locks, critical or atomic constructs"
    if critical:
        what = f"entering the critical section {name}" if name else "entering this critical section"
        what += ", which shares one lock with all unnamed ones" if name == "" else ""
    others = f"; all locks, critical and atomic constructs took {duration(lock_ns)}" * (spent_ns < lock_ns)
    times = f", {count(wait.n_long)} of {count(wait.n_waits)} times behind another thread" if wait else ""
    is_free = wait is not None and _are_mostly_free(wait)
    if is_free and breakdown.share(spent_ns) < thresholds.FREE_LOCKS_SHARE:
        return
    title, cure = _CRITICAL_TITLE if critical else "", _NAMED_CURE if name else ""
    if is_free:
        title, cure = _FREE_TITLE, _FREE_CURE
    yield evidence(
        f"{duration(spent_ns)} of thread-time, {percent(breakdown.share(spent_ns))}, was spent on "
        f"{what}{times}{others}",
        spent_ns,
        wait.construct if wait else region.construct if region else None,
        kind="critical_contention" if critical else "",
        title=title,
        cure=cure,
        lock_ns=spent_ns,
        lock_share=breakdown.share(spent_ns),
    )


# ---------------------------------------------------------------- page faults


def page_faults(facts: Facts) -> Iterator[Evidence]:
    """Yields time in the kernel for page faults: of all regions together, and of the serial part."""
    regions = {r.construct: r.system_use for r in facts.breakdown.regions}
    whole_ns = facts.breakdown.thread_time_ns - facts.processor.preempted_ns
    if _are_costly(use := SystemUse.sum(regions.values()), whole_ns):
        region = max(regions, key=lambda number: (_faulting_ns(regions[number]), -number))
        part = share(_faulting_ns(regions[region]), _faulting_ns(use))
        # Samples of tasks do not show the region.
        touching = [
            sample
            for sample in facts.samples
            if sample.owner.kind in _OF_TASKS or sample.owner == Owner("implicit", region)
        ]
        task = _main_task(touching)
        yield _faults(
            use,
            f"{percent(share(_faulting_ns(use), whole_ns))} of the thread-time; {percent(part)} of that was "
            f"in {'this region' if task is None else 'the region of these tasks'}",
            _faulting_ns(use),
            region if task is None else task,
            touching=touching,
        )
    serial = [row for row in facts.run.regions if row.construct == OUTSIDE]
    row = max(serial, key=lambda r: (_faulting_ns(SystemUse.of([r])), -r.thread), default=None)
    if row is None or not facts.breakdown.regions:
        return
    whole_ns = facts.run.wall_ns - row.preempted_ns
    if _are_costly(use := SystemUse.of([row]), whole_ns):
        yield _faults(
            use,
            f"{percent(share(_faulting_ns(use), whole_ns))} of the run, on one thread outside of parallel "
            "regions",
            _faulting_ns(use) * facts.n_processors,
            touching=[sample for sample in facts.samples if sample.owner.kind == "serial"],
            cure="initialise the memory in a parallel region, by the threads that use it later; "
            "allocate it once and reuse it; or use huge pages (madvise with MADV_HUGEPAGE)",
        )


def _faults(
    use: SystemUse | None,
    share_of_it: str,
    cost_ns: float,
    construct: int | None = None,
    *,
    touching: Iterable[LocatedSample],
    cure: str = "",
) -> Evidence:
    """Returns the evidence of page faults; `touching`: samples of the code in which they occurred."""
    use = use or SystemUse()
    line, part = main_use_of_memory(touching, thresholds.TOUCHING_SAMPLES)
    most = f"; {percent(part)} of the samples of memory use are at this line or in its calls" if line else ""
    return evidence(
        f"the kernel handled {plural(use.n_minor_faults, 'page fault')}, which are mostly the first touches "
        f"of pages after their allocation: about {duration(_faulting_ns(use))}, {share_of_it}{most}",
        cost_ns,
        construct,
        cure=cure,
        line=line,
        minor_faults=use.n_minor_faults,
        system_ns=use.system_ns,
    )


def _main_task(samples: Sequence[LocatedSample]) -> int | None:
    """Returns the construct of the tasks with nearly all of these samples; None if there is none."""
    owners = owners_by_samples(samples)
    if not owners:
        return None
    owner, n = owners[0]
    least = max(thresholds.TOUCHING_SAMPLES, _NEARLY_ALL_TOUCHING * sum(n for _, n in owners))
    return owner.construct if owner.kind == "task" and n >= least else None


_NEARLY_ALL_TOUCHING: Final = 0.8
_OF_TASKS: Final = ("task", "kernel")


def _faulting_ns(use: SystemUse | None) -> int:
    """Returns the part of the system time that page faults explain; 0 if unknown."""
    return faulting_ns(use.system_ns, use.n_minor_faults) if use else 0


def _are_costly(use: SystemUse | None, whole_ns: int) -> bool:
    """True if page faults take a notable part of this time even after subtracting the clock's error."""
    error_ns = system_error_ns(use.system_ns) if use else 0.0
    return whole_ns > 0 and _faulting_ns(use) - error_ns >= thresholds.PAGE_FAULT_SHARE * whole_ns

# SPDX-License-Identifier: Apache-2.0
"""Judges tasks: their cost, and the reasons why threads found none to run.

Each public function yields evidence for the finding of the same name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.metrics.processors import knows_switches, processor_time, running_shares
from ompass.model import OUTSIDE, WAIT_KINDS, share
from ompass.sampled import DISK, IO, LOCK, SLEEP, WAIT
from ompass.samples.findings import sleeps_at_mutex, sleeps_in_allocator
from ompass.samples.metrics import BlockingPlace, samples_by_line
from ompass.units import count, duration, percent, plural, size

_MOST_SLEEPING: Final = 3  # calls to name that may put a thread to sleep


@dataclass(frozen=True, slots=True)
class _FineTasks:
    """A construct whose tasks are small compared with their cost."""

    task: ConstructTotals
    work_ns: float  # mean work of a task on a processor
    cost_ns: float  # mean cost of creation and dispatch
    deferred: float  # share of deferred tasks
    copies: bool  # True if a creation copies much data, or takes as long as a copy
    copied_bytes: int  # size of this data; 0: unknown, or not in the task itself (std::vector)


def too_fine(facts: Facts) -> Iterator[Evidence]:
    """Yields constructs whose tasks are small compared with their cost."""
    for fine in _fine_tasks(facts):
        yield _too_fine(facts, fine)


def _fine_tasks(facts: Facts) -> Iterator[_FineTasks]:
    breakdown = facts.breakdown
    # Time in which threads in the runtime wait for a processor is not a cost of tasks.
    creating, scheduling = _on_processor(facts)
    schedule_ns = breakdown.states.schedule_ns * scheduling
    dispatch_ns = schedule_ns / facts.n_deferred if facts.n_deferred else 0.0
    if dispatch_ns > thresholds.PLAUSIBLE_DISPATCH_NS:
        dispatch_ns = 0.0
    inline_ns = _undeferred_cost_ns(facts)
    dependent = {facts.place(w.construct) for w in facts.waits if w.kind == "dependence"}
    for task in facts.tasks:
        if task.n_completed < thresholds.FINE_MIN_TASKS or not task.n_created:
            continue
        work_ns = max(task.work_ns - task.preempted_ns - task.blocked_ns, 0) / task.n_completed
        if work_ns >= thresholds.FINE_WORK_NS:
            continue
        deferred = 1.0 - task.n_undeferred / task.n_created
        create_ns = task.mean_create_ns * creating
        cost_ns = create_ns + dispatch_ns * deferred + inline_ns * (1.0 - deferred)
        n_bytes = facts.task_bytes.get(task.construct, 0)
        if n_bytes < thresholds.COPIED_BYTES or deferred < 0.5:
            n_bytes = 0
        enough = thresholds.WORK_PER_COPY if n_bytes else thresholds.FINE_WORK_PER_COST
        if cost_ns <= 0 or work_ns >= enough * cost_ns:
            continue
        if breakdown.share(cost_ns * task.n_completed) < thresholds.FINE_SHARE:
            continue
        copying_ns = (
            thresholds.COPYING_DEPENDENT_CREATE_NS
            if facts.place(task.construct) in dependent
            else thresholds.COPYING_CREATE_NS
        )
        copies = deferred >= 0.5 and (create_ns >= copying_ns or n_bytes > 0)
        yield _FineTasks(task, work_ns, cost_ns, deferred, copies, n_bytes)


def _on_processor(facts: Facts) -> tuple[float, float]:
    """Returns the shares of creation and of scheduling on a processor; estimates them if rows lack them."""
    if knows_switches(facts.run):
        return running_shares([row for row in facts.run.regions if row.construct != OUTSIDE])
    others_ns = facts.breakdown.thread_time_ns - facts.breakdown.states.work_ns
    share_of_both = facts.processor.other_running_ns / others_ns if others_ns else 1.0
    return share_of_both, share_of_both


def _undeferred_cost_ns(facts: Facts) -> float:
    """Returns the creation time of an undeferred task.

    Regions contain this time, but constructs do not, because such creations are too short to be measured.
    """
    n_undeferred = sum(t.n_undeferred for t in facts.tasks)
    rest_ns = facts.breakdown.states.create_ns - sum(t.create_ns for t in facts.tasks)
    return max(rest_ns, 0) / n_undeferred if n_undeferred else 0.0


def _too_fine(facts: Facts, fine: _FineTasks) -> Evidence:
    task, work_ns, cost_ns, deferred = fine.task, fine.work_ns, fine.cost_ns, fine.deferred
    target_ns = cost_ns * thresholds.TARGET_WORK_PER_COST
    total_ns = cost_ns * task.n_completed
    measured = "an estimated" if facts.run.create_estimated else "a measured"
    counted = " (including the reading of hardware counters)" if facts.run.counters else ""
    because = (
        f"{_tasks_did(task, work_ns)}{counted}, against "
        f"{measured} {duration(cost_ns)} to create and dispatch one: "
        f"{percent(facts.breakdown.share(total_ns))} of the thread-time"
    )
    if deferred < 0.5:
        because += f"; {percent(1.0 - deferred)} of them were undeferred, which still has a cost"
        cure = (
            "replace the if or final clause by a branch that calls the serial code, "
            f"so that each task does at least {duration(target_ns)} of work"
        )
    elif fine.copies:
        took = (
            f"copied {size(fine.copied_bytes)} and took {duration(task.mean_create_ns)}"
            if fine.copied_bytes
            else f"took {duration(task.mean_create_ns)}, several times as long as a creation without a copy"
        )
        return evidence(
            f"{_tasks_did(task, work_ns)}, but creating one {took}: "
            f"{percent(facts.breakdown.share(total_ns))} of the thread-time",
            total_ns,
            task.construct,
            kind="copied_data",
            title="Creating a task copies data",
            cure="share large variables (shared), or pass a pointer to them: firstprivate copies arrays and "
            "objects for each task; in Fortran, array arguments of a procedure are firstprivate by default",
            tasks=task.n_completed,
            mean_work_ns=work_ns,
            mean_create_ns=task.mean_create_ns,
            copied_bytes=fine.copied_bytes,
        )
    else:
        cure = (
            f"create fewer, larger tasks: below a cut-off of about {duration(target_ns)} of work, "
            "call the serial code instead of creating a task (in a taskloop, raise grainsize)"
        )
    return evidence(
        because,
        total_ns,
        task.construct,
        cure=cure,
        tasks=task.n_completed,
        mean_work_ns=work_ns,
        mean_create_ns=task.mean_create_ns,
        cost_per_task_ns=cost_ns,
        target_work_ns=target_ns,
        undeferred_share=1.0 - deferred,
    )


def _tasks_did(task: ConstructTotals, work_ns: float) -> str:
    """Returns the mean work as in the table of constructs, and the work on a processor if it is smaller."""
    mean = duration(task.mean_work_ns)
    running = f" ({duration(work_ns)} on a processor)" if duration(work_ns) != mean else ""
    return f"{count(task.n_completed)} tasks did {mean} of work each{running}"


# ---------------------------------------------------------------- threads that found no task


def _is_starving(facts: Facts) -> bool:
    """True if threads of regions with tasks lacked tasks for long enough to look for the reason."""
    return (
        facts.n_threads > 1
        and facts.breakdown.share(facts.idle_ns(facts.task_regions)) >= thresholds.IDLE_SHARE
        and (facts.calm or facts.lacks_work(facts.task_regions))
    )


def _idle_text(facts: Facts) -> str:
    idle_ns = sum(r.states.idle_ns for r in facts.task_regions)
    return f"threads found no task for {percent(facts.breakdown.share(idle_ns))} of the thread-time"


def detached_events(facts: Facts) -> Iterator[Evidence]:
    """Yields detached tasks whose events threads waited for, with nothing else to run."""
    detached = [task for task in facts.tasks if task.n_detached]
    waited_ns = _waited_for_events_ns(facts)
    waited_share = facts.breakdown.share(waited_ns)
    if waited_share < thresholds.IDLE_SHARE:
        return
    blamed = max(detached, key=lambda t: (t.event_ns, -t.construct))
    n_detached, n_outside = (
        sum(getattr(t, name) for t in detached) for name in ("n_detached", "n_events_outside")
    )
    mean_ns = sum(t.event_ns for t in detached) / n_detached
    longest_ns = max(t.event_max_ns for t in detached)
    yield evidence(
        f"the code of {plural(n_detached, 'detached task')} ended before "
        f"{'its event' if n_detached == 1 else 'their events'}, which {_fulfillers(n_detached, n_outside)} "
        f"fulfilled {duration(mean_ns)} later on average, at most {duration(longest_ns)}; threads waited for "
        f"these events, with nothing else to run, for {duration(waited_ns)}, {percent(waited_share)} of the "
        "thread-time",
        waited_ns,
        blamed.construct,
        detached_tasks=n_detached,
        events_from_outside=n_outside,
        mean_event_ns=mean_ns,
        max_event_ns=longest_ns,
        waited_share=waited_share,
    )


def _fulfillers(n_events: int, n_outside: int) -> str:
    """Returns the threads that fulfilled the events, in words."""
    if not n_outside:
        return "threads of the team"
    if n_outside == n_events:
        return "a thread outside of the team"
    return f"threads outside of the team ({count(n_outside)}) or in the team ({count(n_events - n_outside)})"


def _waited_for_events_ns(facts: Facts) -> float:
    """Returns the part of all threads' idle time that events of detached tasks explain.

    While one thread waits for an event, the others have no task either: they wait for that thread.
    """
    run = facts.run
    detached = {row.construct for row in run.constructs if row.n_detached}
    waited_ns: Counter[int] = Counter()  # by thread
    for row in run.waits:
        of_events_ns = sum(
            ns for cause, ns in zip(row.waited_for, row.waited_for_ns, strict=True) if cause in detached
        )
        if WAIT_KINDS.get(run.definitions[row.construct].flags) == "dependence":  # a delay, not thread-time
            of_events_ns = round(row.idle_ns * share(of_events_ns, row.delay_ns))
        waited_ns[row.thread] += min(of_events_ns, row.idle_ns)
    longest_ns = max(waited_ns.values(), default=0)
    explained_ns = sum(min(thread.states.idle_ns, longest_ns) for thread in facts.breakdown.threads)
    return min(explained_ns, sum(task.event_ns for task in facts.tasks) * facts.n_threads)


def undeferred(facts: Facts) -> Iterator[Evidence]:
    """Yields undeferred tasks, which only their creators could run, while other threads were idle."""
    n_created = sum(t.n_created for t in facts.tasks)
    n_undeferred = sum(t.n_undeferred for t in facts.tasks)
    if not n_created or n_undeferred / n_created < thresholds.UNDEFERRED_SHARE or not _is_starving(facts):
        return
    blamed = max(facts.tasks, key=lambda t: (t.n_undeferred, -t.construct))
    idle_ns = facts.idle_ns(facts.task_regions)
    yield evidence(
        f"{percent(n_undeferred / n_created)} of the tasks were undeferred (by an if clause, or inside a "
        f"final task), so only the thread that created them could run them; {_idle_text(facts)}",
        idle_ns,
        blamed.construct,
        undeferred_share=n_undeferred / n_created,
        idle_share=facts.breakdown.share(idle_ns),
    )


def wait_in_loop(facts: Facts) -> Iterator[Evidence]:
    """Yields a taskwait or taskgroup that waits for nearly each task separately."""
    least = max(thresholds.WAIT_LEAST, facts.n_deferred / thresholds.TASKS_PER_WAIT)
    kinds = ("taskwait", "taskgroup", "taskwait depend")
    frequent = [w for w in facts.waits if w.kind in kinds and w.n_waits >= least]
    if not frequent or not _is_starving(facts) or not facts.serialised(facts.task_regions):
        return
    worst = max(frequent, key=lambda w: (w.wait_ns + w.inside_ns, w.n_waits, -w.construct))
    n_active = facts.n_active(facts.task_regions)
    yield evidence(
        f"there were {count(worst.n_waits)} waits here for {plural(facts.n_deferred, 'task')}, so only "
        f"{n_active:.1f} threads had work at a time; {_idle_text(facts)}",
        facts.idle_ns(facts.task_regions),
        worst.construct,
        waits=worst.n_waits,
        tasks_per_wait=facts.n_deferred / worst.n_waits,
    )


def dependence_chain(facts: Facts) -> Iterator[Evidence]:
    """Yields tasks that run one after the other, because each depends on the previous one."""
    chained = [w for w in facts.waits if w.kind == "dependence"]
    n_chained = sum(w.n_waits for w in chained)
    if not n_chained or not _is_starving(facts):
        return
    idle_ns = facts.idle_ns(facts.task_regions)
    ruled = n_chained >= thresholds.CHAINED_PART * facts.n_deferred and facts.serialised(facts.task_regions)
    held_up = facts.calm and 2 * sum(w.idle_ns for w in chained) >= idle_ns
    if not ruled and not held_up:
        return
    blamed = max(chained, key=lambda w: (w.delay_ns, -w.construct))
    work_ns = sum(r.states.work_ns for r in facts.task_regions)
    yield evidence(
        f"{count(n_chained)} of {plural(facts.n_deferred, 'task')} had to wait for tasks that they depend "
        f"on, for {duration(blamed.delay_ns / max(blamed.n_waits, 1))} each, and {duration(work_ns)} of work "
        f"kept {facts.n_active(facts.task_regions):.1f} threads busy at a time; {_idle_text(facts)}",
        idle_ns,
        blamed.construct,
        dependent_tasks=n_chained,
        active_threads=facts.n_active(facts.task_regions),
    )


def serial_producer(facts: Facts) -> Iterator[Evidence]:
    """Yields a thread that creates nearly all tasks, but too slowly for the other threads."""
    created: dict[int, int] = {}
    for task in facts.tasks:
        for thread, n in task.created_by:
            created[thread] = created.get(thread, 0) + n
    producer, n_by_producer = max(created.items(), key=lambda item: (item[1], -item[0]), default=(-1, 0))
    if not n_by_producer or not _is_starving(facts):
        return
    produced = n_by_producer / sum(created.values())
    mine = next((t for t in facts.breakdown.threads if t.thread == producer), None)
    if mine is None or not mine.states.total_ns:
        return
    busy_ns = mine.states.create_ns + mine.implicit_ns
    busy = busy_ns / mine.states.total_ns
    if produced < thresholds.PRODUCER_CREATED or busy < thresholds.PRODUCER_BUSY:
        return
    counts = {t.construct: dict(t.created_by).get(producer, 0) for t in facts.tasks}
    # If tasks are too fine, larger ones would relieve the producer.
    fine_ns = sum(counts[f.task.construct] * f.task.mean_create_ns for f in _fine_tasks(facts))
    yield evidence(
        f"thread {producer} created {percent(produced)} of the tasks, one every "
        f"{duration(busy_ns / n_by_producer)}, and spent {percent(busy)} of its time on creation and on its "
        f"own code; {_idle_text(facts)}",
        facts.idle_ns(facts.task_regions),
        max(counts, key=lambda c: (counts[c], -c)),
        is_note=fine_ns >= thresholds.PRODUCER_FINE * busy_ns,
        producer_thread=producer,
        producer_created_share=produced,
        producer_busy_share=busy,
    )


def too_coarse(facts: Facts) -> Iterator[Evidence]:
    """Yields tasks that are too few, or too long, to keep all threads busy until the end."""
    breakdown, regions, n_threads = facts.breakdown, facts.task_regions, facts.team_size(facts.task_regions)
    timed = [t for t in facts.tasks if t.n_timed]
    idle_ns = facts.idle_ns(regions)
    if n_threads < 2 or not timed:
        return
    if breakdown.share(idle_ns) < thresholds.IDLE_SHARE:
        return
    longest = max(timed, key=lambda t: (t.max_ns, -t.construct))
    # The longest task does not bound regions whose instances are too short for it.
    able = [r for r in regions if r.states.total_ns + r.nested_ns >= longest.max_ns * r.n_instances]
    judged = able or regions
    work_ns = sum(r.states.work_ns for r in judged) + facts.helper_work_ns
    n_instances = sum(r.n_instances for r in judged if r.level == 1) or sum(r.n_instances for r in judged)
    mean_work_ns = share(work_ns, n_instances)
    per_thread = share(facts.n_completed, sum(r.n_parts for r in regions))
    bound = max(share(mean_work_ns, longest.max_ns), 1.0) if able else float(n_threads)
    # A preempted task takes long without being coarse.
    least_ns = max(longest.max_ns - facts.processor.preempted_ns, 0)
    limited = bool(able) and mean_work_ns < thresholds.COARSE_BOUND * n_threads * least_ns
    if not limited and per_thread >= thresholds.COARSE_TASKS_PER_THREAD:
        return
    where = "" if sum(r.n_instances for r in regions) == 1 else " in each instance of the regions"
    because = (
        f"{plural(facts.n_completed, 'task')} for {n_threads} threads, {per_thread:.1f} per thread{where}"
    )
    if limited:
        because += (
            f"; the longest took {duration(longest.max_ns)} of {duration(mean_work_ns)} of work, "
            f"which limits the speed-up on any number of threads to {bound:.2f}"
        )
    yield evidence(
        f"{because}; {_idle_text(facts)}",
        idle_ns,
        longest.construct,
        tasks_per_thread=per_thread,
        longest_task_ns=longest.max_ns,
        work_per_instance_ns=mean_work_ns,
        speedup_bound=bound,
        idle_share=breakdown.share(idle_ns),
    )


def starved(facts: Facts) -> Iterator[Evidence]:
    """Yields idle time that neither the size nor the order of tasks explains."""
    if not _is_starving(facts):
        return
    breakdown = facts.breakdown
    idle_ns = facts.idle_ns(facts.task_regions)
    blamed = max(facts.task_regions, key=lambda r: (r.states.idle_ns, -r.construct))
    wait = max(
        (w for w in facts.waits if w.kind in ("taskwait", "taskgroup")),
        key=lambda w: (w.wait_ns + w.inside_ns, -w.construct),
        default=None,
    )
    waited = wait is not None and wait.n_waits >= thresholds.WAIT_LEAST
    because = (
        f"{_idle_text(facts)}, {duration(blamed.states.idle_ns)} of it in "
        f"{plural(blamed.n_instances, 'instance')} of one region with {plural(blamed.n_tasks, 'task')}"
    )
    if waited and wait is not None:
        because += f"; tasks of the next step were created after each of {count(wait.n_waits)} waits here"
    yield evidence(
        because,
        idle_ns,
        wait.construct if waited and wait is not None else blamed.construct,
        idle_share=breakdown.share(idle_ns),
        active_threads=facts.n_active(facts.task_regions),
    )


def slow_dispatch(facts: Facts) -> Iterator[Evidence]:
    """Yields ready tasks that start late although they are large enough."""
    breakdown = facts.breakdown
    schedule_ns = facts.unexplained(breakdown.states.schedule_ns)
    if breakdown.share(schedule_ns) < thresholds.SCHEDULE_SHARE or not facts.n_deferred:
        return
    n_ready = sum(t.n_ready for t in facts.tasks)
    mean_ready_ns = sum(t.ready_ns for t in facts.tasks) / n_ready if n_ready else 0.0
    moved = share(sum(t.n_other_thread for t in facts.tasks), facts.n_completed)  # as in moved_share
    blamed = max(breakdown.regions, key=lambda r: (r.states.schedule_ns, -r.construct), default=None)
    yield evidence(
        f"threads spent {percent(breakdown.share(schedule_ns))} of the thread-time without work "
        f"while tasks were ready; a task was ready for {duration(mean_ready_ns)} before it started, "
        f"and {percent(moved)} of the tasks did not run on the thread that created them",
        schedule_ns,
        blamed.construct if blamed else None,
        schedule_share=breakdown.share(schedule_ns),
        mean_ready_ns=mean_ready_ns,
        other_thread_share=moved,
    )


def priority_inverted(facts: Facts) -> Iterator[Evidence]:
    """Yields tasks that start late because of the program's priorities."""
    late = facts.late_tasks
    if late is None or late.gain < thresholds.PRIORITY_GAIN:
        return
    yield evidence(
        "because of the program's priorities, these tasks start after others, and threads wait for them",
        late.saved_ns * facts.n_threads,
        late.construct,
        gain=late.gain,
    )


def blocked(facts: Facts) -> Iterator[Evidence]:
    """Yields tasks, or other code of regions, that slept or waited outside of OpenMP.

    If threads share processors, one may sleep while another works: only unused processors are lost.
    """
    breakdown = facts.breakdown
    blocked_ns = facts.processor.work_blocked_ns
    if breakdown.share(blocked_ns) < thresholds.BLOCKED_SHARE:
        return
    if sleeps_in_allocator(facts) or sleeps_at_mutex(facts):
        return
    lost_ns = min(blocked_ns, facts.unused_ns) if facts.crowded else blocked_ns
    if lost_ns < thresholds.BLOCKED_SHARE * facts.n_processors * breakdown.wall_ns:
        return
    in_tasks = max(facts.tasks, key=lambda t: (t.blocked_ns, -t.construct), default=None)
    in_regions = max(
        breakdown.regions, key=lambda r: (processor_time(r).work_blocked_ns, -r.construct), default=None
    )
    part = ""
    construct = in_regions.construct if in_regions else None
    if in_tasks is not None and 2 * in_tasks.blocked_ns >= blocked_ns:
        construct = in_tasks.construct
        each = share(in_tasks.blocked_ns, in_tasks.work_ns)
        part = f"; these tasks were blocked for {percent(each)} of their time"
    places = _where_they_sleep(facts, construct)
    yield evidence(
        f"threads slept or waited outside of OpenMP for {duration(blocked_ns)}, "
        f"{percent(breakdown.share(blocked_ns))} of the thread-time, inside the program's "
        f"code{part}{_calls(places)}",
        lost_ns,
        construct,
        cure=_CURES_OF_SLEEP[places[0].kind] if places else "",
        line=places[0].line if places else None,
        blocked_share=breakdown.share(blocked_ns),
    )


def _where_they_sleep(facts: Facts, construct: int | None) -> tuple[BlockingPlace, ...]:
    """Returns the calls in a construct that may have put threads to sleep, the likeliest first."""
    samples = samples_by_line(facts.samples)
    places = facts.blocking_places.get(construct, ()) if construct is not None else ()
    return tuple(sorted(places, key=lambda place: -samples.get((place.line.file, place.line.line), 0)))


def _calls(places: Sequence[BlockingPlace]) -> str:
    """Returns calls in words, such as `; they may sleep in nanosleep (a.c:7) and usleep (a.c:9)`."""
    named = [f"{place.function} ({place.line.place})" for place in places[:_MOST_SLEEPING]]
    if len(places) > len(named):
        named.append(plural(len(places) - len(named), "other call"))
    joined = " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))
    return f"; they may sleep in {joined}" if joined else ""


_CURES_OF_SLEEP: Final = {
    SLEEP: "remove the sleep, or wait for an event: a detached task (detach clause) completes when the event "
    "comes, and threads run other tasks meanwhile",
    WAIT: "wait less often: hand over more work at a time, or express the order in OpenMP (depend clauses, "
    "ordered), so that threads run other tasks meanwhile",
    LOCK: "hold the lock for a shorter time, use one lock for each piece of data, replace it by an atomic "
    "update, or give each thread data of its own and combine them at the end",
    DISK: "wait for the disk once for many results, outside of the parallel part",
    IO: "move input and output out of the parallel part, read and write larger pieces, or give them a "
    "task of their own",
}

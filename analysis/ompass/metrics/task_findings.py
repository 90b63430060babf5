# SPDX-License-Identifier: Apache-2.0
"""Judges of tasks: too fine, too coarse, too few at the time, slow to reach a thread."""

from __future__ import annotations

from ompass.metrics import thresholds
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.facts import Facts, Finding, problem
from ompass.units import count, duration, percent, plural


def too_fine(facts: Facts) -> list[Finding]:
    """Constructs whose tasks do little more than pay for themselves."""
    breakdown = facts.breakdown
    dispatch_ns = breakdown.states.schedule_ns / facts.n_deferred if facts.n_deferred else 0.0
    if dispatch_ns > thresholds.PLAUSIBLE_DISPATCH_NS:
        dispatch_ns = 0.0
    inline_ns = _undeferred_cost_ns(facts)
    found = []
    for task in facts.tasks:
        if task.n_completed < thresholds.FINE_MIN_TASKS or not task.n_created:
            continue
        if task.mean_work_ns >= thresholds.FINE_WORK_NS:
            continue
        deferred = 1.0 - task.n_undeferred / task.n_created
        cost_ns = task.mean_create_ns + dispatch_ns * deferred + inline_ns * (1.0 - deferred)
        total_ns = cost_ns * task.n_completed
        if cost_ns <= 0 or task.mean_work_ns >= thresholds.FINE_WORK_PER_COST * cost_ns:
            continue
        if breakdown.share(total_ns) < thresholds.FINE_SHARE:
            continue
        found.append(_too_fine(facts, task, cost_ns, int(total_ns), deferred))
    return found


def _undeferred_cost_ns(facts: Facts) -> float:
    """Creation time per undeferred task that regions hold and no construct: too short to be told apart."""
    n_undeferred = sum(t.n_undeferred for t in facts.tasks)
    rest_ns = facts.breakdown.states.create_ns - sum(t.create_ns for t in facts.tasks)
    return max(rest_ns, 0) / n_undeferred if n_undeferred else 0.0


def _too_fine(facts: Facts, task: ConstructTotals, cost_ns: float, total_ns: int, deferred: float) -> Finding:
    target_ns = cost_ns * thresholds.TARGET_WORK_PER_COST
    measured = "an estimated" if facts.run.create_estimated else "a measured"
    because = (
        f"{count(task.n_completed)} tasks did {duration(task.mean_work_ns)} of work each, against "
        f"{measured} {duration(cost_ns)} to create and dispatch one: "
        f"{percent(facts.breakdown.share(total_ns))} of the thread-time"
    )
    if deferred < 0.5:
        because += f"; {percent(1.0 - deferred)} of them were undeferred, and an undeferred task still costs"
        cure = (
            "replace the if or final clause by a plain branch that calls the serial code, "
            f"so that a task does at least {duration(target_ns)} of work"
        )
    else:
        cure = (
            f"create fewer, larger tasks: below a cut-off of about {duration(target_ns)} of work, "
            "call the serial code instead of creating a task (in a taskloop, raise grainsize)"
        )
    return problem(
        "too_fine",
        title="Tasks are too fine",
        because=because,
        cure=cure,
        cost_ns=total_ns,
        construct=task.construct,
        tasks=task.n_completed,
        mean_work_ns=task.mean_work_ns,
        mean_create_ns=task.mean_create_ns,
        cost_per_task_ns=cost_ns,
        target_work_ns=target_ns,
        undeferred_share=1.0 - deferred,
    )


def undeferred(facts: Facts) -> list[Finding]:
    """Idle threads beside tasks that only their creators could run."""
    breakdown = facts.breakdown
    n_created = sum(t.n_created for t in facts.tasks)
    n_undeferred = sum(t.n_undeferred for t in facts.tasks)
    idle_ns = sum(r.states.idle_ns for r in breakdown.regions if r.n_tasks)
    if breakdown.n_threads < 2 or breakdown.share(idle_ns) < thresholds.IDLE_SHARE:
        return []
    if not n_created or n_undeferred / n_created < thresholds.UNDEFERRED_SHARE:
        return []
    blamed = max(facts.tasks, key=lambda t: (t.n_undeferred, -t.construct))
    return [
        problem(
            "undeferred",
            title="Tasks are not offered to other threads",
            because=f"{percent(n_undeferred / n_created)} of the tasks were undeferred (an if clause, "
            "or inside a final task), so that only the thread that created them could run them; "
            f"threads were idle for {percent(breakdown.share(idle_ns))} of the thread-time",
            cure="let the if or final clause cut off later, so that every thread gets several deferred tasks",
            cost_ns=idle_ns,
            construct=blamed.construct,
            undeferred_share=n_undeferred / n_created,
            idle_share=breakdown.share(idle_ns),
        )
    ]


def too_coarse(facts: Facts) -> list[Finding]:
    """Too few tasks, or one too long, to keep all threads busy until the end."""
    breakdown = facts.breakdown
    n_threads = breakdown.n_threads
    regions = [r for r in breakdown.regions if r.n_tasks and r.n_instances]
    n_instances = sum(r.n_instances for r in regions if r.level == 1)
    idle_ns = sum(r.states.idle_ns for r in regions)
    timed = [t for t in facts.tasks if t.n_timed]
    if n_threads < 2 or not n_instances or not timed:
        return []
    if breakdown.share(idle_ns) < thresholds.IDLE_SHARE:
        return []
    longest = max(timed, key=lambda t: (t.max_ns, -t.construct))
    mean_work_ns = sum(r.states.work_ns for r in regions) / n_instances
    per_thread = facts.n_completed / (n_threads * n_instances)
    bound = mean_work_ns / longest.max_ns if longest.max_ns else float(n_threads)
    limited = bound < thresholds.COARSE_BOUND * n_threads
    if not limited and per_thread >= thresholds.COARSE_TASKS_PER_THREAD:
        return []
    where = "" if n_instances == 1 else " in each instance of the regions"
    because = (
        f"{plural(facts.n_completed, 'task')} for {n_threads} threads, {per_thread:.1f} per thread{where}"
    )
    if limited:
        because += (
            f"; the longest took {duration(longest.max_ns)} of {duration(mean_work_ns)} of work, "
            f"so no number of threads gives a speed-up above {bound:.2f}"
        )
    because += f"; threads were idle for {percent(breakdown.share(idle_ns))} of the thread-time"
    return [
        problem(
            "too_coarse",
            title="Tasks are too coarse",
            because=because,
            cure="split the work into more and smaller tasks, the longest ones first "
            "(lower the cut-off, divide the data into more pieces, give long tasks a priority)",
            cost_ns=idle_ns,
            construct=longest.construct,
            tasks_per_thread=per_thread,
            longest_task_ns=longest.max_ns,
            work_per_instance_ns=mean_work_ns,
            speedup_bound=bound,
            idle_share=breakdown.share(idle_ns),
        )
    ]


def starved(facts: Facts) -> list[Finding]:
    """Threads without a task to run, though the tasks themselves are not to blame."""
    breakdown = facts.breakdown
    regions = [r for r in breakdown.regions if r.n_tasks]
    idle_ns = sum(r.states.idle_ns for r in regions)
    if breakdown.n_threads < 2 or breakdown.share(idle_ns) < thresholds.IDLE_SHARE:
        return []
    blamed = max(regions, key=lambda r: (r.states.idle_ns, -r.construct))
    created: dict[int, int] = {}
    for task in facts.tasks:
        for thread, n in task.created_by:
            created[thread] = created.get(thread, 0) + n
    producer, n_by_producer = max(created.items(), key=lambda item: (item[1], -item[0]), default=(-1, 0))
    produced = n_by_producer / sum(created.values()) if n_by_producer else 0.0
    share = next((t for t in breakdown.threads if t.thread == producer), None)
    busy_ns = share.states.create_ns + share.implicit_ns if share else 0
    busy = busy_ns / share.states.total_ns if share and share.states.total_ns else 0.0
    idle_text = f"threads found no task for {percent(breakdown.share(idle_ns))} of the thread-time"
    numbers: dict[str, float] = {
        "idle_share": breakdown.share(idle_ns),
        "producer_thread": producer,
        "producer_created_share": produced,
        "producer_busy_share": busy,
    }
    if produced >= thresholds.PRODUCER_CREATED and busy >= thresholds.PRODUCER_BUSY:
        return [
            problem(
                "starved",
                title="One thread creates the tasks and cannot keep up",
                because=f"thread {producer} created {percent(produced)} of the tasks, one every "
                f"{duration(busy_ns / n_by_producer)}, and spent {percent(busy)} of its time on that; "
                f"{idle_text}",
                cure="let several threads create tasks (recursive tasks, a taskloop, tasks created in a "
                "worksharing loop), or move work out of the producer into its tasks",
                cost_ns=idle_ns,
                construct=_most_created(facts, producer),
                **numbers,
            )
        ]
    return [
        problem(
            "starved",
            title="Threads ran out of tasks",
            because=f"{idle_text}, {duration(blamed.states.idle_ns)} of it in this region, "
            f"with {plural(blamed.n_tasks, 'task')} in {plural(blamed.n_instances, 'instance')}",
            cure="create tasks earlier and from more places, wait later (a taskwait or barrier less), "
            "or lower the cut-off near the root of the recursion",
            cost_ns=idle_ns,
            construct=blamed.construct,
            **numbers,
        )
    ]


def _most_created(facts: Facts, thread: int) -> int | None:
    counts = {t.construct: dict(t.created_by).get(thread, 0) for t in facts.tasks}
    return max(counts, key=lambda c: (counts[c], -c), default=None)


def slow_dispatch(facts: Facts) -> list[Finding]:
    """Ready tasks that take long to reach a thread although they are large enough."""
    breakdown = facts.breakdown
    schedule_ns = breakdown.states.schedule_ns
    if breakdown.share(schedule_ns) < thresholds.SCHEDULE_SHARE or not facts.n_deferred:
        return []
    n_ready = sum(t.n_ready for t in facts.tasks)
    mean_ready_ns = sum(t.ready_ns for t in facts.tasks) / n_ready if n_ready else 0.0
    stolen = sum(t.n_other_thread for t in facts.tasks) / facts.n_completed if facts.n_completed else 0.0
    blamed = max(breakdown.regions, key=lambda r: (r.states.schedule_ns, -r.construct), default=None)
    return [
        problem(
            "slow_dispatch",
            title="Ready tasks reach threads slowly",
            because=f"threads spent {percent(breakdown.share(schedule_ns))} of the thread-time without work "
            f"while tasks were ready; a task was ready for {duration(mean_ready_ns)} before it started, "
            f"and {percent(stolen)} of the tasks ran on another thread than the one that created them",
            cure="run no more threads than there are free cores, bind them (OMP_PROC_BIND=close, "
            "OMP_PLACES=cores), and create tasks on the threads that will run them",
            cost_ns=schedule_ns,
            construct=blamed.construct if blamed else None,
            schedule_share=breakdown.share(schedule_ns),
            mean_ready_ns=mean_ready_ns,
            other_thread_share=stolen,
        )
    ]

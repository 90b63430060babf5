# SPDX-License-Identifier: Apache-2.0
"""Notes: limits of the figures of a run. They name no problem and have no cost."""

from __future__ import annotations

from collections.abc import Iterator

from ompass.metrics import thresholds
from ompass.metrics.facts import Facts, Finding, note
from ompass.units import count, duration, percent, plural


def all_notes(facts: Facts) -> tuple[Finding, ...]:
    """Returns every note that applies, in reading order: completeness first."""
    parts = (
        _completeness,
        _coverage,
        _precision,
        _counting,
        _presence,
        _cancelled,
        _locality,
        _team,
        _other_library,
    )
    return tuple(found for part in parts for found in part(facts))


def _completeness(facts: Facts) -> Iterator[Finding]:
    run = facts.run
    if not run.complete:
        reasons = " ".join(run.incomplete_reasons) or f"End of the run: {run.end_reason}."
        yield note("cut_short", "The run was cut short", reasons, "all figures cover only a part of the run")
    if run.n_unlogged:
        tasks = f" They completed {plural(run.n_unlogged_tasks, 'task')}." if run.n_unlogged_tasks else ""
        yield note(
            "unlogged",
            "Threads are missing from the record",
            f"{plural(run.n_unlogged, 'thread')} left no log.{tasks}",
            "`ompass info` shows why; no figure covers these threads",
            n_unlogged=run.n_unlogged,
            n_unlogged_tasks=run.n_unlogged_tasks,
        )
    if run.other_runtime and facts.breakdown.thread_time_ns < thresholds.JUDGED_THREAD_TIME_NS:
        yield note(
            "second_runtime",
            "Regions on a second OpenMP runtime are not recorded",
            f"the program or a library calls {run.other_runtime}, too",
            "run all on one runtime: `ompass run --libomp FILE`",
        )
    dropped = sum(t.n_dropped for t in run.threads)
    if dropped:
        yield note(
            "dropped",
            "Events are missing from the trace",
            f"{count(dropped)} records were not written: "
            f"{run.trace_end or 'the reason was not recorded'}; "
            + ("the profile lacks some of them, too" if run.n_unlogged else "the profile has them all"),
            run.trace_end_cure or "record again",
            n_dropped=dropped,
        )


def _coverage(facts: Facts) -> Iterator[Finding]:
    breakdown = facts.breakdown
    if breakdown.fell_back and facts.targets:
        yield note(
            "no_region",
            "The host ran no parallel region",
            "the figures cover the whole program: its time outside of regions and in target constructs",
        )
    elif breakdown.fell_back:
        yield note(
            "no_region",
            "No parallel region was recorded",
            "the figures cover the whole program instead of its parallel regions",
            "check that the program was compiled with -fopenmp and reaches a parallel construct",
        )
    elif not facts.n_completed:
        yield note(
            "no_task",
            "No explicit task completed",
            "the program has parallel regions, but ran no task construct",
        )
    if breakdown.stretched_ns:
        yield note(
            "stretched",
            "Threads were recorded for longer than the run",
            f"the wall time was extended by {duration(breakdown.stretched_ns)} to hold their time",
            "`ompass validate` shows what disagrees",
            stretched_ns=breakdown.stretched_ns,
        )
    if 0 < breakdown.thread_time_ns < thresholds.JUDGED_THREAD_TIME_NS:
        yield note(
            "too_short",
            "The run is too short to judge",
            f"it contains {duration(breakdown.thread_time_ns)} of thread-time, most of it start-up",
            "record a larger problem",
            thread_time_ns=breakdown.thread_time_ns,
        )


def _precision(facts: Facts) -> Iterator[Finding]:
    run = facts.run
    if run.create_estimated and facts.n_completed:
        yield note(
            "create_estimated",
            "Creation time is an estimate",
            f"without wrappers, every task is charged {duration(run.create_estimate_ns)}",
            "record with `ompass run` (without --no-wrappers) to measure it",
            create_estimate_ns=run.create_estimate_ns,
        )
    n_timed = sum(t.n_timed for t in facts.tasks)
    if facts.n_completed > 0 and n_timed < facts.n_completed:
        yield note(
            "sampled",
            "Durations come from a sample",
            f"{percent(n_timed / facts.n_completed)} of the tasks were timed, for minimum, maximum and "
            "histogram; counts and sums of time are complete",
            timed_share=n_timed / facts.n_completed,
        )


def _cancelled(facts: Facts) -> Iterator[Finding]:
    n_cancelled = sum(t.n_cancelled for t in facts.tasks)
    if n_cancelled:
        yield note(
            "cancelled",
            "Tasks were cancelled",
            f"{plural(n_cancelled, 'task')} never started",
            n_cancelled=n_cancelled,
        )


def _team(facts: Facts) -> Iterator[Finding]:
    breakdown = facts.breakdown
    if breakdown.helpers:
        yield note(
            "helpers",
            "Helper threads of the runtime ran target tasks",
            f"{plural(len(breakdown.helpers), 'helper thread')} of the runtime ran "
            f"{plural(sum(t.n_tasks for t in breakdown.helpers), 'task')} in "
            f"{duration(facts.helper_work_ns)}; team size and idle time exclude them",
            n_helpers=len(breakdown.helpers),
            n_tasks=sum(t.n_tasks for t in breakdown.helpers),
            work_ns=facts.helper_work_ns,
        )
    if breakdown.n_threads == 1 and facts.n_completed and not breakdown.fell_back:
        yield note(
            "one_thread",
            "One thread hides the cost of queues",
            "in a team of one, libomp runs tasks at once instead of queueing them",
            "compare with a run on 2 or more threads",
        )


def _other_library(facts: Facts) -> Iterator[Finding]:
    if facts.is_of_gcc and facts.n_completed:
        yield note(
            "gcc_on_libomp",
            "A gcc program ran on LLVM's runtime",
            "gcc's own runtime, libgomp, keeps all tasks under one lock, and runs a task at once when more "
            "than 64 tasks per thread wait; the figures and findings describe libomp",
            "measure the program on libgomp without Ompass, too",
        )


def _counting(facts: Facts) -> Iterator[Finding]:
    n_completed = facts.n_completed
    if not facts.run.counters or not n_completed:
        return
    work_ns = sum(t.work_ns for t in facts.tasks) / n_completed
    if work_ns < thresholds.COUNTED_WORK_NS:
        yield note(
            "counters_in_times",
            "Times include the cost of reading hardware counters",
            f"counters were read when each task began and ended, which takes microseconds; a task took "
            f"{duration(work_ns)} on average, including a part of this cost",
            "use a run without --counters to judge times and task sizes",
            mean_work_ns=work_ns,
        )


def _presence(facts: Facts) -> Iterator[Finding]:
    presence = facts.breakdown.presence
    if presence and presence.work is None:
        yield note(
            "cpu_from_clocks",
            "Processor times are known only per region",
            "perf_event_open is not permitted here, so the times come from each thread's clocks",
            "allow it (kernel.perf_event_paranoid at most 2; in containers, the seccomp profile) to get "
            "them per state",
        )
    n_lost = sum(t.n_lost_switches for t in facts.run.threads)
    if n_lost:
        yield note(
            "switches_lost",
            "Some switches of threads were not recorded",
            f"{plural(n_lost, 'record')} of switches did not fit in the buffer; running times are exact, and "
            "the rest is divided into preempted and blocked in proportion to the other records",
            n_lost_switches=n_lost,
        )

    by_clock_ns = sum(t.by_clock_ns for t in facts.run.threads)
    recorded_ns = sum(t.last_ns - t.first_ns for t in facts.run.threads)
    if by_clock_ns >= thresholds.BY_CLOCK_SHARE * recorded_ns > 0:
        yield note(
            "switches_too_thick",
            "Threads switch so often that their switches were not recorded",
            f"for {percent(by_clock_ns / recorded_ns)} of the time threads switched more than 5,000 times a "
            "second; then only their clocks were read",
            "use no more threads than processors, or set OMP_WAIT_POLICY=passive",
            by_clock_share=by_clock_ns / recorded_ns,
        )


def _locality(facts: Facts) -> Iterator[Finding]:
    n_far = sum(t.n_other_domain for t in facts.tasks)
    if facts.n_completed and n_far / facts.n_completed >= thresholds.OTHER_DOMAIN_SHARE:
        yield note(
            "other_domain",
            "Tasks run far from where they were created",
            f"{percent(n_far / facts.n_completed)} of the tasks ran outside of the memory domain where "
            "they were created or placed",
            "bind threads (OMP_PROC_BIND, OMP_PLACES) and let the threads that own the data create its tasks",
            other_domain_share=n_far / facts.n_completed,
        )

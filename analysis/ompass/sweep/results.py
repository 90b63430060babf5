# SPDX-License-Identifier: Apache-2.0
"""The finished jobs of a sweep, combined by number of threads. Reads the runs; judges nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ompass.errors import NothingToShowError
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.scaling.metrics import Measured, Samples, measured
from ompass.sweep.directory import Done, SweepDirectory
from ompass.sweep.plan import BASELINE, ELISION, RECORDED, UNRECORDED, Job, SweepSpec


@dataclass(frozen=True, slots=True)
class SweepRuns:
    """Measurements for one number of threads: one entry per finished round, in every sequence."""

    threads: int
    recorded: tuple[Run, ...]
    one_thread: tuple[Run, ...]
    samples: Samples
    n_left_out: int  # rounds omitted because other programs used the CPUs, while quieter rounds remain
    others: float  # largest part of the CPUs' time used by other programs in a counted run


def load_runs(
    directory: SweepDirectory, scope: Scope, threads: tuple[int, ...] = ()
) -> tuple[SweepRuns, ...]:
    """Returns the finished rounds for each number of threads (empty: all measured ones), fewest first.

    NothingToShowError if no round is finished.
    """
    spec, done = directory.spec, directory.done()
    there = {job.threads for job in done if job.kind == RECORDED and job.value in (0, job.threads)}
    # Every sweep measures one thread, but reports it only if it was requested.
    wanted = tuple(sorted(set(threads) & there)) if threads else tuple(sorted(there))
    opened: dict[Job, tuple[Run, Measured]] = {}

    def open_job(job: Job) -> tuple[Run, Measured]:
        if job not in opened:
            run = open_run(directory.run_of(done[job]))
            opened[job] = run, measured(run, job.threads, scope, done[job].wall_ns)
        return opened[job]

    # Complete rounds only, so that every number of threads is compared with the same serial times.
    loud = {job.repeat for job, one in done.items() if (one.others or 0.0) >= thresholds.DISTURBED_SHARE}
    quiet = {job.repeat for job in done} - loud
    found = []
    for p in wanted:
        rounds = _finished_rounds(spec, done, p)
        if not rounds:
            continue
        n_finished = len(rounds)
        rounds = [jobs for jobs in rounds if jobs[RECORDED].repeat in quiet] or rounds
        pairs = [(open_job(jobs[RECORDED]), open_job(jobs["one"])) for jobs in rounds]
        unrecorded = [jobs for jobs in rounds if UNRECORDED in jobs]
        found.append(
            SweepRuns(
                threads=p,
                recorded=tuple(at_p[0] for at_p, _ in pairs),
                one_thread=tuple(at_one[0] for _, at_one in pairs),
                samples=Samples(
                    threads=p,
                    recorded=[at_p[1] for at_p, _ in pairs],
                    one_thread=[at_one[1] for _, at_one in pairs],
                    baseline_ns=[_time_ns(done[jobs[BASELINE]]) for jobs in rounds if BASELINE in jobs],
                    elision_ns=[_time_ns(done[jobs[ELISION]]) for jobs in rounds if ELISION in jobs],
                    recorded_process_ns=[_time_ns(done[jobs[RECORDED]]) for jobs in unrecorded],
                    unrecorded_ns=[_time_ns(done[jobs[UNRECORDED]]) for jobs in unrecorded],
                    unrecorded_one_ns=[_time_ns(done[jobs["unrecorded one"]]) for jobs in unrecorded],
                ),
                n_left_out=n_finished - len(rounds),
                others=max(_others(done, jobs) for jobs in rounds),
            )
        )
    if not found:
        raise NothingToShowError(
            f"{directory.path}", "no round of the sweep is finished", "resume it with the same command"
        )
    return tuple(found)


def _finished_rounds(spec: SweepSpec, done: Mapping[Job, Done], p: int) -> list[dict[str, Job]]:
    """Returns the jobs of every round that is finished for this number of threads."""
    value = p if spec.depends_on_threads(RECORDED) else 0
    rounds = []
    for repeat in sorted({job.repeat for job in done}):
        jobs = {RECORDED: Job(RECORDED, p, value, repeat), "one": Job(RECORDED, 1, value, repeat)}
        for kind in (BASELINE, ELISION):
            if spec.command_of(kind):
                jobs[kind] = Job(kind, 1, p if spec.depends_on_threads(kind) else 0, repeat)
        extra = {
            UNRECORDED: Job(UNRECORDED, p, value, repeat),
            "unrecorded one": Job(UNRECORDED, 1, value, repeat),
        }
        if all(job in done for job in jobs.values()):
            rounds.append(jobs | (extra if all(job in done for job in extra.values()) else {}))
    return rounds


def _others(done: Mapping[Job, Done], jobs: Mapping[str, Job]) -> float:
    return max(done[job].others or 0.0 for job in jobs.values())


def _time_ns(done: Done) -> int:
    """Returns the seconds that the program printed, if they were requested; else its process's time."""
    return done.wall_ns if done.printed_ns is None else done.printed_ns

# SPDX-License-Identifier: Apache-2.0
"""The content of a check: the figures of both sides, their intervals, and the verdict with its reason.

The time decides. If threads often waited for processors, the verdict on the time may stay open. Then the work
on processors may show that the program became worse, because this work contains no preempted time. If threads
were not preempted for longer than before, the time without preemption may show that the program did not
become worse. Work alone never shows this, because waits may have grown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from ompass.check.verdict import (
    DISTURBED_PART,
    LEAST_REPEATS,
    Judgement,
    judge,
    rounds_needed,
)
from ompass.comparison.content import SPAN, WORK_ON_PROCESSORS, counts_of, further_times
from ompass.comparison.metrics import Count, counts, in_rounds
from ompass.jobs.content import jobs_of_runs
from ompass.launch.recorder import RecordedRun
from ompass.metrics.breakdown import program_ns, time_breakdown
from ompass.metrics.constructs import construct_totals
from ompass.metrics.facts import Facts
from ompass.metrics.significance import groups_p, rounds_p
from ompass.model import Run
from ompass.readers.run import open_run
from ompass.units import percent, plural

TIME: Final = "time"
WORK: Final = WORK_ON_PROCESSORS
UNPREEMPTED: Final = "time without preemption"
"""The time minus the mean time for which a thread was preempted. While one thread of a team is preempted, the
others usually wait for it: if two threads share a processor for a time T, the program loses T / 2."""
_MORE_PREEMPTED: Final = 0.3
"""Threads count as preempted for longer if equal sides differ as much with at most this probability."""
_MORE_TIME: Final = f"allow more time (--time-limit): a verdict needs {LEAST_REPEATS} rounds"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a side."""

    times: dict[str, int]  # by figure, in ns
    counts: dict[str, int]
    disturbed: bool  # True if other programs used its processors
    start_ns: int = 0  # since 1970


def measured(recorded: RecordedRun, by_process: bool) -> Measured:
    """Returns the figures of a run or job.

    `by_process`: True for the time of the process, from its start to its end; False for the recorded time.
    """
    runs = [open_run(directory) for directory in recorded.directories]
    return _figures(runs, recorded if by_process else None)


def recorded_before(directories: Sequence[Path]) -> list[Measured]:
    """Returns the figures of each run or job in these directories. The time is the recorded time."""
    return [_figures(job, None) for job in jobs_of_runs([open_run(directory) for directory in directories])]


def _figures(runs: Sequence[Run], process: RecordedRun | None) -> Measured:
    """Returns the figures of the ranks of a job. `process`: the times of its processes, if they count."""
    ranks = [_measured(run, process) for run in runs]
    return ranks[0] if len(ranks) == 1 else _job(ranks, process)


def _job(ranks: Sequence[Measured], process: RecordedRun | None) -> Measured:
    """Returns the figures of a job: its time, and sums over its ranks."""
    times = {TIME: max(rank.times[TIME] for rank in ranks)}
    if process:
        times["processor time"] = process.cpu_ns
    if all(WORK in rank.times for rank in ranks):
        times[WORK] = sum(rank.times[WORK] for rank in ranks)
    totals = Counter[str]()
    for rank in ranks:
        totals.update(rank.counts)
    totals["ranks"] = len(ranks)
    return Measured(
        times, totals, any(rank.disturbed for rank in ranks), min(rank.start_ns for rank in ranks)
    )


def _measured(run: Run, process: RecordedRun | None) -> Measured:
    breakdown = time_breakdown(run)
    times = {TIME: process.wall_ns if process else program_ns(run)}
    if not breakdown.fell_back:
        times["time in regions"] = breakdown.wall_ns
    if process:
        times["processor time"] = process.cpu_ns
    times |= further_times(run, breakdown)
    tasks = construct_totals(run, "task")
    n_completed = sum(task.n_completed for task in tasks)
    if WORK in times and n_completed:
        on_processors_ns = sum(task.work_ns - task.preempted_ns - task.blocked_ns for task in tasks)
        times["mean work of a task"] = on_processors_ns // n_completed
    facts = Facts(run, breakdown, tasks)
    if WORK in times and facts.n_threads:
        times[UNPREEMPTED] = max(times[TIME] - facts.taken_ns // facts.n_threads, 1)
    return Measured(times, counts_of(run, breakdown), facts.disturbed, run.start_epoch_ns)


@dataclass(frozen=True, slots=True)
class Figure:
    """One time on both sides, with one value per run."""

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    judgement: Judgement | None  # None without a test: for traced runs and for single runs

    @property
    def before_median(self) -> float:
        return median(self.before)

    @property
    def after_median(self) -> float:
        return median(self.after)

    @property
    def ratio(self) -> float | None:
        """The ratio after / before; None if `before` is 0."""
        if self.judgement:
            return self.judgement.ratio.estimate
        return self.after_median / self.before_median if self.before_median else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the runs of both sides show."""

    figures: tuple[Figure, ...]
    traced: tuple[Figure, ...]
    counts: tuple[Count, ...]
    n_before: int
    n_after: int
    in_rounds: bool
    n_disturbed: int
    is_repeatable: bool  # True if more rounds would add runs to every side with a single run
    parallelism: tuple[float, float] | None = None  # work / span before and after; None without traces

    def figure(self, name: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.name == name), None)

    @property
    def is_certain(self) -> bool:
        """True if further rounds are unnecessary."""
        time = self.figure(TIME)
        if time is None or time.judgement is None:
            return False
        return time.judgement.verdict != "open" or self.unpreempted is not None

    @property
    def is_disturbed(self) -> bool:
        """True if other programs disturbed many runs."""
        return self.n_disturbed >= DISTURBED_PART * (self.n_before + self.n_after)

    @property
    def unpreempted(self) -> Judgement | None:
        """The judgement of the time without preemption, if it shows that the program is not worse."""
        time, figure = self.figure(TIME), self.figure(UNPREEMPTED)
        if time is None or figure is None or figure.judgement is None or not self.is_disturbed:
            return None
        before, after = (
            [whole - own for whole, own in zip(*side, strict=True)]  # mean preempted time of a thread
            for side in ((time.before, figure.before), (time.after, figure.after))
        )
        p_value = (rounds_p if self.in_rounds else groups_p)(before, after)
        if median(after) > median(before) and p_value <= _MORE_PREEMPTED:
            return None
        return figure.judgement if figure.judgement.verdict in ("better", "not worse") else None


def evidence_of(
    sides: Sequence[Sequence[Measured]],
    traced: Sequence[Sequence[Measured]],
    minimum: float,
    n_looks: int,
    alternating: bool = False,
    repeatable: bool = False,
) -> Evidence:
    """Returns the evidence from the runs of both sides. `traced`: runs whose measured time does not count.

    `alternating`: runs with the same index belong to one round; otherwise, the start times decide.
    `repeatable`: more rounds would add runs to every side with a single run.
    """
    traces = tuple(those or side for those, side in zip(traced, sides, strict=True))
    rounds = tuple(sides) if alternating else in_rounds(*sides)
    figures = tuple(
        Figure(name, *values, _judged(values, minimum, n_looks, rounds is not None))
        for name, values in _times(rounds or sides)
    )
    all_counts = [[run.counts for run in (*side, *those)] for side, those in zip(sides, traced, strict=True)]
    timed = {figure.name for figure in figures}
    return Evidence(
        figures=figures,
        traced=tuple(Figure(name, *values, None) for name, values in _times(traces) if name not in timed),
        counts=counts(*all_counts),
        n_before=len(sides[0]),
        n_after=len(sides[1]),
        in_rounds=rounds is not None,
        n_disturbed=sum(run.disturbed for side in sides for run in side),
        is_repeatable=repeatable,
        parallelism=_parallelism(traces),
    )


def _parallelism(traces: Sequence[Sequence[Measured]]) -> tuple[float, float] | None:
    found = [
        [run.times[WORK] / run.times[SPAN] for run in side if WORK in run.times and run.times.get(SPAN)]
        for side in traces
    ]
    return (median(found[0]), median(found[1])) if all(found) else None


def _times(sides: Sequence[Sequence[Measured]]) -> list[tuple[str, tuple[tuple[int, ...], tuple[int, ...]]]]:
    """Returns the figures that all runs of both sides have."""
    if not sides[0] or not sides[1]:
        return []
    return [
        (name, (tuple(run.times[name] for run in sides[0]), tuple(run.times[name] for run in sides[1])))
        for name in sides[0][0].times
        if all(name in run.times for side in sides for run in side)
    ]


def _judged(
    values: tuple[tuple[int, ...], tuple[int, ...]], minimum: float, n_looks: int, alternating: bool
) -> Judgement | None:
    before, after = values
    if min(len(before), len(after)) < 2 or min(*before, *after) <= 0:
        return None
    return judge(before, after, minimum, n_looks, alternating)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusion of the check."""

    status: int  # exit status: 0 not worse, 1 worse, 2 cannot be determined
    kind: str  # "worse", "better", "not worse", "disturbed", "noisy" or "single"
    because: str  # a sentence without a period
    cure: str = ""


def verdict_of(evidence: Evidence) -> Verdict:
    """Returns the conclusion from all figures."""
    time = evidence.figure(TIME)
    runs = _runs(evidence)
    if time is None or time.judgement is None:
        return Verdict(
            2,
            "single",
            "a single run does not show the noise of the machine, so times cannot be compared",
            _MORE_TIME
            if evidence.is_repeatable
            else f"give the program instead of its run, or a directory of at least {LEAST_REPEATS} runs",
        )
    judgement = time.judgement
    if judgement.verdict != "open":
        status = 1 if judgement.verdict == "worse" else 0
        return Verdict(status, judgement.verdict, f"the time is {changed(judgement)} ({runs})")
    work = evidence.figure(WORK)
    if work is not None and work.judgement is not None and work.judgement.verdict == "worse":
        return Verdict(
            1,
            "worse",
            f"the work is {changed(work.judgement, ('more', 'less'))}, without preempted time ({runs}); "
            f"the time itself decides nothing: it is {changed(judgement)}",
        )
    if evidence.unpreempted:
        return Verdict(
            0,
            "not worse",
            f"the time without preemption is {changed(evidence.unpreempted)} ({runs}); the time itself is "
            f"open: it is {changed(judgement)}",
        )
    limit = f"too wide for a minimum difference of {percent(judgement.minimum)}"
    because = f"the time is {changed(judgement)} ({runs}), {limit}"
    if evidence.is_disturbed:
        n_runs = evidence.n_before + evidence.n_after
        of_all = f"{evidence.n_disturbed} of {plural(n_runs, 'run')}"
        return Verdict(
            2,
            "disturbed",
            f"other programs used the processors in {of_all}: {because}",
            "repeat the check on a quiet machine",
        )
    n_rounds = min(evidence.n_before, evidence.n_after)
    if n_rounds < LEAST_REPEATS and evidence.in_rounds:
        cure = _MORE_TIME
    elif evidence.in_rounds:
        needed = rounds_needed(judgement, n_rounds)
        cure = f"allow more rounds: about {needed} may suffice (--repeat {needed}, --time-limit)"
    else:
        cure = "give programs instead of recorded runs, so that both sides alternate"
    return Verdict(2, "noisy", f"the runs differ too much: {because}", cure)


def _runs(evidence: Evidence) -> str:
    if evidence.in_rounds:
        return plural(evidence.n_before, "round")
    return f"{evidence.n_before} against {plural(evidence.n_after, 'run')}"


def changed(judgement: Judgement, words: tuple[str, str] = ("longer", "shorter")) -> str:
    """Returns `3.1% longer, between +2.0% and +4.2%`; with one limit, `60.1% shorter, at least 58.3%`."""
    ratio = judgement.ratio
    size = _as_change(ratio.estimate, words)
    limits = [limit for limit in ratio.limits or () if limit is not None]
    if not limits:
        return f"{size}, in too few runs for a confidence interval"
    if len(limits) == 2:
        return f"{size}, between {signed(ratio.low)} and {signed(ratio.high)}"
    if (limits[0] == ratio.low) == (limits[0] > 1):
        return f"{size}, at least {percent(abs(limits[0] - 1))}"
    return f"{size}, at most {_as_change(limits[0], words)}"


def _as_change(ratio: float, words: tuple[str, str]) -> str:
    return f"{percent(abs(ratio - 1))} {words[0] if ratio >= 1 else words[1]}"


def signed(ratio: float) -> str:
    """Returns a ratio as a change: `+2.0%`."""
    return f"{(ratio - 1) * 100:+.1f}%"


@dataclass(frozen=True, slots=True)
class CheckContent:
    """The content of a report on a check."""

    name: str
    before: str
    after: str
    evidence: Evidence
    verdict: Verdict
    notes: tuple[str, ...]


def collect_check(name: str, before: str, after: str, evidence: Evidence) -> CheckContent:
    """Returns the content of the report."""
    notes = []
    if not evidence.in_rounds:
        notes.append(
            "at least one side was recorded earlier, so a change of the machine in between looks like a "
            "change of the program. Only programs that run alternately share the machine's drift."
        )
    different = [one.figure for one in evidence.counts if one.verdict == "different"]
    if different:
        notes.append(f"all runs before differ from all runs after in these counts: {', '.join(different)}.")
    verdict = verdict_of(evidence)
    work = evidence.figure(WORK)
    if verdict.status == 2 and work and work.judgement and work.judgement.verdict in ("not worse", "better"):
        size = changed(work.judgement, ("more", "less"))
        notes.append(f"the work on processors is not worse ({size}), but waits may have grown.")
    if evidence.n_disturbed and verdict.kind != "disturbed":
        n_runs = evidence.n_before + evidence.n_after
        notes.append(
            f"other programs used the processors in {evidence.n_disturbed} of {plural(n_runs, 'run')}."
        )
    return CheckContent(name, before, after, evidence, verdict, tuple(notes))

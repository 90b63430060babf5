# SPDX-License-Identifier: Apache-2.0
"""Judges a whole MPI job: the ranks that the others wait for, the cost of communication, shared processors.

Owns the kinds of findings on jobs, their order and their texts. metrics/findings.py judges single runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.facts import Evidence as EvidenceOfRun
from ompass.metrics.facts import Finding, evidence
from ompass.metrics.job_facts import COLLECTIVE, FILES, JobCall, JobFacts, RankFacts
from ompass.metrics.processors import launcher_options
from ompass.model import share
from ompass.units import count, duration, percent, plural, ratio

_IN_TURN: Final = (
    "send earlier, divide the chain into smaller pieces so that ranks work at the same time, and work on "
    "something else until a message arrives (MPI_Irecv, MPI_Isend)"
)
_FILES: Final = "Ranks wait for files"
_AS_LATE: Final = 0.98
_IN_FILES: Final = (
    "read and write larger pieces, collectively (MPI_File_write_all) and by a few ranks (hints such as "
    "cb_nodes), keep the results of several steps for one write, or write by a thread while others compute"
)
_YIELD: Final = (
    "start at most as many threads in all ranks together as there are processors; if that is impossible, let "
    "waiting ranks yield (OpenMPI: `--mca mpi_yield_when_idle 1`)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A finding on a job. `rank` is the rank whose construct it names; -1 without a construct."""

    finding: Finding
    rank: int = -1


Evidence = tuple[EvidenceOfRun, int]
"""The evidence of a finding, and the number of the rank whose construct it names; -1 without a construct."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of problem. Only the first kind of a family that applies is reported."""

    name: str
    family: str
    title: str
    judge: Callable[[JobFacts], Iterable[Evidence]]
    cure: str = ""


# ---------------------------------------------------------------- processors


def one_core(facts: JobFacts) -> Iterator[Evidence]:
    """Yields ranks that the launcher bound to fewer processors than they have threads."""
    bound = [rank for rank in facts.ranks if _is_bound(rank)]
    if not bound:
        return
    cost_ns = sum(rank.preempted_ns if rank.knows_waits else _unable_ns(rank) for rank in bound)
    if share(cost_ns, facts.program_ns) < thresholds.PREEMPTED_SHARE:
        return
    worst = max(bound, key=lambda rank: rank.times.n_threads - rank.n_usable_cpus)
    yield (
        evidence(
            f"{_ranks(len(bound), facts)} have {plural(worst.times.n_threads, 'thread')} on "
            f"{plural(worst.n_usable_cpus, 'processor')}, although the host has {worst.n_host_cpus}: "
            f"their threads waited for a processor for {duration(cost_ns)}",
            _for_all(facts, cost_ns),
            cure=launcher_options(worst.times.n_threads),
            ranks=len(bound),
            threads=worst.times.n_threads,
            processors=worst.n_usable_cpus,
        ),
        -1,
    )


def crowded_hosts(facts: JobFacts) -> Iterator[Evidence]:
    """Yields hosts on which threads of the job share processors with each other."""
    crowded = [host for host in facts.hosts if host.shared_ns]
    shared_ns = sum(host.shared_ns for host in crowded)
    if share(shared_ns, facts.program_ns) < thresholds.PREEMPTED_SHARE or shared_ns < _taken_ns(facts):
        return
    worst = max(crowded, key=lambda host: host.n_threads / host.n_processors)
    waited = share(shared_ns, sum(host.thread_ns for host in crowded))
    yield (
        evidence(
            f"{plural(len(worst.ranks), 'rank')} with {plural(worst.n_threads, 'thread')} share "
            f"{plural(worst.n_processors, 'processor')} of {worst.name}: threads waited for a processor "
            f"{percent(waited)} of their time. A rank that waits in MPI polls, "
            "and keeps its processor from the ranks that it waits for",
            _for_all(facts, shared_ns),
            ranks=len(worst.ranks),
            threads=worst.n_threads,
            processors=worst.n_processors,
        ),
        -1,
    )


def disturbed(facts: JobFacts) -> Iterator[Evidence]:
    """Yields the time in which others used the processors of the job."""
    taken_ns = _taken_ns(facts)
    part = share(taken_ns, facts.program_ns)
    if part < thresholds.PREEMPTED_SHARE:
        return
    worst = max(facts.ranks, key=lambda rank: rank.preempted_ns)
    on_worst = share(worst.preempted_ns, sum(rank.preempted_ns for rank in facts.ranks))
    yield (
        evidence(
            f"threads waited {duration(taken_ns)}, {percent(part)} of the job's time, for processors that "
            f"{_others(facts)} used, {percent(on_worst)} of it on rank {worst.rank.rank}. Waits for a "
            "delayed rank look like slow messages or unequal work",
            _for_all(facts, taken_ns),
            rank=worst.rank.rank,
            preempted_share=part,
        ),
        -1,
    )


def _others(facts: JobFacts) -> str:
    """Returns the possible users of the processors, in words. Ranks without binding may share processors."""
    if all(len(host.ranks) == 1 or host.has_own_processors for host in facts.hosts):
        return "other programs"
    return "other programs, the launcher or, because ranks are not bound, other ranks"


def _for_all(facts: JobFacts, waited_ns: int) -> int:
    """Returns the cost of waits for a processor: ranks wait for each other, so one delay may delay all."""
    return min(waited_ns * len(facts.ranks), facts.whole_ns)


def _taken_ns(facts: JobFacts) -> int:
    return sum(host.taken_ns for host in facts.hosts)


def _is_bound(rank: RankFacts) -> bool:
    return 0 < rank.n_usable_cpus < min(rank.times.n_threads, rank.n_host_cpus)


def _unable_ns(rank: RankFacts) -> int:
    """Returns the thread-time in regions of the threads that have no processor."""
    return (rank.times.n_threads - rank.n_usable_cpus) * rank.times.region_ns


def is_crowded(facts: JobFacts) -> bool:
    """True if threads of the job share processors, so that time in MPI does not reflect the program."""
    return any(True for judge in (one_core, crowded_hosts) for _ in judge(facts))


# ---------------------------------------------------------------- waiting for one rank


def late_rank(facts: JobFacts) -> Iterator[Evidence]:
    """Yields the rank for which the others wait in MPI, with the reason why it is late."""
    latest = facts.latest
    most_ns = latest.times.outside_mpi_ns
    lost_ns = sum(r.times.n_threads * (most_ns - r.times.outside_mpi_ns) for r in facts.ranks)
    if share(most_ns - facts.mean_outside_ns, facts.run_ns) < thresholds.LATE_RANK_SHARE:
        return
    reason = max(_REASONS, key=lambda one: _excess(facts, one.time_ns))
    is_explained = reason.kind == _PREEMPTED and any(disturbed(facts))
    if is_explained or (reason.kind != _WORK and is_crowded(facts)):
        return
    call = _costliest(facts, latest.rank.rank)
    times = ratio(share(most_ns, facts.mean_outside_ns))
    yield (
        evidence(
            f"rank {latest.rank.rank} is outside of MPI for {duration(most_ns)}, {times} times the mean of "
            f"the ranks{_as_late(facts)}{reason.words(facts)}; the others wait for it, "
            f"{percent(share(lost_ns, facts.whole_ns))} of the job's time{_where(call, latest.rank.rank)}",
            lost_ns,
            call.call.construct if call else None,
            kind=reason.kind,
            title=reason.title,
            cure=reason.cure(facts),
            rank=latest.rank.rank,
            ratio=share(most_ns, facts.mean_outside_ns),
        ),
        call.rank if call else -1,
    )


def _as_late(facts: JobFacts) -> str:
    """Returns how many other ranks are about as late, in words."""
    least_ns = facts.latest.times.outside_mpi_ns - (1 - _AS_LATE) * facts.run_ns
    n = sum(rank.times.outside_mpi_ns >= least_ns for rank in facts.ranks) - 1
    return f" ({plural(n, 'other rank')} about as long)" if n else ""


@dataclass(frozen=True, slots=True)
class _Reason:
    """A reason why a rank is outside of MPI for longer than others."""

    kind: str
    title: str
    time_ns: Callable[[JobFacts, RankFacts], float]  # the time that this reason lengthens, per thread
    words: Callable[[JobFacts], str]
    cure: Callable[[JobFacts], str]


def _excess(facts: JobFacts, time_ns: Callable[[JobFacts, RankFacts], float]) -> float:
    """Returns the excess of a time of the latest rank over the mean of all ranks."""
    return time_ns(facts, facts.latest) - fmean(time_ns(facts, rank) for rank in facts.ranks)


def _of_running(facts: JobFacts, rank: RankFacts) -> float:
    """Returns the time of the rank's work, plus the average wait for processors during that much work."""
    return _running_ns(rank) * (1 + _waits_per_work(facts))


def _of_others(facts: JobFacts, rank: RankFacts) -> float:
    """Returns the rank's waits for processors in excess of those in _of_running."""
    return _waiting_ns(rank) - _running_ns(rank) * _waits_per_work(facts)


def _waits_per_work(facts: JobFacts) -> float:
    return share(sum(map(_waiting_ns, facts.ranks)), sum(map(_running_ns, facts.ranks)))


def _running_ns(rank: RankFacts) -> float:
    return rank.times.useful_ns - rank.work_preempted_ns / rank.times.n_threads


def _waiting_ns(rank: RankFacts) -> float:
    return rank.late_ns / rank.times.n_threads


def _lost_ns(rank: RankFacts) -> float:
    """Returns the time outside of MPI without work; waits for a processor count in _waiting_ns instead."""
    other_ns = (rank.late_ns - rank.work_preempted_ns) / rank.times.n_threads
    return rank.times.region_loss_ns + rank.times.serial_loss_ns - other_ns


def _of_work(facts: JobFacts) -> str:
    mean = fmean(map(_running_ns, facts.ranks))
    words = f": its work takes {ratio(share(_running_ns(facts.latest), mean))} times the mean"
    relative = _relative_instructions(facts)
    if relative:
        words += f" and executes {ratio(relative)} times the mean number of instructions"
    return words


def _cure_of_work(facts: JobFacts) -> str:
    relative = _relative_instructions(facts)
    slower = share(_running_ns(facts.latest), fmean(map(_running_ns, facts.ranks)))
    if relative and relative - 1 < (slower - 1) / 2:
        return (
            "find out why its instructions take longer (a slower or shared processor, memory of another "
            "node, other data in caches): the number of instructions is even"
        )
    return "distribute the work over the ranks by its cost instead of its amount"


def _relative_instructions(facts: JobFacts) -> float:
    """Returns the instructions of the latest rank over the mean; 0 if they were not counted."""
    counted = [rank.computation.instructions for rank in facts.ranks]
    return share(facts.latest.computation.instructions, fmean(counted)) if all(counted) else 0.0


def _of_waiting(facts: JobFacts) -> str:
    return f": its threads waited for a processor for {duration(facts.latest.late_ns)}"


def _of_losing(facts: JobFacts) -> str:
    lost = share(_lost_ns(facts.latest), facts.latest.times.outside_mpi_ns)
    return f", although its work is even: its threads lack work for {percent(lost)} of that time"


_WORK: Final = "rank_imbalance"
_PREEMPTED: Final = "rank_preempted"
_REASONS: Final = (
    _Reason(_WORK, "Ranks have unequal work", _of_running, _of_work, _cure_of_work),
    _Reason(
        _PREEMPTED,
        "Ranks wait for a rank whose processors others use",
        _of_others,
        _of_waiting,
        lambda _: "measure on quiet hosts, and bind each rank to processors that nothing else uses",
    ),
    _Reason(
        "rank_threads",
        "Ranks wait for a rank that uses its threads badly",
        lambda _, rank: _lost_ns(rank),
        _of_losing,
        lambda facts: f"see the findings of rank {facts.latest.rank.rank} (--each)",
    ),
)


# ---------------------------------------------------------------- communication


def mpi_in_regions(facts: JobFacts) -> Iterator[Evidence]:
    """Yields time in MPI inside of parallel regions, while other threads have no task."""
    mpi_ns = sum(rank.times.mpi_inside_ns for rank in facts.ranks)
    idle_ns = sum(rank.idle_inside_ns for rank in facts.ranks)
    if share(mpi_ns, facts.whole_ns) < thresholds.MPI_INSIDE_SHARE or share(idle_ns, facts.whole_ns) < (
        thresholds.MPI_INSIDE_SHARE
    ):
        return
    call = facts.calls[0] if facts.calls else None
    named = f" (the job's longest calls are in {call.call.function})" if call else ""
    yield (
        evidence(
            f"threads spent {duration(mpi_ns)} in MPI inside of parallel regions{named}, while other threads "
            f"had no task for {duration(idle_ns)}: a task that waits in MPI keeps its thread, and the tasks "
            "that depend on it wait, too",
            min(mpi_ns + idle_ns, facts.whole_ns),
            call.call.construct if call else None,
            mpi_ns=mpi_ns,
            idle_ns=idle_ns,
        ),
        call.rank if call else -1,
    )


def communication(facts: JobFacts) -> Iterator[Evidence]:
    """Yields time in MPI that an even distribution of work would not remove."""
    most_ns = facts.latest.times.outside_mpi_ns
    lost_ns = facts.n_threads * (facts.run_ns - most_ns)
    # A rank that waits for a processor may delay all others.
    delayed_ns = sum(rank.late_ns for rank in facts.ranks) * (len(facts.ranks) - 1)
    if share(lost_ns - delayed_ns, facts.whole_ns) < thresholds.COMMUNICATION_SHARE or is_crowded(facts):
        return
    call = max(facts.calls, key=lambda one: one.time_of(facts.latest.rank.rank), default=None)
    lost = percent(share(lost_ns, facts.whole_ns))
    is_io = call is not None and call.call.kind == FILES
    is_late = call is not None and not is_io and _waits_for_late_ranks(facts, call)
    because = f"even the rank that is in MPI for the shortest time spends {lost} of the time there"
    if call:
        because += (
            f"; {count(call.n_calls)} calls of {call.call.function} took {duration(call.mean_ns)} each, "
            f"{percent(share(call.time_ns, _in_mpi_ns(facts)))} of the time in MPI"
        )
    if is_late:
        because += (
            ". Calls this long wait for ranks that come late, each in turn"
            if call and call.call.kind == COLLECTIVE
            else ". Calls this long wait for messages that are sent late (or are very large): ranks work one "
            "after the other"
        )
    yield (
        evidence(
            because,
            lost_ns,
            call.call.construct if call else None,
            kind="ranks_in_turn" if is_late else "mpi_files" if is_io else "",
            title="Ranks wait for each other in turn" if is_late else _FILES if is_io else "",
            cure=_IN_TURN if is_late else _IN_FILES if is_io else "",
            communication=share(most_ns, facts.run_ns),
        ),
        call.rank if call else -1,
    )


def _waits_for_late_ranks(facts: JobFacts, call: JobCall) -> bool:
    """True if late ranks cost more than transfers. Without a replay, the length of the calls decides."""
    serialisation = facts.efficiencies.known("mpi_serialisation")
    transfer = facts.efficiencies.known("mpi_transfer")
    if serialisation is not None and transfer is not None:
        return serialisation < transfer
    return _undelayed_ns(facts, call) >= thresholds.LONG_CALL_NS


def _undelayed_ns(facts: JobFacts, call: JobCall) -> float:
    """Returns the mean time of a call, without delays by waits for processors.

    A rank that waits for a processor delays its own call, and the ranks that wait for it.
    """
    delayed_ns = sum(rank.mpi_preempted_ns + rank.late_ns for rank in facts.ranks) * len(facts.ranks)
    return share(max(call.time_ns - delayed_ns, 0), call.n_calls)


def _in_mpi_ns(facts: JobFacts) -> int:
    """Returns the thread-time in MPI calls, without threads that only wait for them."""
    return sum(call.time_ns for call in facts.calls)


def _costliest(facts: JobFacts, late: int) -> JobCall | None:
    """Returns the calls in which the other ranks spend the most extra time compared with the late rank."""

    def waited_ns(call: JobCall) -> int:
        own_ns = call.time_of(late)
        return sum(max(ns - own_ns, 0) for rank, ns in call.by_rank if rank != late)

    return max(facts.calls, key=waited_ns, default=None)


def _where(call: JobCall | None, late: int) -> str:
    if call is None:
        return ""
    is_last = call.call.kind == COLLECTIVE and call.last == late
    arrives = f", where rank {late} arrives last" if is_last else ""
    return f", most in {call.call.function}{arrives}"


def _ranks(n: int, facts: JobFacts) -> str:
    return "all ranks" if n == len(facts.ranks) else f"{n} of {plural(len(facts.ranks), 'rank')}"


KINDS: Final = (
    JobKind("one_core", "processors", "Ranks have fewer processors than threads", one_core),
    JobKind(
        "crowded_hosts",
        "processors",
        "The ranks have more threads than the host has processors",
        crowded_hosts,
        _YIELD,
    ),
    JobKind(
        "disturbed",
        "processors",
        "Others used the processors",
        disturbed,
        "measure on quiet hosts, and bind each rank to processors that nothing else uses",
    ),
    JobKind("late_rank", "balance", "Ranks wait for one rank", late_rank),
    JobKind(
        "mpi_in_regions",
        "communication",
        "Tasks wait in MPI",
        mpi_in_regions,
        "use nonblocking calls in tasks, and complete them without a waiting thread (a detached task that is "
        "fulfilled when MPI_Test succeeds), create more tasks that can run meanwhile, or communicate outside "
        "of the tasks",
    ),
    JobKind(
        "communication",
        "communication",
        "Communication dominates",
        communication,
        "send fewer and larger messages, use collectives instead of loops of messages, overlap communication "
        "with computation (nonblocking calls), or use fewer ranks with more threads",
    ),
)
"""All kinds of problems of jobs, in the order in which the kinds of a family are tried."""
LEADING: Final = ("one_core", "crowded_hosts")
"""Kinds that distort all other figures. If the most expensive finding on the job has one of these kinds, it
precedes the findings on ranks."""


def find_job_causes(facts: JobFacts) -> tuple[Found, ...]:
    """Returns the problems of a job, most expensive first."""
    found: list[Found] = []
    explained: set[str] = set()
    for kind in KINDS:
        if kind.family in explained or facts.whole_ns < thresholds.JUDGED_THREAD_TIME_NS:
            continue
        for one, rank in kind.judge(facts):
            explained.add(kind.family)
            finding = Finding(
                one.kind or kind.name,
                "problem",
                one.title or kind.title,
                one.because,
                one.cure or kind.cure,
                one.cost_ns,
                one.construct,
                one.numbers,
            )
            found.append(Found(finding, rank))
    return tuple(sorted(found, key=lambda one: -one.finding.cost_ns))

# SPDX-License-Identifier: Apache-2.0
"""Each finding on a job appears for synthetic jobs that have its problem, and names rank, call and cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from made_runs import MS
from ompass.metrics.efficiency import Computation, IdealNetwork, RankTimes, efficiencies
from ompass.metrics.job_facts import JobFacts, MpiCall, RankFacts
from ompass.metrics.job_findings import Found, find_job_causes
from ompass.metrics.ranks import Job, Rank
from ompass.model import StateTimes

RUN = 1000 * MS


def rank(
    number: int,
    mpi_ms: int,
    *,
    work_ms: int | None = None,
    n_threads: int = 1,
    calls: Sequence[MpiCall] = (),
    host: str = "node",
    **fields: Any,
) -> RankFacts:
    """Makes a rank without regions. It works whenever it is not in MPI, or for `work_ms` if given."""
    mpi_ns = mpi_ms * MS
    work_ns = RUN - mpi_ns if work_ms is None else work_ms * MS
    times = RankTimes(n_threads, RUN, 0, mpi_ns, 0, work_ns, 0, 0)
    states = StateTimes(work_ns=work_ns)
    one = Rank(number, host, f"r{number}.ompass", n_threads, RUN, states, 0, 0, times)
    return RankFacts(one, times, tuple(calls), **{"n_usable_cpus": 8, "n_host_cpus": 8, **fields})


def call(
    function: str, time_ms: float, n_calls: int = 10, kind: str = "collective", construct: int = 3
) -> MpiCall:
    return MpiCall(function, kind, "solver.c:40", construct, n_calls, int(time_ms * MS))


def found_in(ranks: Sequence[RankFacts]) -> tuple[Found, ...]:
    job = Job(tuple(each.rank for each in ranks))
    return find_job_causes(JobFacts(job, efficiencies([each.times for each in ranks]), ranks))


def kinds(ranks: Sequence[RankFacts]) -> list[str]:
    return [each.finding.kind for each in found_in(ranks)]


def test_an_even_job_with_little_communication_has_no_finding() -> None:
    assert kinds([rank(k, 30, calls=[call("MPI_Allreduce", 30)]) for k in range(4)]) == []


def uneven() -> list[RankFacts]:
    return [
        rank(k, 500 if k != 2 else 0, calls=[call("MPI_Allreduce", 500 if k != 2 else 0)]) for k in range(4)
    ]


def test_the_rank_with_more_work_is_named_with_the_call_where_others_wait() -> None:
    (found,) = found_in(uneven())
    finding = found.finding
    assert finding.kind == "rank_imbalance"
    assert "rank 2 is outside of MPI for 1 s, 1.60 times the mean" in finding.because
    assert "its work takes 1.60 times the mean" in finding.because
    assert "MPI_Allreduce, where rank 2 arrives last" in finding.because
    assert finding.cost_ns == 3 * 500 * MS
    assert finding.construct == 3
    assert found.rank in (0, 1, 3)
    assert "by its cost" in finding.cure


def test_a_finding_names_a_construct_of_the_run_of_its_rank() -> None:
    # Rank 1 has the most expensive entry, rank 0 the largest sum over two constructs at one place.
    several = [call("MPI_Allreduce", ms, construct=construct) for construct, ms in ((4, 300), (5, 310))]
    ranks = [
        rank(0, 610, calls=several),
        rank(1, 400, calls=[call("MPI_Allreduce", 400, construct=6)]),
        rank(2, 0, calls=[call("MPI_Allreduce", 0)]),
    ]
    (found,) = found_in(ranks)
    assert (found.rank, found.finding.construct) == (0, 5)


def test_equal_numbers_of_instructions_show_slow_instructions() -> None:
    even = [replace(one, computation=Computation(1, 10**9, 10**9)) for one in uneven()]
    finding = found_in(even)[0].finding
    assert "executes 1.00 times the mean number of instructions" in finding.because
    assert "why its instructions take longer" in finding.cure
    more = [replace(one, computation=Computation(1, one.times.work_outside_ns, 10**9)) for one in uneven()]
    finding = found_in(more)[0].finding
    assert "executes 1.60 times the mean" in finding.because
    assert "by its cost" in finding.cure


def test_preempted_work_is_not_imbalance_of_work() -> None:
    ranks = uneven()
    ranks[2] = replace(ranks[2], preempted_ns=500 * MS, late_ns=500 * MS, work_preempted_ns=500 * MS)
    assert kinds(ranks) == ["disturbed"]
    finding = found_in(ranks)[0].finding
    assert "waited 500 ms, 12.5% of the job's time" in finding.because
    assert "100% of it on rank 2" in finding.because
    assert "quiet hosts" in finding.cure


def test_ranks_that_are_not_bound_may_have_disturbed_each_other() -> None:
    disturbed = [rank(k, 0, preempted_ns=100 * MS, n_host_cpus=2, n_usable_cpus=2) for k in range(2)]
    (found,) = found_in(disturbed)
    assert "the launcher or, because ranks are not bound, other ranks used" in found.finding.because
    (found,) = found_in([replace(one, n_usable_cpus=1) for one in disturbed])
    assert "processors that other programs used" in found.finding.because


def test_one_rank_that_waits_for_its_processors_delays_all_ranks() -> None:
    ranks = [rank(k, 400 if k else 0) for k in range(16)]
    ranks[0] = replace(ranks[0], preempted_ns=400 * MS, late_ns=400 * MS, work_preempted_ns=400 * MS)
    finding = found_in(ranks)[0].finding
    assert kinds(ranks)[0] == "rank_preempted"
    assert "waited for a processor for 400 ms" in finding.because
    assert "quiet hosts" in finding.cure


def test_preemption_does_not_make_calls_long() -> None:
    calls = [call("MPI_Recv", 500, 250, "point-to-point")]
    ranks = [rank(k, 500, calls=calls, preempted_ns=MS, mpi_preempted_ns=MS) for k in range(2)]
    assert kinds(ranks) == ["ranks_in_turn"]
    delayed = [replace(one, preempted_ns=140 * MS, mpi_preempted_ns=140 * MS) for one in ranks]
    assert sorted(kinds(delayed)) == ["communication", "disturbed"]


def test_equally_preempted_ranks_can_have_unequal_work() -> None:
    late = [dict.fromkeys(("preempted_ns", "late_ns", "work_preempted_ns"), ms * MS) for ms in (300, 600)]
    ranks = [replace(rank(k, 500 - 500 * k), **late[k]) for k in range(2)]  # type: ignore[arg-type]
    assert kinds(ranks) == ["disturbed", "rank_imbalance"]
    assert "its work takes 1.33 times the mean" in found_in(ranks)[1].finding.because


def test_a_rank_that_uses_its_threads_badly_is_distinguished_from_one_with_more_work() -> None:
    ranks = [rank(k, 500 if k else 0, n_threads=2, work_ms=450) for k in range(4)]
    finding = found_in(ranks)[0].finding
    assert finding.kind == "rank_threads"
    assert "although its work is even" in finding.because
    assert "rank 0" in finding.cure


def test_many_short_calls_show_that_communication_dominates() -> None:
    ranks = [rank(k, 400, calls=[call("MPI_Send", 300, 100_000, "point-to-point")]) for k in range(4)]
    (found,) = found_in(ranks)
    assert found.finding.kind == "communication"
    assert "400,000 calls of MPI_Send took 3 µs each" in found.finding.because
    assert "100%" in found.finding.because
    assert found.finding.cost_ns == 4 * 400 * MS


def test_long_calls_of_even_ranks_show_that_ranks_work_one_after_the_other() -> None:
    ranks = [rank(k, 750, calls=[call("MPI_Recv", 750, 3, "point-to-point")]) for k in range(4)]
    (found,) = found_in(ranks)
    assert found.finding.kind == "ranks_in_turn"
    assert "sent late" in found.finding.because
    collective = [rank(k, 750, calls=[call("MPI_Barrier", 750, 3)]) for k in range(4)]
    assert "each in turn" in found_in(collective)[0].finding.because


def test_a_replay_decides_between_late_ranks_and_transfers() -> None:
    def kind(ideal_ms: int, n_calls: int) -> str:
        calls = [call("MPI_Recv", 500, n_calls, "point-to-point")]
        ranks = [rank(k, 500, calls=calls) for k in range(2)]
        job = Job(tuple(each.rank for each in ranks), IdealNetwork(ideal_ms * MS, ""))
        assert job.efficiencies is not None
        return find_job_causes(JobFacts(job, job.efficiencies, ranks))[0].finding.kind

    assert kind(990, 100_000) == "ranks_in_turn"
    assert kind(510, 3) == "communication"


def test_calls_for_files_are_not_communication() -> None:
    ranks = [
        rank(k, 400, calls=[call("MPI_File_write_all", 350, 4, "I/O"), call("MPI_Send", 20)])
        for k in range(4)
    ]
    (found,) = found_in(ranks)
    assert found.finding.kind == "mpi_files"
    assert "MPI_File_write_all" in found.finding.because
    assert "cb_nodes" in found.finding.cure


def test_the_costliest_call_of_the_latest_rank_explains_the_communication() -> None:
    waits = [call("MPI_Allreduce", 400, 1000), call("MPI_Send", 100, 10_000, "point-to-point", 4)]
    late = [call("MPI_Allreduce", 5, 1000), call("MPI_Send", 195, 10_000, "point-to-point", 4)]
    ranks = [rank(k, 200 if k == 2 else 500, calls=late if k == 2 else waits) for k in range(4)]
    by_kind = {found.finding.kind: found.finding for found in found_in(ranks)}
    assert "10,000 calls" not in by_kind["rank_imbalance"].because
    assert "MPI_Allreduce, where rank 2" in by_kind["rank_imbalance"].because
    assert "40,000 calls of MPI_Send" in by_kind["communication"].because


def test_ranks_that_are_about_as_late_are_counted() -> None:
    ranks = [rank(k, 0 if k > 5 else 500) for k in range(8)]
    assert "(1 other rank about as long)" in found_in(ranks)[0].finding.because
    assert "about as long" not in found_in(uneven())[0].finding.because


def test_mpi_in_regions_with_idle_threads_explains_the_communication() -> None:
    times = RankTimes(2, RUN, RUN, 0, 500 * MS, 0, 700 * MS, 0)
    ranks = [
        replace(
            rank(k, 0, n_threads=2, calls=[call("MPI_Recv", 700, 10, "point-to-point")]),
            times=times,
            idle_inside_ns=800 * MS,
        )
        for k in range(2)
    ]
    assert kinds(ranks) == ["mpi_in_regions"]
    finding = found_in(ranks)[0].finding
    assert "longest calls are in MPI_Recv" in finding.because
    busy = [replace(one, idle_inside_ns=0) for one in ranks]
    assert "mpi_in_regions" not in kinds(busy)


def test_ranks_on_one_core_get_the_options_of_their_launcher() -> None:
    times = RankTimes(4, RUN, 900 * MS, 0, 900 * MS, 100 * MS, 0, 0)
    ranks = [
        replace(rank(k, 0, n_threads=4, n_usable_cpus=1), times=times, preempted_ns=2700 * MS)
        for k in range(2)
    ]
    first = found_in(ranks)[0].finding
    assert first.kind == "one_core"
    assert "all ranks have 4 threads on 1 processor, although the host has 8" in first.because
    for option in ("slot:PE=4", "--bind-to none", "-bind-to core:4", "--cpus-per-task=4"):
        assert option in first.cure
    whole = [replace(one, n_host_cpus=1) for one in ranks]
    assert "one_core" not in kinds(whole)


def test_more_ranks_than_processors_explain_the_other_findings() -> None:
    ranks = [
        rank(
            k, 700, calls=[call("MPI_Barrier", 700, 3)], n_usable_cpus=2, n_host_cpus=2, preempted_ns=600 * MS
        )
        for k in range(8)
    ]
    assert kinds(ranks) == ["crowded_hosts"]
    because = found_in(ranks)[0].finding.because
    assert "8 ranks with 8 threads share 2 processors of node" in because
    # Threads also waited during MPI_Init, which the ranks' times exclude.
    long = [replace(one, preempted_ns=1200 * MS, program_ns=2 * RUN) for one in ranks]
    assert "threads waited for a processor 60.0% of their time" in found_in(long)[0].finding.because
    apart = [replace(one, rank=replace(one.rank, host=f"node{k}")) for k, one in enumerate(ranks)]
    assert "crowded_hosts" not in kinds(apart)


def test_threads_that_sleep_do_not_crowd_their_host() -> None:
    few: dict[str, Any] = {"n_threads": 2, "n_usable_cpus": 2, "n_host_cpus": 2, "program_wall_ns": RUN}
    ranks = [rank(k, 500, **few, program_ns=2 * RUN, blocked_ns=RUN, preempted_ns=300 * MS) for k in range(2)]
    assert set(kinds(ranks)) == {"communication", "disturbed"}
    awake = [replace(one, blocked_ns=0) for one in ranks]
    assert kinds(awake) == ["crowded_hosts"]


def test_ranks_on_one_core_need_no_second_core_if_their_other_threads_sleep() -> None:
    times = RankTimes(2, RUN, 900 * MS, 0, 900 * MS, 100 * MS, 0, 0)
    ranks = [replace(rank(k, 0, n_threads=2, n_usable_cpus=1), times=times) for k in range(2)]
    assert "one_core" not in kinds(ranks)
    assert kinds([replace(one, knows_waits=False) for one in ranks]) == ["one_core"]


def test_uneven_work_is_found_even_if_ranks_share_processors() -> None:
    crowd: dict[str, Any] = {"n_usable_cpus": 2, "n_host_cpus": 2, "preempted_ns": 300 * MS}
    ranks = [rank(k, 500 if k else 0, **crowd) for k in range(4)]
    assert kinds(ranks) == ["crowded_hosts", "rank_imbalance"]

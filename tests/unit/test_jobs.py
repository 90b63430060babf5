# SPDX-License-Identifier: Apache-2.0
"""Jobs: their runs, the balance of work among their ranks, and the results of worker processes."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_jobs import rank_content
from made_runs import MS, made_run, team, thread
from made_traces import Schedule, Work, write_trace
from ompass import _core
from ompass.errors import UsageError
from ompass.figures.run import RUN_FIGURES
from ompass.jobs.content import job_of_reports, jobs_of
from ompass.metrics.breakdown import time_breakdown
from ompass.metrics.ranks import Job, Rank, job_of, preempted_work_ns
from ompass.model import StateTimes
from ompass.page.assemble import RunPart, html_report
from ompass.reports.content import ReportContent, collect
from ompass.reports.job import job_report, printed_job_report, ranks_to_show
from ompass.reports.model import Advice, plain
from ompass.reports.terminal import TerminalConsole, print_report
from ompass.workers import Workers

_WITH_MESSAGES = 11  # a version whose traces have the messages of MPI calls


def rank(number: int, work_ns: int, idle_ns: int = 0, n_threads: int = 2) -> Rank:
    states = StateTimes(work_ns=work_ns * n_threads, idle_ns=idle_ns * n_threads)
    return Rank(number, "node", f"r{number}.ompass", n_threads, work_ns + idle_ns, states, 1)


jobs = st.lists(
    st.tuples(st.integers(1, 10**12), st.integers(0, 10**12), st.integers(1, 64)), min_size=2, max_size=20
).map(lambda parts: Job(tuple(rank(k, *part) for k, part in enumerate(parts))))


@given(jobs)
def test_imbalance_is_the_largest_work_over_the_mean(job: Job) -> None:
    work = [each.states.work_ns for each in job.ranks]
    assert job.imbalance == pytest.approx(max(work) / fmean(work))
    assert job.imbalance * (1 + 1e-9) >= 1
    assert job.imbalance <= len(work) * (1 + 1e-9)
    assert fmean(job.relative_work(each) for each in job.ranks) == pytest.approx(1)
    assert max(job.relative_work(each) for each in job.ranks) == pytest.approx(job.imbalance)


@given(jobs)
def test_states_and_lost_time_add_up_to_the_thread_time_of_the_job(job: Job) -> None:
    n_threads = sum(each.n_threads for each in job.ranks)
    assert job.lost_ns + job.states.total_ns == n_threads * job.wall_ns
    assert 0 <= job.lost_share < 1


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=16).filter(any))
def test_imbalance_of_a_region_is_the_largest_work_of_a_thread_over_the_mean(work: list[int]) -> None:
    longest = max(work)
    rows = team(0, [{"work_ns": w, "idle_ns": longest - w} for w in work])
    region = time_breakdown(made_run(rows)).regions[0]
    assert region.imbalance == pytest.approx(longest / fmean(work))


def test_runs_are_a_job_when_each_has_a_rank_of_its_own() -> None:
    first, second = rank(0, 5), rank(1, 5)
    assert job_of([second, first]) == Job((first, second))
    assert job_of([first]) is None
    assert job_of([first, None]) is None
    assert job_of([first, second, rank(0, 7)]) is None


def report_of(folder: Path, number: int, work_ns: int) -> ReportContent:
    """Makes the report of a rank, and its directory with the rank's number in meta.json."""
    path = folder / f"r{number:04}.ompass"
    path.mkdir()
    (path / "meta.json").write_text(json.dumps({"rank": number, "host": "node"}))
    run = made_run(team(0, [{"work_ns": work_ns}] * 2))
    return collect(run.replace(path=path))


def test_the_least_and_the_most_loaded_of_many_ranks_are_reported(tmp_path: Path) -> None:
    contents = [report_of(tmp_path, k, (1 + (k * 7) % 50) * MS) for k in range(50)]
    job = job_of_reports(contents)
    assert job is not None
    shown = ranks_to_show(job, contents)
    assert {c.breakdown.states.work_ns for c in shown} == {2 * MS, 100 * MS}
    values = plain(job_report(job))
    assert [one["rank"] for one in values["ranks"]] == list(range(50))
    figure = RUN_FIGURES["breakdown"].make(contents)
    assert figure is not None
    assert len({row["bar"] for row in figure["data"]["values"]}) == 50
    page = html_report([RunPart(content) for content in shown], [], contents)
    assert "The job: 50 ranks" in page
    assert page.count("<article") == 2


@pytest.mark.parametrize("width", [50, 80, 110, 200])
def test_the_table_of_256_ranks_cuts_no_figure(tmp_path: Path, width: int) -> None:
    job = Job(tuple(rank(k, (1 + k % 7) * 1_234_567, 7_654_321) for k in range(256)))
    out = io.StringIO()
    print_report(TerminalConsole(file=out, width=width), job_report(job))
    lines = out.getvalue().splitlines()
    assert "…" not in out.getvalue()
    assert max(map(len, lines)) <= width
    head = next(line for line in lines if line.split()[:1] == ["rank"])
    assert head.split()[:4] == ["rank", "threads", "time", "thread-time"]
    assert any("and 224 more ranks" in line for line in lines)
    assert head.index("rank") < 8, "an empty column precedes it"


def test_two_ranks_are_both_shown(tmp_path: Path) -> None:
    contents = [report_of(tmp_path, k, (k + 1) * MS) for k in range(2)]
    job = job_of_reports(contents)
    assert job is not None
    assert ranks_to_show(job, contents) == contents
    assert job.imbalance == pytest.approx(4 / 3)


def named(path: Path, work_ns: int) -> ReportContent:
    run = made_run(team(0, [{"work_ns": work_ns + len(path.name)}] * 2))
    return collect(run.replace(path=path))


def refused(path: Path) -> ReportContent:
    raise UsageError(f"{path}", "it is not wanted", "go away")


@pytest.mark.parametrize("processes", [0, 2])
def test_workers_return_results_in_the_order_of_the_runs(processes: int) -> None:
    paths = [Path(f"{'x' * k}.ompass") for k in (3, 1, 2)]
    found = Workers(processes=processes).map(partial(named, work_ns=MS), paths)
    assert [content.run.path for content in found] == paths
    assert [content.breakdown.states.work_ns for content in found] == [
        2 * (MS + len(path.name)) for path in paths
    ]


@pytest.mark.parametrize(
    ("workers", "log_bytes", "n_runs", "n_processors"),
    [
        (Workers(), 1 << 30, 2, 4),
        (Workers(), 1 << 30, 20, 1),
        (Workers(), 1 << 10, 2, 8),  # one run after the other
        (Workers(), 1 << 30, 1, 8),
        (Workers(processes=6), 1 << 10, 2, 3),
        (Workers(processes=1), 1 << 30, 2, 1),
        (Workers("tcp://there"), 1 << 30, 2, 0),
        (Workers("tcp://there", 6), 1 << 30, 2, 3),
    ],
)
def test_processes_share_the_processors(
    workers: Workers, log_bytes: int, n_runs: int, n_processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ompass.workers._log_bytes", lambda _: log_bytes)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert workers.processors_each([Path(f"{k}.ompass") for k in range(n_runs)]) == n_processors


@pytest.mark.parametrize("processes", [0, 2])
def test_map_raises_the_error_of_a_worker(processes: int) -> None:
    with pytest.raises(UsageError) as raised:
        Workers(processes=processes).map(refused, [Path("a.ompass"), Path("b.ompass")])
    assert raised.value.one_line() == "a.ompass: it is not wanted; go away"


# ---------------------------------------------------------------- MPI


def test_work_that_waited_for_a_processor_is_not_imbalance() -> None:
    first, second = rank(0, 100 * MS), rank(1, 300 * MS)
    waited = replace(second, preempted_ns=second.states.work_ns - first.states.work_ns)
    assert Job((first, second)).imbalance == pytest.approx(1.5)
    assert Job((first, waited)).imbalance == 1
    assert Job((first, waited)).preempted_share == pytest.approx(0.5)
    assert Job((first, waited)).relative_work(waited) == 1


def test_preempted_work_is_known_by_state_or_bounded_by_the_time_on_processors() -> None:
    states = {"work_ns": 80 * MS, "idle_ns": 20 * MS}
    by_state = team(0, [states | {"work_preempted_ns": 30 * MS, "preempted_ns": 50 * MS}] * 2)
    assert preempted_work_ns(time_breakdown(made_run(by_state))) == 60 * MS
    by_clock = team(0, [states | {"preempted_ns": 50 * MS}] * 2)
    threads = [thread(n, cpu_source="clocks") for n in range(2)]
    assert preempted_work_ns(time_breakdown(made_run(by_clock, threads=threads))) == 60 * MS
    unknown = [thread(n, cpu_source="") for n in range(2)]
    assert preempted_work_ns(time_breakdown(made_run(by_state, threads=unknown))) == 0


def test_the_report_has_the_efficiencies_and_names_the_late_rank(tmp_path: Path) -> None:
    contents = [
        rank_content(tmp_path, k, work_ms=900 if k == 1 else 450, mpi_ms=1 if k == 1 else 450)
        for k in range(4)
    ]
    job = job_of_reports(contents)
    assert job is not None
    values = plain(job_report(job, contents))
    found = values["efficiencies"]
    assert found["multiplicative"]["mpi_load_balance"] == pytest.approx(562.5 / 900)
    assert found["multiplicative"]["mpi_transfer"] is None
    assert found["additive"]["mpi_load_balance"] == pytest.approx(1 - 337.5 / 901)
    assert found["talp"]["mpi"] == pytest.approx(1 - (1 + 3 * 451) / (4 * 901))
    assert [finding["kind"] for finding in values["findings"]] == ["rank_imbalance"]
    out = io.StringIO()
    print_report(TerminalConsole(file=out, width=120), printed_job_report(job, contents))
    text = " ".join(out.getvalue().split())
    # 4 ranks of 2 threads: 4500 ms of work, 2702 ms in MPI
    assert "62.5% of the time of 8 threads is work, 37.5% is spent in MPI: ranks have unequal work" in text
    assert values["whole"]["mpi_ns"] == 2 * (1 + 3 * 450) * MS
    assert "MPI load balance 62.5%: the ranks wait in MPI for rank 1" in text
    assert "Parallel efficiency: hybrid 62.4%, MPI 62.4%, OpenMP 100% (--full shows all)." in text
    narrow = io.StringIO()
    print_report(TerminalConsole(file=narrow, width=80), printed_job_report(job, contents))
    assert len(narrow.getvalue().rstrip().splitlines()) <= 40
    assert "1.60 times the mean" in text
    assert "MPI transfer" not in text.partition("Efficiencies")[2].partition("The ranks")[0]
    page = html_report([RunPart(content) for content in contents[:1]], [], contents)
    assert "Ranks have unequal work" in page
    assert "TALP" in page


def test_findings_on_the_program_precede_a_disturbed_machine(tmp_path: Path) -> None:
    late: dict[str, Any] = {"preempted_ns": 300 * MS, "work_preempted_ns": 300 * MS}
    contents = [
        rank_content(tmp_path, k, work_ms=900 if k else 450, mpi_ms=1 if k else 450, **late) for k in range(2)
    ]
    job = job_of_reports(contents)
    assert job is not None
    findings = printed_job_report(job, contents).sections[0].parts
    titles = [part.title for part in findings if isinstance(part, Advice)]
    assert titles[0] == "Ranks have unequal work"
    assert any("Others used the processors" in title for title in titles[1:])


def test_efficiencies_are_unknown_without_calls_of_mpi(tmp_path: Path) -> None:
    contents = [rank_content(tmp_path, k, work_ms=100 + 100 * k) for k in range(2)]
    job = job_of_reports(contents)
    assert job is not None
    values = plain(job_report(job, contents))
    assert values["efficiencies"] is None
    assert values["findings"] == []
    out = io.StringIO()
    print_report(TerminalConsole(file=out, width=120), printed_job_report(job, contents))
    text = " ".join(out.getvalue().split())
    assert "Efficiencies are not known" in text
    assert "Ranks have unequal work" in text


def test_a_single_rank_in_mpi_has_a_finding(tmp_path: Path) -> None:
    content = rank_content(tmp_path, 0, work_ms=200, mpi_ms=800)
    found = next(each for each in content.findings if each.kind == "time_in_mpi")
    assert "in MPI for 800 ms, 80.0% of its time" in found.because
    little = rank_content(tmp_path, 1, work_ms=950, mpi_ms=50)
    assert not any(each.kind == "time_in_mpi" for each in little.findings)


def test_ranks_of_one_launch_are_one_job(tmp_path: Path) -> None:
    runs = [
        rank_content(tmp_path, k, work_ms=100, start_ms=start, launch=launch)
        for launch, start in (("a", 0), ("b", 1000))
        for k in (1, 0)
    ]
    assert jobs_of(runs) == [(runs[1], runs[0]), (runs[3], runs[2])]


def test_ranks_without_a_launch_are_one_job_if_they_ran_at_the_same_time(tmp_path: Path) -> None:
    runs = [
        rank_content(tmp_path, k, work_ms=100, start_ms=start + k) for start in (0, 1000) for k in range(2)
    ]
    assert jobs_of(runs) == [(runs[0], runs[1]), (runs[2], runs[3])]


def test_ranks_with_a_launch_for_each_host_are_one_job(tmp_path: Path) -> None:
    runs = [rank_content(tmp_path, k, work_ms=100, launch=f"host{k // 2}", start_ms=k // 2) for k in range(4)]
    assert jobs_of(runs) == [tuple(runs)]


def test_repeated_ranks_and_runs_without_rank_are_jobs_of_their_own(tmp_path: Path) -> None:
    repeated = [rank_content(tmp_path, 0, work_ms=100, start_ms=k) for k in range(2)]
    assert jobs_of(repeated) == [(repeated[0],), (repeated[1],)]
    single = [rank_content(tmp_path, None, work_ms=100, start_ms=k, name=f"s{k}.ompass") for k in range(2)]
    assert jobs_of(single) == [(single[0],), (single[1],)]


def test_a_run_without_a_rank_does_not_join_the_job_of_later_ranks(tmp_path: Path) -> None:
    single = rank_content(tmp_path, None, work_ms=100, name="s.ompass")
    ranks = [rank_content(tmp_path, k, work_ms=100, start_ms=1 + k) for k in range(2)]
    assert jobs_of([single, *ranks]) == [(single,), tuple(ranks)]


def test_a_thread_that_the_program_created_adds_no_time_to_its_rank(tmp_path: Path) -> None:
    alone, both = (Schedule((Work(100),), 1) for _ in range(2))
    both.workers += Schedule((Work(50),), 1, first=1).workers  # another initial thread, with its own region
    times = [
        _core.ideal_network([str(write_trace(tmp_path / name, schedule, version=_WITH_MESSAGES))], [0])
        for name, schedule in (("alone.ompass", alone), ("both.ompass", both))
    ]
    assert times[0] == times[1]
    assert times[0][0]

# SPDX-License-Identifier: Apache-2.0
"""The scaling of MPI jobs by ranks and threads, the factor that limits it, and the comparison of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from made_jobs import rank_content
from made_runs import MS, region
from ompass.comparison import command as compare_command
from ompass.comparison.content import compare_sides, side_of
from ompass.errors import UsageError
from ompass.jobs.report import job_scaling_report
from ompass.jobs.scaling import job_scaling
from ompass.metrics.breakdown import Scope
from ompass.reports.content import ReportContent, collect
from ompass.reports.model import plain
from ompass.scaling.content import collect_scaling, recorded_sweep


def job(folder: Path, n_ranks: int, n_threads: int, work_ms: int, mpi_ms: int) -> list[ReportContent]:
    where = folder / f"{n_ranks}x{n_threads}-{mpi_ms}"
    return [
        rank_content(where, k, work_ms=work_ms, mpi_ms=mpi_ms, n_threads=n_threads) for k in range(n_ranks)
    ]


def test_points_have_efficiencies_by_ranks_and_threads(tmp_path: Path) -> None:
    jobs = [job(tmp_path, 4, 2, 100, 100), job(tmp_path, 1, 2, 400, 0), job(tmp_path, 2, 2, 200, 50)]
    content = job_scaling(jobs)
    assert [point.name for point in content.points] == ["1 x 2", "2 x 2", "4 x 2"]
    assert [point.speedup for point in content.points] == pytest.approx([1, 1.6, 2])
    last = content.judged.efficiencies
    assert last["mpi_communication"] == pytest.approx(0.5)
    assert last["computation"] == pytest.approx(1)
    assert last["global"] == pytest.approx(0.5)
    assert content.expected == 4
    assert content.cause == "mpi_communication"
    report = job_scaling_report(content)
    assert report.title == "ompass scale · 3 sizes of a job · 1 round each"
    assert "4 x 2 (ranks x threads) the job is 2.00 times as fast as on 1 x 2 (ideal: 4.00)" in report.verdict
    assert "MPI communication falls from 100% to 50.0%" in report.verdict
    values = plain(report)
    assert [(p["ranks"], p["threads"], p["jobs"]) for p in values["points"]] == [
        (1, 2, 1),
        (2, 2, 1),
        (4, 2, 1),
    ]
    assert values["points"][2]["efficiencies"]["mpi_transfer"] is None
    assert values["points"][2]["computation"]["instructions"] is None
    assert values["cause"] == "mpi_communication"


def test_replicated_work_lowers_the_computation(tmp_path: Path) -> None:
    content = job_scaling([job(tmp_path, 1, 1, 400, 0), job(tmp_path, 4, 1, 200, 5)])
    assert content.judged.efficiencies["computation"] == pytest.approx(0.5)
    assert content.cause == "computation"


def test_threads_that_share_processors_are_the_cause_and_not_slow_computation(tmp_path: Path) -> None:
    crowd = [
        rank_content(
            tmp_path / "crowd",
            k,
            work_ms=200,
            mpi_ms=5,
            n_threads=1,
            preempted_ns=100 * MS,
            work_preempted_ns=100 * MS,
        )
        for k in range(4)
    ]
    content = job_scaling([job(tmp_path, 1, 1, 400, 0), crowd])
    assert content.judged.efficiencies["computation"] == pytest.approx(1)
    assert content.judged.efficiencies["processors"] == pytest.approx(0.5)
    assert content.judged.efficiencies["global"] == pytest.approx(0.5 * 200 / 205)
    assert content.cause == "processors"
    assert "work with a processor falls from 100% to 50.0%" in job_scaling_report(content).verdict


def test_a_job_that_scales_has_no_cause(tmp_path: Path) -> None:
    content = job_scaling([job(tmp_path, 1, 1, 400, 0), job(tmp_path, 4, 1, 100, 2)])
    assert content.cause == ""
    assert content.findings == ()


def test_repeats_are_averaged(tmp_path: Path) -> None:
    content = job_scaling([job(tmp_path, 2, 1, 100, 10), job(tmp_path, 2, 1, 100, 30)])
    (point,) = content.points
    assert (point.time_ns, point.low_ns, point.high_ns) == (120 * MS, 110 * MS, 130 * MS)
    assert point.efficiencies["mpi_communication"] == pytest.approx((100 / 110 + 100 / 130) / 2)


def test_efficiencies_without_mpi_calls_are_not_known(tmp_path: Path) -> None:
    content = job_scaling([job(tmp_path, 1, 1, 400, 0), job(tmp_path, 2, 1, 300, 0)])
    assert "parallel" not in content.judged.efficiencies
    assert content.judged.efficiencies["global"] is None
    (section,) = job_scaling_report(content).sections
    assert any("2 x 1 are not known" in part for part in section.parts if isinstance(part, str))


def test_single_runs_recorded_one_by_one_are_a_sweep(tmp_path: Path) -> None:
    runs = [
        rank_content(tmp_path, None, work_ms=400 // n, n_threads=n, name=f"t{n}-{k}.ompass", start_ms=k)
        for n in (1, 2, 4)
        for k in range(2)
    ]
    found, spec = recorded_sweep(runs, Scope.REGIONS)
    content = collect_scaling(found, spec, Scope.REGIONS, "--from .")
    assert [column.point.threads for column in content.columns] == [1, 2, 4]
    assert [column.n_rounds for column in content.columns] == [2, 2, 2]
    assert content.columns[2].point.speedup == pytest.approx(4)


def with_more_threads(content: ReportContent, n_regions: int) -> ReportContent:
    """Adds regions on one thread each, one after another, each led by a new thread."""
    rows = [region(0, 10 + k, n_primary=1, work_ns=MS, wall_ns=MS) for k in range(n_regions)]
    return collect(content.run.replace(regions=(*content.run.regions, *rows)))


def test_threads_that_take_turns_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [
        with_more_threads(
            rank_content(tmp_path, None, work_ms=400 // n, n_threads=n, name=f"t{n}-{k}.ompass"), 3 + k
        )
        for n in (1, 2)
        for k in range(2)
    ]
    found, _ = recorded_sweep(runs, Scope.REGIONS)
    assert [(one.threads, one.samples.n_rounds) for one in found] == [(1, 2), (2, 2)]
    monkeypatch.setattr(compare_command, "runs_in", lambda _: [0, 1])
    monkeypatch.setattr(compare_command, "open_run", lambda k: k)
    monkeypatch.setattr(compare_command, "collect", lambda k, scope: runs[2 + k])
    assert list(compare_command._side(tmp_path, Scope.REGIONS).repeats) == [2], "no error"


def test_a_sweep_of_single_runs_needs_a_run_on_one_thread(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="they are on 2"):
        recorded_sweep([rank_content(tmp_path, None, work_ms=10, name="a.ompass")], Scope.REGIONS)


def test_jobs_are_compared_as_wholes(tmp_path: Path) -> None:
    sides = [
        side_of(name, {4: [(job(tmp_path, 2, 2, work, mpi), (work + mpi) * MS)]}, False)
        for name, work, mpi in (("before", 100, 10), ("after", 50, 20))
    ]
    (compared,) = compare_sides(sides[0], sides[1], Scope.REGIONS).compared
    of_job = {change.figure: change for change in compared.changes if change.key is None}
    assert (of_job["time"].before, of_job["time"].after) == ((110 * MS,), (70 * MS,))
    assert (of_job["work"].before, of_job["work"].after) == ((400 * MS,), (200 * MS,))
    counts = {count.figure: (count.before, count.after) for count in compared.counts}
    assert counts["ranks"] == ((2,), (2,))
    assert counts["threads"] == ((4,), (4,))
    efficiencies = {name: (before, after) for name, before, after in compared.efficiencies}
    assert efficiencies["MPI communication"] == pytest.approx((100 / 110, 50 / 70))
    assert "MPI transfer" not in efficiencies

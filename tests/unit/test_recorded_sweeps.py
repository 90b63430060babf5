# SPDX-License-Identifier: Apache-2.0
"""Recorded sweeps: the verdict names the right disease, and every formula of scaling holds.

The diseases come from Acar et al., Fig. 3: too fine tasks, too coarse tasks, and memory-bound work. Neither
health nor cilksort saturates the memory of two cores, so a test lengthens the recorded work of cilksort.
"""

from __future__ import annotations

import io
import math

import pytest

from ompass.metrics.breakdown import Scope, time_breakdown
from ompass.model import Run
from ompass.reports.model import Report, Table
from ompass.reports.terminal import TerminalConsole, print_report
from ompass.scaling.content import NumberOfThreads, SweepRuns, collect_scaling
from ompass.scaling.metrics import CURVES, scaling_point
from ompass.scaling.plan import SweepSpec
from ompass.scaling.report import brief_scaling, scaling_report
from ompass.scaling.verdict import gaps
from recorded_sweeps import RecordedSweep, recorded_sweep, sweep_runs

NAMES = (
    "health-fine",
    "health-coarse",
    "health-well",
    "cilksort-fine",
    "cilksort-coarse",
    "cilksort-well",
    "contended-line",
)


def judged(runs: SweepRuns) -> NumberOfThreads:
    content = collect_scaling([runs], SweepSpec(("program",)), Scope.REGIONS, "made.sweep")
    assert content.judged is not None
    return content.judged


def inflated(run: Run, factor: float) -> Run:
    """Returns the run with all work longer by a factor; threads with less work idle longer."""
    regions = []
    longest = max(round(row.work_ns * (factor - 1)) for row in run.regions if row.construct >= 0)
    for row in run.regions:
        more = longest if row.construct >= 0 else 0
        # The threads of a team end together.
        own = round(row.work_ns * (factor - 1)) if row.construct >= 0 else 0
        regions.append(
            row.replace(
                wall_ns=row.wall_ns + (more if row.n_primary else 0),
                capacity_ns=row.capacity_ns + (more * row.max_team_size if row.n_primary else 0),
                total_ns=row.total_ns + more,
                work_ns=row.work_ns + own,
                idle_ns=row.idle_ns + more - own,
            )
        )
    constructs = tuple(row.replace(work_ns=round(row.work_ns * factor)) for row in run.constructs)
    return run.replace(regions=tuple(regions), constructs=constructs, wall_ns=run.wall_ns + longest)


def shown(report: Report) -> list[str]:
    """Returns the lines of a report on a terminal of 80 columns."""
    out = io.StringIO()
    print_report(TerminalConsole(width=80, file=out), report)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_default_report_has_the_verdict_then_one_table_then_the_next_command(name: str) -> None:
    content = collect_scaling(
        [recorded_sweep(name).runs()], SweepSpec(("./program",)), Scope.REGIONS, "made.sweep"
    )
    lines = shown(brief_scaling(content))
    assert len(lines) <= 30
    assert content.judged and content.judged.verdict
    assert any(content.judged.verdict.title in line for line in lines[:6])
    (heading,) = (line for line in lines if "█ work" in line)
    assert [word for word in heading.split() if word.isascii() and word != "time"] == [
        "threads",
        "speed-up",
        "work",
        "create",
        "schedule",
        "sync",
        "idle",
    ]
    assert lines[-2].split()[:5] == ["ompass", "scale", "-o", "made.sweep", "--full"]
    assert ("ompass run" in "\n".join(lines)) == (content.judged.verdict.kind != "scales")
    assert len(shown(scaling_report(content))) > len(lines)


@pytest.mark.parametrize("name", NAMES)
def test_shares_of_growth_do_not_exceed_the_whole(name: str) -> None:
    content = collect_scaling([recorded_sweep(name).runs()], SweepSpec(("program",)), Scope.REGIONS, "s")
    tables = [part for section in scaling_report(content).sections for part in section.parts]
    shares = [
        [row[k] for row in table.rows if row[k] is not None]
        for table in tables
        if isinstance(table, Table)
        for k, column in enumerate(table.columns)
        if column.title == "of all"
    ]
    assert shares
    assert all(0 < each <= 1 for column in shares for each in column)


@pytest.mark.parametrize(
    ("name", "kind", "title", "cure"),
    [
        ("health-fine", "too_fine", "Tasks are too fine", "fewer, larger tasks"),
        ("cilksort-fine", "too_fine", "Tasks are too fine", "fewer, larger tasks"),
        ("cilksort-coarse", "too_coarse", "One thread does all the work: threads are idle", "the cut-off"),
        ("contended-line", "memory_bound", "Memory bound: the work itself takes longer", "cache line"),
        # health builds its tree on one thread before the regions.
        ("health-well", "serial_fraction", "A serial part limits the speed-up", "between and after the"),
        ("cilksort-well", "scales", "Scales well", ""),
    ],
)
def test_the_disease_of_a_recorded_sweep_is_named(name: str, kind: str, title: str, cure: str) -> None:
    verdict = judged(recorded_sweep(name).runs()).verdict
    assert verdict is not None
    assert (verdict.kind, verdict.title) == (kind, title)
    assert cure in verdict.cure


def test_a_serial_part_that_costs_more_comes_before_the_disease_of_the_regions() -> None:
    verdict = judged(recorded_sweep("health-coarse").runs()).verdict
    assert verdict is not None
    assert (verdict.kind, verdict.also) == ("serial_fraction", ("Tasks are too coarse: threads are idle",))


def test_work_that_takes_longer_on_two_threads_is_memory_bound() -> None:
    sweep = recorded_sweep("cilksort-well")
    runs = sweep.runs()
    point = scaling_point(runs.samples)
    longer = inflated(runs.recorded[0], 1.6 * point.one.work_ns / point.states.work_ns)
    column = judged(sweep_runs(runs.one_thread[0], longer, sweep.one_process_ns, 2 * sweep.two_process_ns))
    assert column.verdict is not None
    assert column.verdict.kind == "memory_bound"
    assert column.verdict.title == "Memory bound: the work itself takes longer"
    assert "1.60 times as long" in column.verdict.because
    worst = max((row for row in column.inflation if row.key.kind == "task"), key=lambda row: row.excess_ns)
    assert worst.factor > 1.2
    assert worst.same_work


@pytest.mark.parametrize("name", NAMES)
def test_every_formula_of_scaling_holds_on_recorded_runs(name: str) -> None:
    runs = recorded_sweep(name).runs()
    point = scaling_point(runs.samples)
    t_p, t_1, idle = (
        runs.samples.recorded[0].time_ns,
        runs.samples.one_thread[0].time_ns,
        point.states.idle_ns,
    )
    work, serial = point.states.work_ns, point.serial_ns
    assert serial == point.one.work_ns
    assert point.ovr == pytest.approx(2 * t_p / work)
    assert point.wti == pytest.approx(work / serial)
    assert point.speedup == pytest.approx(serial / t_p)
    assert math.isclose(point.speedup, 2 / (point.ovr * point.wti), rel_tol=1e-9)
    inflation = 2 * t_p - idle - t_1
    assert point.inflation_ns == pytest.approx(inflation)
    expected = {
        "linear": 2.0,
        "elision": None,
        "maximal": 2 * serial / t_1,
        "idle": 2 * serial / (t_1 + idle),
        "inflation": 2 * serial / (2 * t_p - idle),
        "actual": serial / t_p,
    }
    assert {curve: point.curve(curve) for curve in CURVES} == pytest.approx(expected)
    value = {curve: size for curve, size in expected.items() if size is not None}
    for gap in gaps(point):
        assert gap.size == pytest.approx(value[gap.upper] - value[gap.lower])


@pytest.mark.parametrize("name", NAMES)
def test_thread_time_is_the_sum_of_its_states_on_recorded_runs(name: str) -> None:
    sweep: RecordedSweep = recorded_sweep(name)
    for run in (*sweep.runs().recorded, *sweep.runs().one_thread):
        breakdown = time_breakdown(run)
        assert breakdown.thread_time_ns == breakdown.states.total_ns
        assert breakdown.thread_time_ns == breakdown.n_threads * breakdown.wall_ns
        for region in breakdown.regions:
            assert region.capacity_ns == region.states.total_ns + region.nested_ns
            most = max(thread.states.work_ns for thread in region.threads)
            assert region.imbalance == pytest.approx(most * len(region.threads) / region.states.work_ns)

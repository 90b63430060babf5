# SPDX-License-Identifier: Apache-2.0
"""The report, the figures and the remark on a synthetic sweep show its known values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from made_runs import MS, construct, made_run, team
from ompass.metrics.breakdown import Scope
from ompass.model import Run
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.remarks import NOTE, WARNING
from ompass.scaling.content import ScalingContent, SweepRuns, collect_scaling, work_of
from ompass.scaling.figure import SWEEP_FIGURES
from ompass.scaling.metrics import Samples, WorkOf, measured
from ompass.scaling.plan import SweepSpec
from ompass.scaling.report import brief_scaling, csv_scaling, scaling_report, sweep_remarks

US = 1000


def region_of(*work_ms: int) -> Run:
    """Makes a run of a region whose threads work for these times and then are idle."""
    longest = max(work_ms)
    return made_run(team(0, [{"work_ns": ms * MS, "idle_ns": (longest - ms) * MS} for ms in work_ms]))


RUNS = {
    1: [region_of(100)] * 2,
    2: [region_of(60, 50), region_of(80, 70)],
    4: [region_of(40, 30, 30, 20)] * 2,
}
"""Their speed-ups: 100 / 70 on two threads (100 / 60 and 100 / 80 in the rounds), and 100 / 40 on four."""


def swept(n_cpus: int = 4, threads: tuple[int, ...] = (1, 2, 4), **more: Any) -> ScalingContent:
    def samples(n: int) -> Samples:
        recorded = [measured(run, n, Scope.REGIONS, 0) for run in RUNS[n]]
        return Samples(n, recorded, [measured(run, 1, Scope.REGIONS, 0) for run in RUNS[1]], **more)

    def usable(n: int) -> tuple[Run, ...]:
        return tuple(run.replace(n_usable_cpus=min(n, n_cpus)) for run in RUNS[n])  # pinned

    runs = [SweepRuns(n, usable(n), usable(1), samples(n), 0, 0.0) for n in threads]
    return collect_scaling(runs, SweepSpec(("program", "7")), Scope.REGIONS, "made.sweep")


def values_of(content: ScalingContent) -> dict[str, Any]:
    found: dict[str, Any] = plain(scaling_report(content).values)
    return found


def test_points_have_the_figures_of_each_number_of_threads() -> None:
    values = values_of(swept())
    one, two, four = values["points"]
    assert [point["threads"] for point in (one, two, four)] == [1, 2, 4]
    assert two["time_ns"] == 70 * MS
    assert two["spread"]["time_ns"] == {"low": 60 * MS, "high": 80 * MS}
    assert two["speedup"] == pytest.approx(100 / 70)
    assert two["spread"]["speedup"] == {"low": pytest.approx(100 / 80), "high": pytest.approx(100 / 60)}
    assert four["speedup"] == 2.5
    assert four["efficiency"] == 0.625
    assert (four["thread_time_ns"], four["work_ns"], four["idle_ns"]) == (160 * MS, 120 * MS, 40 * MS)
    assert four["ovr"] == pytest.approx(160 / 120)
    assert four["wti"] == 1.2
    assert four["work_inflation_ns"] == 20 * MS
    assert four["inflation_ns"] == 20 * MS, "P T_P - I_P - T_1"
    assert four["rounds"] == 2
    assert one["constructs"][0]["excess_ns"] == 0
    (region,) = four["constructs"]
    assert (region["one_thread_work_ns"], region["work_ns"]) == (0, 0), "the work of tasks is not divided"
    assert (region["kind"], region["offset"], region["module"]) == ("implicit", None, None)
    assert csv_scaling(swept(), "points").splitlines()[0].startswith("threads,time_ns,")
    assert len(csv_scaling(swept(), "constructs").splitlines()) == 4


@pytest.mark.parametrize(("n_cpus", "judged"), [(0, 4), (1, 4), (2, 2), (3, 2), (4, 4)])
def test_the_largest_number_of_threads_that_has_processors_is_judged(n_cpus: int, judged: int) -> None:
    values = values_of(swept(n_cpus))
    assert values["judged_threads"] == judged
    crowded = [note for note in scaling_report(swept(n_cpus)).notes if "threads share" in note]
    assert len(crowded) == (0 < n_cpus < 4)


def test_a_sweep_of_one_thread_has_no_verdict() -> None:
    alone = swept(threads=(1,))
    assert values_of(alone)["verdict"] is None
    assert values_of(alone)["judged_threads"] is None
    assert list(sweep_remarks(alone)) == []
    assert values_of(swept(threads=(2,)))["judged_threads"] == 2


def test_the_verdict_and_its_remark_have_the_share_of_the_loss() -> None:
    values = values_of(swept())
    losses = {loss["kind"]: loss for loss in values["verdict"]["losses"]}
    assert values["verdict"]["kind"] == "too_coarse"
    assert losses["too_coarse"]["ns"] == 40 * MS
    assert losses["too_coarse"]["share"] == 0.25
    assert losses["memory_bound"]["share"] == 0.125
    (remark,) = sweep_remarks(swept())
    assert (remark.share, remark.cost_ns, remark.level) == (0.25, 40 * MS, WARNING)
    good = swept()
    assert good.judged is not None and good.judged.verdict is not None
    scales = replace(good.judged, verdict=replace(good.judged.verdict, kind="scales"))
    (remark,) = sweep_remarks(replace(good, columns=(*good.columns[:-1], scales)))
    assert (remark.share, remark.cost_ns, remark.level) == (0.0, 0, NOTE)


def test_the_short_report_has_the_speedup_of_the_whole_program_if_it_differs() -> None:
    def text(one_ms: int, four_ms: int, scope: Scope = Scope.REGIONS) -> str:
        content = replace(swept(), scope=scope)
        first, *middle, last = content.columns
        columns = replace(first, program_ns=one_ms * MS), *middle, replace(last, program_ns=four_ms * MS)
        parts = brief_scaling(replace(content, columns=columns)).sections[-1].parts
        return " ".join(part for part in parts if isinstance(part, str))

    assert text(250, 200).endswith(
        "The whole program took 250 ms on 1 thread, and 200 ms on 4: speed-up 1.25."
    )
    assert text(250, 102) == "", "2.45, as in the regions"
    assert text(0, 0) == "", "unknown"
    assert text(250, 200, Scope.PROGRAM) == "", "the table has these times"


def test_longer_work_of_fine_tasks_is_a_loss_by_fine_tasks() -> None:
    """Ten thousand tasks of 1 us take 1.5 us each on two threads. Each thread has 5 ms of other work."""

    def run(n_threads: int, work_ns: int) -> Run:
        n = 10_000 // n_threads
        states = {"work_ns": n * work_ns + 5 * MS, "implicit_ns": 5 * MS, "create_ns": n * US, "n_tasks": n}
        tasks = [construct(1, k, [work_ns] * n, create_ns=n * US) for k in range(n_threads)]
        return made_run(team(0, [states] * n_threads), tasks)

    one, two = run(1, US), run(2, 1500)
    ones, twos = ([measured(each, n, Scope.REGIONS, 0)] for each, n in ((one, 1), (two, 2)))
    runs = SweepRuns(2, (two,), (one,), Samples(2, twos, ones), 0, 0.0)
    content = collect_scaling([runs], SweepSpec(("program",)), Scope.REGIONS, "made.sweep")
    assert content.judged is not None and content.judged.verdict is not None
    losses = {loss.kind: loss.ns for loss in content.judged.verdict.losses}
    assert content.judged.point.work_inflation_ns == 5 * MS + 5 * MS, "of tasks, and of the region"
    # creation on one thread, T_1 - T_s, and the inflation of the tasks
    assert losses["too_fine"] == pytest.approx(10 * MS + 5 * MS)


def test_constructs_of_one_line_are_merged() -> None:
    rows = team(0, [{"work_ns": 100 * MS, "n_tasks": 5}])
    tasks = [construct(1, 0, [20 * MS] * 2, create_ns=3), construct(2, 0, [20 * MS] * 3, create_ns=4)]
    work = work_of(collect(made_run(rows, tasks)))
    (of_tasks,) = (found for place, found in work.items() if place.kind == "task")
    assert of_tasks == WorkOf(100 * MS, 5, 7)


def noted(content: ScalingContent, word: str, **changes: Any) -> bool:
    """True if a note contains the word, after changes of the column on two threads."""
    one, two, four = content.columns
    changed = replace(content, columns=(one, replace(two, **changes), four))
    return any(word in note for note in scaling_report(changed).notes)


def test_notes_state_what_limits_the_figures() -> None:
    content = swept()
    assert noted(content, "no serial program was given")
    assert noted(content, "--unrecorded measures the cost")
    assert not noted(content, "the figures omit", n_left_out=0)
    assert noted(content, "the figures omit 1 round", n_left_out=1)
    assert not noted(content, "other programs used", others=0.049)
    assert noted(content, "other programs used up to 5.0% of the CPUs' time", others=0.05)
    assert not noted(content, "threads instead of", n_seen=3), "threads took turns"
    assert noted(content, "a team had 3 threads instead of 2", n_team=3)
    assert noted(content, "more than 2 threads ran at a time (3 took part)", n_seen=3, misfit=True)


@pytest.mark.parametrize(("recorded_ms", "word"), [(104, ""), (105, "up to 1.05 times slower")])
def test_the_cost_of_recording_is_noted_if_it_is_at_least_5_percent(recorded_ms: int, word: str) -> None:
    content = swept(recorded_process_ns=[recorded_ms * MS] * 2, unrecorded_ns=[100 * MS] * 2,
                    unrecorded_one_ns=[150 * MS] * 2)  # fmt: skip
    notes = [note for note in scaling_report(content).notes if "recording made" in note]
    assert len(notes) == bool(word)
    assert all(word in note and "the column `speed-up unrecorded`" in note for note in notes)
    two = values_of(content)["points"][1]["unrecorded"]
    assert two == {"speedup": 1.5, "recording_cost": recorded_ms / 100, "against": "one thread"}


def rows_of(spec: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_the_figure_of_thread_time_shows_states_in_multiples_of_the_serial_time() -> None:
    rows = rows_of(SWEEP_FIGURES["thread-time"].make(swept()))
    four = {row["state"]: row for row in rows if row["threads"] == 4}
    assert (four["work"]["times"], four["work"]["share"], four["work"]["time"]) == (1.2, "75.0%", "120 ms")
    assert (four["idle"]["times"], four["idle"]["share"], four["idle"]["time"]) == (0.4, "25.0%", "40 ms")
    assert [four[state]["rank"] for state in ("work", "idle")] == [0, 4]
    axis = SWEEP_FIGURES["thread-time"].make(swept())["encoding"]["x"]["axis"]
    assert axis["labelAngle"] == 0, "numbers are upright"
    assert sum(row["times"] for row in rows if row["threads"] == 1) == 1


def test_the_figure_of_speed_ups_has_every_known_curve_and_the_spread() -> None:
    spec = SWEEP_FIGURES["speedup"].make(swept())
    of_four = {row["curve"]: row["speedup"] for row in rows_of(spec) if row["threads"] == 4}
    assert of_four == {
        "linear": 4.0,
        "maximal": 4.0,
        "idle-time specific": pytest.approx(400 / 140),
        "inflation specific": pytest.approx(400 / 120),
        "actual": 2.5,
    }
    lines, whiskers = spec["layer"]
    colour = lines["encoding"]["color"]["scale"]
    assert set(colour["domain"]) == set(of_four)
    assert len(set(colour["range"])) == len(of_four)
    assert colour["range"][colour["domain"].index("actual")] == whiskers["mark"]["color"]
    dash = lines["encoding"]["strokeDash"]
    assert dash["condition"] == {"test": "datum.curve === 'linear'", "value": [4, 3]}
    assert dash["value"] == [1, 0], "all others are solid"
    two = next(row for row in rows_of(whiskers) if row["threads"] == 2)
    assert (two["low"], two["high"]) == (pytest.approx(100 / 80), pytest.approx(100 / 60))
    assert lines["encoding"]["x"]["scale"]["domain"] == [1, 4]
    alone = SWEEP_FIGURES["speedup"].make(swept(threads=(2,)))
    assert alone["layer"][0]["encoding"]["x"]["scale"]["domain"] == [1, 3], "a point with space around it"
    with_elision = rows_of(SWEEP_FIGURES["speedup"].make(swept(elision_ns=[80 * MS] * 2)))
    assert {"threads": 4, "curve": "serial elision", "speedup": 5.0} in with_elision


def test_both_figures_are_side_by_side_with_the_command_as_title() -> None:
    spec = SWEEP_FIGURES["scaling"].make(swept())
    assert spec["title"]["text"] == "program 7"
    assert len(spec["hconcat"]) == 2

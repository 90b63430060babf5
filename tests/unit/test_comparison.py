# SPDX-License-Identifier: Apache-2.0
"""Comparisons: verdicts on changes, minimum differences, counts, and the report."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, construct, definition, made_run, team
from ompass.comparison.content import WORK_ON_PROCESSORS, Compared, compare_sides, side_of
from ompass.comparison.metrics import SIGNIFICANT_P, Change, Repeat, changes, counts, in_rounds
from ompass.comparison.report import brief_comparison, comparison_report, headline, judgement
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope
from ompass.model import StateTimes
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.reports.terminal import TerminalConsole, print_report
from ompass.scaling.metrics import WorkOf
from recorded_sweeps import recorded_sweep


def repeat(work_ns: int, n_tasks: int = 10, start_ns: int = 0) -> Repeat[str]:
    states = StateTimes(work_ns=work_ns)
    return Repeat(work_ns, states, n_tasks, {"task": WorkOf(work_ns, n_tasks)}, start_ns)


def in_series(before: Sequence[int], after: Sequence[int]) -> tuple[Change[str], ...]:
    """Returns the changes between two series of runs, recorded one after the other."""
    starts = range(len(before) + len(after))
    runs = [repeat(t, start_ns=k) for k, t in zip(starts, (*before, *after), strict=True)]
    return changes(runs[: len(before)], runs[len(before) :])


def alternating(before: Sequence[int], after: Sequence[int]) -> tuple[Change[str], ...]:
    """Returns the changes between runs in rounds. The sides take turns at running first."""
    return changes(
        [repeat(t, start_ns=2 * k + k % 2) for k, t in enumerate(before)],
        [repeat(t, start_ns=2 * k + 1 - k % 2) for k, t in enumerate(after)],
    )


QUIET = (1000, 1001, 1002, 1003, 1004, 1005)


def test_the_verdict_on_a_change_depends_on_its_significance() -> None:
    def verdict(before: Sequence[int], after: Sequence[int]) -> str:
        return in_series(before, after)[0].verdict

    slower = [t + 40 for t in QUIET]
    assert verdict(QUIET, slower) == "more"
    assert verdict(slower, QUIET) == "less"
    assert verdict(QUIET, [1003, 1000, 1002, 1001]) == "same"
    assert verdict(QUIET[:4], slower[:4]) == "few"
    assert verdict(QUIET[:5], slower[:5]) == "more"
    assert verdict([100 * MS], [111 * MS]) == "single"
    assert verdict([100 * MS], [109 * MS]) == "noise"
    assert verdict([100], [100 + thresholds.NOISE_PER_EVENT_NS]) == "noise"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (QUIET, [t + 40 for t in QUIET], "slower: 4.0% more time, +3.7% to +4.3% with 98% certainty"),
        ([t + 40 for t in QUIET], QUIET, "faster: 3.8% less time"),
        (
            QUIET,
            [1003, 1000, 1002, 1001],
            "<0.1% less time, which may be chance: the runs of a side differ as much",
        ),
        (QUIET[:4], [t + 40 for t in QUIET[:4]], "which may be chance: 4 against 4 runs are too few"),
        ([100 * MS], [111 * MS], "11.0% more time, which may be chance: a side has a single run"),
        ([100 * MS], [109 * MS], "9.0% more time, which may be chance: single runs differ by up to 10.0%"),
        (QUIET, [t + 5 for t in QUIET], "about equal: 0.5% more time, below the minimum difference of 2.0%"),
    ],
)
def test_the_judgement_is_one_sentence_without_a_p_value(
    before: Sequence[int], after: Sequence[int], words: str
) -> None:
    change = in_series(before, after)[0]
    one: Any = SimpleNamespace(time=change, deciding=change, n_before=len(before), n_after=len(after))
    sentence = judgement(one)
    assert words in sentence, sentence
    assert "p =" not in sentence
    assert ("slower" in sentence or "faster" in sentence) == (change.verdict in ("more", "less"))


def test_a_certain_change_of_the_work_decides_if_the_time_may_be_chance() -> None:
    rounds = range(20)

    def compared(work_after: int, time_after: int = 1000) -> Compared:
        def repeats(side: int, time_ns: int, work_ns: int) -> list[Repeat[Any]]:
            # Preemption makes every second run of a side take half as long again, without more work.
            return [
                replace(
                    repeat(time_ns * (3 if (k + side) % 2 else 2), start_ns=2 * k + side),
                    further={WORK_ON_PROCESSORS: 1000 * work_ns + k},
                )
                for k in rounds
            ]

        return Compared(2, 2, 20, 20, changes(repeats(0, 1000, 1000), repeats(1, time_after, work_after)))

    more = compared(1030)
    assert more.time.verdict == "same"
    assert more.deciding.figure == "work on processors" and more.deciding.verdict == "more"
    assert judgement(more).startswith("3.0% more work, +")
    assert "with 98% certainty, without preempted time; the time itself: " in judgement(more)
    assert "which may be chance" in judgement(more)
    assert compared(1000).deciding.figure == "time", "equal work decides nothing"
    assert compared(1003).deciding.figure == "time", "a difference below the minimum decides nothing"
    slower = compared(1030, 2000)
    assert slower.deciding is slower.time, "the time decides if it certainly changed"


def test_the_minimum_difference_depends_on_the_order_of_the_runs() -> None:
    later = [t + 15 for t in QUIET]
    assert alternating(QUIET, later)[0].verdict == "more", "1.5% more, alternating"
    assert in_series(QUIET, later)[0].verdict == "slight", "1.5% more, in series"
    assert alternating(QUIET, [t + 8 for t in QUIET])[0].verdict == "slight", "0.8% more"
    one_noisy = [1000, 1100, 1010, 1080, 1020, 1060]
    assert in_series(QUIET, [t + 20 for t in one_noisy])[0].verdict == "slight", "the noisier side counts"
    noisy = [1000, 1040, 1010, 1080, 1020, 1060]
    shifted = [t + 70 for t in noisy]
    assert (in_series(noisy, shifted)[0].p_value or 1) < 0.01
    assert in_series(noisy, shifted)[0].verdict == "slight", "a drift may be as large as the spread"


def test_a_requested_minimum_difference_replaces_the_default_one() -> None:
    runs = [repeat(t, start_ns=2 * k) for k, t in enumerate(QUIET)]
    later = [repeat(t + 15, start_ns=2 * k + 1) for k, t in enumerate(QUIET)]
    assert changes(runs, later, 0.02)[0].verdict == "slight"
    assert changes(runs, later, 0.012)[0].verdict == "more"


def test_runs_alternate_if_each_round_has_one_of_each_side() -> None:
    def rounds(order: str) -> list[list[int]] | None:
        runs = [repeat(1, start_ns=k) for k in range(len(order))]
        sides = [[run for run, side in zip(runs, order, strict=True) if side == name] for name in "ab"]
        found = in_rounds(*sides)
        return None if found is None else [[r.start_ns for r in side] for side in found]

    assert rounds("abbaab") == [[0, 3, 4], [1, 2, 5]]
    assert rounds("aabb") is None
    assert rounds("abab"[::-1]) == [[1, 3], [0, 2]]
    assert rounds("aba") is None
    assert rounds("ab") is None, "one round is not an alternation"
    assert in_rounds([repeat(1)] * 2, [repeat(1)] * 2) is None, "starts are unknown"


def test_rounds_cancel_a_drift_that_hides_the_change_in_series() -> None:
    drifting = [1000 + 40 * k for k in range(12)]
    slower = [round(t * 1.02) for t in drifting]
    change = alternating(drifting, slower)[0]
    assert change.verdict == "more"
    assert in_series(drifting, slower)[0].verdict == "same"
    assert change.interval is not None
    assert change.interval.low < 1.02 < change.interval.high


def test_p_values_are_adjusted_for_the_number_of_figures() -> None:
    def run(k: int, later: int) -> Repeat[str]:
        parts = {f"task {n}": WorkOf(1000 + (37 * (2 * k + later) * (n + 2)) % 101, 1) for n in range(20)}
        parts["task 7"] = WorkOf(1000 + k + 60 * later, 1)
        states = StateTimes(work_ns=sum(part.work_ns for part in parts.values()))
        return Repeat(5000 + k % 3, states, 1, parts, 2 * k + later)

    rows = changes([run(k, 0) for k in range(5)], [run(k, 1) for k in range(5)])
    seventh = next(change for change in rows if change.key == "task 7")
    assert seventh.p_value == pytest.approx(2 / 252)
    assert (seventh.adjusted_p or 0) > SIGNIFICANT_P
    assert seventh.verdict == "same", "one of 22 figures may differ as much by chance"
    assert rows[0].adjusted_p == rows[0].p_value, "the time is not adjusted"
    rows = changes([run(k, 0) for k in range(9)], [run(k, 1) for k in range(9)])
    assert next(change for change in rows if change.key == "task 7").verdict == "more"


def test_changes_of_tiny_figures_do_not_count() -> None:
    def run(k: int, sync_ns: int) -> Repeat[str]:
        return Repeat(10**6, StateTimes(work_ns=10**6, sync_ns=sync_ns), 1, {}, k)

    def sync(before: int, after: int) -> str:
        found = changes([run(k, before + k) for k in range(9)], [run(9 + k, after + k) for k in range(9)])
        return next(change for change in found if change.figure == "sync").verdict

    assert sync(1000, 1500) == "slight", "half a thousandth of the thread-time"
    assert sync(10_000, 15_000) == "more"


def test_counts_are_compared_exactly() -> None:
    def verdict(before: Sequence[int], after: Sequence[int]) -> str:
        (count,) = counts([{"tasks": n} for n in before], [{"tasks": n, "loops": 0} for n in after])
        return count.verdict

    assert verdict([10, 10], [10]) == "equal"
    assert verdict([10], [11]) == "different"
    assert verdict([10, 12], [11, 12]) == "varies"
    assert verdict([10, 12], [13, 14]) == "different"


@given(
    st.lists(st.integers(1, 10**9), min_size=1, max_size=3),
    st.lists(st.integers(1, 10**9), min_size=1, max_size=3),
)
def test_figures_are_medians_and_their_ratio_is_between_the_extremes(
    before: list[int], after: list[int]
) -> None:
    found = changes([repeat(t) for t in before], [repeat(t) for t in after])
    time = found[0]
    assert time.difference == median(after) - median(before)
    assert time.ratio is not None
    low, high = min(after) / max(before), max(after) / min(before)
    assert low * (1 - 1e-9) <= time.ratio <= high * (1 + 1e-9)
    work = [change for change in found if change.key == "task"]
    assert len(work) == 1, "creation took no time on either side"


def test_two_recorded_runs_are_compared_figure_by_figure() -> None:
    sweeps = [recorded_sweep(name).runs() for name in ("cilksort-well", "cilksort-fine")]
    sides = [
        side_of(name, {2: [([collect(s.recorded[0])], s.samples.recorded[0].time_ns)]}, False)
        for name, s in zip(("well", "fine"), sweeps, strict=True)
    ]
    content = compare_sides(sides[0], sides[1], Scope.REGIONS)
    (compared,) = content.compared
    for figure, value in (("time", "time_ns"), ("work", "work_ns"), ("create", "create_ns")):
        change = next(c for c in compared.changes if c.key is None and c.figure == figure)
        times = [s.samples.recorded[0] for s in sweeps]
        wanted = [t.time_ns if value == "time_ns" else getattr(t.states, value) for t in times]
        assert [change.before_median, change.after_median] == wanted
        assert change.p_value is None
    assert "single run" in headline(compared)
    assert any("no time is tested" in note for note in content.notes)
    values = plain(comparison_report(content))["compared"][0]["changes"]
    assert sum(v["after_ns"] for v in values if v["figure"] in ("work", "create", "schedule", "sync", "idle")
               and v["construct"] is None) == pytest.approx(
        next(v["after_ns"] for v in values if v["figure"] == "thread-time")
    )  # fmt: skip


def test_the_headline_adds_the_whole_program_if_its_change_differs_from_its_regions() -> None:
    def after(wall_ms: int, earlier_ms: int) -> str:
        sides = []
        for name, regions_ms, wall, earlier in (("a", 100, 400, 0), ("b", 150, wall_ms, earlier_ms)):
            rows = team(0, [{"work_ns": regions_ms * MS}] * 2)
            run = made_run(rows, wall_ns=wall * MS).replace(earlier_cpu_ns=earlier * MS)
            sides.append(side_of(name, {2: [([collect(run)], regions_ms * MS)]}, False))
        return headline(compare_sides(sides[0], sides[1], Scope.REGIONS).compared[0])

    assert after(200, 100).endswith(
        "The whole program, with its serial parts: 400 ms before, 300 ms after; 25.0% less time"
    )
    assert "whole program" not in after(600, 0), "it changed like its regions"


def test_the_default_report_does_not_call_a_large_change_noise() -> None:
    sweeps = [recorded_sweep(name).runs() for name in ("cilksort-fine", "cilksort-well")]
    sides = [
        side_of(name, {2: [([collect(s.recorded[0])], s.samples.recorded[0].time_ns)]}, False)
        for name, s in zip(("fine.ompass", "well.ompass"), sweeps, strict=True)
    ]
    content = compare_sides(sides[0], sides[1], Scope.REGIONS)
    out = io.StringIO()
    print_report(TerminalConsole(width=80, file=out), brief_comparison(content))
    lines = out.getvalue().splitlines()
    assert len(lines) <= 40
    rows = {line.split()[0]: line for line in lines if line.startswith("  ")}
    assert "noise" not in rows["create"], rows["create"]
    assert "Different counts: tasks" in "\n".join(lines)
    assert lines[-2].strip().startswith("ompass compare fine.ompass well.ompass --full")
    assert {each.kind for each in (c.key for c in content.compared[0].changes) if each} >= {"task"}


def test_equal_times_are_equal_in_the_table() -> None:
    before, after = (
        side_of(name, {2: [([collect(made_run(team(0, [{"work_ns": ms * MS}] * 2)))], ms * MS)]}, False)
        for name, ms in (("a", 100), ("b", 150))
    )
    content = compare_sides(before, after, Scope.REGIONS)
    out = io.StringIO()
    print_report(TerminalConsole(width=80, file=out), brief_comparison(content))
    rows = {line.split()[0]: line.strip() for line in out.getvalue().splitlines() if line.startswith("  ")}
    assert rows["time"].endswith("single run")
    assert rows["create"].endswith("equal")


def test_the_cost_of_recording_does_not_explain_a_change_by_a_large_factor() -> None:
    """The cost of recording many short tasks may exceed a figure, but it does so on both sides."""
    noise = 1_000_000 * thresholds.NOISE_PER_EVENT_NS

    def verdict(before: float, after: float) -> str:
        return Change("create", None, (before,), (after,), 1_000_000, whole_ns=noise).tested().verdict

    assert verdict(0.95 * noise, 0.003 * noise) == "single", "-99.7%"
    assert verdict(0.003 * noise, 0.95 * noise) == "single"
    assert verdict(0, 0.9 * noise) == verdict(0.9 * noise, 0) == "single"
    assert verdict(0.95 * noise, 0.6 * noise) == "noise"
    assert verdict(0.0005 * noise, 0.001 * noise) == "noise", "below a thousandth of the thread-time"
    assert verdict(60 * MS, 110 * MS) == "noise", "50 ns for each event"
    assert verdict(60 * MS, 110 * MS + 1) == "single"


def test_kernels_are_compared_too() -> None:
    run = made_run(
        regions=team(0, [{"work_ns": 10 * MS}] * 2),
        constructs=[construct(1, 0, [MS]), construct(2, 0, [2 * MS])],
        definitions=[definition(0, "parallel"), definition(1), definition(2, "kernel", name="solve")],
    )
    longer = run.replace(constructs=tuple(c.replace(work_ns=3 * c.work_ns) for c in run.constructs))
    sides = [side_of("x", {2: [([collect(r)], 10 * MS)]}, False) for r in (run, longer)]
    found = {
        (c.key.kind, c.key.function): c.ratio
        for c in compare_sides(sides[0], sides[1], Scope.REGIONS).compared[0].changes
        if c.key is not None and c.figure == "work"
    }
    assert found["kernel", "solve"] == pytest.approx(3)
    assert found["task", ""] == pytest.approx(3)


def test_sides_without_a_common_number_of_threads_are_refused() -> None:
    sides = [side_of("s", {n: [([collect(made_run())], 0)]}, True) for n in (2, 4)]
    with pytest.raises(ValueError, match="no number of threads"):
        compare_sides(sides[0], sides[1], Scope.REGIONS)


def test_change_from_zero_to_zero_is_not_a_change() -> None:
    assert Change("work", None, (0.0,), (0.0,), 0).tested().verdict == "noise"
    assert Change("work", None, (0.0, 0.0), (0.0, 0.0), 0).tested().p_value == 1

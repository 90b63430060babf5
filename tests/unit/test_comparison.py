# SPDX-License-Identifier: Apache-2.0
"""Comparisons: the permutation test against plain counting, terms for changes, constructs that moved."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, construct, definition, made_run, team
from ompass.comparison.metrics import Change, Repeat, changes, least_p, permutation_p
from ompass.comparison.report import compare_sides, comparison_report, headline, paired_places, side_of
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope
from ompass.model import StateTimes
from ompass.reports.content import collect
from ompass.reports.model import plain
from ompass.scaling.content import Place
from ompass.scaling.metrics import WorkOf
from recorded_sweeps import recorded_sweep

groups = st.lists(st.integers(0, 1000), min_size=1, max_size=4)


def counted_p(before: Sequence[int], after: Sequence[int]) -> float:
    """Returns p by definition: counts every labelling, in exact arithmetic."""
    everything = [*before, *after]
    n, m, total = len(before), len(after), sum(before) + sum(after)

    def apart(first: int) -> int:
        return abs(first * m - (total - first) * n)

    ways = [
        apart(sum(everything[k] for k in chosen)) >= apart(sum(before))
        for chosen in itertools.combinations(range(n + m), n)
    ]
    return sum(ways) / len(ways)


@given(groups, groups)
def test_p_is_the_share_of_labellings_that_differ_as_much(before: list[int], after: list[int]) -> None:
    assert permutation_p(before, after) == pytest.approx(counted_p(before, after))
    assert permutation_p(before, after) == pytest.approx(permutation_p(after, before))
    assert least_p(len(before), len(after)) <= permutation_p(before, after) <= 1


@given(st.integers(1, 6), st.integers(1, 6))
def test_groups_that_do_not_overlap_have_the_least_p(n: int, m: int) -> None:
    if n == m:
        assert permutation_p(range(n), range(100, 100 + m)) == pytest.approx(least_p(n, m))
    else:
        assert permutation_p(range(n), range(100, 100 + m)) >= least_p(n, m)


def test_many_measurements_are_sampled_and_agree() -> None:
    same = permutation_p(range(20), [k + 0.5 for k in range(20)])
    assert 0.5 < same <= 1
    assert permutation_p(range(20), range(30, 50)) < 0.001
    assert same == permutation_p(range(20), [k + 0.5 for k in range(20)]), "differs from run to run"


def repeat(work_ns: int, n_tasks: int = 10) -> Repeat[str]:
    return Repeat(work_ns, StateTimes(work_ns=work_ns), n_tasks, {"task": WorkOf(work_ns, n_tasks)})


def test_a_change_is_named_by_its_significance() -> None:
    def verdict(before: Sequence[int], after: Sequence[int]) -> str:
        return changes([repeat(t) for t in before], [repeat(t) for t in after])[0].verdict

    slow, fast = [100, 101, 102, 103], [90, 91, 92, 93]
    assert verdict(fast, slow) == "more"
    assert verdict(slow, fast) == "less"
    assert verdict(slow, [103, 100, 102, 101]) == "same"
    assert verdict(slow[:3], fast[:3]) == "few"
    assert verdict([100 * MS], [90 * MS]) == "single"
    assert verdict([100], [100 + thresholds.NOISE_PER_EVENT_NS]) == "noise"


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=3),
    st.lists(st.integers(0, 10**9), min_size=1, max_size=3),
)
def test_figures_are_means_and_their_ratio(before: list[int], after: list[int]) -> None:
    found = changes([repeat(t) for t in before], [repeat(t) for t in after])
    time = found[0]
    assert time.difference == pytest.approx(fmean(after) - fmean(before))
    assert time.ratio == (pytest.approx(fmean(after) / fmean(before)) if any(before) else None)
    work = [change for change in found if change.key == "task"]
    assert len(work) == (1 if any(before) or any(after) else 0), "creation took no time on either side"


def place(line: int, function: str = "fib", kind: str = "task", file: str = "/a/fib.c") -> Place:
    return Place(kind, function, file, line, "", 0)


def test_constructs_whose_lines_moved_are_paired() -> None:
    before, after = [place(10), place(20), place(5, "main")], [place(13), place(23), place(5, "main")]
    assert paired_places(before, after) == {place(10): place(13), place(20): place(23)}


def test_a_new_construct_has_no_partner() -> None:
    assert paired_places([place(10)], [place(11), place(12)]) == {}
    assert paired_places([place(10)], [place(10, kind="kernel")]) == {}
    assert paired_places([place(10, file="/a/fib.c")], [place(10, file="/b/fib.c")]) == {
        place(10): place(10, file="/b/fib.c")
    }


def test_two_recorded_runs_are_compared_figure_by_figure() -> None:
    sweeps = [recorded_sweep(name).runs() for name in ("cilksort-well", "cilksort-fine")]
    sides = [
        side_of(name, {2: [(collect(s.recorded[0]), s.samples.recorded[0].time_ns)]}, False)
        for name, s in zip(("well", "fine"), sweeps, strict=True)
    ]
    content = compare_sides(sides[0], sides[1], Scope.REGIONS)
    (compared,) = content.compared
    for figure, value in (("time", "time_ns"), ("work", "work_ns"), ("create", "create_ns")):
        change = next(c for c in compared.changes if c.key is None and c.figure == figure)
        times = [s.samples.recorded[0] for s in sweeps]
        wanted = [t.time_ns if value == "time_ns" else getattr(t.states, value) for t in times]
        assert [change.before_mean, change.after_mean] == wanted
        assert change.p_value is None
    assert "single run" in headline(compared)
    assert any("changes are not tested" in note for note in content.notes)
    values = plain(comparison_report(content))["compared"][0]["changes"]
    assert sum(v["after_ns"] for v in values if v["figure"] in ("work", "create", "schedule", "sync", "idle")
               and v["construct"] is None) == pytest.approx(
        next(v["after_ns"] for v in values if v["figure"] == "thread-time")
    )  # fmt: skip


def test_kernels_are_compared_too() -> None:
    run = made_run(
        regions=team(0, [{"work_ns": 10 * MS}] * 2),
        constructs=[construct(1, 0, [MS]), construct(2, 0, [2 * MS])],
        definitions=[definition(0, "parallel"), definition(1), definition(2, "kernel", name="solve")],
    )
    longer = run.replace(constructs=tuple(c.replace(work_ns=3 * c.work_ns) for c in run.constructs))
    sides = [side_of("x", {2: [(collect(r), 10 * MS)]}, False) for r in (run, longer)]
    found = {
        (c.key.kind, c.key.function): c.ratio
        for c in compare_sides(sides[0], sides[1], Scope.REGIONS).compared[0].changes
        if c.key is not None and c.figure == "work"
    }
    assert found["kernel", "solve"] == 3
    assert found["task", ""] == 3


def test_sides_without_a_common_number_of_threads_are_refused() -> None:
    sides = [side_of("s", {n: [(collect(made_run()), 0)]}, True) for n in (2, 4)]
    with pytest.raises(ValueError, match="no number of threads"):
        compare_sides(sides[0], sides[1], Scope.REGIONS)


def test_change_from_zero_to_zero_is_no_change() -> None:
    assert Change("work", None, (0.0,), (0.0,), 0).verdict == "noise"
    assert Change("work", None, (0.0, 0.0), (0.0, 0.0), 0).p_value == 1

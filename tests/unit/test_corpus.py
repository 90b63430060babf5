# SPDX-License-Identifier: Apache-2.0
"""`./run diseases`: which findings are right, and which runs are recorded again."""

from __future__ import annotations

from pathlib import Path

import pytest

from diseases import runs
from diseases.__main__ import chosen_labels, parsed
from diseases.conditions import HOG, PINNED, QUIET, Condition
from diseases.labels import NOTHING, Label, all_labels
from diseases.matrix import Judged, as_values, misses, share_of, table
from diseases.runs import Case, Recordings, cases_of
from ompass.errors import UsageError

SICK = Label("short_regions.c", "short_regions", frozenset({"oversubscribed"}))
WELL = Label("healthy_loop.c", "healthy", frozenset())


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3})


@pytest.mark.parametrize(
    ("found", "condition", "threads", "right"),
    [
        ("short_regions", QUIET, 2, True),
        ("imbalance", QUIET, 2, False),
        (NOTHING, QUIET, 2, False),
        ("oversubscribed", QUIET, 4, False),
        ("oversubscribed", QUIET, 5, True),
        ("oversubscribed", PINNED, 2, True),
        ("disturbed", QUIET, 2, False),
        ("disturbed", HOG, 2, True),
        ("imbalance", HOG, 2, False),
    ],
)
def test_right_first_findings_depend_on_the_processors(
    found: str, condition: Condition, threads: int, right: bool
) -> None:
    assert SICK.accepts(found, "clang-19", condition, threads) is right


def test_only_no_finding_is_right_for_a_healthy_program() -> None:
    assert WELL.accepts(NOTHING, "clang-19", QUIET, 2)
    assert not WELL.accepts("too_fine", "clang-19", QUIET, 2)


def test_loops_that_gcc_hides_are_regions() -> None:
    loop = Label("loop.c", "loop_imbalance", frozenset(), frozenset({"imbalance"}))
    assert loop.accepts("imbalance", "gcc-12-libomp-19", QUIET, 2)
    assert not loop.accepts("imbalance", "clang-19", QUIET, 2)


def judged(label: Label, found: str, condition: Condition = QUIET) -> Judged:
    return Judged(Case(label, "cc", 2, condition, 0), found, 0, () if found == NOTHING else (found,))


def test_disturbed_runs_are_omitted_and_counted() -> None:
    some = [judged(SICK, "short_regions"), judged(SICK, "disturbed"), judged(WELL, NOTHING)]
    assert share_of(some) == (
        "1 of 1 sick right (100.0 %), 1 of 1 healthy right (100.0 %), 1 disturbed by others, omitted"
    )
    assert share_of([judged(SICK, "disturbed", HOG)]) == "1 of 1 sick right (100.0 %)"


def test_confusions_are_in_the_matrix_and_below_it() -> None:
    some = [judged(SICK, "short_regions"), judged(SICK, "imbalance"), judged(SICK, "imbalance")]
    lines = table(some, 2, "quiet").splitlines()
    assert lines[2].split() == ["short_regions", "1", "1", "2"]
    assert lines[3] == "columns of no label: 2 imbalance"
    assert misses(some) == ["short_regions.c (short_regions), cc, 2 threads, quiet: imbalance x 2"]
    assert [run["right"] for run in as_values(some)["runs"]] == [True, False, False]


def test_marked_lines_match_the_sources() -> None:
    marked = {label.program: label.marked_line for label in all_labels()}
    assert marked["fine_tree.c"] == 8
    assert marked["healthy_tree.c"] == 0
    assert [
        n
        for n, line in marked.items()
        if not line and not n.startswith(("healthy", "serial", "page_faults_serial"))
    ] == []


def test_finished_runs_are_skipped_until_the_tool_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[str] = []

    def record(case: Case, library: Path, run_dir: Path) -> None:
        if len(recorded) == 2:
            raise KeyboardInterrupt
        recorded.append(case.key)

    monkeypatch.setattr(runs, "record", record)
    monkeypatch.setattr(runs, "build", lambda label, compiler: Path(label.program))
    tool = tmp_path / "tool.so"
    tool.write_bytes(b"one")
    cases = list(cases_of([SICK, WELL], ["cc"], [2, 4], [QUIET], 1, seed=1))
    with Recordings(tool, tmp_path / "runs") as recordings, pytest.raises(KeyboardInterrupt):
        for case in recordings.missing(cases):
            recordings.add(case)
    with Recordings(tool, tmp_path / "runs") as recordings:
        assert [case.key for case in recordings.missing(cases)] == [c.key for c in cases[2:]]
    tool.write_bytes(b"another")
    with Recordings(tool, tmp_path / "runs") as recordings:
        assert recordings.missing(cases) == cases


def test_unknown_names_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="nothing"):
        chosen_labels("too_fine,nothing")
    assert {label.disease for label in chosen_labels("too_fine,healthy_loop.c")} == {"too_fine", "healthy"}
    monkeypatch.setattr("sys.argv", ["diseases", "--compilers", "cc"])
    with pytest.raises(SystemExit):
        parsed()

# SPDX-License-Identifier: Apache-2.0
"""`./run diseases`: right findings, confusion matrices, the document, and skipped runs."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from diseases import document, runs
from diseases.__main__ import chosen_labels, pairs_of, parsed, record_all
from diseases.conditions import HOG, PINNED, QUIET, Condition
from diseases.labels import NOTHING, PROGRAMS, Label, all_labels
from diseases.matrix import Judged, as_values, misses, share_of, table
from diseases.runs import Case, Recordings, Selection, cases_of
from ompass.errors import UsageError
from ompass.metrics.findings import KINDS
from toolchains import REPOSITORY

WITHOUT_FINDING = {
    "detached_events",
    "long_iteration",
    "priority_inverted",
    "replicated_work",
}
SICK = Label("short_regions.c", "short_regions", frozenset({"oversubscribed"}))
WITHOUT_FORTRAN = {"detached_events", "priority_inverted"}  # flang 19 and gfortran on libomp support neither
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


def test_a_healthy_program_must_have_no_finding() -> None:
    assert WELL.accepts(NOTHING, "clang-19", QUIET, 2)
    assert not WELL.accepts("too_fine", "clang-19", QUIET, 2)


def test_an_imbalance_of_the_region_is_right_for_a_loop_that_gcc_hides() -> None:
    loop = Label("loop.c", "loop_imbalance", frozenset(), frozenset({"imbalance"}))
    assert loop.accepts("imbalance", "gcc-12-libomp-19", QUIET, 2)
    assert not loop.accepts("imbalance", "clang-19", QUIET, 2)


def judged(label: Label, found: str, condition: Condition = QUIET) -> Judged:
    return Judged(Case(label, "cc", 2, condition, 0), found, 0, () if found == NOTHING else (found,))


def test_disturbed_runs_are_omitted_and_counted() -> None:
    some = [judged(SICK, "short_regions"), judged(SICK, "disturbed"), judged(WELL, NOTHING)]
    assert share_of(some) == (
        "with a problem 1 of 1 right (100.0 %), healthy 1 of 1 right (100.0 %), "
        "1 disturbed by others, omitted"
    )
    assert share_of([judged(SICK, "disturbed", HOG)]) == "with a problem 1 of 1 right (100.0 %)"


def test_confusions_are_in_the_matrix_and_below_it() -> None:
    some = [judged(SICK, "short_regions"), judged(SICK, "imbalance"), judged(SICK, "imbalance")]
    lines = table(some, "2 threads, quiet").splitlines()
    assert lines[2].split() == ["short_regions", "1", "1", "2"]
    assert lines[3] == "columns without a label: 2 imbalance"
    assert misses(some) == ["short_regions.c (short_regions), cc, 2 threads, quiet: imbalance x 2"]
    assert [run["right"] for run in as_values(some)["runs"]] == [True, False, False]


def test_a_right_finding_names_a_marked_line() -> None:
    label = {label.program: label for label in all_labels()}["fine_list.c"]
    line = label.marked_lines("DISEASE")[0]
    case = Case(label, "cc", 2, QUIET, 0)
    assert [Judged(case, "too_fine", n, ()).line_right for n in (line, line + 1, line + 2)] == [
        True,
        True,
        False,
    ]
    assert Judged(case, "starved", line, ()).line_right is None
    assert Judged(replace(case, cured=True), "too_fine", line, ()).line_right is None


def test_a_cured_program_must_have_no_finding_of_its_own() -> None:
    assert SICK.accepts(NOTHING, "clang-19", QUIET, 2, well=True)
    assert not SICK.accepts("short_regions", "clang-19", QUIET, 2, well=True)
    assert SICK.accepts("oversubscribed", "clang-19", QUIET, 5, well=True)
    assert SICK.accepts("disturbed", "clang-19", HOG, 2, well=True)


def test_a_label_may_name_other_findings_if_one_run_cannot_show_its_kind() -> None:
    label = Label("x.c", "false_sharing", frozenset(), findings=frozenset({NOTHING}))
    assert label.accepts(NOTHING, "clang-19", QUIET, 2)
    assert not label.accepts("false_sharing", "clang-19", QUIET, 2)
    assert label.accepts_verdict("false_sharing", "clang-19", QUIET, 2)


def test_verdicts_of_gcc_programs_may_lack_what_the_runtime_does_not_see() -> None:
    label = Label("x.c", "loop_imbalance", frozenset(), gcc=frozenset({"imbalance"}))
    assert label.accepts_verdict("imbalance", "gcc-12-libomp-19", QUIET, 2)
    assert not label.accepts_verdict("imbalance", "clang-19", QUIET, 2)
    assert not label.accepts_verdict("imbalance", "gcc-12-libomp-19", QUIET, 2, well=True)


@pytest.mark.parametrize(
    ("found", "threads", "well", "right"),
    [
        ("memory_bound", 2, False, True),
        ("scales", 2, False, False),
        ("scales", 2, True, True),
        ("oversubscribed", 2, False, False),
        ("oversubscribed", 8, False, True),
        ("memory_bound", 8, False, False),
    ],
)
def test_right_verdicts_depend_on_the_processors(found: str, threads: int, well: bool, right: bool) -> None:
    label = Label("x.c", "memory_bandwidth", frozenset(), verdicts=frozenset({"memory_bound"}))
    assert label.accepts_verdict(found, "clang-19", QUIET, threads, well=well) is right


def test_cured_versions_and_sweeps_are_cases_of_their_own() -> None:
    selection = Selection([SICK, WELL], ["cc"], [2], [QUIET], cured=True, sweeps=True)
    assert sorted(case.key for case in cases_of(selection, seed=1)) == [
        "healthy_loop.c-cc-2-quiet-0",
        "healthy_loop.c-sweep-cc-2-quiet-0",
        "short_regions.c-cc-2-quiet-0",
        "short_regions.c-cured-cc-2-quiet-0",
        "short_regions.c-cured-sweep-cc-2-quiet-0",
        "short_regions.c-sweep-cc-2-quiet-0",
    ]


def test_programs_have_cases_only_for_compilers_that_can_build_them() -> None:
    label = Label("x.c", "doacross", frozenset(), compilers=("clang",))
    selection = Selection([label], ["clang-19", "gcc-12-libomp-19"], [2], [QUIET])
    assert [case.compiler for case in cases_of(selection, seed=1)] == ["clang-19"]


def test_the_document_gets_totals_and_a_row_per_kind(tmp_path: Path) -> None:
    some = [judged(SICK, "short_regions"), judged(SICK, "imbalance"), judged(WELL, NOTHING)]
    cured = judged(SICK, "starved")
    some.append(replace(cured, case=replace(cured.case, cured=True)))
    text = document.markdown(some)
    assert "| `short_regions` | 1 of 2: imbalance 1 |" in text
    assert "| *healthy* | 1 of 1 |" in text
    assert "| *cured* | 0 of 1: starved 1 |" in text
    file = tmp_path / "findings.md"
    file.write_text(f"before {document.BEGIN} old {document.END} after", encoding="utf-8")
    document.write(file, some)
    written = file.read_text(encoding="utf-8")
    assert written.startswith(f"before {document.BEGIN}\n")
    assert written.endswith(f"{document.END} after")
    assert "old" not in written and text in written
    file.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks"):
        document.write(file, some)


def test_each_kind_has_three_programs_with_a_cure_and_a_line_to_blame() -> None:
    labels = [label for label in all_labels() if not label.is_healthy]
    kinds = {label.disease for label in labels}
    assert len(kinds) >= 33
    for kind in kinds:
        suffixes = Counter(label.source.suffix for label in labels if label.disease == kind)
        assert sum(suffixes.values()) >= 3, kind
        languages = {".c", ".cpp"} if kind in WITHOUT_FORTRAN else {".c", ".cpp", ".f90"}
        assert set(suffixes) == languages, kind
    for label in labels:
        assert "CURED" in label.source.read_text(encoding="utf-8"), label.program
        assert label.marked_lines("DISEASE", "HOT") or label.disease == "serial_fraction", label.program
    healthy = [label for label in all_labels() if label.is_healthy]
    assert len(healthy) >= 20
    assert not [label.program for label in healthy if label.marked_lines("CURED", "DISEASE", "HOT")]


def test_every_program_has_a_label_and_a_place_in_the_document() -> None:
    files = {path.name for path in PROGRAMS.iterdir()} - {"disease.h", "disease_steps.f90"}
    assert files == {label.program for label in all_labels()}
    text = (REPOSITORY / "docs" / "findings.md").read_text(encoding="utf-8")
    assert [
        label.program for label in all_labels() if not label.is_healthy and f"`{label.program}`" not in text
    ] == []
    assert document.BEGIN in text
    assert document.END in text


def test_every_kind_of_finding_is_in_the_document_and_labels_name_findings() -> None:
    kinds = {kind.name for kind in KINDS} | {"critical_contention", "memory_contention", "copied_data"}
    text = (REPOSITORY / "docs" / "findings.md").read_text(encoding="utf-8")
    assert [kind for kind in kinds if f"\n### {kind}\n" not in text] == []
    named = {
        name for label in all_labels() if not label.is_healthy for name in label.findings or {label.disease}
    }
    assert named - kinds - WITHOUT_FINDING - {NOTHING} == set()


def test_finished_runs_are_skipped_until_the_tool_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: list[str] = []

    def record(case: Case, library: Path, run_dir: Path) -> None:
        if len(recorded) == 2:
            raise KeyboardInterrupt
        recorded.append(case.key)

    monkeypatch.setattr(runs, "record", record)
    monkeypatch.setattr(runs, "build", lambda label, compiler, *, cured: Path(label.program))
    tool = tmp_path / "tool.so"
    tool.write_bytes(b"one")
    cases = list(cases_of(Selection([SICK, WELL], ["cc"], [2, 4], [QUIET]), seed=1))
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


def test_pairs_of_processors_are_disjoint() -> None:
    assert pairs_of({3, 0, 1, 2, 7}) == [{0, 1}, {2, 3}]
    with pytest.raises(UsageError, match="only one processor"):
        pairs_of({0})


def test_parallel_cases_use_different_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = threading.local()
    monkeypatch.setattr("os.sched_setaffinity", lambda _, processors: setattr(bound, "to", processors))
    together = threading.Barrier(2)
    used: list[set[int]] = []

    class Recording:
        def add(self, case: Case) -> None:
            together.wait(60)
            used.append(bound.to)

    cases = [Case(SICK, "cc", 2, QUIET, number) for number in range(4)]
    record_all(cast("Recordings", Recording()), cases, [{0, 1}, {2, 3}])
    assert sorted(used, key=min) == [{0, 1}, {0, 1}, {2, 3}, {2, 3}]

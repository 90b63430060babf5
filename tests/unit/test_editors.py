# SPDX-License-Identifier: Apache-2.0
"""Findings for editors and code hosts: SARIF obeys its schema, and messages look like a compiler's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ompass.metrics.breakdown import Scope
from ompass.metrics.facts import Finding
from ompass.metrics.findings import KINDS
from ompass.reports.content import ReportContent, collect
from ompass.reports.editors import finding_texts, gcc_messages, sarif
from ompass.reports.remarks import NOTE, WARNING, Remark, SourceTree, merged, remarks_of
from ompass.scaling.content import ScalingContent, collect_scaling
from ompass.scaling.plan import SweepSpec
from ompass.scaling.report import sweep_remarks
from ompass.symbols.resolver import UNKNOWN, Location
from recorded_sweeps import recorded_sweep
from unit.test_reports import some_run

SCHEMA = json.loads((Path(__file__).parents[1] / "schemas" / "sarif-2.1.0.json").read_text("utf-8"))
TREE = SourceTree(Path("/src"))
# The patterns of editors: VS Code's $gcc, and the form of the GNU coding standards (vim, Emacs).
VS_CODE = re.compile(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$")
GNU = re.compile(r"^[^:\n]+:\d+: (warning|note): .+$")


def remark(**fields: Any) -> Remark:
    made = Remark(
        kind="too_fine",
        level=WARNING,
        title="Tasks are too fine",
        because="a task takes 1.2 µs",
        cure="cut off below depth 8",
        location=Location("fib(int)", "/src/a b/fib.c", 12),
        of_whole=False,
        cost_ns=5_000_000,
        share=0.25,
        numbers={"mean_ns": 1200},
        source="fib.ompass",
    )
    return replace(made, **fields)


def log_of(remarks: Sequence[Remark], tree: SourceTree = TREE) -> dict[str, Any]:
    """Validates the SARIF log of the remarks against the schema and returns its only run."""
    log = json.loads(json.dumps(sarif(remarks, tree)))
    jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    return dict(run)


def test_schema_refuses_a_wrong_log() -> None:
    log = sarif([remark()], TREE)
    log["runs"][0]["results"][0]["level"] = "problem"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(log)


def test_result_has_rule_level_place_and_figures() -> None:
    run = log_of([remark()])
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "too_fine"
    assert result["level"] == "warning"
    assert result["message"]["text"] == "Tasks are too fine: a task takes 1.2 µs. Cut off below depth 8."
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/fib.c", "uriBaseId": "SRCROOT"},
        "region": {"startLine": 12},
    }
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == "file:///src/"
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "fib(int)"
    assert result["rank"] == 25
    assert result["properties"]["numbers"] == {"mean_ns": 1200}


def test_every_kind_of_finding_is_a_rule_with_its_text() -> None:
    rules = {rule["id"]: rule for rule in log_of([remark()])["tool"]["driver"]["rules"]}
    assert {kind.name for kind in KINDS} <= set(rules)
    for name, rule in rules.items():
        assert rule["helpUri"].endswith(f"/findings.md#{name}")
        assert len(rule["help"]["text"]) > 80, "more than the title"
        assert "](" not in rule["help"]["markdown"]


def test_texts_end_before_the_lists_of_test_programs() -> None:
    texts = finding_texts()
    assert "fine_tree" not in texts["too_fine"]
    assert texts["too_fine"].startswith("*Tasks are too fine.* † Creation and dispatch cost")
    assert "\n" not in texts["too_fine"].replace("\n\n", "")


def test_fingerprint_survives_moved_lines_and_new_figures() -> None:
    before = remark()
    after = remark(because="a task takes 1.3 µs", location=replace(before.location, line=20))
    other = remark(location=replace(before.location, function="fib2(int)"))
    prints = [
        log_of([r])["results"][0]["partialFingerprints"]["ompassFinding/v1"] for r in (before, after, other)
    ]
    assert prints[0] == prints[1] != prints[2]


def test_notes_without_a_line_are_notifications() -> None:
    run = log_of([remark(), remark(level=NOTE, kind="cut_short", location=UNKNOWN, of_whole=True, share=0)])
    assert [result["ruleId"] for result in run["results"]] == ["too_fine"]
    (notification,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notification["descriptor"]["id"] == "cut_short"


def test_problem_without_any_line_is_a_result_without_a_place() -> None:
    (result,) = log_of([remark(location=UNKNOWN, of_whole=True)])["results"]
    assert "locations" not in result
    assert "(whole program)" in result["message"]["text"]


def test_messages_are_understood_by_editors() -> None:
    made = [remark(), remark(kind="starved", level=NOTE, because="two\nlines: x", share=0.0)]
    lines = gcc_messages(made, TREE).splitlines()
    assert lines == [
        "a b/fib.c:12: warning: Tasks are too fine: a task takes 1.2 µs [too_fine]",
        "a b/fib.c:12: note: cut off below depth 8",
        "a b/fib.c:12: note: Tasks are too fine: two␊lines: x [starved]",
    ]
    assert all(GNU.match(line) for line in lines)
    found = VS_CODE.match(lines[0])
    assert found is not None and found.groups()[:4] == ("a b/fib.c", "12", "", "warning")


def test_findings_without_a_line_have_no_message() -> None:
    assert gcc_messages([remark(location=Location("f", "", 0, (), "/bin/prog", 16))], TREE) == ""


def test_files_compiled_elsewhere_are_found_by_the_end_of_their_path(tmp_path: Path) -> None:
    (tmp_path / "lib" / "core").mkdir(parents=True)
    (tmp_path / "lib" / "core" / "a.c").touch()
    (tmp_path / "a.c").touch()
    tree = SourceTree(tmp_path)
    assert str(tree.relative(f"{tmp_path}/lib/../lib/core/a.c")) == "lib/core/a.c"
    assert str(tree.relative("/build/container/core/../lib/core/a.c")) == "lib/core/a.c"
    assert str(tree.relative("/build/container/other.c")) == "/build/container/other.c"
    assert str(tree.relative("/usr/bin/env")) == "/usr/bin/env", "the file itself is there"


def test_root_is_the_repository(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "build").mkdir()
    assert SourceTree.of_repository(tmp_path / "repo" / "build").root == (tmp_path / "repo").resolve()


def test_absolute_paths_are_file_uris() -> None:
    (result,) = log_of([remark(location=Location("f", "/usr/include/ä.h", 3))])["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "file:///usr/include/%C3%A4.h"}


def test_equal_findings_of_ranks_are_merged() -> None:
    ranks = [remark(share=0.1), remark(share=0.4), remark(kind="starved", share=0.2)]
    assert [(r.kind, r.share) for r in merged(ranks)] == [("too_fine", 0.4), ("starved", 0.2)]


def located(content: ReportContent, findings: tuple[Finding, ...]) -> ReportContent:
    places = {0: Location("main", "/src/a.c", 3), 1: Location("f", "/src/a.c", 9)}
    return replace(content, findings=findings, locations=places)


def test_findings_at_constructs_without_lines_stay_apart() -> None:
    places = {0: Location("main", "", 0, (), "/bin/a", 16), 1: Location("f", "", 0, (), "/bin/a", 32)}
    findings = tuple(Finding("too_fine", "problem", "T", "b", "c", 10, k) for k in places)
    content = replace(collect(some_run()), findings=findings, locations=places)
    found = merged([*remarks_of([content]), *remarks_of([content])])
    assert [(r.location.function, r.of_whole) for r in found] == [("main", False), ("f", False)]
    results = log_of(found)["results"]
    names = [r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for r in results]
    assert names == ["main", "f"]


def test_finding_of_the_whole_program_is_at_its_largest_region() -> None:
    content = located(
        collect(some_run()),
        (
            Finding("too_fine", "problem", "T", "b", "c", 10, 1),
            Finding("disturbed", "problem", "D", "b", "c", 10),
            Finding("cut_short", "note", "N", "b", ""),
        ),
    )
    found = {r.kind: r for r in remarks_of([content])}
    assert (found["too_fine"].location.line, found["too_fine"].of_whole) == (9, False)
    assert (found["disturbed"].location.line, found["disturbed"].of_whole) == (3, True)
    assert not found["cut_short"].location.line


@pytest.mark.parametrize(("name", "level"), [("cilksort-fine", WARNING), ("cilksort-well", NOTE)])
def test_verdict_on_a_sweep_is_a_remark(name: str, level: str) -> None:
    content = collect_scaling(
        [recorded_sweep(name).runs()], SweepSpec((name,)), Scope.REGIONS, f"{name}.sweep"
    )
    judged = content.judged
    assert judged is not None and judged.verdict is not None
    (found,) = sweep_remarks(content)
    assert (found.kind, found.level) == (judged.verdict.kind, level)
    assert found.title.endswith("(on 2 threads)")
    assert found.location.label() == (judged.finding_place or "?")
    losses = {loss.kind: loss.share for loss in judged.verdict.losses}
    assert found.share == losses.get(found.kind, 0.0)
    results = log_of([found])["results"]
    assert [result["level"] for result in results] == ([WARNING] if level == WARNING else [])


def test_a_sweep_on_one_thread_has_no_verdict() -> None:
    content = ScalingContent(SweepSpec(("program",)), Scope.REGIONS, "one.sweep", (), (), (), 2)
    assert list(sweep_remarks(content)) == []

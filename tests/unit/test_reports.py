# SPDX-License-Identifier: Apache-2.0
"""Reports show the metrics: JSON as documented, CSV with the same values, pages of any width."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import (
    MS,
    call,
    construct,
    definition,
    loop,
    made_run,
    made_samples,
    region,
    target,
    team,
    wait,
)
from ompass.errors import NothingToShowError
from ompass.metrics import findings, notes
from ompass.metrics.breakdown import Scope
from ompass.model import OUTSIDE, STATES, Run, StateTimes
from ompass.page.assemble import RunPart, html_report
from ompass.reports.content import ReportContent, collect, same_place
from ompass.reports.model import Table, csv_report, plain, sentence
from ompass.reports.run import CSV_TABLES, run_report
from ompass.reports.terminal import (
    TerminalConsole,
    length_bar,
    print_report,
    split_cells,
    state_bar,
    svg_report,
)
from ompass.symbols.resolver import Location

SCHEMA = Path(__file__).parents[2] / "docs" / "report-schema.md"
REQUIRED = [
    "schema_version",
    "complete",
    "mode",
    "threads",
    "wall_ns",
    "thread_time_ns",
    "work_ns",
    "create_ns",
    "schedule_ns",
    "sync_ns",
    "idle_ns",
    "tasks",
    "regions",
    "constructs",
]


def some_run(**fields: Any) -> Run:
    rows = team(
        0,
        [
            {
                "work_ns": 60 * MS,
                "create_ns": 20 * MS,
                "sync_ns": 5 * MS,
                "idle_ns": 15 * MS,
                "n_tasks": 4000,
            },
            {
                "work_ns": 40 * MS,
                "schedule_ns": 10 * MS,
                "sync_ns": 8 * MS,
                "idle_ns": 42 * MS,
                "n_tasks": 5000,
            },
        ],
    )
    rows.append(region(OUTSIDE, 0, work_ns=30 * MS))
    tasks = [
        construct(1, 0, [15_000] * 4000, n_created=9000, create_ns=20 * MS, counters=[5]),
        construct(1, 1, [8_000] * 5000, n_created=0, n_other_thread=5000, counters=[6]),
        construct(2, 0, [4000], read_bytes=1 << 20, write_bytes=64, counters=[7]),
    ]
    definitions = [
        definition(0, "parallel"),
        definition(1),
        definition(2, "kernel", name="axpy"),
        definition(3, "wait", flags=8),
        definition(4, "loop", flags=11),
        definition(5, "mpi", flags=1, name="MPI_Recv"),
        definition(6, "target", flags=1 | 1 << 8),
        definition(7, "device", flags=1, name="gpu"),
    ]
    fields.setdefault("counters", ["PAPI_L3_TCM"])
    fields.setdefault(
        "waits", [wait(3, 1, n_waits=7, idle_ns=42 * MS, sync_ns=8 * MS, waited_for={4: (6, 40 * MS)})]
    )
    fields.setdefault("calls", [call(5, 0, time_ns=26 * MS), call(5, 1, time_ns=13 * MS)])
    moved = {"operations": (2,), "operations_n": (2,), "operations_bytes": (64,), "operations_ns": (MS,)}
    fields.setdefault("targets", [target(6, 0, transfer_ns=MS, launch_ns=2 * MS, **moved)])
    fields.setdefault("loops", [loop(4, 0, time_ns=9 * MS), loop(4, 1, time_ns=3 * MS, imbalance_ns=6 * MS)])
    return made_run(rows, tasks, definitions, wall_ns=130 * MS, **fields)


def json_report(content: ReportContent) -> Any:
    return plain(run_report(content))


def page(content: ReportContent, width: int, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    print_report(TerminalConsole(file=stream, width=width), run_report(content))
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_json_has_the_required_fields_and_its_states_add_up() -> None:
    report = json_report(collect(some_run()))
    assert [name for name in REQUIRED if name not in report] == []
    states = [f"{state}_ns" for state in STATES]
    assert (
        report["thread_time_ns"]
        == sum(report[state] for state in states)
        == report["threads"] * report["wall_ns"]
    )
    for part in (*report["regions"], *report["thread_breakdown"]):
        assert part["thread_time_ns"] == sum(part[state] for state in states)
    assert report["tasks"] == 9000 == sum(c["tasks"] for c in report["constructs"])


def test_only_the_states_that_a_run_has_are_shown() -> None:
    def report(**states: int) -> str:
        return page(collect(made_run(team(0, [{"work_ns": 60 * MS, "idle_ns": 40 * MS, **states}] * 2))), 120)

    assert not re.search(r"\b(mpi|offload)\b", report())
    with_mpi = report(mpi_ns=100 * MS)
    assert re.search(r"mpi +200 ms +50", with_mpi)
    assert "offload" not in with_mpi


def test_the_table_of_mpi_has_the_share_of_the_threads_that_call_it() -> None:
    report = json_report(collect(some_run()))
    (row,) = report["mpi"]
    assert (row["call"], row["class"], row["calls"], row["time_ns"]) == (
        "MPI_Recv",
        "point-to-point",
        2,
        39 * MS,
    )
    assert row["share"] == pytest.approx(39 / 260)  # two threads, 130 ms each
    assert [thread["time_ns"] for thread in row["thread_breakdown"]] == [26 * MS, 13 * MS]
    assert "MPI_Recv" in page(collect(some_run()), 120)
    assert "MPI" not in page(collect(some_run(calls=[])), 120)


def test_json_of_a_run_cut_short_is_not_complete() -> None:
    report = json_report(collect(some_run(complete=False, incomplete_reasons=["It was killed."])))
    assert report["complete"] is False
    assert report["incomplete_reasons"] == ["It was killed."]


def test_json_survives_a_round_trip() -> None:
    report = json_report(collect(some_run()))
    assert json.loads(json.dumps(report)) == report


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for part in value.values() for name in _names(part)}
    return {name for part in value for name in _names(part)} if isinstance(value, list) else set()


def test_schema_documents_every_field_and_no_other() -> None:
    run = some_run(complete=False)
    report = json_report(replace(collect(run), samples=made_samples(run)))
    report["counters"] = []
    for finding in report["findings"]:
        finding["numbers"] = {}
    for part in (*report["constructs"], *report["kernels"]):
        part["counters"] = {}
    documented = set(re.findall(r"^\| `([a-z_]+)` ", SCHEMA.read_text(encoding="utf-8"), re.MULTILINE))
    assert _names(report) - documented == set(), "undocumented"
    assert documented - _names(report) == {"runs", "sweeps", "job"}, "documented but not there"


def test_schema_document_names_the_version_in_use() -> None:
    version = json_report(collect(some_run()))["schema_version"]
    assert f"`schema_version` is {version}" in SCHEMA.read_text(encoding="utf-8")


def test_schema_lists_every_kind_of_finding() -> None:
    code = Path(notes.__file__).read_text(encoding="utf-8")
    kinds = set(re.findall(r'note\(\s*"(\w+)"', code)) | {kind.name for kind in findings.KINDS}
    text = SCHEMA.read_text(encoding="utf-8")
    lines = text[text.index("Kinds of problem") :].splitlines()
    lists = " ".join(lines[: lines.index("## CSV")]).replace("(findings.md)", "")
    assert kinds | {"critical_contention", "copied_data"} == set(re.findall(r"`(\w+)`", lists))


@pytest.mark.parametrize("table", CSV_TABLES)
def test_csv_holds_the_rows_of_the_json_report(table: str) -> None:
    content = collect(some_run())
    rows = list(csv.DictReader(io.StringIO(csv_report([run_report(content)] * 2, CSV_TABLES[table]))))
    report = json_report(content)
    field = CSV_TABLES[table]
    expected = (report[field] if field else [report]) * 2
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        for name, value in values.items():
            if not isinstance(value, (dict, list)):
                assert row[name] == ("" if value is None else str(value))


def test_counters_are_columns_of_the_csv() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_report([run_report(collect(some_run()))], "constructs"))))
    assert rows[0]["counters.PAPI_L3_TCM"] == "11"


@pytest.mark.parametrize("width", [60, 80, 110, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_page_fits_the_terminal_and_has_all_sections(width: int, encoding: str) -> None:
    text = page(collect(some_run()), width, encoding)
    assert max(len(line) for line in text.splitlines()) <= width
    for section in (
        "Where the thread-time went",
        "Threads",
        "Parallel regions",
        "Task constructs",
        "Granularity",
    ):
        assert section in text
    assert "Findings" in text
    assert "axpy" in text


def test_page_shows_the_figures() -> None:
    text = page(collect(some_run()), 110)
    assert "2 threads x 100 ms = 200 ms" in text
    assert "50.0%" in text
    assert "9,000" in text
    assert "PAPI_L3_TCM" in text


@pytest.mark.parametrize("width", [34, 50])
def test_names_never_lose_their_columns(width: int) -> None:
    """At 50 columns, rich once made the columns of names zero wide."""
    content = collect(some_run())
    places = {
        number: Location("solve_all_of_it", f"/src/a_rather_long_name_{number}.c", 40 + number)
        for number in content.locations
    }
    lines = page(replace(content, locations=places), width).partition("Next: ")[0].splitlines()
    assert max(map(len, lines)) <= width
    for number in (0, 1):
        name = f"a_rather_long_name_{number}.c"
        assert any(name[:18] in line for line in lines)
    assert any(line.strip().startswith("no room for: ") for line in lines)


def test_counters_are_on_the_terminal_and_on_the_page() -> None:
    content = collect(some_run())
    for text in (page(content, 110), html_report([RunPart(content)])):
        assert "PAPI_L3_TCM" in text
    counters = next(s for s in run_report(content).sections if s.key == "counters").parts[0]
    assert isinstance(counters, Table)
    assert [row[-1] for row in counters.rows] == [11, 7], "counters of the tasks and of the kernel"


def test_every_report_shows_the_same_share_of_moved_tasks() -> None:
    content = collect(some_run())
    tasks = next(s for s in run_report(content).sections if s.key == "tasks").parts[0]
    assert isinstance(tasks, Table)
    column = [c.title for c in tasks.columns].index("moved")
    assert tasks.rows[0][column] == pytest.approx(5000 / 9000)
    assert "55.6%" in page(content, 110)
    assert "55.6%" in html_report([RunPart(content)])


def test_one_thread_is_not_called_threads() -> None:
    rows = [*team(0, [{"work_ns": 100 * MS}]), region(OUTSIDE, 0, work_ns=900 * MS)]
    text = page(collect(made_run(rows, wall_ns=1000 * MS)), 110)
    assert "1 thread x 100 ms" in text
    assert "1 threads" not in text
    assert "speed-up" not in text, "one thread has no serial part"


def test_page_of_a_run_cut_short_states_it_at_the_top() -> None:
    text = page(collect(some_run(complete=False, incomplete_reasons=["It was killed."])), 110)
    assert "The run was cut short. It was killed." in "\n".join(text.splitlines()[:4])


def test_page_of_an_empty_run_is_not_an_error() -> None:
    text = page(collect(made_run([region(OUTSIDE, 0, work_ns=5 * MS)], wall_ns=5 * MS)), 80)
    assert "No parallel region was recorded" in text


def test_many_threads_do_not_fill_the_screen() -> None:
    rows = team(0, [{"work_ns": 100 * MS}] * 64)
    assert "and 48 more threads" in page(collect(made_run(rows)), 110)


def test_picture_is_valid_and_has_no_external_resources() -> None:
    picture = svg_report([run_report(collect(some_run()))])
    root = ET.fromstring(picture)
    assert root.tag.endswith("svg")
    assert re.findall(r"url\(\s*['\"]?http|href=\"http|@import", picture) == []
    assert "Findings" in picture


def test_region_is_chosen_by_number() -> None:
    shown = collect(some_run(), scope=Scope.REGION, region="0")
    assert shown.breakdown.scope is Scope.REGION
    assert shown.breakdown.thread_time_ns == 200 * MS


def test_the_error_for_an_unknown_region_lists_the_known_ones() -> None:
    with pytest.raises(NothingToShowError, match=r"no parallel region is `nowhere`.*0: "):
        collect(some_run(), scope=Scope.REGION, region="nowhere")


def test_constructs_of_one_source_line_are_merged() -> None:
    here = Location("f", "/a.c", 3)
    run = made_run(constructs=[construct(0, 0, [1]), construct(1, 0, [1]), construct(2, 0, [1])])
    groups = same_place(run, {0: here, 1: here, 2: Location("f", "/a.c", 4)})
    assert groups == {0: 0, 1: 0, 2: 2}


def test_constructs_without_a_line_stay_apart() -> None:
    run = made_run(constructs=[construct(0, 0, [1]), construct(1, 0, [1])])
    unknown = Location("f", "", 0)
    assert same_place(run, {0: unknown, 1: unknown}) == {}


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=8), st.integers(0, 200))
def test_cells_of_a_bar_add_up_and_keep_proportion(values: list[int], cells: int) -> None:
    parts = split_cells(values, cells)
    total = sum(values)
    assert sum(parts) == (cells if total else 0)
    for value, part in zip(values, parts, strict=True):
        assert not total or abs(part - value * cells / total) < 1


def test_bar_without_colours_is_readable_by_its_glyphs() -> None:
    assert state_bar(StateTimes(50, 20, 10, 10, 10), 10, unicode=False).plain == "#####++=~."


def test_small_value_still_shows_in_a_bar() -> None:
    assert length_bar(1, 10**9, 40, "blue").plain != ""
    assert length_bar(0, 10, 40, "blue").plain == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("threads wait", "Threads wait."),
        ("a.ompass: 1 thread log is missing", "a.ompass: 1 thread log is missing."),
        ("omp_set_num_threads was called", "omp_set_num_threads was called."),
        ("one-sided, the rest waits", "One-sided, the rest waits."),
        ("3 of 4 waited", "3 of 4 waited."),
        ("", ""),
    ],
)
def test_a_sentence_begins_with_a_capital_letter_or_a_name(text: str, expected: str) -> None:
    assert sentence(text) == expected

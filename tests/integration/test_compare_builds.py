# SPDX-License-Identifier: Apache-2.0
"""`ompass compare` pairs the constructs of two builds of a program whose source was edited in between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from toolchains import Toolchain
from workshop import SOURCE, Workshop

BLOCKS, ROWS, REGION = "spin(300000", "spin(200000", "#pragma omp single"  # each follows its construct's line
OLD = SOURCE.read_text()
Sources = dict[str, str]


ALL = MappingProxyType({BLOCKS: BLOCKS, ROWS: ROWS, REGION: REGION})


class Edit(NamedTuple):
    """The sources after an edit, and the constructs, each named by text in the line that follows it."""

    sources: Sources
    kept: Mapping[str, str] = ALL  # constructs on both sides, text before the edit: text after it
    new: tuple[str, ...] = ()  # constructs that the edit added


def function(name: str) -> str:
    """Returns the definition of a function of the source."""
    begin = OLD.index(f"__attribute__((noinline)) static void {name}(")
    return OLD[begin : OLD.index("\n}\n", begin) + 3]


def lines_inserted_above() -> Edit:
    return Edit({"steps.c": OLD.replace("#include", "#include <math.h>\n\n// a comment\n#include", 1)})


def function_renamed() -> Edit:
    return Edit({"steps.c": OLD.replace("blocks(", "tiles(")})


def function_renamed_below_new_lines() -> Edit:
    return Edit({"steps.c": "\n\n" + OLD.replace("rows(", "lines(")})


def construct_moved_to_another_file() -> Edit:
    declared = "void add(double x);\nvoid rows(int n);\n"
    shared = OLD[OLD.index("static inline") : OLD.index("static double total")]
    moved = "#include <stdio.h>\n" + declared + shared + function("rows").replace("static ", "")
    rest = OLD.replace(function("rows"), "").replace("static void add", "void add")
    return Edit(
        {"steps.c": rest.replace("static double total", declared + "static double total"), "rows.c": moved}
    )


def file_renamed() -> Edit:
    return Edit({"stages.c": OLD})


def file_and_function_renamed() -> Edit:
    return Edit({"stages.c": OLD.replace("blocks(", "tiles(")})


def construct_added() -> Edit:
    task = "#pragma omp task firstprivate(k)\n        add(spin(300000 + k));"
    new = "#pragma omp task firstprivate(k)\n        add(0.5 * k);\n"
    assert task in OLD
    return Edit({"steps.c": OLD.replace(task, new + task)}, new=("add(0.5 * k)",))


def construct_removed() -> Edit:
    task = "#pragma omp task firstprivate(k)\n        add(spin(300000 + k));"
    return Edit({"steps.c": OLD.replace(task, "add(spin(300000 + k));")}, {ROWS: ROWS, REGION: REGION})


def functions_exchanged() -> Edit:
    blocks, rows = function("blocks"), function("rows")
    return Edit({"steps.c": OLD.replace(blocks, "@").replace(rows, blocks).replace("@", rows)})


def clause_and_body_edited() -> Edit:
    new = OLD.replace(
        "firstprivate(k)\n        add(spin(300000 + k))",
        "firstprivate(k) if(k < 50)\n        add(spin(310000))",
    )
    return Edit({"steps.c": new}, {BLOCKS: "spin(310000", ROWS: ROWS, REGION: REGION})


def another_construct_at_the_old_line() -> Edit:
    distance = line_before(OLD, ROWS) - line_before(OLD, BLOCKS)
    return Edit({"steps.c": OLD.replace("#include", "\n" * distance + "#include", 1)})


def indented_anew() -> Edit:
    return Edit({"steps.c": OLD.replace("    ", "\t").replace(" {\n", "\n{\n")})


EDITS = (
    lines_inserted_above,
    function_renamed,
    function_renamed_below_new_lines,
    construct_moved_to_another_file,
    file_renamed,
    file_and_function_renamed,
    construct_added,
    construct_removed,
    functions_exchanged,
    clause_and_body_edited,
    another_construct_at_the_old_line,
    indented_anew,
)


def line_before(text: str, following: str) -> int:
    """Returns the number of the line before the one that contains `following`."""
    return text[: text.index(following)].count("\n")


def place_of(sources: Sources, following: str) -> tuple[str, int]:
    """Returns the file and line of the construct before the line that contains `following`.

    Skips a brace on a line of its own.
    """
    name, text = next((name, text) for name, text in sources.items() if following in text)
    line = line_before(text, following)
    return name, line - (text.splitlines()[line - 1].strip() == "{")


@pytest.fixture(scope="module")
def workshop(
    tmp_path_factory: pytest.TempPathFactory, default_toolchain: Toolchain, libompass: Path
) -> Workshop:
    workshop = Workshop(tmp_path_factory.mktemp("builds"), default_toolchain, libompass)
    workshop.record("--no-report", run="before.ompass")
    return workshop


@pytest.mark.parametrize("edit", EDITS)
def test_constructs_are_paired_across_a_rebuild(workshop: Workshop, edit: Callable[[], Edit]) -> None:
    done = edit()
    for path in workshop.folder.glob("*.c"):
        path.unlink()
    for name, text in done.sources.items():
        (workshop.folder / name).write_text(text)
    workshop.build(*done.sources)
    run = f"{edit.__name__}.ompass"
    workshop.record("--no-report", run=run)
    (compared,) = json.loads(workshop.read("compare", "before.ompass", run, "--json"))["compared"]

    found = {place(pair["before"]): place(pair["after"]) for pair in compared["pairs"]}
    wanted = {place_of({"steps.c": OLD}, a): place_of(done.sources, b) for a, b in done.kept.items()}
    assert found == wanted

    work = [change for change in compared["changes"] if change["figure"] == "work" and change["construct"]]
    kept = {
        place(change["construct"]): change for change in work if min(change["before_ns"], change["after_ns"])
    }
    assert set(kept) == set(wanted.values()), "each pair is compared, and no other construct"
    new = {place(change["construct"]) for change in work if not change["before_ns"]}
    assert new == {place_of(done.sources, following) for following in done.new}
    n_gone = 3 - len(wanted)
    assert sum(not change["after_ns"] for change in work) == n_gone


def place(construct: dict[str, object]) -> tuple[str, object]:
    return Path(str(construct["file"])).name, construct["line"]


def test_the_report_shows_the_lines_that_it_paired(workshop: Workshop) -> None:
    (workshop.folder / "steps.c").write_text("\n\n" + OLD)
    workshop.build("steps.c")
    workshop.record("--no-report", run="shown.ompass")
    line = line_before(OLD, BLOCKS)
    wanted = [f"steps.c:{line}", "(blocks)", f"steps.c:{line + 2}", "(blocks)", "100%"]
    for options in ((), ("--full",)):
        text = workshop.read("compare", "before.ompass", "shown.ompass", *options)
        assert wanted in [each.split() for each in text.splitlines()]
    assert "Constructs that have moved" not in workshop.read("compare", "shown.ompass", "shown.ompass")


def test_the_page_has_the_stacks_and_lines_of_both_builds(workshop: Workshop) -> None:
    (workshop.folder / "steps.c").write_text("\n\n" + OLD.replace("blocks(", "tiles("))
    workshop.build("steps.c")
    workshop.record("--no-report", run="tiles.ompass")
    workshop.read("compare", "before.ompass", "tiles.ompass", "--html", "page.html", "--sources")
    page = (workshop.folder / "page.html").read_text()
    line = line_before(OLD, BLOCKS)
    for side, text in (("before", f"steps.c:{line} (blocks)"), ("after", f"steps.c:{line + 2} (tiles)")):
        assert f"<p>{side}: <code" in page
        assert f">{text}</code></p>" in page
    assert page.count('<span class="line marked">') >= 4
    stacks = re.search(r'data-flame="([^"]*)"', page)
    if stacks is None:
        counts = [json.loads(workshop.read("samples", f"{run}.ompass", "--json"))["samples"]
                  for run in ("before", "tiles")]  # fmt: skip
        assert 0 in counts, "the machine refuses samples"
    else:
        assert f"steps.c:{line + 2} (tiles)" in stacks[1]
        assert "(blocks)" not in stacks[1], "both builds count as one construct"

# SPDX-License-Identifier: Apache-2.0
"""Tests how the conformance campaign compares runs, finds programs, and loads the libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolchains
from conformance.judge import Campaign, Case
from conformance.programs import Program, build, is_program, programs_in
from conformance.reference import ORDER, Ended, Reference
from conformance.suites import SUITES, suite_of
from conformance.ways import WAYS, Way


def reference(*outputs: str, has_race: bool = False) -> Reference:
    return Reference(has_race, runs=[Ended(0, output) for output in outputs])


@pytest.mark.parametrize("stock", [("a\n",), ("a\nt 1\n", "a\nt 2\n")])
def test_run_like_a_stock_run_does_not_differ(stock: tuple[str, ...]) -> None:
    assert reference(*stock).difference(Ended(0, stock[0])) == ""


def test_another_status_and_a_hanging_run_differ() -> None:
    assert reference("").difference(Ended(1)) == "ends with 1, stock with 0"
    assert reference("").difference(Ended(None)) == "does not end"


def test_lines_that_differ_between_stock_runs_are_ignored() -> None:
    stock = reference("sum 10\ntime 0.12 s\n", "sum 10\ntime 0.17 s\n")
    assert stock.difference(Ended(0, "sum 10\ntime 3e-1 s\n")) == ""
    assert stock.difference(Ended(0, "sum 11\ntime 0.15 s\n")) == "stdout: 1 → 0 lines 'sum 10'"
    assert stock.difference(Ended(0, "sum 10\nwrong\n")) == "stdout: new line 'wrong'"


def test_padding_and_addresses_are_parts_of_numbers() -> None:
    stock = reference("took  9.9 s @ 0x0x5a1\n", "took  9.8 s @ 0x0x6b2\n")
    assert stock.difference(Ended(0, "took 10.1 s @ 0x0xfe\n")) == ""


def test_a_message_of_a_library_differs() -> None:
    assert reference("a\n").difference(Ended(0, "a\n", "ompass: oh\n")) == "stderr: new line 'ompass: oh'"


def test_the_runtimes_warning_about_any_tool_is_ignored() -> None:
    warning = "OMP: Warning #189: OMPT: Cannot determine workshare type; using the default (loop) instead.\n"
    assert reference("a\n").difference(Ended(0, "a\n", warning)) == ""
    assert reference("a\n").difference(Ended(0, "a\n", warning + "ompass: oh\n")) != ""


def test_a_program_with_a_clause_that_the_compiler_ignores_is_not_built(tmp_path: Path) -> None:
    toolchain = toolchains.toolchain_named("clang-19")
    for clause, is_built in (("shared(x)", True), ("no_such_clause(x)", False)):
        source = tmp_path / f"{is_built}.c"
        source.write_text(f"int main(void) {{ int x = 0;\n#pragma omp task {clause}\nx++;\nreturn 0; }}\n")
        program = Program(f"suite/{source.name}", source)
        assert (build(program, toolchain).executable is not None) == is_built


def test_order_of_independent_output_is_a_difference_of_its_own() -> None:
    assert reference("a b\nc\n").difference(Ended(0, "c\na b\n")) == ORDER
    assert reference("a\nb\n", "b\na\n").difference(Ended(0, "b\na\n")) == ""


def test_numbers_of_a_program_with_a_race_are_ignored() -> None:
    assert reference("x=100\n", has_race=True).difference(Ended(0, "x=99\n")) == ""
    assert reference("x=100\n", has_race=True).difference(Ended(0, "x=***\n")) == ""
    assert reference("x=100\n", has_race=True).difference(Ended(0, "y=99\n")) != ""


def test_free_lines_are_not_compared() -> None:
    stock = Reference(free="[A-Z ]+", runs=[Ended(0, "area 216\nAAB\nAA \n")])
    assert stock.difference(Ended(0, "area 216\nBAA\nCC\nC \n")) == ""
    assert stock.difference(Ended(0, "area 217\nAAB\nAA \n")) == "stdout: 1 → 0 lines 'area 216'"
    assert stock.difference(Ended(0, "area 216\nAAB\nAA \nERROR 1\n")) == "stdout: new line 'ERROR 1'"


@pytest.mark.parametrize(
    ("suffix", "text", "expected"),
    [
        (".c", "#pragma omp parallel\nint main(void) {}", True),
        (".c", "#pragma omp parallel\nvoid part(void) {}", False),
        (".c", "int main(void) {}", False),
        (".f90", "program p\n!$omp parallel\n", True),
        (".F90", "subroutine s\n!$OMP parallel\n", False),
    ],
)
def test_whole_programs_with_openmp_are_found(suffix: str, text: str, expected: bool) -> None:
    assert is_program(suffix, text) == expected


def test_programs_of_a_known_suite_get_its_flags_and_races(tmp_path: Path) -> None:
    folder = tmp_path / "micro-benchmarks"
    folder.mkdir()
    (folder / "DRB001-antidep1-orig-yes.c").write_text("#pragma omp parallel\nint main(void) {}")
    (folder / "DRB002-x-no.c").write_text("#pragma omp parallel\n// PolyBench\nint main(void) {}")
    racy, plain = programs_in(tmp_path)
    assert racy.has_race and not plain.has_race
    assert f"-I{folder}" in racy.flags
    assert plain.others == (folder / "utilities" / "polybench.c",)
    assert [program.key for program in programs_in(tmp_path, "*002*")] == [plain.key]


def test_unknown_folder_is_a_suite_of_its_own(tmp_path: Path) -> None:
    assert suite_of(tmp_path).name == tmp_path.name


def test_markers_distinguish_the_suites() -> None:
    assert len({suite.marker for suite in SUITES}) == len(SUITES)


def test_each_way_loads_its_libraries_with_its_settings() -> None:
    tool, extension = Path("/tool.so"), Path("/ext.so")
    settings = {way.name: way.settings(tool, extension, Path("/run")) for way in WAYS}
    assert settings["profile by OMP_TOOL_LIBRARIES"]["OMP_TOOL_LIBRARIES"] == "/tool.so"
    assert settings["trace by preload"]["LD_PRELOAD"] == "/tool.so"
    strict = settings["2 domains strict"]
    assert strict["LD_PRELOAD"] == "/ext.so"
    assert (strict["OMP_EXT_DOMAINS"], strict["OMP_EXT_STRICT"]) == ("2", "1")
    assert "/ext.so /tool.so" in {values.get("LD_PRELOAD") for values in settings.values()}
    assert len(settings) == len(WAYS) == 12


@pytest.mark.parametrize(
    ("has_race", "first_end", "differs"), [(True, 2, False), (True, 9, True), (False, 2, True)]
)
def test_a_race_explains_that_some_runs_do_not_end(
    tmp_path: Path, has_race: bool, first_end: int, differs: bool
) -> None:
    """With the tool, all runs of the program before run `first_end` hang."""
    program = tmp_path / "program"
    program.write_text(
        f"""#!/bin/sh
        [ "$OMP_TOOL_LIBRARIES" ] || exit 0
        echo >> {tmp_path}/runs
        [ "$(wc -l < {tmp_path}/runs)" -ge {first_end} ] || exec sleep 60
        """
    )
    program.chmod(0o755)
    way = Way("profile", "OMP_TOOL_LIBRARIES")
    campaign = Campaign(program, program, toolchains.NATIVE_TOOLCHAINS[0], [way], limit_s=3, repeats=1)
    entry = campaign.entry(Case(Program("suite/program", program, has_race=has_race), program, 2))
    assert not entry["skipped"]
    assert [found["difference"] for found in entry["differences"]] == ["does not end"] * differs

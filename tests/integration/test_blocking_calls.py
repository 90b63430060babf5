# SPDX-License-Identifier: Apache-2.0
"""Checks that findings name those calls in a construct's code in which threads may sleep."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.sampled import DISK, IO, LOCK, SLEEP, WAIT
from ompass.samples.content import blocking_places
from ompass.symbols import blocking_calls
from ompass.symbols.blocking_calls import BlockingCalls
from ompass.symbols.resolver import Resolver
from toolchains import PROGRAMS, CompileProgram, RunRecorded, Toolchain, toolchain_named

SOURCE = PROGRAMS / "samples" / "sleeping.c"
KINDS = {
    "by_task": SLEEP, "by_region": SLEEP, "by_lock": LOCK, "by_token": WAIT, "by_disk": DISK, "by_output": IO,
}  # fmt: skip


def marked(source: Path, mark: str) -> set[int]:
    lines = source.read_text(encoding="utf-8").splitlines()
    return {n for n, line in enumerate(lines, 1) if mark in line.partition("//")[2].split()}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_each_construct_has_the_calls_in_its_code(
    toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded, level: str
) -> None:
    program = compile_program("samples/sleeping.c", toolchain, opt_level=level)
    run = open_run(run_recorded(program, toolchain).run_dir)
    resolver = Resolver.of_run(run)
    tasks = [d for d in run.definitions if d.kind == "task"]
    regions = sorted((d for d in run.definitions if d.kind == "parallel"), key=lambda d: d.id)
    found = [{(p.kind, p.line.line) for p in blocking_places(d, resolver)} for d in (*tasks, *regions)]
    expected = {name: {(kind, line) for line in marked(SOURCE, name)} for name, kind in KINDS.items()}
    of_task = expected.pop("by_task")
    # The task's code is not the code of the region around it, and the last region has no such call.
    assert found == [of_task] * len(tasks) + [set(), *expected.values(), set()]
    assert tasks


@pytest.mark.parametrize(
    ("name", "toolchain", "function", "cure"),
    [
        ("samples/sleeping.cpp", "clang-19", "std::condition_variable::wait", "Wait less often"),
        ("samples/sleeping.cpp", "gcc-12-libomp-19", "std::condition_variable::wait", "Wait less often"),
        ("samples/sleeping.f90", "clang-19", "usleep", "Remove the sleep"),
        ("samples/sleeping.f90", "gcc-12-libomp-19", "usleep", "Remove the sleep"),
    ],
)
def test_the_finding_names_the_call_and_its_line(
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    name: str,
    toolchain: str,
    function: str,
    cure: str,
) -> None:
    chosen = toolchain_named(toolchain)
    program = compile_program(name, chosen, opt_level="-O2")
    content = collect(open_run(run_recorded(program, chosen, threads=2).run_dir))
    finding = next(f for f in content.findings if f.kind == "blocked")
    text = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    (line,) = [n for n, each in enumerate(text, 1) if each.endswith("SLEEPS")]
    assert content.place_of(finding).line == line
    assert f"they may sleep in {function} ({Path(name).name}:{line})" in finding.because
    assert finding.cure.startswith(cure[:1].lower() + cure[1:])


def test_a_file_without_code_has_no_calls(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no code")
    assert BlockingCalls(tmp_path / "text").of_construct(0x1000) == ()


def test_addresses_and_calls_of_aarch64_code() -> None:
    code = (0xB0000000, 0x91008000, 0x9400003E, 0x1400003E)  # adrp x0, 0x1000; add x0, x0, #0x20; bl; b
    words = b"".join(word.to_bytes(4, "little") for word in code)
    found = list(blocking_calls._mentions("EM_AARCH64", words, 0))
    assert found == [(0, 0x1000, False), (4, 0x1020, False), (8, 0x100, True), (12, 0x104, True)]
    assert list(blocking_calls._mentions("EM_S390", words, 0)) == []

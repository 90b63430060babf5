# SPDX-License-Identifier: Apache-2.0
"""Names read as in the source, and lines are shown only from the binary that ran."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ompass.elf import read_facts, read_functions
from ompass.model import Module
from ompass.symbols import call_arguments, program_files
from ompass.symbols import lookup as lookup_module
from ompass.symbols.call_arguments import Offloads
from ompass.symbols.debugfiles import DebugFile, find_debug_file
from ompass.symbols.lookup import Frame, Lookup, parse_addr2line
from ompass.symbols.names import _cxx_demangler, _runtime_demangler, compact_name, readable_name, short_name
from ompass.symbols.program_files import ModuleFile
from ompass.symbols.resolver import UNKNOWN, Resolver
from ompass.symbols.split_dwarf import SplitDwarf
from ompass.symbols.split_units import DamagedUnitError
from ompass.symbols.unwinder import FrameTable


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("fib", "fib"),
        ("fib.omp_outlined", "fib"),
        ("fib.omp_outlined_debug__", "fib"),
        ("main.omp_outlined.3", "main"),
        ("fib._omp_fn.0", "fib"),
        ("fib._omp_fn.12.constprop.0", "fib"),
        ("fib.part.2", "fib"),
        ("fib.isra.0.cold", "fib"),
        ("_ZN5bench3fibEi", "bench::fib(int)"),
        ("_ZN5bench3fibEi._omp_fn.1", "bench::fib(int)"),
        ("_ZN5bench3fibEi.omp_outlined", "bench::fib(int)"),
        ("_Z3recIiEvT_", "void rec<int>(int)"),
        (".omp_outlined.", ""),
        (".omp_outlined..5", ""),
        (".omp_outlined._debug__", ""),
        (".omp_task_entry..3", ""),
        ("_QQmain", "main program"),
        ("_QQmain..omp_par.1", "main program"),
        ("_QMmPsub", "m::sub"),
        ("_QFPinner", "inner"),
        ("_QPsolve", "solve"),
        ("MAIN__._omp_fn.0", "main program"),
        ("__m_MOD_sub", "m::sub"),
        ("__omp_offloading_fe00_59c01b_main_l22", "main"),
        ("__omp_offloading_fe00_59c01b_main_l22_debug__.omp_outlined_debug__.omp_outlined", "main"),
        ("__omp_offloading_fe00_59c01b__ZN5bench3fibEi_l7", "bench::fib(int)"),
        ("", ""),
    ],
)
def test_outlined_and_mangled_names_read_as_written(symbol: str, name: str) -> None:
    assert readable_name(symbol) == name


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("bench::fib(int)", "bench::fib"),
        ("fib", "fib"),
        ("main::$_0::operator()(int) const", "main::$_0::operator()"),
        ("f(void (*)(int))", "f"),
        ("(anonymous namespace)::g(int)", "(anonymous namespace)::g"),
        ("operator()", "operator()"),
        ("void rec<int>(int)", "rec<int>"),
        ("unsigned long ns::f<ns::K{(ns::C)3}>(unsigned int)", "ns::f<ns::K{(ns::C)3}>"),
        ("void (anonymous namespace)::g<int>(int)", "(anonymous namespace)::g<int>"),
        ("A::operator int() const", "A::operator int"),
    ],
)
def test_parameters_are_left_out_in_narrow_columns(function: str, short: str) -> None:
    assert short_name(function) == short


def test_answers_of_external_symbolizers_are_understood() -> None:
    answer = "_Z1fv\n/src/a.c:12 (discriminator 3)\nmain\n/src/with:colon.c:3\n??\n??:0\n"
    assert parse_addr2line(answer) == (Frame("_Z1fv", "/src/a.c", 12), Frame("main", "/src/with:colon.c", 3))


def test_long_template_arguments_are_left_out() -> None:
    assert compact_name("void a::f<b::c<int>>(int)", 40) == "a::f<b::c<int>>"
    assert compact_name("void a::f<b::c<int>>::g<int>(int)", 10) == "a::f<...>::g<...>"
    assert compact_name("a::operator<(int)", 3) == "a::operator<"
    assert compact_name("a::f(b::c&)::'lambda0'(b::c&)::operator()(b::c&) const", 20) == "a::f::lambda"
    assert compact_name("void a::g<a::f(int)::'lambda'(int)>(int const&)", 20) == "a::g<...>"
    assert compact_name("main::{lambda(b::c&, int)#1}::operator()(b::c&, int) const", 20) == "main::lambda"
    assert compact_name("std::string<char, int>::operator<<(int)", 20) == "std::string<...>::operator<<"
    assert compact_name("(anonymous namespace)::f(int)", 3) == "(anonymous namespace)::f"
    assert compact_name("unbalanced <(", 3) == "unbalanced <("


def test_either_demangler_reads_a_cxx_name() -> None:
    assert _runtime_demangler()("_ZN5bench3fibEi") == "bench::fib(int)"
    assert _cxx_demangler()("_ZN5bench3fibEi") == "bench::fib(int)"
    assert _cxx_demangler()("_Zwhat?") == "_Zwhat?"


def own_executable() -> Path:
    return Path(sys.executable).resolve()


def test_changed_binary_is_reported_and_not_used() -> None:
    path = own_executable()
    module = Module(path=str(path), build_id="00" * 20)
    found = find_debug_file(module)
    assert found.path is None
    assert "has changed since the run" in found.problem
    assert find_debug_file(Module(path=str(path), build_id=read_facts(path).build_id)).is_own


def test_binary_without_build_id_is_identified_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "program"
    shutil.copyfile(own_executable(), path)
    recorded_ns = path.stat().st_mtime_ns
    assert find_debug_file(Module(path=str(path), build_id=""), recorded_ns - 1).path is None
    assert find_debug_file(Module(path=str(path), build_id=""), recorded_ns + 1).path == path


def test_unwind_tables_come_from_the_recorded_file_only(tmp_path: Path) -> None:
    path = tmp_path / "program"
    shutil.copyfile(own_executable(), path)
    changed_ns, address = path.stat().st_mtime_ns, FrameTable.of_file(path)._begins[0]
    module = Module(path=str(path), build_id="")
    assert ModuleFile(module, changed_ns + 1, ()).rules_at(address)
    assert ModuleFile(module, changed_ns - 1, ()).rules_at(address) is None


def damaged(*_: object) -> Any:
    raise DamagedUnitError("damaged")


def split_with(unit: Any, line_program: Any) -> SplitDwarf:
    """Makes the reader of a program with one compilation unit."""
    split = SplitDwarf.__new__(SplitDwarf)
    skeleton: Any = SimpleNamespace(unit=SimpleNamespace(cu_offset=0), folder="/gone", file="a.dwo")
    split._path, split.problem, split.skeletons = Path("/gone/program"), "", (skeleton,)
    split._covered, split._starts = [(0, 16, skeleton)], [0]
    split._units, split._lines = {0: unit}, {}
    program: Any = SimpleNamespace(line_program_for_CU=line_program)
    split._dwarf = program
    return split


@pytest.mark.parametrize("chain", [damaged, lambda _: [SimpleNamespace(value=lambda _: 1)]])
def test_a_damaged_part_of_split_debug_information_counts_as_missing(chain: Any) -> None:
    function = SimpleNamespace(is_inlined=False, value=lambda _: 1)
    unit = SimpleNamespace(chain=chain, name=damaged, every=[function])
    for question in ("frames", "function_around"):
        split = split_with(unit, damaged)
        for _ in range(2):
            if question == "frames":
                assert split.frames(4) == (("", "", 0),)
            else:
                assert split.function_around(4, "a.c", 9) == ""
            assert split.problem.startswith("/gone/a.dwo is missing")


def test_missing_binary_is_reported_once_and_leaves_module_and_offset(tmp_path: Path) -> None:
    resolver = Resolver([Module(path=str(tmp_path / "gone"), build_id="ab" * 20)])
    places = [resolver.locate_address(0, offset).place for offset in (0x10, 0x20)]
    assert places == ["gone+0x10", "gone+0x20"]
    assert len(resolver.problems) == 1
    assert "no longer there" in resolver.problems[0]


def test_file_that_is_not_elf_is_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("not a program", encoding="utf-8")
    assert Resolver([Module(path=str(path), build_id="")]).locate_address(0, 64).place == "text+0x40"


def test_unknown_module_or_address_has_no_location() -> None:
    resolver = Resolver([])
    assert resolver.locate_address(-1, 100) is UNKNOWN
    assert resolver.locate_address(0, 100) is UNKNOWN
    assert UNKNOWN.label() == "?"


def test_function_comes_from_the_symbol_table_when_there_is_no_debug_information() -> None:
    path = own_executable()
    functions = read_functions(path).functions
    if not functions:
        pytest.skip("this Python has no function symbols")
    start, size, name = max(functions, key=lambda f: f[1])
    location = Resolver([Module(path=str(path), build_id=read_facts(path).build_id)]).locate_address(
        0, start + size // 2
    )
    assert location.function == readable_name(name)


def test_a_debug_file_that_is_not_an_elf_file_is_refused(tmp_path: Path) -> None:
    build_id = "ab" * 20
    folder = tmp_path / ".build-id" / build_id[:2]
    folder.mkdir(parents=True)
    (folder / f"{build_id[2:]}.debug").write_bytes(b"not an ELF file")
    found = find_debug_file(Module(path=str(tmp_path / "gone"), build_id=build_id), roots=(tmp_path,))
    assert found.path is None


def test_code_without_a_line_has_its_file_and_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Optimised code may have line 0; its file and function are still known."""
    frames = (Frame("fft_aux.omp_outlined", "/src/fft.c", 0), Frame("main", "/src/fft.c", 0))
    monkeypatch.setattr(program_files, "find_debug_file", lambda *_: DebugFile(tmp_path, True, ""))

    class MadeLookup:
        problem = ""

        def __init__(self, *_: object) -> None: ...

        def of_call(self, address: int) -> tuple[Frame, ...]:
            return frames

    monkeypatch.setattr(program_files, "Lookup", MadeLookup)
    location = Resolver([Module(path="/bin/fft", build_id="ab")]).locate_address(0, 0x1235)
    assert (location.function, location.file, location.line) == ("fft_aux", "/src/fft.c", 0)
    assert location.label() == "fft.c+0x1235 (fft_aux)"
    assert location.is_named("fft_aux") and location.is_named("fft.c+0x1235")


def test_a_sample_without_a_line_gets_the_line_before_it_in_its_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def step(line: int) -> tuple[Frame, ...]:
        return Frame("next", "/src/list.h", line), Frame("walk", "/src/list.c", 50)

    inner = (Frame("draw", "/src/random.h", 9), *step(38))
    code = {
        0x10: (Frame("other", "/src/list.c", 7),),
        0x20: (Frame("walk", "/src/list.c", 0),),  # no line before it in its function
        0x30: step(37),
        0x31: step(0),
        0x32: (Frame("walk", "/src/list.c", 51),),
        0x33: step(0),  # not the line of the function that it was inlined into
        0x34: inner,
        0x35: step(0),  # the line of the call, not of the callee
        0x36: (Frame("", "", 0),),
    }
    monkeypatch.setattr(lookup_module, "_symbolic_lookup", lambda _: lambda address: code.get(address, ()))
    monkeypatch.setattr(lookup_module, "_external_tool", lambda: None)
    lookup = Lookup(tmp_path / "program", True)
    expected = {0x20: 0, 0x30: 37, 0x31: 37, 0x33: 37, 0x35: 38, 0x36: 0}
    assert {address: lookup.of_sample(address)[0].line for address in expected} == expected
    assert lookup.of_sample(0x31) == step(37)
    assert lookup(0x31) == step(0), "a construct may have no line"
    assert lookup.of_sample(0x40) == ()


@pytest.mark.parametrize(("name", "line"), [("_QQmain..omp_par", 9), ("main.omp_outlined", 0)])
def test_a_call_without_a_line_gets_the_first_line_of_flangs_body(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, line: int
) -> None:
    code = {
        0x0F: (Frame(name, "/src/a.f90", 3),),  # before the call
        0x10: (Frame(name, "/src/a.f90", 0),),
        0x20: (Frame("cg", "/src/a.f90", 5), Frame(name, "/src/a.f90", 14)),
        0x30: (Frame(name, "/src/a.f90", 9),),
        0x38: (Frame(name, "/src/a.f90", 12),),
        0x3C: (Frame(name, "/src/a.f90", 11),),
        0x40: (Frame("next", "/src/a.f90", 1),),
        0x50: (Frame(name, "/src/a.f90", 2),),  # of another function with this name
    }
    monkeypatch.setattr(lookup_module, "_symbolic_lookup", lambda _: lambda address: code.get(address, ()))
    monkeypatch.setattr(lookup_module, "_external_tool", lambda: None)
    lookup = Lookup(tmp_path / "program", True)
    assert lookup.of_call(0x10) == (Frame(name, "/src/a.f90", line),)
    assert lookup.of_call(0x38) == code[0x38]
    assert lookup.of_body(0x10) == (Frame(name, "/src/a.f90", line),)
    assert lookup.of_body(0x38)[0].line == (11 if line else 12)
    assert lookup.of_call(0x60) == ()


def test_a_loop_of_flang_begins_after_its_routine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # Bounds of an array argument have the routine's line. Code of an inlined routine may have a smaller line.
    lines = (3, 0, 3, 9, 10, 1, 9)
    code = {k: (Frame("_QPf..omp_par", "/src/a.f90", line),) for k, line in enumerate(lines, 1)}
    code[100] = (Frame("_QPf", "/src/a.f90", 3),)
    monkeypatch.setattr(lookup_module, "_symbolic_lookup", lambda _: lambda address: code.get(address, ()))
    monkeypatch.setattr(lookup_module, "symbols_like", lambda path, part: {1: "_QPf..omp_par", 100: "_QPf"})
    assert Lookup(tmp_path / "program", True).of_body(1)[0].line == 9


def test_lines_before_a_loop_of_flang_are_not_its_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def line_of(*lines: int) -> int:
        code = {k: (Frame("_QQmain..omp_par", "/src/a.f90", line),) for k, line in enumerate(lines, 1)}
        monkeypatch.setattr(
            lookup_module, "_symbolic_lookup", lambda _: lambda address: code.get(address, ())
        )
        monkeypatch.setattr(lookup_module, "_external_tool", lambda: None)
        return Lookup(tmp_path / "program", True).of_body(1)[0].line

    assert line_of(0, 9, 10, 11, 0, 13, 0, 11) == 11, "the loop's line is at its end, too"
    assert line_of(0, 9, 10, 11, 12, 13, 13, 0) == 9, "no line near the first one repeats"
    assert line_of(0, 8, 11, 0, 11) == 8, "the repeated line is too far away"
    assert line_of(0, 0) == 0


def test_only_the_call_that_launches_a_kernel_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call of a taskwait follows so closely that the launch's arguments are near this call, too."""
    lea, call = b"\x4c\x8d\x05", b"\xe8"
    code, begin, kernel = b"", 0x1000, 0x3000
    ends = []
    for opcode, target in ((lea, kernel), (call, 0x500), (call, 0x600)):
        end = begin + len(code) + len(opcode) + 4
        code += opcode + (target - end).to_bytes(4, "little", signed=True)
        ends.append(end)
    monkeypatch.setattr(call_arguments, "code_between", lambda _, a, b: code[a - begin : b - begin])
    offloads: Any = Offloads(Path("program"))
    offloads._lines = {kernel: 22}
    offloads._functions = SimpleNamespace(start_of=lambda _: begin)
    offloads._stubs = {0x500: "__tgt_target_kernel", 0x600: "__kmpc_omp_taskwait"}
    assert [offloads.line_of_call(end) for end in ends[1:]] == [(22, begin), (0, 0)]

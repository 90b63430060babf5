# SPDX-License-Identifier: Apache-2.0
"""Programs compiled with -gsplit-dwarf: .dwo and .dwp files give the same frames as unsplit programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from command import call
from needs import require_commands
from ompass.elf import read_facts, read_functions
from ompass.model import Module
from ompass.symbols import lookup as lookup_module
from ompass.symbols.lookup import Lookup
from ompass.symbols.names import readable_name
from ompass.symbols.program_files import enclosing_function
from ompass.symbols.resolver import Resolver
from ompass.symbols.split_dwarf import split_dwarf
from toolchains import RunRecorded, neutral_environment

SOURCE = """\
#include <algorithm>
#include <cstdio>
#include <vector>
namespace area {
template <class T> struct Work {
  static inline __attribute__((always_inline)) T add(T a, T b) { return a + b * 3; }
  __attribute__((noinline)) T sum(const std::vector<T> &v) {
    T s = 0;
    for (auto x : v) s = add(s, x);
    return s;
  }
  static void spawn(std::vector<T> &v, int n) {
#pragma omp task shared(v)
    for (int i = 0; i < n; i++) v[i] += add(i, 2);
  }
};
}
double other(double x, int n);
int main(int argc, char **) {
  std::vector<long> v(1000 + argc);
  area::Work<long> w;
  long total = 0;
#pragma omp parallel reduction(+ : total)
  {
#pragma omp single
    for (int i = 0; i < 10; i++) area::Work<long>::spawn(v, 10 * i);
    std::sort(v.begin(), v.end());
    total += w.sum(v);
  }
  std::printf("%ld %g\\n", total, other(1, argc));
  return 0;
}
"""
OTHER = """\
static inline __attribute__((always_inline)) double step(double x, int i) {
  return x / 1.0000001 + i;
}
__attribute__((noinline, used)) static double cold(double x) { return x - 1; }
double other(double x, int n) {
  for (int i = 1; i < n; i++)
    x = step(x, i);
  return n > 100 ? cold(x) : x;
}
"""
SPAWN_LINE = 13

Build = Callable[..., Path]
Names = list[tuple[str, str, int]]


class Compiler(NamedTuple):
    name: str
    version: int  # of DWARF
    flags: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}-dwarf{self.version}{''.join(self.flags)}"


Frames = Callable[[Compiler], list[tuple[str, int, Names]]]

COMPILERS = [
    Compiler("clang++-19", 4), Compiler("clang++-19", 5), Compiler("clang++-19", 5, ("-ffunction-sections",)),
    Compiler("clang++-14", 5), Compiler("g++", 4), Compiler("g++", 5),
    Compiler("g++", 5, ("-ffunction-sections",)),
]  # fmt: skip


@pytest.fixture(params=COMPILERS, ids=str)
def compiler(request: pytest.FixtureRequest) -> Compiler:
    return request.param  # type: ignore[no-any-return]


def built(folder: Path, compiler: Compiler, *options: str) -> Path:
    """Compiles and links a library. Its code is the same with and without -gsplit-dwarf."""
    require_commands(compiler.name)
    folder.mkdir()
    for file, text in (("main.cpp", SOURCE), ("other.cpp", OTHER)):
        (folder / file).write_text(text, "utf-8")
        flags = (f"-gdwarf-{compiler.version}", *compiler.flags, *options)
        run(folder, compiler.name, "-O2", "-fPIC", "-fopenmp", *flags, "-c", file, "-o", f"{file[:-4]}.o")
    run(folder, compiler.name, "-shared", "main.o", "other.o", "-o", "libwork.so")
    return folder / "libwork.so"


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Returns a function that builds the library in a new folder of the test."""
    return lambda compiler, name, *options: built(tmp_path / name, compiler, *options)


@pytest.fixture(scope="module")
def whole_frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """Returns a function that returns all frames of the unsplit library that a compiler builds."""

    @cache
    def frames(compiler: Compiler) -> list[tuple[str, int, Names]]:
        library = built(tmp_path_factory.mktemp("whole") / "whole", compiler)
        assert split_dwarf(library) is None
        return list(all_frames(library))

    return frames


def run(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def all_frames(path: Path) -> Iterator[tuple[str, int, Names]]:
    """Yields the frames of each address in the functions of a file."""
    lookup = Lookup(path, True)
    for start, size, name in read_functions(path).functions:
        for k in range(size):
            frames = lookup(start + k)
            yield name, k, [(readable_name(f.symbol), Path(f.file).name, f.line) for f in frames]


def check_equal(expected: list[tuple[str, int, Names]], split: Path) -> None:
    found = list(all_frames(split))
    assert len(expected) > 800
    assert sum(len(frames) > 1 for _, _, frames in expected) > 100, "inlined code is compared"
    different = [pair for pair in zip(expected, found, strict=True) if pair[0] != pair[1]]
    assert different == []


def pack(split: Path, packer: str) -> None:
    """Puts the .dwo files of a library into one package."""
    require_commands(packer)
    run(split.parent, packer, "main.dwo", "other.dwo", "-o", "libwork.so.dwp")
    for file in split.parent.glob("*.dwo"):
        file.unlink()


PACKERS = {"unpacked": (4, 5), "llvm-dwp": (4, 5), "dwp": (4,)}  # the versions of DWARF that each supports


@pytest.mark.list_takes_turns
@pytest.mark.parametrize(
    ("compiler", "packer"), [(c, p) for c in COMPILERS for p in PACKERS if c.version in PACKERS[p]], ids=str
)
def test_split_programs_have_the_same_frames(
    compiler: Compiler,
    packer: str,
    build: Build,
    whole_frames: Frames,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup_module, "_external_tool", lambda: None)
    split = build(compiler, "split", "-gsplit-dwarf")
    assert (split.parent / "other.dwo").is_file()
    if packer != "unpacked":
        pack(split, packer)
    check_equal(whole_frames(compiler), split)


def test_objects_may_keep_the_split_part(
    build: Build, whole_frames: Frames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup_module, "_external_tool", lambda: None)
    compiler = COMPILERS[1]
    split = build(compiler, "split", "-gsplit-dwarf=single")
    assert not (split.parent / "other.dwo").exists()
    check_equal(whole_frames(compiler), split)


def test_files_are_found_next_to_a_moved_program(build: Build, tmp_path: Path) -> None:
    split = build(COMPILERS[0], "split", "-gsplit-dwarf")
    expected = list(all_frames(split))
    moved = tmp_path / "moved"
    split.parent.rename(moved)
    assert list(all_frames(moved / split.name)) == expected


def resolved(path: Path) -> tuple[set[str], list[str]]:
    """Returns the functions (also inlined) at all addresses of `other`, and the resolver's problems."""
    facts = read_facts(path)
    resolver = Resolver([Module(path=str(path), build_id=facts.build_id)])
    start, size, _ = next(f for f in read_functions(path).functions if f[2].startswith("_Z5other"))
    places = [resolver.locate_address(0, start + k) for k in range(1, size)]
    assert {Path(place.file).name for place in places} == {"other.cpp"}
    assert {3, 6} & {place.line for place in places} or {2, 7} & {place.line for place in places}
    return {place.function for place in places}, resolver.problems


def a_missing_file_is_named_in_one_sentence(compiler: Compiler, build: Build) -> None:
    split = build(compiler, "split", "-gsplit-dwarf")
    functions, problems = resolved(split)
    assert {name.partition("(")[0] for name in functions} == {"step", "other"}
    assert problems == []
    for name in ("other.dwo", "main.dwo"):
        (split.parent / name).unlink()
    split_dwarf_again(split)
    functions, problems = resolved(split)
    assert functions == {"other(double, int)"}, "the symbol table has it"
    (problem,) = problems
    assert problem.startswith(
        f"{split.parent}/other.dwo and 1 other .dwo file are missing, so inlined functions"
    )


def a_file_of_another_build_is_not_used(compiler: Compiler, build: Build) -> None:
    split = build(compiler, "split", "-gsplit-dwarf")
    newer = split.parent / "newer.cpp"
    newer.write_text(OTHER.replace("step", "changed"), "utf-8")
    flags = ("-O2", "-fPIC", f"-gdwarf-{compiler.version}", *compiler.flags, "-gsplit-dwarf")
    run(split.parent, compiler.name, *flags, "-c", newer.name, "-o", "newer.o")
    (split.parent / "newer.dwo").rename(split.parent / "other.dwo")
    functions, problems = resolved(split)
    assert functions == {"other(double, int)"}
    (problem,) = problems
    assert "other.dwo is of another build" in problem


def a_damaged_file_causes_no_error(compiler: Compiler, build: Build) -> None:
    split = build(compiler, "split", "-gsplit-dwarf")
    whole = (split.parent / "other.dwo").read_bytes()
    for size in range(0, len(whole), max(len(whole) // 12, 1)):
        (split.parent / "other.dwo").write_bytes(whole[:size])
        split_dwarf_again(split)
        functions, _ = resolved(split)
        assert "other(double, int)" in functions


def split_dwarf_again(path: Path) -> None:
    """Replaces the file by a copy, so that the reader opens it again."""
    shutil.copy(path, f"{path}.new")
    Path(f"{path}.new").rename(path)


@pytest.mark.parametrize(
    "claim",
    [
        a_missing_file_is_named_in_one_sentence,
        a_file_of_another_build_is_not_used,
        a_damaged_file_causes_no_error,
    ],
    ids=lambda claim: claim.__name__,
)
def test_missing_foreign_and_damaged_files(
    claim: Callable[[Compiler, Build], None], compiler: Compiler, build: Build
) -> None:
    claim(compiler, build)


def test_bodies_without_a_name_get_the_function_around_them(build: Build) -> None:
    """clang gives a task's body only a name such as `.omp_outlined.`."""
    split = build(COMPILERS[1], "split", "-gsplit-dwarf")
    address = next(f for f in read_functions(split).functions if f[2].startswith("_ZN4area4WorkIlE3sum"))[0]
    name = enclosing_function(split, address, str(split.parent / "main.cpp"), SPAWN_LINE + 1)
    assert name == "area::Work<long>::spawn(std::vector<long, std::allocator<long>>&, int)"


def test_a_recorded_run_shows_functions_lines_and_missing_files(
    tmp_path: Path, run_recorded: RunRecorded
) -> None:
    require_commands("clang++-19")
    for file, text in (("main.cpp", SOURCE), ("other.cpp", OTHER)):
        (tmp_path / file).write_text(text, "utf-8")
    run(
        tmp_path,
        "clang++-19",
        "-O2",
        "-g",
        "-gsplit-dwarf",
        "-fopenmp",
        "main.cpp",
        "other.cpp",
        "-o",
        "work",
    )
    recorded = run_recorded(tmp_path / "work").run_dir

    def report() -> Any:
        return json.loads(call(neutral_environment(), None, "report", recorded, "--json").stdout)

    files = [tmp_path / "work-main.dwo", tmp_path / "work-other.dwo"]
    for moved in files:
        moved.rename(f"{moved}.gone")
    for _ in range(2):  # the run directory does not keep incomplete names
        (task,) = report()["constructs"]
        assert (task["line"], task["function"]) == (SPAWN_LINE, "main")
        (problem,) = (p for p in report()["problems"] if ".dwo" in p)
        assert problem.startswith(f"{tmp_path}/work-main.dwo and 1 other .dwo file are missing")
    for moved in files:
        Path(f"{moved}.gone").rename(moved)
    (task,) = report()["constructs"]
    assert (task["line"], task["inlined_into"]) == (SPAWN_LINE, ["main"])
    assert task["function"].startswith("area::Work<long>::spawn")
    assert not [p for p in report()["problems"] if ".dwo" in p]

# SPDX-License-Identifier: Apache-2.0
"""The names file of a run: the reader returns the written names and refuses invalid content with a reason."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import made_run
from ompass.elf import read_facts
from ompass.keeping import names
from ompass.keeping.names import keep_names, keep_names_of
from ompass.model import Definition, Module
from ompass.symbols import program_files
from ompass.symbols.debugfiles import DebugFile, find_debug_file
from ompass.symbols.kept import (
    NAMES_FILE,
    Answers,
    DamagedNamesError,
    ModuleNames,
    packed_names,
    read_names,
    write_packed,
)
from ompass.symbols.location import BlockingCall, Location
from ompass.symbols.operands import MODULE, Operand
from ompass.symbols.resolver import Resolver, Resolvers

MODULES = (Module(path="/bin/fib", build_id="ab"), Module(path="/lib/other.so", build_id="cd"))
SOUND = ModuleNames("", True, True, False)


def answers() -> Answers:
    inner = Location("g", "/src/fib.c", 7, (), "/bin/fib", 0x20)
    return Answers(
        modules={0: SOUND},
        calls={(0, 0x10): Location("f(int)", "/src/fib.c", 3, ("main", "h"), "/bin/fib", 0x10)},
        code={(0, 0x20): (inner, Location("main", "/src/fib.c", 9, (), "/bin/fib", 0x20))},
        criticals={(0, 0x10): None, (0, 0x30): "", (0, 0x40): "sums"},
        rules={(0, 0x20): {".cfa": ("$rsp", "8", "+"), ".ra": (".cfa", "-8", "+", "^")}, (0, 0x21): None},
        behaviours={(0, 0x20): "memory", (0, 0x28): "atomic"},
        updates={(0, 0x28): 0x24},
        operands={
            (0, 0x20): (
                Operand("rdi", "rcx", 8, -16, 4, True, 0x1C),
                Operand("", "", 1, 0x40, 8, False, 0x20),
            ),
            (0, 0x28): (Operand(MODULE, "", 1, 0x4010, 8, False, 0x28),),
            (0, 0x30): (),
        },
        task_bytes={(0, 0x10): 48},
        blocking={(0, 0x30): (BlockingCall(0x50, "usleep", "sleep"), BlockingCall(0x60, "read", "io"))},
        lines={"/src/fib.c": {3: "a", 4: "b\udcff", 9: "c"}},
    )


def write(directory: Path, known: Answers) -> None:
    write_packed(directory, packed_names(MODULES, known, "1.0"))


def changed(directory: Path, change: Any) -> None:
    """Writes a names file whose content `change` altered."""
    content = json.loads(gzip.decompress(packed_names(MODULES, answers(), "1.0")))
    change(content)
    (directory / NAMES_FILE).write_bytes(gzip.compress(json.dumps(content).encode()))


def test_a_run_without_a_file_has_no_names(tmp_path: Path) -> None:
    assert read_names(tmp_path, MODULES) is None


def test_names_are_read_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path, answers())
    assert read_names(tmp_path, MODULES) == answers()
    assert [path.name for path in tmp_path.iterdir()] == [NAMES_FILE]


@given(
    st.dictionaries(st.integers(1, 1 << 47), st.text(max_size=3), max_size=20), st.sets(st.integers(1, 50))
)
def test_any_addresses_and_lines_survive(places: dict[int, str], numbers: set[int]) -> None:
    known = Answers(modules={0: SOUND}, behaviours={(0, at): text for at, text in places.items()})
    known.lines = {"f.c": {number: str(number) for number in numbers}} if numbers else {}
    with tempfile.TemporaryDirectory() as directory:
        write(Path(directory), known)
        assert read_names(Path(directory), MODULES) == known


def test_answers_of_modules_without_a_known_file_are_not_written(tmp_path: Path) -> None:
    known = answers()
    known.behaviours[1, 0x50] = "computation"
    write(tmp_path, known)
    assert read_names(tmp_path, MODULES) == answers()


@pytest.mark.parametrize(
    "other", [Module(path="/bin/fib", build_id="ff"), Module(path="/bin/fob", build_id="ab")]
)
def test_names_of_another_program_are_ignored(tmp_path: Path, other: Module) -> None:
    write(tmp_path, answers())
    found = read_names(tmp_path, (other, MODULES[1]))
    assert found is not None
    assert (found.modules, found.calls, found.code, found.rules) == ({}, {}, {}, {})


def test_a_module_that_moved_keeps_its_names(tmp_path: Path) -> None:
    write(tmp_path, answers())
    found = read_names(tmp_path, (Module(path="/home/fib", build_id="ab"), MODULES[1]))
    assert found is not None and found.calls[0, 0x10].module == "/home/fib"


def test_a_file_of_an_earlier_version_lacks_only_newer_names(tmp_path: Path) -> None:
    changed(tmp_path, lambda content: [content.pop(name) for name in ("task_bytes", "updates", "blocking")])
    expected = answers()
    expected.task_bytes, expected.updates, expected.blocking = {}, {}, {}
    assert read_names(tmp_path, MODULES) == expected


def test_the_document_describes_all_members(tmp_path: Path) -> None:
    members: list[str] = []
    changed(tmp_path, lambda content: members.extend(content))
    text = (Path(__file__).parents[2] / "docs" / "trace-format.md").read_text(encoding="utf-8")
    assert members
    assert [name for name in members if f"`{name}`" not in text.partition("## Names")[2]] == []


def test_a_later_version_is_refused_with_its_number(tmp_path: Path) -> None:
    changed(tmp_path, lambda content: content.update(version=7))
    with pytest.raises(DamagedNamesError, match="a newer ompass wrote it, in version 7") as caught:
        read_names(tmp_path, MODULES)
    assert caught.value.is_newer


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("texts"),
        lambda content: content.update(format="another"),
        lambda content: content.update(frames=[[0, 99, 1]] * 9),
        lambda content: content["texts"].__setitem__(0, 5),
        lambda content: content["calls"][0][1].append(1),
        lambda content: content["code"][0][2].__setitem__(0, []),
        lambda content: content["code"][0][2].__setitem__(0, [-1]),
        lambda content: content.update(lines=[[0, "1", ["x"]]]),
        lambda content: content.update(modules=7),
        lambda content: content["rules"][0][2].__setitem__(0, 12),
    ],
)
def test_wrong_content_is_refused(tmp_path: Path, change: Any) -> None:
    changed(tmp_path, change)
    with pytest.raises(DamagedNamesError) as caught:
        read_names(tmp_path, MODULES)
    assert not caught.value.is_newer


def test_every_cut_and_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    write(tmp_path, answers())
    path = tmp_path / NAMES_FILE
    packed = path.read_bytes()
    for k in range(0, len(packed), 7):
        path.write_bytes(packed[:k])
        with pytest.raises(DamagedNamesError):
            read_names(tmp_path, MODULES)
    for k in range(10, len(packed), 7):  # the first ten bytes hold a time and flags
        path.write_bytes(packed[:k] + bytes([packed[k] ^ 0x55]) + packed[k + 1 :])
        with pytest.raises(DamagedNamesError):
            read_names(tmp_path, MODULES)


def test_deep_nesting_and_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAMES_FILE).write_bytes(gzip.compress(b"[" * 200_000))
    with pytest.raises(DamagedNamesError):
        read_names(tmp_path, MODULES)
    monkeypatch.setattr("ompass.symbols.kept._LARGEST_BYTES", 1000)
    (tmp_path / NAMES_FILE).write_bytes(gzip.compress(b" " * 1001))
    with pytest.raises(DamagedNamesError, match="larger than"):
        read_names(tmp_path, MODULES)


@pytest.mark.parametrize(("most_bytes", "n_lines"), [(10**6, 20 + 1 + 60), (2_600, 4 + 1 + 44), (100, 0)])
def test_fewer_source_lines_are_kept_if_space_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int, n_lines: int
) -> None:
    source = tmp_path / "fib.c"
    source.write_text("\n".join(sha256(str(k).encode()).hexdigest() for k in range(1000)))
    run = made_run(
        definitions=[Definition(id=0, kind="task", module=0, offset=0x10)],
        modules=MODULES,
        path=str(tmp_path),
        end_reason="exit",
        start_epoch_ns=source.stat().st_mtime_ns,
    )
    resolver = Resolver(run.modules, run.start_epoch_ns)
    resolver.answers.modules[0] = SOUND
    resolver.answers.calls[0, 0x10] = Location("f", str(source), 500, (), "/bin/fib", 0x10)
    resolver.has_news = True
    monkeypatch.setattr("ompass.keeping.names._MOST_BYTES", most_bytes)
    keep_names(run, resolver)
    found = read_names(tmp_path, MODULES)
    assert found is not None and found.calls == resolver.answers.calls
    assert len(found.lines.get(str(source), ())) == n_lines
    assert not resolver.has_news


def test_ranks_open_the_files_of_their_program_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def find(module: Module, *rest: Any) -> DebugFile:
        opened.append(module.path)
        return find_debug_file(module, *rest)

    monkeypatch.setattr(program_files, "find_debug_file", find)
    program = Module(path=sys.executable, build_id=read_facts(Path(sys.executable)).build_id)
    resolvers = Resolvers()
    for rank in range(3):
        # Each rank has its own copy of the vdso, and the order of the modules varies.
        copy = tmp_path / f"r{rank}.ompass" / "linux-vdso.so.1"
        copy.parent.mkdir()
        shutil.copy("/bin/true", copy)
        vdso = Module(path=str(copy), build_id=read_facts(copy).build_id)
        modules = (program, vdso) if rank % 2 else (vdso, program)
        resolver = resolvers.of_run(made_run(path=copy.parent, modules=modules))
        resolver.locate_address(0, 4096)
        resolver.locate_address(1, 4096)
    assert len(opened) == 2


def test_a_module_that_has_only_samples_gets_lines_that_were_installed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Module(path=sys.executable, build_id="ab" * 20)
    old = (Location("old", "", 0, (), program.path, 0x20),)
    kept = Answers(
        modules={0: ModuleNames("no lines", False, True, False)},
        code={(0, 0x20): old},
        behaviours={(0, 0x20): "memory"},
    )
    file = DebugFile(Path(sys.executable), True, "")
    monkeypatch.setattr(program_files, "find_debug_file", lambda *_: file)
    assert Resolver((program,), debug_roots=(tmp_path,), kept=kept).locate_code(0, 0x20) == old
    installed = tmp_path / ".build-id" / program.build_id[:2] / f"{program.build_id[2:]}.debug"
    installed.parent.mkdir(parents=True)
    installed.touch()
    resolver = Resolver((program,), debug_roots=(tmp_path,), kept=kept)
    assert resolver.locate_code(0, 0x20) != old
    assert (resolver.problems, resolver.has_news) == ([], True)
    assert kept.modules == {0: ModuleNames("", True, True, False)}
    assert resolver.behaviour(0, 0x20, "x86_64") == "memory", "only places have changed"


def test_ranks_with_the_same_modules_share_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Module(path=sys.executable, build_id=read_facts(Path(sys.executable)).build_id)
    runs = {
        tmp_path / f"r{rank}.ompass": made_run(
            path=str(tmp_path / f"r{rank}.ompass"),
            modules=modules,
            definitions=[Definition(id=0, kind="task", module=0, offset=4096 + rank)],
            end_reason="exit",
        )
        for rank, modules in enumerate(((program,), (program,), (program, MODULES[1])))
    }
    for directory in runs:
        directory.mkdir()
    monkeypatch.setattr(names, "open_run", runs.__getitem__)
    monkeypatch.setattr(names, "collect_samples", lambda *_: None)
    keep_names_of(runs)
    found = [read_names(directory, run.modules) for directory, run in runs.items()]
    assert [sorted(offset for _, offset in each.calls) if each else None for each in found] == [
        [4096, 4097], [4096, 4097], [4098]
    ]  # fmt: skip

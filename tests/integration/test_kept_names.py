# SPDX-License-Identifier: Apache-2.0
"""A run keeps its names, so every command gives the same answer without the program and its sources."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from command import loaded_modules
from toolchains import RunRecorded, Toolchain
from workshop import Workshop

NAMES = "names.json.gz"
VIEWS = {
    "report": ("report", "q.ompass"),
    "report.json": ("report", "q.ompass", "--json"),
    "samples": ("samples", "q.ompass"),
    "samples.json": ("samples", "q.ompass", "--json"),
    "folded": ("samples", "q.ompass", "--folded", "-"),
    "constructs": ("query", "q.ompass", "SELECT * FROM constructs", "--json"),
    "graph": ("graph", "q.ompass", "--json"),
    "events": ("dump", "q.ompass", "--limit", "200"),
    "compared": ("compare", "q.ompass", "q.ompass", "--json"),
}


def views(workshop: Workshop, folder: Path | None = None) -> dict[str, str]:
    """Returns the outputs of the commands in VIEWS, the HTML page and an exported table, by name."""
    place = folder or workshop.folder
    shown = {name: workshop.read(*arguments, folder=place) for name, arguments in VIEWS.items()}
    workshop.read("report", "q.ompass", "--html", "page.html", "--sources", folder=place)
    workshop.read("export", "q.ompass", "--parquet", "tables", "--table", "constructs", folder=place)
    shown["page"] = (place / "page.html").read_text()
    shown["table"] = (place / "tables" / "constructs.parquet").read_bytes().hex()
    shutil.rmtree(place / "tables")
    # A sample may lie in the kernel's library, whose file is in the run directory.
    return {name: text.replace(str(place / "q.ompass"), "RUN") for name, text in shown.items()}


@pytest.fixture
def workshop(tmp_path: Path, default_toolchain: Toolchain, libompass: Path) -> Workshop:
    folder = tmp_path / "workshop"
    folder.mkdir()
    return Workshop(folder, default_toolchain, libompass)


def rebuilt(workshop: Workshop) -> Path:
    """Inserts lines above all constructs, renames a function, and rebuilds the program in place."""
    source = workshop.folder / "steps.c"
    source.write_text("\n\n\nint unused;\n" + source.read_text().replace("blocks", "bricks"))
    workshop.build()
    return workshop.folder


def removed(workshop: Workshop) -> Path:
    (workshop.folder / "steps").unlink()
    (workshop.folder / "steps.c").unlink()
    return workshop.folder


def copied(workshop: Workshop) -> Path:
    """Copies the run to a directory without the program, as to another machine; deletes the originals."""
    elsewhere = workshop.folder.parent / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree(workshop.folder / "q.ompass", elsewhere / "q.ompass")
    shutil.rmtree(workshop.folder)
    return elsewhere


@pytest.mark.parametrize("change", [rebuilt, removed, copied])
def test_a_run_gives_the_same_answers_without_its_program(
    workshop: Workshop, change: Callable[[Workshop], Path]
) -> None:
    workshop.record("--mode", "trace", "--sample", "1000", "--no-report")
    before = views(workshop)
    assert "steps.c:21" in before["report"]
    assert "add(spin(300000 + k));" in before["page"]
    after = views(workshop, change(workshop))
    for name, text in before.items():
        assert after[name] == text, name


def test_a_run_of_every_toolchain_gives_the_same_report(
    tmp_path: Path, toolchain: Toolchain, libompass: Path
) -> None:
    workshop = Workshop(tmp_path, toolchain, libompass)
    workshop.record("--sample", "1000", "--no-report")
    assert (tmp_path / "q.ompass" / NAMES).is_file()
    before = workshop.read("report", "q.ompass", "--json")
    removed(workshop)
    assert workshop.read("report", "q.ompass", "--json") == before
    assert "steps.c" in before


def test_a_report_by_kept_names_loads_no_reader_of_programs(workshop: Workshop) -> None:
    workshop.record("--sample", "1000", "--no-report")
    loaded = loaded_modules("report", workshop.folder / "q.ompass")
    assert "ompass.symbols.kept" in loaded
    assert {
        "capstone",
        "elftools",
        "ompass.elf",
        "ompass.symbols.program_files",
        "symbolic",
    } & loaded == set()


@pytest.mark.parametrize("first", ["report", "query", "samples"])
def test_without_the_launcher_the_first_command_keeps_the_names(
    tmp_path: Path, default_toolchain: Toolchain, libompass: Path, run_recorded: RunRecorded, first: str
) -> None:
    workshop = Workshop(tmp_path, default_toolchain, libompass)
    variables = {"OMPASS_SAMPLE": "1000"}
    recorded = run_recorded(tmp_path / "steps", default_toolchain, mode="trace", environment=variables)
    recorded.run_dir.rename(tmp_path / "q.ompass")
    names = tmp_path / "q.ompass" / NAMES
    assert not names.exists()
    workshop.read(*VIEWS[first if first != "query" else "constructs"])
    assert names.is_file()
    before = views(workshop)
    removed(workshop)
    assert views(workshop) == before


def test_a_directory_that_is_not_writable_can_be_read(workshop: Workshop) -> None:
    workshop.record("--no-report")
    names = workshop.folder / "q.ompass" / NAMES
    before = json.loads(workshop.read("report", "q.ompass", "--json"))
    names.unlink()
    names.mkdir()  # prevents even root from writing the file
    again = json.loads(workshop.read("report", "q.ompass", "--json"))
    assert {**again, "problems": []} == before
    assert [path.name for path in names.parent.glob("names*")] == [NAMES]


@pytest.mark.parametrize("damage", [b"", b"not a names file", None])
def test_a_damaged_names_file_is_reported_and_replaced(workshop: Workshop, damage: bytes | None) -> None:
    workshop.record("--no-report")
    names = workshop.folder / "q.ompass" / NAMES
    before = workshop.read("report", "q.ompass", "--json")
    packed = names.read_bytes()
    names.write_bytes(packed[: len(packed) // 2] if damage is None else damage)
    again = json.loads(workshop.read("report", "q.ompass", "--json"))
    [problem] = again["problems"]
    assert NAMES in problem and "looked up in the files of the program" in problem
    assert {**again, "problems": []} == json.loads(before)
    assert workshop.read("report", "q.ompass", "--json") == before


def test_names_of_a_program_that_is_back_are_added(workshop: Workshop) -> None:
    workshop.record("--no-report")
    names = workshop.folder / "q.ompass" / NAMES
    before = workshop.read("report", "q.ompass", "--json")
    names.unlink()
    (workshop.folder / "steps").rename(workshop.folder / "aside")
    assert "is no longer there" in workshop.read("report", "q.ompass", "--json")
    assert not names.exists()
    (workshop.folder / "aside").rename(workshop.folder / "steps")
    assert workshop.read("report", "q.ompass", "--json") == before
    assert names.is_file()


def test_lines_of_a_source_that_changed_after_the_start_are_not_kept(workshop: Workshop) -> None:
    workshop.record("--no-report")
    names = workshop.folder / "q.ompass" / NAMES
    names.unlink()
    source = workshop.folder / "steps.c"
    source.write_text("\n" + source.read_text())
    workshop.read("report", "q.ompass")
    content = json.loads(subprocess.run(["gzip", "-dc", names], capture_output=True, check=True).stdout)
    assert content["lines"] == []
    assert str(source) in content["texts"]


def test_a_sweep_keeps_its_names(workshop: Workshop) -> None:
    workshop.ompass("scale", "-q", "-t", "1,2", "-r", "1", "-o", "q.sweep", "--", "./steps")
    before = workshop.read("scale", "-o", "q.sweep", "--json")
    assert "steps.c" in before
    removed(workshop)
    assert workshop.read("scale", "-o", "q.sweep", "--json") == before


def test_names_files_stay_small(workshop: Workshop) -> None:
    workshop.record("--sample", "1000", "--no-report")
    assert (workshop.folder / "q.ompass" / NAMES).stat().st_size < 20_000

# SPDX-License-Identifier: Apache-2.0
"""Packed runs: commands read them like directories, and refuse archives with other files."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import ompass
from ompass import packed
from ompass.check.execute import recorded_directories
from ompass.commands.main import application
from ompass.commands.streams import say
from ompass.errors import DamagedRunError, IncompleteInstallationError, OutputError, UsageError
from ompass.keeping import command
from ompass.keeping.runs import find_runs
from ompass.packed import TRACE, first_file, is_packed, pack_run, shown_path, unpacked
from ompass.readers.meta import traced_run
from ompass.readers.run import open_run

GOLDEN = Path(__file__).parents[1] / "golden" / "clang-16-preloaded-trace.tar.xz"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path / "golden", filter="data")
    (found,) = (path.parent for path in (tmp_path / "golden").rglob("process.log"))
    directory = tmp_path / "q.ompass"
    shutil.move(found, directory)
    return directory


def call(*arguments: object) -> Result:
    return CliRunner().invoke(application(), [str(each) for each in arguments], catch_exceptions=False)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def archive_with(path: Path, name: str, kind: bytes = tarfile.REGTYPE) -> Path:
    """Writes a packed file with one valid member and one member with this name."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for each, type_ in (("q.ompass/meta.json", tarfile.REGTYPE), (name, kind)):
            member = tarfile.TarInfo(each)
            member.type, member.linkname, member.size = type_, "/etc/passwd", 2 * (type_ == tarfile.REGTYPE)
            tar.addfile(member, io.BytesIO(b"{}"))
    path.write_bytes(packed._zstd().compress(buffer.getvalue()))
    return path


def test_packing_and_unpacking_changes_no_file(run: Path, tmp_path: Path) -> None:
    before = contents(run)
    (run / "pyramid.cache").write_bytes(b"can be made again")
    pack_run(run, tmp_path / "q.ompass.zst")
    assert is_packed(tmp_path / "q.ompass.zst") and not is_packed(run / "meta.json")
    assert first_file(tmp_path / "q.ompass.zst") == ("q.ompass/meta.json", before["meta.json"])
    place = unpacked(tmp_path / "q.ompass.zst")
    assert contents(place) == before
    assert (place.name, shown_path(place)) == ("q.ompass", str(tmp_path / "q.ompass.zst"))
    assert unpacked(tmp_path / "q.ompass.zst") == place, "unpacked once"
    assert (unpacked(run), shown_path(run)) == (run, str(run))


def test_a_packed_run_has_the_trace_of_its_second_run(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, run / TRACE)
    before = contents(run / TRACE)
    packed_run = tmp_path / "q.ompass.zst"
    pack_run(run, packed_run)
    assert contents(unpacked(packed_run) / TRACE) == before
    assert traced_run(unpacked(packed_run)).name == TRACE


def test_a_check_accepts_packed_runs_and_folders_with_them(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "baseline"
    folder.mkdir()
    packed_run = folder / "q.ompass.zst"
    pack_run(run, packed_run)
    assert recorded_directories(packed_run) == recorded_directories(folder) == (unpacked(packed_run),)


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "RUN"),
        ("report", "RUN", "--json"),
        ("info", "RUN"),
        ("samples", "RUN"),
        ("graph", "RUN"),
        ("validate", "RUN"),
        ("krd", "RUN"),
        ("latency", "RUN"),
        ("simulate", "RUN", "--json"),
        ("dump", "RUN", "--limit", "20"),
        ("query", "RUN", "SELECT * FROM constructs"),
        ("compare", "RUN", "RUN", "--json"),
    ],
)
def test_commands_read_a_packed_run_as_its_directory(
    run: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert call("pack", run).exit_code == 0
    file = tmp_path / "q.ompass.zst"
    of_directory, of_file = (
        CliRunner().invoke(application(), [a.replace("RUN", str(path)) for a in arguments])
        for path in (run, file)
    )
    assert of_file.exit_code == of_directory.exit_code
    # Compares words, because the lengths of names decide where lines break.
    words = of_file.stdout.replace(str(file), str(run)).split()
    assert words == of_directory.stdout.split()
    assert "/ompass-" not in of_file.stdout, "no path of the unpacked copy"


def test_messages_name_the_packed_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack_run(run, tmp_path / "q.zst")
    say(f"{unpacked(tmp_path / 'q.zst')} holds nothing")
    assert capsys.readouterr().err == f"ompass: {tmp_path / 'q.zst'} holds nothing\n"


def test_notebooks_and_folders_of_runs_read_packed_runs(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "after"
    folder.mkdir()
    pack_run(run, folder / "1.ompass.zst")
    assert ompass.open(folder / "1.ompass.zst").report.n_tasks == ompass.open(run).report.n_tasks
    result = call("compare", run, folder, "--json")
    (compared,) = json.loads(result.stdout)["compared"]
    assert compared["runs_after"] == 1
    assert len(ompass.compare(folder / "1.ompass.zst", run).compared) == 1


def test_only_force_replaces_an_existing_file(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.zst"
    target.write_text("important")
    with pytest.raises(OutputError, match="it exists; add --force"):
        call("pack", run, "-o", target)
    assert target.read_text() == "important"
    assert call("pack", run, "-o", target, "--force").exit_code == 0
    assert is_packed(target)
    assert not list(tmp_path.glob("x.zst.*"))


@pytest.mark.parametrize(
    "name",
    ["/etc/evil", "../evil.log", "q.ompass/../../meta.json", "b/meta.json", "q.ompass/evil", "meta.json"],
)
def test_other_members_are_refused(tmp_path: Path, name: str) -> None:
    file = archive_with(tmp_path / "bad.zst", name)
    with pytest.raises(DamagedRunError, match="is not a file of a run"):
        unpacked(file)


def test_links_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DamagedRunError, match="is not a file of a run"):
        unpacked(archive_with(tmp_path / "bad.zst", "q.ompass/process.log", tarfile.SYMTYPE))


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_a_cut_file_is_reported(run: Path, tmp_path: Path, part: float) -> None:
    pack_run(run, tmp_path / "whole.zst")
    whole = (tmp_path / "whole.zst").read_bytes()
    (tmp_path / "cut.zst").write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(DamagedRunError, match="cannot be unpacked"):
        unpacked(tmp_path / "cut.zst")


def test_a_folder_of_runs_may_contain_other_packed_files(run: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv.zst").write_bytes(packed._zstd().compress(b"1,2,3"))
    (tmp_path / "logs.tar.zst").write_bytes(archive_with(tmp_path / "x", "a/b").read_bytes()[:40])
    (tmp_path / "x").unlink()
    assert recorded_directories(tmp_path) == (run,)


@pytest.mark.parametrize("place", [".", "..", "../q.ompass"])
def test_a_run_is_packed_beside_its_directory(run: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    inner = run / "trace.ompass"
    inner.mkdir()
    monkeypatch.chdir(inner if place == ".." else run)
    call("pack", place)
    assert is_packed(run.with_name("q.ompass.zst"))


def test_a_full_disk_is_reported(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack_run(run, tmp_path / "q.zst")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    with pytest.raises(OutputError, match="set TMPDIR"):
        unpacked(tmp_path / "q.zst")


# ---------------------------------------------------------------- clean


def listed(*arguments: object) -> dict[str, dict[str, object]]:
    rows = json.loads(call("clean", *arguments, "--json").stdout)
    return {Path(str(row["path"])).name: row for row in rows}


def test_runs_are_listed_with_age_size_and_program(run: Path, tmp_path: Path) -> None:
    pack_run(run, tmp_path / "q.ompass.zst")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.ompass").mkdir()
    rows = listed(tmp_path)
    assert set(rows) == {"q.ompass", "q.ompass.zst"}
    assert rows["q.ompass"]["program"] == rows["q.ompass.zst"]["program"] != ""
    assert rows["q.ompass.zst"]["size_bytes"] == (tmp_path / "q.ompass.zst").stat().st_size
    assert run.exists()


def test_only_old_runs_are_removed(run: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.ompass"
    shutil.copytree(run, old)
    os.utime(run / "process.log")
    os.utime(old / "process.log", (1, 1))
    assert set(listed(tmp_path, "--older-than", "1d")) == {"old.ompass"}
    assert call("clean", tmp_path, "--older-than", "1d", "--remove", "--yes").exit_code == 0
    assert run.exists() and not old.exists()


def test_nothing_is_removed_without_an_answer(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="add --yes"):
        call("clean", tmp_path, "--remove")
    assert run.exists()


@pytest.mark.parametrize("extra", ["notes.txt", "results/"])
def test_a_directory_with_other_files_stays(run: Path, tmp_path: Path, extra: str) -> None:
    (run / extra).mkdir() if extra.endswith("/") else (run / extra).write_text("mine")
    before = sorted(path.name for path in run.iterdir())
    result = call("clean", tmp_path, "--remove", "--yes")
    assert f"also contains {extra.rstrip('/')}" in result.stderr
    assert sorted(path.name for path in run.iterdir()) == before


def test_other_files_are_neither_listed_nor_removed(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "fake.ompass"
    shutil.copytree(run, copy)
    (copy / "process.log").write_bytes(b"something else")
    (tmp_path / "other.zst").write_bytes(packed._zstd().compress(b"text"))
    link = tmp_path / "link.ompass"
    link.symlink_to(copy)
    call("clean", tmp_path, "--remove", "--yes")
    assert not run.exists()
    assert copy.exists() and link.is_symlink() and (tmp_path / "other.zst").exists()


def test_a_run_of_a_running_program_stays(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ompass.keeping.runs.what_still_runs", lambda _: "its process 7 still runs")
    result = call("clean", run, "--remove", "--yes")
    assert "still runs" in result.stderr
    assert run.exists()


@pytest.mark.parametrize(("host", "kept"), [("elsewhere", True), (os.uname().nodename, False)])
def test_an_unfinished_run_of_another_machine_stays(
    run: Path, monkeypatch: pytest.MonkeyPatch, host: str, kept: bool
) -> None:
    (run / "meta.json").write_text(json.dumps({"host": host}))
    unfinished = open_run(run).replace(end_reason="running-or-killed", pid=2**31 - 1)
    monkeypatch.setattr("ompass.keeping.runs.open_run", lambda _: unfinished)
    monkeypatch.setattr("ompass.keeping.command.open_run", lambda _: unfinished)
    if kept:
        with pytest.raises(UsageError, match="may still run on elsewhere"):
            call("pack", run)
    result = call("clean", run, "--remove", "--yes")
    assert (run.exists(), "may still run on elsewhere" in result.stderr) == (kept, kept)


def test_the_end_of_input_at_the_question_removes_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    with pytest.raises(typer.Exit) as ended:
        command._remove(find_runs([run]), yes=False)
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err.endswith("\nompass: nothing was removed\n")
    assert run.exists()


def test_packed_runs_without_a_readable_description_are_listed(run: Path, tmp_path: Path) -> None:
    (run / "meta.json").write_text("{broken")
    pack_run(run, tmp_path / "q.ompass.zst")
    assert listed(tmp_path)["q.ompass.zst"]["program"] == ""


def test_packed_files_are_not_listed_if_nothing_can_read_them(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> object:
        raise IncompleteInstallationError("packed runs cannot be read or written")

    pack_run(run, tmp_path / "q.ompass.zst")
    monkeypatch.setattr(packed, "_zstd", missing)
    assert set(listed(tmp_path)) == {"q.ompass"}


def test_an_age_without_a_unit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="write a number and"):
        call("clean", tmp_path, "--older-than", "30")

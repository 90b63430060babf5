# SPDX-License-Identifier: Apache-2.0
"""On golden runs with changed bytes or truncated files, each reader returns a result or one clear error."""

from __future__ import annotations

import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ompass import open as open_run
from ompass.errors import OmpassError, RunNotFoundError
from ompass.jobs.reader import ideal_time_ns
from ompass.readers.run import find_missing
from ompass.readers.schedule import open_pyramid
from ompass.recording import Recording

FOLDER = Path(__file__).resolve().parent.parent / "golden"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in FOLDER.glob("*.tar.xz"))
READERS: Final[dict[str, Callable[[Recording], Any]]] = {
    "report": lambda run: run.report,
    "events": lambda run: run.events(limit=10_000),
    "tasks": lambda run: run.table("tasks"),
    "stretches": lambda run: run.table("stretches"),
    "graph": lambda run: run.graph(),
    "schedule": lambda run: run.schedule(),
    "reuse": lambda run: run.reuse(),
    "pyramid": lambda run: open_pyramid(run.path, keep=False),
    "simulation": lambda run: run.simulate(threads=[1, 4]),
    "advice": lambda run: run.advise(),
    "ideal network": lambda run: ideal_time_ns([run.run]),
}
# Changes that once crashed a reader: file, offset, new byte (None: the file ends at the offset).
ONCE_FATAL: Final = {
    "nested-regions": (
        (
            ("thread-00007.log", 6336, 0x44),
            ("thread-00004.log", 29725, 0xBE),
            ("thread-00001.log", 30181, 0xA1),
        ),
        (
            ("thread-00004.log", 7056, 0xBE),
            ("thread-00001.log", 30701, 0x92),
            ("thread-00000.log", 30453, None),
        ),
    ),
    "mpi-messages": ((("thread-00000.log", 0, None),),),
}


def golden(name: str, folder: Path) -> Path:
    with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return next(folder.rglob("process.log")).parent


def change(path: Path, place: int, value: int | None) -> None:
    content = bytearray(path.read_bytes())
    if value is None:
        del content[place:]
    else:
        content[place] = value
    path.write_bytes(content)


def damage(run_dir: Path, seed: int) -> None:
    """Changes one to twenty non-zero bytes, mostly of logs. Sometimes truncates a file instead."""
    chosen = random.Random(seed)
    files = sorted(path for path in run_dir.iterdir() if path.is_file())
    files += [path for path in files if path.name.startswith("thread-")] * 5
    for _ in range(chosen.choice((1, 1, 3, 20))):
        path = chosen.choice(files)
        used = [place for place, byte in enumerate(path.read_bytes()) if byte]
        if used:
            value = None if chosen.random() < 0.1 else chosen.randrange(256)
            change(path, chosen.choice(used), value)


def check_readers(run_dir: Path) -> None:
    for name, read in READERS.items():
        try:
            read(open_run(run_dir))
        except OmpassError as error:
            assert "\n" not in error.one_line(), name


@pytest.mark.parametrize("name", NAMES)
def test_damaged_runs_are_read_or_refused_without_a_crash(name: str, tmp_path: Path) -> None:
    for k in range(3):
        run_dir = golden(name, tmp_path / str(k))
        damage(run_dir, seed=3 * NAMES.index(name) + k)
        check_readers(run_dir)


@pytest.mark.parametrize(
    ("name", "changes"), [(name, each) for name, all_of in ONCE_FATAL.items() for each in all_of]
)
def test_damage_that_once_crashed_a_reader_no_longer_does(
    name: str, changes: tuple[tuple[str, int, int | None], ...], tmp_path: Path
) -> None:
    run_dir = golden(name, tmp_path)
    for file, place, value in changes:
        change(run_dir / file, place, value)
    check_readers(run_dir)


@pytest.mark.parametrize("content", [b"", bytes(4096), bytes(3 * 4096)], ids=["empty", "header", "extents"])
def test_run_without_a_written_process_log_is_refused(content: bytes, tmp_path: Path) -> None:
    """A full disk, a limit or a kill may leave such a process.log. Then the other logs have no meaning."""
    run_dir = golden("killed", tmp_path)
    (run_dir / "process.log").write_bytes(content)
    for read in (open_run, find_missing):
        with pytest.raises(RunNotFoundError, match=r"its process\.log is empty.*ulimit -f"):
            read(run_dir)


def test_run_without_definitions_is_incomplete(tmp_path: Path) -> None:
    run_dir = golden("killed", tmp_path)
    change(run_dir / "process.log", 4096, None)
    run = open_run(run_dir)
    assert any("process.log: names no construct" in reason for reason in run.run.incomplete_reasons)
    assert not run.run.constructs and run.report is not None


def test_damage_in_a_window_of_a_killed_run_is_reported_with_its_offset(tmp_path: Path) -> None:
    """The reader copies such a window; the error still has the offset in the file."""
    run_dir = golden("killed", tmp_path)
    log = run_dir / "thread-00000.log"
    content = log.read_bytes()
    end = max(place for place, byte in enumerate(content) if byte) // 8 * 8
    for place in range(end - 64, end):
        change(log, place, 0xFF)
    with pytest.raises(OmpassError) as raised:
        READERS["tasks"](open_run(run_dir))
    offset = re.search(r"at byte (\d+)", raised.value.one_line())
    assert offset is not None, raised.value.one_line()
    assert end - 64 <= int(offset[1]) < end


@pytest.mark.parametrize("name", ("killed", "nested-regions"))
def test_an_extent_whose_end_overflows_is_reported_as_truncated(name: str, tmp_path: Path) -> None:
    """The sum of its offset and its length exceeds 64 bits."""
    run_dir = golden(name, tmp_path)
    n_long = 0
    for log in run_dir.glob("*.log"):
        content = bytearray(log.read_bytes())
        first, second = 4096, 4096 + int.from_bytes(content[4104:4112], "little")
        if second + 64 <= len(content) and any(content[second : second + 4]):
            content[second + 8 : second + 16] = (2**64 + first - second).to_bytes(8, "little")
            log.write_bytes(content)
            n_long += 1
    assert n_long
    reasons = open_run(run_dir).run.incomplete_reasons
    assert any("truncated inside the extent" in reason for reason in reasons), reasons

# SPDX-License-Identifier: Apache-2.0
"""Makes the faults outside a program: kills, small disks, limits, reading or removal of the run directory."""

from __future__ import annotations

import contextlib
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import ompass
from faults.cases import Case
from faults.runs import Beside, Progress, SkippedError
from ompass import _core
from ompass.errors import OmpassError

_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The directory of the recording, and two optional functions.

    beside: acts on the recorded program while it runs.
    limit: limits the new process before the program starts, with and without the tool.
    """

    run_dir: Path
    beside: Beside | None = None
    limit: Callable[[], None] | None = None


@contextlib.contextmanager
def surroundings_of(case: Case, folder: Path) -> Iterator[Surroundings]:
    """Makes the surroundings of a case in its folder. Raises SkippedError if that is impossible here."""
    usual = folder / "run.ompass"
    chosen = case.random("surroundings")
    name = case.kind.name
    if name in ("full-disk", "few-files"):
        size = chosen.choice((4, 16, 64, 100, 120, 140, 160, 256, 512, 1024, 2048, 4096)) << 10
        option = f"size={size}" if name == "full-disk" else f"nr_inodes={chosen.randrange(2, 12)}"
        with mounted(folder / "disk", option) as disk:
            yield Surroundings(disk / "run.ompass")
    elif name == "read-only":
        with mounted(folder / "disk", "ro") as disk:
            yield Surroundings(disk / "run.ompass")
    elif name in LIMITS:
        kind, values = LIMITS[name]
        value = chosen.choice(values)
        yield Surroundings(usual, limit=lambda: resource.setrlimit(kind, (value, value)))
    elif name == "killed":
        yield Surroundings(usual, kill_later(case, folder))
    elif name == "removed":
        yield Surroundings(usual, remove_later(case, folder, usual))
    elif name == "read":
        yield Surroundings(usual, read_meanwhile(usual))
    else:
        yield Surroundings(usual)


LIMITS: Final[dict[str, tuple[int, tuple[int, ...]]]] = {
    "as": (resource.RLIMIT_AS, tuple(n * _MIB for n in (60, 80, 100, 120, 160, 200, 300, 500))),
    "nofile": (resource.RLIMIT_NOFILE, tuple(range(4, 20))),
    "fsize": (
        resource.RLIMIT_FSIZE,
        tuple(n << 10 for n in (0, 1, 4, 8, 20, 64, 80, 100, 128, 200, 1000, 4000)),
    ),
}


@contextlib.contextmanager
def mounted(directory: Path, option: str) -> Iterator[Path]:
    """Mounts a file system in memory with this option. Raises SkippedError if mounting is not permitted."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", option, "ompass-faults", str(directory)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        raise SkippedError("no file system can be mounted here (only root can)")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def wait_for_tasks(folder: Path, process: subprocess.Popen[str]) -> None:
    """Waits until the recorded program runs tasks, or has ended."""
    progress = folder / "recorded.progress"
    give_up_s = time.monotonic() + 30
    while Progress.of(progress).n_started == 0 and process.poll() is None:
        assert time.monotonic() < give_up_s, "the program does not begin"
        time.sleep(0.001)


def kill_later(case: Case, folder: Path) -> Beside:
    """Returns a function that kills the program up to 0.1 s after its first task."""

    def act(process: subprocess.Popen[str]) -> None:
        wait_for_tasks(folder, process)
        time.sleep(case.random("moment").uniform(0, 0.1))
        process.kill()

    return act


def remove_later(case: Case, folder: Path, run_dir: Path) -> Beside:
    """Returns a function that removes the run directory up to 0.05 s after the first task."""

    def act(process: subprocess.Popen[str]) -> None:
        wait_for_tasks(folder, process)
        time.sleep(case.random("moment").uniform(0, 0.05))
        shutil.rmtree(run_dir, ignore_errors=True)

    return act


def read_meanwhile(run_dir: Path) -> Beside:
    """Returns a function that reads the run directory repeatedly until the program ends."""

    def act(process: subprocess.Popen[str]) -> None:
        begun = False
        while process.poll() is None:
            begun = begun or (run_dir / "process.log").exists()
            if not begun:
                time.sleep(0.001)
                continue
            problems = _core.validate(str(run_dir))
            assert not problems, f"read while it was written: {problems}"
            with contextlib.suppress(OmpassError):  # nothing to report on yet
                assert ompass.open(run_dir).report is not None

    return act

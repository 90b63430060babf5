# SPDX-License-Identifier: Apache-2.0
"""Runs the program of a case without the tool and with it, in a folder of its own."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import toolchains
from faults.cases import Case

PROGRAMS: Final = Path(__file__).resolve().parent / "programs"
PROGRESS: Final = struct.Struct("=5q")  # struct progress of faulty.c
TIMEOUT_S: Final = 120


@dataclass(frozen=True, slots=True)
class Progress:
    """The program's own counts, which faulty.c explains."""

    n_started: int
    n_certain: int
    n_regions_started: int
    n_regions_ended: int
    n_faults: int

    @classmethod
    def of(cls, path: Path) -> Progress:
        return cls(*PROGRESS.unpack(path.read_bytes()))


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that has ended."""

    status: int
    stdout: str
    stderr: str
    progress: Progress


class SkippedError(Exception):
    """Raised if this machine, or the program without the tool, cannot do what a case needs."""


Beside = Callable[[subprocess.Popen[str]], None]
"""A function that acts on a program while it runs."""


def build(case: Case, library: Path | None) -> tuple[Path, Path]:
    """Returns the program, linked with the library if given, and its plugin."""
    flags = ["-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}"] if library else []
    program = toolchains.compile_source(PROGRAMS / "faulty.c", case.toolchain, flags=flags)
    plugin = toolchains.compile_source(PROGRAMS / "plugin.c", case.toolchain, flags=("-shared", "-fPIC"))
    return program, plugin


def run(
    case: Case,
    folder: Path,
    name: str,
    library: Path | None,
    *,
    environment: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
    beside: Beside | None = None,
) -> Ended:
    """Runs the program of a case, with the tool if `library` is given. Names its files after `name`.

    Calls `prepare` in the new process before the program starts, and `beside` while it runs. Raises
    AssertionError if the program does not end.
    """
    progress = folder / f"{name}.progress"
    progress.write_bytes(bytes(PROGRESS.size))
    settings = dict(case.settings)
    is_linked = library is not None and case.loading == "linked"
    if library is not None and not is_linked:
        settings[case.loading] = str(library)
    program, plugin = build(case, library if is_linked else None)
    process = subprocess.Popen(
        [
            str(program),
            str(case.seed),
            case.kind.runs or case.kind.name,
            case.place,
            str(progress),
            str(plugin),
        ],
        env=case.toolchain.run_environment(settings | dict(environment or {})),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
        start_new_session=True,
    )
    try:
        if beside:
            beside(process)  # its output fits into the pipes
        stdout, stderr = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the program {name} does not end") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Ended(process.returncode, stdout, stderr, Progress.of(progress))

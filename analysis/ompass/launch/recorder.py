# SPDX-License-Identifier: Apache-2.0
"""Records one program several times, with the same plan: each call makes one run directory.

Measures the process, and keeps the program's output out of ours.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ompass.errors import CannotRecordError, OmpassError
from ompass.launch.child import Outcome, run_measured
from ompass.launch.launchers import Started, inspect_command
from ompass.launch.plan import Plan, RunOptions, plan_here
from ompass.launch.produced import OF_RANK, candidates, find_produced, new_launch, why_nothing
from ompass.launch.rank_start import LAUNCH

_TAIL_LINES = 5


class ProgramFailedError(OmpassError):
    """A measured program failed, so its run cannot be used."""

    exit_code = 9


def run_into(
    output: Path,
    path: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    cure: str,
    *,
    cpus: Collection[int] = (),
    held: int = -1,
) -> Outcome:
    """Runs a program that must succeed, with its output in the file `output`.

    `cpus` and `held` as in run_measured. Raises ProgramFailedError with `cure` as its advice, and
    KeyboardInterrupt.
    """
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        outcome = run_measured(
            str(path), command, environment, stdout=descriptor, stderr=descriptor, cpus=cpus, held=held
        )
    finally:
        os.close(descriptor)
    ending = outcome.ending
    if ending.signal or ending.exit_code:
        tail = output.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL_LINES:]
        raise ProgramFailedError(
            f"`{' '.join(command)}` {ending.describe()}",
            f"it printed: {' / '.join(tail)}" if tail else "it printed nothing",
            cure,
        )
    return outcome


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One run or job, and the times of its processes."""

    directories: tuple[Path, ...]  # of a job: one for each rank
    wall_ns: int
    cpu_ns: int  # user and system time


@dataclass(frozen=True, slots=True)
class Recorder:
    """A program, its arguments, and how to record it. A launcher may start it."""

    command: tuple[str, ...]
    started: Started
    plan: Plan
    environ: Mapping[str, str]

    @classmethod
    def prepare(
        cls, command: Sequence[str], options: RunOptions, environ: Mapping[str, str], scratch: Path
    ) -> Recorder:
        """Checks the program before its first run. Raises CannotRecordError if it cannot be recorded.

        `scratch` receives links to libraries with names that LD_PRELOAD cannot hold; it must exist until the
        last run ends.
        """
        started = inspect_command(command, environ)
        _, plan = plan_here(started.program, options, environ, scratch)
        return cls(tuple(command), started, plan, environ)

    def record(self, directory: Path, mode: str = "profile") -> RecordedRun:
        """Runs the program once and records it in `directory`, which must not exist.

        Each rank of a job has its own directory, with -rN before the suffix. Raises ProgramFailedError,
        CannotRecordError if nothing was recorded, and KeyboardInterrupt.
        """
        whole = directory.absolute()
        rank = OF_RANK if self.started.has_launcher else ""
        pattern = f"{str(whole.with_suffix('')).replace('%', '%%')}{rank}{whole.suffix}"
        environment = {
            **self.environ,
            "OMPASS_SUMMARY": "off",
            **self.plan.variables,
            "OMPASS_MODE": mode,
            "OMPASS_DIR": pattern,
            LAUNCH: new_launch(self.environ),
        }
        output = directory.with_suffix(".out")
        before = candidates(pattern)
        outcome = run_into(
            output, self.started.path, self.command, environment, "only runs that succeed can be measured"
        )
        ending = outcome.ending
        produced = find_produced(pattern, before, ending.pid, environment[LAUNCH])
        if produced.main is None:
            raise CannotRecordError(
                f"`{' '.join(self.command)}`: nothing was recorded",
                *why_nothing(self.started.program, self.plan, ending, self.environ),
            )
        return RecordedRun(produced.ranks or (produced.main,), outcome.wall_ns, ending.cpu_ns)

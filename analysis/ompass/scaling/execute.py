# SPDX-License-Identifier: Apache-2.0
"""Runs one job of a sweep: pins it, times its process, keeps its output, finds its recording.

Owns the environment of a job. plan.py owns the order of jobs, directory.py their results.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ompass.errors import CannotRecordError, OmpassError
from ompass.launch.launchers import inspect_command
from ompass.launch.plan import Plan, RunOptions, plan_here, unrecorded_variables
from ompass.launch.produced import candidates, find_produced, new_launch, why_nothing
from ompass.launch.program import Program, inspect_program
from ompass.launch.rank_start import LAUNCH
from ompass.launch.recorder import ProgramFailedError, run_into
from ompass.scaling.directory import Done, SweepDirectory
from ompass.scaling.plan import (
    BASELINE,
    ELISION,
    RECORDED,
    UNRECORDED,
    Job,
    SweepSpec,
    allowed_cpus,
    cpus_in_order,
    pinned_to,
    users_own,
)
from ompass.system import busy_ns, step_ns

_SAMPLES = "250"
"""Samples per second. They attribute the inflation to lines, and cost a program 0.1% of its time."""


class InterruptedSweepError(OmpassError):
    """Ctrl-C or another signal ended the sweep and its running program."""

    exit_code = 130


@dataclass(frozen=True, slots=True)
class Executor:
    """The common data of the jobs of one sweep."""

    spec: SweepSpec
    environ: Mapping[str, str]
    launcher: Path | None  # starts the ranks of an MPI job, and places them
    program: Program
    plan: Plan
    tool: Path
    serial: Mapping[str, Program]  # baseline and elision
    cpus: tuple[int, ...]

    @classmethod
    def prepare(cls, spec: SweepSpec, environ: Mapping[str, str], scratch: Path) -> Executor:
        """Checks all programs before the first one runs. Raises CannotRecordError if one is unusable.

        `scratch` receives links to libraries with names that LD_PRELOAD cannot hold; it must exist until the
        sweep ends.
        """
        started = inspect_command(spec.command, environ)
        libomp = Path(spec.libomp) if spec.libomp else None
        sample = environ.get("OMPASS_SAMPLE", _SAMPLES)
        options = RunOptions(mode="profile", wrappers=spec.brackets, libomp=libomp, sample=sample)
        tool, plan = plan_here(started.program, options, environ, scratch)
        serial = {
            kind: inspect_program(spec.command_of(kind)[0], environ)
            for kind in (BASELINE, ELISION)
            if spec.command_of(kind)
        }
        return cls(
            spec=spec,
            environ=environ,
            launcher=started.path if started.has_launcher else None,
            program=started.program,
            plan=plan,
            tool=tool,
            serial=serial,
            cpus=cpus_in_order(allowed_cpus()) if spec.pinned and not started.has_launcher else (),
        )

    def run(self, job: Job, directory: SweepDirectory) -> Done:
        """Runs the job and returns its result.

        Raises ProgramFailedError if the program failed, CannotRecordError if nothing was recorded.
        """
        directory.clear(job)
        name = str(directory.runs / job.key).replace("%", "%%")
        pattern = f"{name}-rank%r.ompass" if self.launcher else f"{name}.ompass"
        output = directory.runs / f"{job.key}.out"
        before = candidates(pattern)
        program = self.serial.get(job.kind, self.program)
        path = program.path if job.kind in self.serial else self.launcher or program.path
        environment, cpus = self._environment(job, pattern)
        watch = Watch(cpus)
        try:
            outcome = run_into(
                output,
                path,
                job.command(self.spec),
                environment,
                "a sweep needs successful runs; the same command resumes it",
                cpus=cpus,
                held=directory.lock,
            )
        except KeyboardInterrupt:
            raise InterruptedSweepError(
                "interrupted", f"{job.key} will be repeated", "the same command resumes the sweep"
            ) from None
        ending = outcome.ending
        others = watch.others_share(ending.cpu_ns)
        run, ranks = "", tuple[str, ...]()
        if job.kind == RECORDED:
            produced = find_produced(pattern, before, ending.pid, environment[LAUNCH])
            if produced.main is None:
                raise CannotRecordError(
                    "nothing was recorded", *why_nothing(program, self.plan, ending, self.environ)
                )
            alone = (produced.main,) if self.launcher else ()
            run, ranks = produced.main.name, tuple(path.name for path in produced.ranks or alone)
        return Done(job, outcome.wall_ns, self._printed_ns(job, output), run, others, ranks)

    def _environment(self, job: Job, pattern: str) -> tuple[dict[str, str], frozenset[int]]:
        environment = dict(self.environ)
        if job.kind == RECORDED:
            environment |= {"OMPASS_SUMMARY": "off", **self.plan.variables, "OMPASS_DIR": pattern}
            environment[LAUNCH] = new_launch(self.environ)
        elif job.kind == UNRECORDED:
            # Recorded runs use this runtime, which a gcc program does not load by itself.
            environment |= unrecorded_variables(self.plan)
        environment |= {"OMP_NUM_THREADS": str(job.threads), "OMP_DYNAMIC": "false"}
        if not self.spec.pinned or self.launcher or users_own(self.environ):
            return environment, allowed_cpus()
        cpus, places = pinned_to(job.threads, self.cpus)
        return environment | places, cpus

    def _printed_ns(self, job: Job, output: Path) -> int | None:
        if not self.spec.seconds:
            return None
        text = output.read_text(encoding="utf-8", errors="replace")
        match = re.search(self.spec.seconds, text)
        seconds = _seconds(match[1]) if match else None
        if seconds is not None:
            return round(seconds * 1e9)
        if job.kind == RECORDED:
            return None  # its time is recorded
        what = (
            f"its group matches {match[1] or ''!r}, not a positive number," if match else "it matches nothing"
        )
        raise ProgramFailedError(
            f"--seconds {self.spec.seconds}",
            f"{what} in the output of `{' '.join(job.command(self.spec))}`",
            f"look at {output}",
        )


def _seconds(text: str | None) -> float | None:
    """Returns the number in a text that a program printed; None if it is not the time of a run."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return seconds if 1e-9 <= seconds < math.inf else None


class Watch:
    """Measures how long other programs and the hypervisor use a run's CPUs. Create it before the run.

    The kernel counts in steps of 10 ms, so `others_share` attributes one step per CPU to the run. In short
    runs it shows only large disturbances.
    """

    def __init__(self, cpus: Collection[int]) -> None:
        self._cpus = cpus
        self._before = busy_ns(cpus)
        self._started = time.monotonic_ns()

    def others_share(self, own_cpu_ns: int) -> float | None:
        """Returns the part of the CPUs' time that others used (0 to 1), or None. Call this after the run."""
        after, wall_ns = busy_ns(self._cpus), time.monotonic_ns() - self._started
        if self._before is None or after is None or wall_ns <= 0:
            return None
        others_ns = after - self._before - own_cpu_ns - step_ns() * len(self._cpus)
        return min(max(others_ns / (wall_ns * len(self._cpus)), 0.0), 1.0)

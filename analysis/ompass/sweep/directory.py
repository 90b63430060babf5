# SPDX-License-Identifier: Apache-2.0
"""The directory of a sweep: its specification, the journal of what is done, the recorded runs.

    sweep.json       the specification and the digest of the program
    journal.jsonl    one line per finished job, on the disk before the next one starts
    runs/KEY.ompass  recorded runs, runs/KEY.out the output of every job

A job counts as done when its line is in the journal, whole. What else lies in runs/ is what a killed job
left, and is removed before that job runs again. A lock keeps two sweeps out of one directory; the programs of
the sweep hold it too, so that one that outlived a killed sweep is not measured against.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ompass.errors import DamagedRunError, OutputError, UsageError
from ompass.sweep.plan import Job, SweepSpec

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Done:
    """A finished job: the time of its process, the seconds that it printed, where its recording is."""

    job: Job
    wall_ns: int
    printed_ns: int | None
    run: str  # name in runs/; empty unless recorded
    others: float | None = None  # part of its CPUs' time that other programs took; None: not known

    def to_line(self) -> str:
        return (
            json.dumps(
                {
                    "kind": self.job.kind,
                    "threads": self.job.threads,
                    "value": self.job.value,
                    "repeat": self.job.repeat,
                    "wall_ns": self.wall_ns,
                    "printed_ns": self.printed_ns,
                    "run": self.run,
                    "others": self.others,
                }
            )
            + "\n"
        )

    @classmethod
    def from_line(cls, line: str) -> Done:
        values = json.loads(line)
        job = Job(values["kind"], values["threads"], values["value"], values["repeat"])
        return cls(job, values["wall_ns"], values["printed_ns"], values["run"], values["others"])


def is_sweep_directory(path: Path) -> bool:
    """Whether `path` holds a sweep (nothing is read)."""
    return (path / "sweep.json").is_file()


def digest_of(program: Path) -> str:
    """Identifies the program's file, so that a sweep is not gone on with after it was built anew."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


class SweepDirectory:
    """One sweep on the disk. Make it with `open`."""

    def __init__(self, path: Path, spec: SweepSpec, lock: int) -> None:
        self.path = path
        self.spec = spec
        self.runs = path / "runs"
        self.lock = lock  # descriptor; inherited by the programs of the sweep
        self._journal = journal_of(path)
        self._done: dict[Job, Done] = {}
        self._read_journal()

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, spec: SweepSpec | None, program: Path | None) -> Iterator[SweepDirectory]:
        """The sweep in `path`, made if there is none; `spec` None: the one that is there.

        UsageError when the directory holds another sweep, is in use, or its program has changed since.
        """
        if spec is None and not is_sweep_directory(path):
            raise UsageError(f"{path}", "no sweep is there to go on with", "name a program to run")
        try:
            (path / "runs").mkdir(parents=True, exist_ok=True)
            lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise OutputError(
                f"{path} cannot be made", error.strerror or str(error), "name another"
            ) from error
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"{path}",
                    "another `ompass scale` works in it, or a program that a killed one started still runs",
                    "wait for it, end it, or name another directory with -o",
                ) from None
            yield cls(path, _agree(path, spec, program), lock)
        finally:
            os.close(lock)

    def done(self) -> dict[Job, Done]:
        return dict(self._done)

    def run_of(self, done: Done) -> Path:
        return self.runs / done.run

    def clear(self, job: Job) -> None:
        """Remove what an unfinished attempt at this job has left."""
        for left in self.runs.glob(f"{job.key}[.-]*"):
            if left.name.partition(".")[0] == job.key or left.name.startswith(f"{job.key}-"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    def finish(self, done: Done) -> None:
        """Write the job into the journal; on return it is on the disk."""
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(done.to_line())
            journal.flush()
            os.fsync(journal.fileno())
        self._done[done.job] = done

    def _read_journal(self) -> None:
        if not self._journal.is_file():
            return
        text = self._journal.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):  # a kill in the middle of the last line
            os.truncate(self._journal, len(whole))
        for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), 1):
            try:
                done = Done.from_line(line)
            except (ValueError, KeyError, TypeError) as error:
                raise DamagedRunError(
                    f"{self._journal}, line {number}", "is no line of a journal", "remove that line"
                ) from error
            if not done.run or self.run_of(done).is_dir():  # a recording that was removed is made again
                self._done[done.job] = done


def journal_of(path: Path) -> Path:
    """The journal of the sweep in `path`; it is there once a job is finished."""
    return path / "journal.jsonl"


def _begin(path: Path, spec: SweepSpec, program: Path) -> SweepSpec:
    """Write the specification; it is there whole or not at all."""
    values = {"schema": _SCHEMA, "spec": spec.to_json(), "program_sha256": digest_of(program)}
    fresh = path / "sweep.new"
    fresh.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path / "sweep.json")
    return spec


def _agree(path: Path, spec: SweepSpec | None, program: Path | None) -> SweepSpec:
    """The specification on the disk, which must be the one asked for; writes it when there is none."""
    file = path / "sweep.json"
    if not file.is_file():
        assert spec is not None and program is not None
        return _begin(path, spec, program)
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        there = SweepSpec.from_json(values["spec"])
        digest = str(values["program_sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedRunError(
            f"{file}", "cannot be read as a sweep", "name another directory with -o"
        ) from error
    begun = journal_of(path)
    if spec is not None and program is not None and not (begun.is_file() and begun.stat().st_size):
        return _begin(path, spec, program)  # nothing is done: it may be corrected
    if spec is not None and spec != there:
        raise UsageError(
            f"{path}",
            f"it holds another sweep ({_difference(there, spec)})",
            "name another directory with -o, or remove this one",
        )
    if program is not None and digest_of(program) != digest:
        raise UsageError(
            f"{path}",
            f"{program} has changed since the sweep in it was begun",
            "name another directory with -o, or remove this one",
        )
    return there


def _difference(there: SweepSpec, asked: SweepSpec) -> str:
    old, new = there.to_json(), asked.to_json()
    name = next(key for key in old if old[key] != new[key])
    return f"{name} was {_shown(old[name])}, now it is {_shown(new[name])}"


def _shown(value: Any) -> str:
    text = " ".join(value) if isinstance(value, list) else str(value)
    return f"`{text}`" if text else "not given"

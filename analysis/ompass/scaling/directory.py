# SPDX-License-Identifier: Apache-2.0
"""The directory of a sweep: its specification, the journal of finished jobs, the recorded runs.

    sweep.json       the specification and the digest of the program
    journal.jsonl    one line per finished job, written to disk before the next job starts
    runs/KEY.ompass  recorded runs, runs/KEY.out the output of every job

A job is finished when its line in the journal is complete. If a sweep is killed, the files of its unfinished
job stay in runs/, and are removed before that job runs again. Only one process at a time locks the journal.
Its programs inherit the lock, so a killed sweep cannot resume while one of its programs still runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ompass.errors import DamagedRunError, OutputError, UsageError
from ompass.files import read_small_file
from ompass.journal import Journal
from ompass.readers.run import SWEEP_FILE, is_sweep_directory
from ompass.scaling.plan import Job, SweepSpec

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Done:
    """A finished job: the time of its process, the seconds that it printed, and its recording."""

    job: Job
    wall_ns: int
    printed_ns: int | None
    run: str  # name in runs/; empty unless recorded
    others: float | None = None  # part of its CPUs' time used by other programs; None: unknown
    ranks: tuple[str, ...] = ()  # names in runs/ of all ranks, if the program is an MPI job

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Done:
        """Returns the job of an entry. Raises KeyError or TypeError if the entry is another object."""
        values = {"n_ranks": 0, "ranks": (), **entry}  # both are missing in older journals
        job = Job(*(values.pop(name) for name in ("kind", "threads", "value", "repeat", "n_ranks")))
        values["ranks"] = tuple(values["ranks"])
        return cls(job, *(values[name] for name in ("wall_ns", "printed_ns", "run", "others", "ranks")))

    def entry(self) -> dict[str, Any]:
        """Returns the job as an entry of the journal."""
        values = asdict(self)
        job: dict[str, Any] = values.pop("job")
        return job | values


def digest_of(program: Path) -> str:
    """Returns the digest of the program's file: a sweep must not mix two builds of the program."""
    return hashlib.sha256(program.read_bytes()).hexdigest()


class SweepDirectory:
    """One sweep on disk. Use `open`."""

    def __init__(self, path: Path, spec: SweepSpec, journal: Journal) -> None:
        self.path = path
        self.spec = spec
        self.runs = path / "runs"
        self.lock = journal.descriptor  # inherited by the programs of the sweep
        self._journal = journal
        self._done: dict[Job, Done] = {}
        for number, entry in journal.entries():
            try:
                done = Done.of_entry(entry)
            except (KeyError, TypeError, ValueError) as error:
                raise DamagedRunError(
                    f"{journal.path}, line {number}", "is not a line of a journal", "remove that line"
                ) from error
            if not done.run or self.run_of(done).is_dir():  # jobs whose recording was removed run again
                self._done[done.job] = done

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, spec: SweepSpec | None, program: Path | None) -> Iterator[SweepDirectory]:
        """Opens the sweep in `path`, or creates one with `spec`. If `spec` is None, the sweep must exist.

        Raises UsageError if the directory contains another sweep or is in use, or if the program has changed.
        """
        if spec is None and not is_sweep_directory(path):
            raise UsageError(f"{path}", "no sweep to resume", "name a program to run")
        _refuse_foreign(path)
        try:
            (path / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{path} cannot be made", error.strerror or str(error), "name another"
            ) from error
        with Journal(path / "journal.jsonl", "name another directory with -o") as journal:
            yield cls(path, _agree(path, spec, program, begun=any(journal.entries())), journal)

    def done(self) -> dict[Job, Done]:
        return dict(self._done)

    def run_of(self, done: Done) -> Path:
        return self.runs / done.run

    def ranks_of(self, done: Done) -> list[Path]:
        """Returns the recordings of all ranks; empty if the program is not an MPI job."""
        return [self.runs / name for name in done.ranks]

    def clear(self, job: Job) -> None:
        """Removes the remains of an unfinished attempt at this job."""
        for left in self.runs.glob(f"{job.key}[.-]*"):
            if left.name.partition(".")[0] == job.key or left.name.startswith(f"{job.key}-"):
                shutil.rmtree(left) if left.is_dir() else left.unlink()

    def finish(self, done: Done) -> None:
        """Writes the job into the journal; on return it is on disk."""
        self._journal.append(done.entry())
        self._done[done.job] = done


def _refuse_foreign(path: Path) -> None:
    """Raises UsageError if the directory is not a sweep and contains files that are not a sweep's."""
    if is_sweep_directory(path) or not path.is_dir():
        return
    others = sorted({entry.name for entry in path.iterdir()} - {"runs", "journal.jsonl", "sweep.new"})
    if others:
        raise UsageError(
            f"{path}", f"it is not a sweep, and contains {others[0]}", "name a new directory with -o"
        )


def _begin(path: Path, spec: SweepSpec, program: Path) -> SweepSpec:
    """Writes the specification, completely or not at all."""
    values = {"schema": _SCHEMA, "spec": spec.to_json(), "program_sha256": digest_of(program)}
    fresh = path / "sweep.new"
    fresh.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path / SWEEP_FILE)
    return spec


def _agree(path: Path, spec: SweepSpec | None, program: Path | None, *, begun: bool) -> SweepSpec:
    """Returns the specification on disk, which must match `spec`; writes it if there is none."""
    file = path / SWEEP_FILE
    if not file.is_file():
        assert spec is not None and program is not None
        return _begin(path, spec, program)
    try:
        values = json.loads(read_small_file(file))
        there = SweepSpec.from_json(values["spec"])
        digest = str(values["program_sha256"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedRunError(
            f"{file}", "cannot be read as a sweep", "name another directory with -o"
        ) from error
    if spec is not None and program is not None and not begun:
        return _begin(path, spec, program)  # no job is finished, so the specification may change
    if spec is not None and spec != there:
        raise UsageError(
            f"{path}",
            f"it contains another sweep ({_difference(there, spec)})",
            "name another directory with -o, or remove this one",
        )
    if program is not None and digest_of(program) != digest:
        raise UsageError(
            f"{path}",
            f"{program} has changed since the sweep was started",
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

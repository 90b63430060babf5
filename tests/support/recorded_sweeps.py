# SPDX-License-Identifier: Apache-2.0
"""Sweeps of small programs, recorded once on two cores, as profiles in small JSON files.

Tests judge these recordings, so the test machine does not matter. This command makes a file from a sweep:

    python tests/support/recorded_sweeps.py cilksort-fine.sweep
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ompass.metrics.breakdown import Scope
from ompass.model import ConstructRow, Definition, Module, RegionRow, Run, ThreadRow
from ompass.readers.run import open_run
from ompass.scaling.content import SweepRuns
from ompass.scaling.directory import SweepDirectory
from ompass.scaling.metrics import Samples, measured
from ompass.scaling.plan import RECORDED, Job

Row = ConstructRow | Definition | Module | RegionRow | ThreadRow

FOLDER = Path(__file__).parents[1] / "unit" / "recorded_sweeps"


@dataclass(frozen=True, slots=True)
class RecordedSweep:
    """The runs on one and two threads in the round that has the median time on two threads."""

    command: tuple[str, ...]
    one_thread: dict[str, Any]
    two_threads: dict[str, Any]
    one_process_ns: int
    two_process_ns: int

    def runs(self) -> SweepRuns:
        """Returns the runs as `load_runs` does."""
        one, two = (
            _run_of(f"{name}.ompass", values)
            for name, values in (("one", self.one_thread), ("two", self.two_threads))
        )
        return sweep_runs(one, two, self.one_process_ns, self.two_process_ns)


def sweep_runs(one: Run, two: Run, one_process_ns: int, two_process_ns: int) -> SweepRuns:
    samples = Samples(
        threads=2,
        recorded=[measured(two, 2, Scope.REGIONS, two_process_ns)],
        one_thread=[measured(one, 1, Scope.REGIONS, one_process_ns)],
    )
    return SweepRuns(2, (two,), (one,), samples, 0, 0.0)


def recorded_sweep(name: str) -> RecordedSweep:
    values = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return RecordedSweep(
        tuple(values["command"]),
        values["one_thread"],
        values["two_threads"],
        values["one_process_ns"],
        values["two_process_ns"],
    )


_ROWS: dict[str, type[Row]] = {
    "modules": Module,
    "definitions": Definition,
    "threads": ThreadRow,
    "regions": RegionRow,
    "constructs": ConstructRow,
}


def _run_of(path: str, profile: dict[str, Any]) -> Run:
    rows: dict[str, Any] = {
        name: tuple(row(**fields) for fields in profile[name]) for name, row in _ROWS.items()
    }
    texts: dict[str, Any] = {name: tuple(profile[name]) for name in ("counters", "incomplete_reasons")}
    return Run(**{**profile, **rows, **texts, "path": path})


def _portable(run: Run) -> dict[str, Any]:
    """Returns the run's values without directories of the recording machine."""
    values = run.as_dict()
    del values["path"]
    rows = {name: [row.as_dict() for row in values[name]] for name in _ROWS}
    modules = [{**module, "path": Path(module["path"]).name} for module in rows["modules"]]
    return {**values, **rows, "modules": modules}


def _make(directory: Path) -> None:
    with SweepDirectory.open(directory, None, None) as sweep:
        done = sweep.done()
        rounds = sorted((one.wall_ns, job.repeat) for job, one in done.items() if job.threads == 2)
        repeat = rounds[(len(rounds) - 1) // 2][1]
        jobs = [Job(RECORDED, n, 0, repeat) for n in (1, 2)]
        one, two = (_portable(open_run(sweep.run_of(done[job]))) for job in jobs)
        command = [Path(sweep.spec.command[0]).name, *sweep.spec.command[1:]]
        values = {
            "command": command,
            "one_thread": one,
            "two_threads": two,
            "one_process_ns": done[jobs[0]].wall_ns,
            "two_process_ns": done[jobs[1]].wall_ns,
        }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{directory.stem}.json"
    path.write_text(json.dumps(values, separators=(",", ":")) + "\n", encoding="utf-8")
    print(path, path.stat().st_size)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        _make(Path(argument))

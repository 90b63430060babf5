# SPDX-License-Identifier: Apache-2.0
"""The report on simulated runs. docs/simulation.md lists the fields of its JSON form."""

from __future__ import annotations

from typing import Final

from ompass import __version__
from ompass.reports.model import STATES, Column, Kind, Report, Section, Table, state_fields
from ompass.simulation.runs import Prediction, Simulation
from ompass.units import duration, plural

SCHEMA_VERSION: Final = 1


def simulation_report(simulation: Simulation) -> Report:
    """Returns all simulated runs, and the recorded one for comparison."""
    program = simulation.program
    recorded = (
        f"Recorded: {plural(program.n_threads, 'thread')}, {duration(program.wall_ns)} wall time, "
        f"{duration(program.regions_ns)} of it in regions, {duration(program.work_ns)} work in "
        f"{plural(program.n_deferred + program.n_serialised, 'task')}."
    )
    return Report(
        title=f"ompass simulate · {simulation.path.name} · {simulation.machine.name}",
        facts=(),
        sections=(Section("simulated", "Simulated runs", (recorded, _table(simulation))),),
        notes=simulation.notes,
        values={
            "schema": "ompass-simulation",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": str(simulation.path),
            "machine": simulation.machine.name,
            "seed": simulation.seed,
            "recorded": {
                "threads": program.n_threads,
                "wall_ns": program.wall_ns,
                "regions_ns": program.regions_ns,
                "work_ns": program.work_ns,
                "preempted_ns": program.preempted_ns,
                "tasks": program.n_deferred + program.n_serialised,
                "dependences": program.n_dependences,
            },
            "runs": [_record(prediction) for prediction in simulation.predictions],
            "notes": simulation.notes,
        },
    )


def _table(simulation: Simulation) -> Table:
    def of_time(state: str) -> Column:
        def share(prediction: Prediction) -> float:
            run = prediction.run
            return getattr(run, f"{state}_ns") / max(1, prediction.threads * run.wall_ns)  # type: ignore[no-any-return]

        return Column("", state, Kind.SHARE, share)

    return Table.of(
        "",
        (
            Column("", "policy", Kind.TEXT, "policy"),
            Column("", "threads", Kind.COUNT, "threads"),
            Column("", "wall time", Kind.TIME, "run.wall_ns"),
            Column("", "in regions", Kind.TIME, "regions_ns"),
            Column("", "speed-up", Kind.RATIO, "speedup"),
            *(of_time(state) for state in STATES),
            Column("", "steals", Kind.COUNT, "run.n_steals_successful"),
        ),
        simulation.predictions,
        word="run",
        most=60,
    )


def _record(prediction: Prediction) -> dict[str, object]:
    run = prediction.run
    return {
        "policy": prediction.policy,
        "threads": prediction.threads,
        "wall_ns": run.wall_ns,
        "serial_ns": run.serial_ns,
        **state_fields(run),
        "speedup": prediction.speedup,
        "tasks": run.n_tasks,
        "inlined": run.n_inlined,
        "remote": run.n_remote,
        "steals": {
            "attempted": run.n_steals_attempted,
            "successful": run.n_steals_successful,
            "false_negatives": run.n_steals_false_negative,
        },
        "operations": {name: {"count": n, "ns": ns} for name, (n, ns) in sorted(run.operations.items())},
        "memory": _memory(prediction) if run.levels else None,
    }


def _memory(prediction: Prediction) -> dict[str, object]:
    run = prediction.run
    return {
        "memory_ns": run.memory_ns,
        "busy_ns": run.busy_ns,
        "levels": [
            {"hits": level.n_hits, "misses": level.n_misses, "invalid": level.n_invalid}
            for level in run.levels
        ],
        "link_bytes": run.link_bytes,
    }

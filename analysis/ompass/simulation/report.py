# SPDX-License-Identifier: Apache-2.0
"""The reports on simulated runs and on changes. docs/simulation.md lists the fields of their JSON forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ompass import __version__
from ompass.reports.model import (
    STATES,
    Advice,
    Column,
    Kind,
    Report,
    Section,
    Table,
    place_fields,
    state_fields,
)
from ompass.simulation.advice import FASTER, LIMITS, AdviceContent, Causal, Change
from ompass.simulation.runs import Prediction, Simulation
from ompass.units import duration, percent, plural

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


_TITLES: Mapping[str, Callable[[Change], str]] = {
    "depth": lambda c: f"Create no tasks deeper than {plural(c.value, 'level')}",
    "time": lambda c: f"Create no tasks for less than {duration(c.value)} of work",
    "grain": lambda c: f"Merge {c.value} of these tasks into one",
    "finer": lambda c: f"Split each of these tasks into {c.value}",
    "producer": lambda c: f"Let {c.value} tasks create these tasks instead of one",
    "phases": lambda c: "Wait only for needed tasks instead of all",
    "dependences": lambda c: "Wait for needed data instead of all tasks",
    "untied": lambda c: "Make these tasks untied",
    "priority": lambda c: "Run these tasks before others",
    "schedule": lambda c: "Distribute this loop more evenly",
    "taskloop": lambda c: f"Make this loop a taskloop of {c.value} tasks",
    "chunk": lambda c: f"Make the chunks of this loop {c.value} times as large",
    "extension": lambda c: "Use the scheduler of libomp_ext.so instead of libomp's",
    "placement": lambda c: f"Place the subtrees of these tasks on {c.value} domains",
    "threads": lambda c: f"Run on {plural(c.value, 'thread')}",
}
_CURES: Mapping[str, Callable[[Change], str]] = {
    "depth": lambda c: (
        f"pass the depth as an argument, and call the serial function below {c.value}; "
        f"`final(depth >= {c.value})` keeps part of the cost"
    ),
    "time": lambda c: "estimate the work from the problem size, and call the serial function below that size",
    "grain": lambda c: (
        f"write `grainsize({c.iterations})` on the taskloop"
        if c.iterations
        else f"create one task for {c.value} pieces instead of one each, or use a taskloop"
    ),
    "finer": lambda c: f"write `grainsize({c.iterations})` on the taskloop",
    "producer": lambda c: "split the loop that creates them: a taskloop, or tasks that create a part each",
    "phases": lambda c: "replace the taskwaits between the phases by depend clauses on the tasks",
    "dependences": lambda c: (
        "remove the taskwait, and write `depend(in: ...)` and `depend(out: ...)` on the tasks, for the data "
        "that their kernels declare as read and written"
    ),
    "priority": lambda c: (
        "write `priority(1)` on the task construct, and start the program with OMP_MAX_TASK_PRIORITY=1"
    ),
    "schedule": lambda c: (
        "write `schedule(dynamic, n)` or `schedule(guided)` on the loop; if it has such a "
        "schedule, use smaller chunks"
    ),
    "taskloop": lambda c: (
        f"let one thread run the loop as `taskloop num_tasks({c.value})`; the others run its tasks at the "
        "barrier"
    ),
    "chunk": lambda c: (
        f"write a chunk size in the schedule clause: {c.value} times the present one (1 if there is none)"
    ),
    "untied": lambda c: "write `untied` on the task construct",
    "extension": lambda c: "start the program with `LD_PRELOAD=libomp_ext.so OMP_EXT_SCHEDULE=1`",
    "placement": lambda c: (
        f"call `omp_child_task_affinity(i * {c.value} / n)` before creating the i-th of n tasks, and link "
        "the program with libomp_ext.so"
    ),
    "threads": lambda c: f"set OMP_NUM_THREADS={c.value} on a machine with as many cores",
}


def advice_report(content: AdviceContent) -> Report:
    """Returns the report: changes, best first, and the causal profile."""
    return Report(
        title=f"ompass advise · {content.run.path.name} · {plural(content.threads, 'thread')}",
        facts=(),
        sections=(
            Section("changes", "Changes by gain", tuple(_changes(content))),
            Section("causal", "Gain by faster code", (_causal(content),)),
        ),
        notes=content.notes,
        values={
            "schema": "ompass-advice",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": str(content.run.path),
            "machine": content.machine.name,
            "threads": content.threads,
            "wall_ns": content.base.wall_ns,
            "recorded_wall_ns": content.program.wall_ns,
            "advice": [_change_record(content, change) for change in content.changes],
            "causal": [_causal_record(content, one) for one in content.causal],
            "notes": content.notes,
        },
    )


def _changes(content: AdviceContent) -> list[str | Advice | Table]:
    simulated = (
        f"Gains are shares of the {duration(content.base.wall_ns)} predicted without Ompass; "
        f"recorded: {duration(content.program.wall_ns)} on {plural(content.program.n_threads, 'thread')}."
    )
    if not content.changes:
        return [simulated, "None of the tried changes gains one percent."]
    return [
        simulated,
        *(
            Advice(
                title=f"{_TITLES[change.kind](change)}: {_gain(change)}",
                because=(
                    f"{duration(change.wall_ns)} predicted, {_range(change)}{LIMITS[change.limit](change)}"
                ),
                cure=_CURES[change.kind](change),
                place=content.location(change.construct).label() if change.construct else "",
            )
            for change in content.changes
        ),
    ]


def _gain(change: Change) -> str:
    words = f"{percent(change.gain)} less time"
    return f"at most {words}" if change.at_most else words


def _range(change: Change) -> str:
    return f"{percent(change.low)} to {percent(change.high)} with other costs and victims"


def _causal(content: AdviceContent) -> Table:
    return Table.of(
        f"Each construct {FASTER:g} times as fast",
        (
            Column("", "construct", Kind.NAME, lambda one: _name(content, one.construct)),
            Column("", "of", Kind.TEXT, lambda one: content.kind_of(one.construct)),
            Column("", "work", Kind.SHARE, "work_share"),
            Column("", "less time", Kind.SHARE, "gain"),
            Column("", "at least", Kind.SHARE, "low"),
            Column("", "at most", Kind.SHARE, "high"),
        ),
        content.causal,
        word="construct",
    )


def _name(content: AdviceContent, construct: int) -> str:
    return content.location(construct).label() if construct else "outside of regions"


def _change_record(content: AdviceContent, change: Change) -> dict[str, object]:
    return {
        "kind": change.kind,
        "construct": change.construct,
        **place_fields(content.location(change.construct)),
        "value": change.value,
        "change": _TITLES[change.kind](change),
        "write": _CURES[change.kind](change),
        "wall_ns": change.wall_ns,
        "gain": change.gain,
        "gain_low": change.low,
        "gain_high": change.high,
        "at_most": change.at_most,
        "limit": change.limit or None,
        "limit_ns": change.limit_ns,
        "tried": [{"value": one.value, "wall_ns": one.wall_ns} for one in change.tried],
    }


def _causal_record(content: AdviceContent, one: Causal) -> dict[str, object]:
    return {
        "construct": one.construct,
        "kind": content.kind_of(one.construct),
        **place_fields(content.location(one.construct)),
        "faster": FASTER,
        "work_ns": one.work_ns,
        "gain": one.gain,
        "gain_low": one.low,
        "gain_high": one.high,
    }

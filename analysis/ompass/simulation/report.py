# SPDX-License-Identifier: Apache-2.0
"""The reports on simulated runs and on changes. docs/simulation.md lists the fields of their JSON forms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from ompass import __version__
from ompass.model import OPENMP_STATES
from ompass.packed import shown_path
from ompass.reports.model import (
    Advice,
    Column,
    Kind,
    Report,
    Section,
    Table,
    place_fields,
    state_fields,
)
from ompass.reuse.metrics import ReuseHistogram
from ompass.reuse.report import class_columns, histogram_fields
from ompass.simulation.advice import FASTER, AdviceContent, Causal, Change
from ompass.simulation.runs import Prediction, Simulation
from ompass.simulation.words import RANGE
from ompass.simulation.words import Advice as Words
from ompass.units import duration, plural

SCHEMA_VERSION: Final = 1


def simulation_report(simulation: Simulation) -> Report:
    """Returns all simulated runs, and the recorded run for comparison."""
    program = simulation.program
    recorded = (
        f"Recorded: {plural(program.n_threads, 'thread')}, {duration(program.wall_ns)} wall time, "
        f"{duration(program.regions_ns)} of it in regions, {duration(program.work_ns)} work in "
        f"{plural(program.n_deferred + program.n_serialised, 'task')}."
    )
    return Report(
        title=f"ompass simulate · {simulation.path.name} · {simulation.machine.name}",
        facts=(),
        sections=(
            Section("simulated", "Simulated runs", (recorded, _table(simulation), *_refusals(simulation))),
            *_reuse(simulation),
        ),
        notes=simulation.notes,
        values={
            "schema": "ompass-simulation",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": shown_path(simulation.path),
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
            "refused": [
                {
                    "policy": one.policy,
                    "threads": one.threads,
                    "reason": one.doubt.reason,
                    "doubt_ns": round(one.doubt.ns),
                }
                for one in simulation.refusals
            ],
            "notes": simulation.notes,
        },
    )


def _refusals(simulation: Simulation) -> Iterator[str]:
    """Yields a sentence for each policy and reason of a refusal; names the policies if there are several."""
    threads: dict[tuple[str, str, str], list[int]] = {}
    for one in simulation.refusals:
        how = "Doubtful" if simulation.is_made(one) else "Not predicted"
        threads.setdefault((how, one.policy, one.doubt.reason), []).append(one.threads)
    policies = {one.policy for one in simulation.refusals} | {one.policy for one in simulation.predictions}
    for (how, policy, reason), numbers in threads.items():
        word = "thread" if numbers == [1] else "threads"
        under = f" under {policy}" if len(policies) > 1 else ""
        yield f"{how} for {', '.join(map(str, numbers))} {word}{under}, because {reason}."


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
            *(of_time(state) for state in OPENMP_STATES),
            Column("", "steals", Kind.COUNT, "run.n_steals_successful"),
        ),
        simulation.predictions,
        word="run",
        most=60,
    )


class _Reused(NamedTuple):
    policy: str
    threads: int
    histogram: ReuseHistogram


def _reuse(simulation: Simulation) -> Iterator[Section]:
    """Yields the reuse distances of all runs, if they were requested."""
    rows = [_Reused(one.policy, one.threads, one.reuse) for one in simulation.predictions if one.reuse]
    if rows:
        table = Table.of(
            "",
            (
                Column("", "policy", Kind.TEXT, "policy"),
                Column("", "threads", Kind.COUNT, "threads"),
                *class_columns(),
            ),
            rows,
            word="run",
            most=60,
        )
        yield Section("reuse", "Declared data by reuse distance, all cache groups", (table,))


def _record(prediction: Prediction) -> dict[str, object]:
    run = prediction.run
    return {
        "policy": prediction.policy,
        "threads": prediction.threads,
        "wall_ns": run.wall_ns,
        "serial_ns": run.serial_ns,
        **state_fields(run, OPENMP_STATES),
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
        "reuse": histogram_fields(prediction.reuse) if prediction.reuse else None,
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


def advice_report(content: AdviceContent) -> Report:
    """Returns the report: changes, best first, and the causal profile."""
    doubt = content.doubt
    return Report(
        title=f"ompass advise · {content.run.path.name} · {plural(content.threads, 'thread')}",
        facts=(),
        warning=f"These gains are doubtful, because {doubt.reason}: {doubt.cure}." if doubt else "",
        sections=(
            Section("changes", "Changes by gain", tuple(_changes(content))),
            Section("causal", "Gain by faster code", (_causal(content),)),
        ),
        notes=content.notes,
        values={
            "schema": "ompass-advice",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": shown_path(content.run.path),
            "machine": content.machine.name,
            "threads": content.threads,
            "wall_ns": content.wall_ns,
            "recorded_wall_ns": content.program.wall_ns,
            "advice": [
                _change_record(content, change, advice)
                for change, advice in zip(content.changes, content.advice, strict=True)
            ],
            "causal": [_causal_record(content, one) for one in content.causal],
            "notes": content.notes,
            "doubt": doubt.reason if doubt else None,
        },
    )


def _changes(content: AdviceContent) -> list[str | Advice | Table]:
    simulated = (
        f"Gains are shares of the {duration(content.wall_ns)} predicted without Ompass; "
        f"recorded: {duration(content.program.wall_ns)} on {plural(content.program.n_threads, 'thread')}."
    )
    if not content.changes:
        return [simulated, "Each simulated change saves less than one percent, or possibly nothing."]
    return [
        simulated,
        *(
            Advice(
                title=f"{one.title}: {one.gain_text}",
                because=one.because,
                cure=one.write,
                place=one.place,
                also=f"also {', '.join(one.also)}" if one.also else "",
            )
            for one in content.advice
        ),
    ]


def _causal(content: AdviceContent) -> Table:
    return Table.of(
        f"Each construct {FASTER:g} times as fast",
        (
            Column("", "construct", Kind.NAME, lambda one: _name(content, one.construct)),
            Column("", "of", Kind.TEXT, lambda one: content.kind_of(one.construct)),
            Column("", "work", Kind.SHARE, "work_share"),
            Column("", "less time", Kind.SHARE, "gain"),
            Column("", "from", Kind.SHARE, "low"),
            Column("", "to", Kind.SHARE, "high"),
        ),
        content.causal,
        word="construct",
        notes=(f"From, to: {RANGE}.",),
    )


def _name(content: AdviceContent, construct: int) -> str:
    return content.location(construct).label() if construct else "outside of regions"


def _change_record(content: AdviceContent, change: Change, words: Words) -> dict[str, object]:
    return {
        "kind": change.kind,
        "construct": change.construct,
        **place_fields(content.location(change.construct)),
        "value": change.value,
        "change": words.title,
        "write": words.write,
        "wall_ns": change.wall_ns,
        "gain": change.gain,
        "gain_low": change.low,
        "gain_high": change.high,
        "at_most": change.at_most,
        "at_least": change.is_least,
        "priority": change.priority or None,
        "limit": change.limit or None,
        "limit_ns": change.limit_ns,
        "because": words.because,
        "address": f"{change.shared.address:#x}" if change.shared else None,
        "variable": change.shared.name or None if change.shared else None,
        "also": list(words.also),
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

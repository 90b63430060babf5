# SPDX-License-Identifier: Apache-2.0
"""The report on a sweep as JSON. The schema is documented in docs/scaling.md and versioned here."""

from __future__ import annotations

from typing import Any, Final

from ompass import __version__
from ompass.metrics import CURVES, Inflation, MeanStates
from ompass.reports.scaling.content import Column, Place, ScalingContent

SCHEMA_VERSION: Final = 1


def json_scaling(content: ScalingContent) -> dict[str, Any]:
    """The report as plain values, in the order in which they are documented."""
    judged = content.judged
    return {
        "schema": "ompass-scale",
        "schema_version": SCHEMA_VERSION,
        "ompass_version": __version__,
        "directory": content.directory,
        "command": list(content.spec.command),
        "baseline": list(content.spec.baseline) or None,
        "elision": list(content.spec.elision) or None,
        "scope": content.scope.value,
        "cpus": content.n_cpus,
        "pinned": content.spec.pinned,
        "points": [json_point(column) for column in content.columns],
        "judged_threads": judged.point.threads if judged else None,
        "verdict": json_verdict(judged) if judged else None,
        "gaps": [
            {"name": g.name, "upper": g.upper, "lower": g.lower, "size": g.size, "meaning": g.meaning}
            for g in content.gaps
        ],
        "bends": list(content.bends),
    }


def json_point(column: Column) -> dict[str, Any]:
    """One number of threads, without its verdict."""
    point = column.point
    return {
        "threads": point.threads,
        "rounds": column.n_rounds,
        "rounds_left_out": column.n_left_out,
        "others_share": column.others,
        "threads_seen": column.n_seen,
        "time_ns": point.time_ns,
        "thread_time_ns": point.thread_time_ns,
        **_states(point.states, ""),
        "one_thread_time_ns": point.one_time_ns,
        **_states(point.one, "one_thread_"),
        "serial_ns": point.serial_ns,
        "serial_is": "baseline" if point.has_baseline else "work on one thread",
        "elision_ns": point.elision_ns,
        "speedup": point.speedup,
        "efficiency": point.efficiency,
        "ovr": point.ovr,
        "wti": point.wti,
        "inflation_ns": point.inflation_ns,
        "work_inflation_ns": point.work_inflation_ns,
        "runtime_inflation_ns": point.runtime_inflation_ns,
        "curves": {name: point.curve(name) for name in CURVES},
        "spread": {name: {"low": low, "high": high} for name, (low, high) in column.spreads.items()},
        "unrecorded": {
            "speedup": column.recording.unrecorded_speedup,
            "recording_cost": column.recording.factor,
            "against": "baseline" if column.recording.against_baseline else "one thread",
        }
        if column.recording
        else None,
        "constructs": [json_inflation(row) for row in column.inflation],
    }


def json_inflation(row: Inflation[Place]) -> dict[str, Any]:
    return {
        "kind": row.key.kind,
        "function": row.key.function or None,
        "file": row.key.file or None,
        "line": row.key.line or None,
        "module": row.key.module or None,
        "offset": row.key.offset or None,
        "work_ns": row.work_ns,
        "one_thread_work_ns": row.one_work_ns,
        "factor": row.factor,
        "factor_low": row.low,
        "factor_high": row.high,
        "excess_ns": row.excess_ns,
        "runs": row.n_runs,
        "one_thread_runs": row.one_n_runs,
        "same_work": row.same_work,
    }


def json_verdict(column: Column) -> dict[str, Any] | None:
    verdict = column.verdict
    if verdict is None:
        return None
    return {
        "kind": verdict.kind,
        "title": verdict.title,
        "because": verdict.because,
        "cure": verdict.cure,
        "place": column.finding_place or None,
        "also": list(verdict.also),
        "losses": [{"kind": loss.kind, "ns": loss.ns, "share": loss.share} for loss in verdict.losses],
    }


def _states(states: MeanStates, prefix: str) -> dict[str, float]:
    return {
        f"{prefix}work_ns": states.work_ns,
        f"{prefix}create_ns": states.create_ns,
        f"{prefix}schedule_ns": states.schedule_ns,
        f"{prefix}sync_ns": states.sync_ns,
        f"{prefix}idle_ns": states.idle_ns,
    }

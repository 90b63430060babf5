# SPDX-License-Identifier: Apache-2.0
"""The report as JSON. The schema is documented in docs/report-schema.md and versioned here.

A field keeps its name and meaning within a schema version; new fields may appear.
"""

from __future__ import annotations

import datetime
from typing import Any, Final

from ompass import __version__
from ompass.metrics import ConstructTotals, Finding, Locality, RegionShare, ThreadShare
from ompass.model import StateTimes
from ompass.reports.content import ReportContent

SCHEMA_VERSION: Final = 1


def json_report(content: ReportContent) -> dict[str, Any]:
    """The report as plain values, in the order in which they are documented."""
    run, breakdown = content.run, content.breakdown
    return {
        "schema": "ompass-report",
        "schema_version": SCHEMA_VERSION,
        "ompass_version": __version__,
        "directory": str(run.path),
        "pid": run.pid,
        "start": _iso_time(run.start_epoch_ns),
        "mode": run.mode,
        "source": run.source,
        "complete": run.complete,
        "end_reason": run.end_reason,
        "incomplete_reasons": list(run.incomplete_reasons),
        "clock": {"kind": run.clock_kind, "hz": run.clock_hz},
        "create_estimated": run.create_estimated,
        "create_estimate_ns": run.create_estimate_ns,
        "scope": breakdown.scope.value,
        "scope_fell_back": breakdown.fell_back,
        "threads": breakdown.n_threads,
        "wall_ns": breakdown.wall_ns,
        "program_wall_ns": run.wall_ns,
        "thread_time_ns": breakdown.thread_time_ns,
        **_states(breakdown.states),
        "implicit_ns": breakdown.implicit_ns,
        "lock_ns": breakdown.lock_ns,
        "tasks": content.n_tasks,
        "tasks_created": sum(t.n_created for t in content.tasks),
        "tasks_cancelled": sum(t.n_cancelled for t in content.tasks),
        "tasks_undeferred": sum(t.n_undeferred for t in content.tasks),
        "thread_breakdown": [_thread(thread) for thread in breakdown.threads],
        "regions": [_region(content, region) for region in content.regions],
        "constructs": [_construct(content, task) for task in content.tasks],
        "kernels": [_kernel(content, kernel) for kernel in content.kernels],
        "granularity": _bins(content),
        "locality": _locality(content.locality),
        "counters": list(run.counters),
        "findings": [_finding(content, finding) for finding in content.findings],
        "problems": list(content.problems),
    }


def _iso_time(epoch_ns: int) -> str:
    moment = datetime.datetime.fromtimestamp(epoch_ns // 1_000_000_000, datetime.timezone.utc)
    return moment.isoformat()


def _states(states: StateTimes) -> dict[str, int]:
    return {
        "work_ns": states.work_ns,
        "create_ns": states.create_ns,
        "schedule_ns": states.schedule_ns,
        "sync_ns": states.sync_ns,
        "idle_ns": states.idle_ns,
    }


def _place(content: ReportContent, construct: int | None) -> dict[str, Any]:
    """Where a construct stands; null for what is not known."""
    location = content.location(construct)
    return {
        "file": location.file or None,
        "line": location.line or None,
        "function": location.function or None,
        "module": location.module or None,
        "offset": location.offset or None,
    }


def _thread(thread: ThreadShare) -> dict[str, Any]:
    return {
        "thread": thread.thread,
        "kind": thread.kind,
        "thread_time_ns": thread.states.total_ns,
        **_states(thread.states),
        "implicit_ns": thread.implicit_ns,
        "lock_ns": thread.lock_ns,
        "outside_ns": thread.outside_ns,
        "tasks": thread.n_tasks,
    }


def _region(content: ReportContent, region: RegionShare) -> dict[str, Any]:
    return {
        "id": region.construct,
        **_place(content, region.construct),
        "level": region.level,
        "instances": region.n_instances,
        "max_team_size": region.max_team_size,
        "wall_ns": region.wall_ns,
        "capacity_ns": region.capacity_ns,
        "nested_ns": region.nested_ns,
        "thread_time_ns": region.states.total_ns,
        **_states(region.states),
        "implicit_ns": region.implicit_ns,
        "lock_ns": region.lock_ns,
        "tasks": region.n_tasks,
        "imbalance": region.imbalance,
        "thread_breakdown": [_thread(thread) for thread in region.threads],
    }


def _construct(content: ReportContent, task: ConstructTotals) -> dict[str, Any]:
    return {
        "id": task.construct,
        **_place(content, task.construct),
        "inlined_into": list(content.location(task.construct).inlined_into),
        "tasks": task.n_completed,
        "tasks_created": task.n_created,
        "tasks_cancelled": task.n_cancelled,
        "tasks_undeferred": task.n_undeferred,
        "work_ns": task.work_ns,
        "create_ns": task.create_ns,
        "inclusive_ns": task.inclusive_ns,
        "mean_work_ns": task.mean_work_ns,
        "mean_create_ns": task.mean_create_ns,
        "tasks_timed": task.n_timed,
        "min_ns": task.min_ns if task.n_timed else None,
        "max_ns": task.max_ns if task.n_timed else None,
        "histogram": list(task.histogram),
        "tasks_ready": task.n_ready,
        "ready_ns": task.ready_ns,
        "ready_max_ns": task.ready_max_ns,
        "tasks_other_thread": task.n_other_thread,
        "tasks_other_core": task.n_other_core,
        "tasks_other_domain": task.n_other_domain,
        "counters": _counters(content, task),
        "created_by": [{"thread": thread, "tasks": n} for thread, n in task.created_by],
        "completed_by": [{"thread": thread, "tasks": n} for thread, n in task.completed_by],
    }


def _kernel(content: ReportContent, kernel: ConstructTotals) -> dict[str, Any]:
    return {
        "id": kernel.construct,
        "name": content.location(kernel.construct).function,
        **_place(content, kernel.construct),
        "executions": kernel.n_completed,
        "work_ns": kernel.work_ns,
        "inclusive_ns": kernel.inclusive_ns,
        "min_ns": kernel.min_ns if kernel.n_timed else None,
        "max_ns": kernel.max_ns if kernel.n_timed else None,
        "read_bytes": kernel.read_bytes,
        "write_bytes": kernel.write_bytes,
        "counters": _counters(content, kernel),
    }


def _counters(content: ReportContent, totals: ConstructTotals) -> dict[str, int]:
    return dict(zip(content.run.counters, totals.counters, strict=False))


def _locality(locality: Locality | None) -> dict[str, Any] | None:
    if locality is None:
        return None
    return {
        "tasks": locality.n_tasks,
        "tasks_local": locality.n_local,
        "tasks_remote": locality.n_remote,
        "tasks_rescued": locality.n_rescued,
        "placed_ran": [list(row) for row in locality.matrix],
        "steals": locality.n_steals,
        "steals_failed": locality.n_failed_steals,
        "steal_ns": locality.steal_ns,
        "steal_failed_ns": locality.failed_steal_ns,
    }


def _bins(content: ReportContent) -> list[dict[str, int]]:
    return [{"low_ns": b.low_ns, "high_ns": b.high_ns, "tasks": b.n_tasks} for b in content.bins]


def _finding(content: ReportContent, finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "title": finding.title,
        "because": finding.because,
        "cure": finding.cure,
        "cost_ns": finding.cost_ns,
        "construct": finding.construct,
        **_place(content, finding.construct),
        "numbers": dict(finding.numbers),
    }

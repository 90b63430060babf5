# SPDX-License-Identifier: Apache-2.0
"""The task graph of a run as immutable values. Times are integer nanoseconds.

Owns the meaning of every field; how the graph comes about is told in analysis/core/task_graph.h.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Tasks of one construct created in one group; group 0 is the program outside of every region."""

    number: int
    kind: str  # "program", "parallel" (implicit tasks), "task"
    parent: int
    construct: int
    depth: int
    folded: bool  # holds tasks from below the depth at which groups are told apart
    n_tasks: int  # deferred or implicit ones that started
    n_undeferred: int
    n_other_thread: int
    work_ns: int  # that of undeferred tasks is with the task that they ran in
    create_ns: int
    dispatch_ns: int  # time in which threads did nothing although these tasks were ready
    max_ns: int  # longest task
    critical_ns: int  # on the critical path
    n_critical: int  # stretches of the critical path
    n_waits: int


@dataclass(frozen=True, slots=True)
class GroupDependence:
    """`n` recorded dependences from tasks of one group to tasks of another."""

    from_group: int
    to_group: int
    n: int


@dataclass(frozen=True, slots=True)
class CriticalStep:
    """A stretch of one task on the critical path."""

    task: int  # id; 0 outside of every region
    group: int
    thread: int
    begin_ns: int  # from the begin of the path
    length_ns: int
    start_ns: int  # when the task started, since the start of the run


@dataclass(frozen=True, slots=True)
class GraphTask:
    """One task of an expanded group."""

    task: int
    parent: int  # id of its creator; 0 when that is undeferred or unknown
    group: int
    thread: int
    created_ns: int
    created_latest_ns: int  # == created_ns where that is exact
    start_ns: int
    end_ns: int
    work_ns: int
    critical_ns: int


@dataclass(frozen=True, slots=True)
class TaskGraph:
    """Work and span of one run, its groups of tasks, and its critical path."""

    work_ns: int  # inside parallel regions
    outside_ns: int
    span_ns: int  # the longest chain of the whole program
    span_outside_ns: int
    burdened_ns: int
    n_deferred: int
    n_undeferred: int
    n_dependences: int
    n_taskgroup_ends: int
    n_dependent_waits: int
    n_out_of_order: int
    n_steps: int
    groups: tuple[TaskGroup, ...]
    dependences: tuple[GroupDependence, ...]
    critical: tuple[CriticalStep, ...]
    tasks: tuple[GraphTask, ...]

    @property
    def region_span_ns(self) -> int:
        """The critical path inside parallel regions."""
        return self.span_ns - self.span_outside_ns

    @property
    def region_burdened_ns(self) -> int:
        return self.burdened_ns - self.span_outside_ns

    @property
    def parallelism(self) -> float:
        """Work / span of the parallel regions; 0 without any."""
        return self.work_ns / self.region_span_ns if self.region_span_ns else 0.0

    @property
    def burdened_parallelism(self) -> float:
        return self.work_ns / self.region_burdened_ns if self.region_burdened_ns else 0.0

    @property
    def program_parallelism(self) -> float:
        """The same for the whole program: no number of threads gives a greater speed-up."""
        return (self.work_ns + self.outside_ns) / self.span_ns if self.span_ns else 0.0

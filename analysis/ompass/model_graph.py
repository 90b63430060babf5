# SPDX-License-Identifier: Apache-2.0
"""The task graph of a run as immutable values. The core documents its fields. Times are integer ns."""

from __future__ import annotations

from ompass import _core
from ompass._core import CriticalStep, GraphGroup, GraphTask, GroupDependence

__all__ = ["CriticalStep", "GraphGroup", "GraphTask", "GroupDependence", "TaskGraph"]


class TaskGraph(_core.TaskGraph):
    """Work and span of one run, its groups of tasks, and its critical path."""

    @property
    def region_span_ns(self) -> int:
        """The part of the critical path inside parallel regions."""
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
        """Work / span of the whole program, an upper bound of its speed-up."""
        return (self.work_ns + self.outside_ns) / self.span_ns if self.span_ns else 0.0

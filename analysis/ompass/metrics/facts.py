# SPDX-License-Identifier: Apache-2.0
"""What a finding is, and what the judges of findings look at.

Texts name no source line: `Finding.construct` does, and reports look it up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ompass.metrics import quota, thresholds
from ompass.metrics.breakdown import Breakdown, RegionShare
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.loads import SampledLoad
from ompass.metrics.processor import ProcessorTime, processor_time
from ompass.metrics.samples import LocatedSample
from ompass.metrics.waits import LoopTotals, WaitTotals
from ompass.model import Run


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a person can act on ("problem") or must know to read the figures ("note")."""

    kind: str
    severity: str  # "problem" or "note"
    title: str
    because: str  # the numbers it rests on, as a sentence
    cure: str  # what to do; empty when nothing is to be done
    cost_ns: int = 0  # thread-time at stake
    construct: int | None = None  # what is to blame
    numbers: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a judge found; the table of findings adds what is the same for all of its kind."""

    because: str
    cost_ns: int
    construct: int | None = None
    numbers: tuple[tuple[str, float], ...] = ()
    kind: str = ""  # another one than that of the judge
    title: str = ""  # more exact than that of the kind
    cure: str = ""
    is_note: bool = False


def evidence(
    because: str,
    cost_ns: float,
    construct: int | None = None,
    *,
    kind: str = "",
    title: str = "",
    cure: str = "",
    is_note: bool = False,
    **numbers: float,
) -> Evidence:
    """The same with its numbers by name."""
    return Evidence(because, int(cost_ns), construct, tuple(numbers.items()), kind, title, cure, is_note)


def note(kind: str, title: str, because: str, cure: str = "", **numbers: float) -> Finding:
    """A finding to know of."""
    return Finding(kind, "note", title, because, cure, numbers=tuple(numbers.items()))


@dataclass(frozen=True)
class Facts:
    """All that the judges look at."""

    run: Run
    breakdown: Breakdown  # of all regions, or of the program where there is none
    tasks: tuple[ConstructTotals, ...]
    waits: tuple[WaitTotals, ...] = field(default=())
    loops: tuple[LoopTotals, ...] = field(default=())
    samples: tuple[LocatedSample, ...] = field(default=())  # of processor time
    loads: tuple[SampledLoad, ...] = field(default=())
    critical_names: Mapping[int, str] = field(default_factory=dict)  # of critical constructs, as far as known

    @property
    def n_completed(self) -> int:
        return sum(t.n_completed for t in self.tasks)

    @property
    def n_deferred(self) -> int:
        return sum(t.n_created - t.n_undeferred for t in self.tasks)

    @property
    def n_threads(self) -> int:
        return self.breakdown.n_threads

    @cached_property
    def processor(self) -> ProcessorTime:
        """Of the whole breakdown."""
        return processor_time(self.breakdown)

    @property
    def n_shared(self) -> int:
        """The processors that all threads together could run on, as they were bound; 0: not known."""
        return min(self.run.n_usable_cpus, self.run.n_bound_cpus or self.run.n_usable_cpus)

    @property
    def n_allowed(self) -> float:
        """The processors that all threads together could use at a time, under a quota on average; 0: not
        known."""
        return quota.allowed_processors(self.n_shared, self.run.quota_us, self.run.quota_period_us)

    @property
    def n_processors(self) -> float:
        """The processors that the threads could use at a time: one each, unless it is known to be less."""
        return min(self.n_threads, self.n_allowed or self.n_threads)

    @property
    def tied_together(self) -> bool:
        """True if threads had to share processors only because they were bound to too few."""
        return 0 < self.n_shared < min(self.n_threads, self.run.n_usable_cpus)

    @property
    def crowded(self) -> bool:
        """Whether the threads had to share processors among themselves."""
        limit_ns = self.n_allowed * self.breakdown.wall_ns * thresholds.CROWDED
        return 0 < limit_ns < self.breakdown.thread_time_ns

    @property
    def shared_ns(self) -> int:
        """Thread-time preempted because more threads than processors shared these, apart from a quota."""
        held_ns = self.n_shared * self.breakdown.wall_ns
        return min(
            max(self.breakdown.thread_time_ns - held_ns, 0) if held_ns else 0, self.processor.preempted_ns
        )

    @cached_property
    def throttled_ns(self) -> int:
        """Thread-time preempted by the quota of a control group, beyond what shared processors explain."""
        held_back_ns = quota.held_back_ns(
            self.run, self.breakdown.thread_time_ns, self.breakdown.wall_ns, self.shared_ns
        )
        return max(min(held_back_ns, self.processor.preempted_ns - self.shared_ns), 0)

    @property
    def taken_ns(self) -> int:
        """Thread-time preempted by others: more than threads that share processors, and a quota, explain."""
        return max(self.processor.preempted_ns - self.shared_ns - self.throttled_ns, 0)

    @property
    def throttled(self) -> bool:
        """Whether the quota of a control group held the threads back for too long."""
        return self.breakdown.share(self.throttled_ns) >= thresholds.THROTTLED_SHARE

    @property
    def disturbed(self) -> bool:
        """Whether others used the processors of this run for too long."""
        return self.breakdown.share(self.taken_ns) >= thresholds.PREEMPTED_SHARE

    @property
    def calm(self) -> bool:
        """Whether each thread had a processor of its own, so that waits tell of the program alone."""
        return not self.crowded and not self.disturbed and not self.throttled

    @cached_property
    def task_regions(self) -> tuple[RegionShare, ...]:
        return tuple(r for r in self.breakdown.regions if r.n_tasks)

    def unexplained(self, waited_ns: float) -> float:
        """Of the time of waits what preempted threads do not explain: each may keep all others waiting."""
        return max(waited_ns - self.processor.preempted_ns * (self.n_threads - 1), 0.0)

    def idle_ns(self, regions: tuple[RegionShare, ...]) -> float:
        """Time without work in these regions; in a calm run, only what the program is to blame for."""
        idle_ns = sum(r.states.idle_ns for r in regions)
        return self.unexplained(idle_ns) if self.calm else idle_ns

    def n_active(self, regions: tuple[RegionShare, ...]) -> float:
        """Mean number of threads with something to do in these regions, on a processor or not."""
        outermost = [r for r in regions if r.level == 1] or regions
        wall_ns = sum(r.wall_ns for r in outermost)
        return sum(r.states.work_ns + r.states.create_ns for r in regions) / wall_ns if wall_ns else 0.0

    def lacks_work(self, regions: tuple[RegionShare, ...]) -> bool:
        """Whether processors were without work there."""
        return self.n_active(regions) < thresholds.ACTIVE_PART * self.n_processors

    def serialised(self, regions: tuple[RegionShare, ...]) -> bool:
        """Whether about one thread at a time had something to do there, however busy the machine was."""
        return self.n_active(regions) <= thresholds.SERIALISED_ACTIVE

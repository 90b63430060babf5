# SPDX-License-Identifier: Apache-2.0
"""The types of findings, and the facts that their judges use.

Reports look up source lines by `Finding.construct`, unless samples show the line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ompass.latency.metrics import SampledLoad
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Breakdown, RegionShare, outermost_ns
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.library_calls import Device, TargetTotals
from ompass.metrics.processors import (
    ProcessorTime,
    allowed_processors,
    held_back_ns,
    knows_switches,
    processor_time,
)
from ompass.metrics.waits import LoopTotals, WaitTotals
from ompass.model import OUTSIDE, RegionRow, Run, share
from ompass.samples.metrics import BlockingPlace, Line, LocatedSample, UsedData


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person can act on ("problem"), or must know to interpret the figures ("note")."""

    kind: str
    severity: str  # "problem" or "note"
    title: str
    because: str  # its reason in numbers, as a sentence
    cure: str  # advice; empty if there is none
    cost_ns: int = 0  # thread-time at stake
    construct: int | None = None  # its cause
    numbers: tuple[tuple[str, float], ...] = ()
    leads: bool = False  # True if it comes first, because it distorts all other figures
    line: Line | None = None  # the line that causes it; None: its construct


@dataclass(frozen=True, slots=True)
class LateTasks:
    """Tasks that a simulation would start earlier than the program's priorities allow."""

    construct: int
    gain: float  # part of the time that the program would save
    saved_ns: int  # wall time


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one finding; the table of findings adds the common parts of its kind."""

    because: str
    cost_ns: int
    construct: int | None = None
    numbers: tuple[tuple[str, float], ...] = ()
    kind: str = ""  # replaces the judge's kind
    title: str = ""  # replaces the kind's title
    cure: str = ""
    is_note: bool = False
    line: Line | None = None  # the line that causes it; None: the construct


def evidence(
    because: str,
    cost_ns: float,
    construct: int | None = None,
    *,
    kind: str = "",
    title: str = "",
    cure: str = "",
    is_note: bool = False,
    line: Line | None = None,
    **numbers: float,
) -> Evidence:
    """Returns evidence, with its numbers by name."""
    of = tuple(numbers.items())
    return Evidence(because, int(cost_ns), construct, of, kind, title, cure, is_note, line)


def note(kind: str, title: str, because: str, cure: str = "", **numbers: float) -> Finding:
    """Returns a note."""
    return Finding(kind, "note", title, because, cure, numbers=tuple(numbers.items()))


@dataclass(frozen=True)
class Facts:
    """The facts that all judges use."""

    run: Run
    breakdown: Breakdown  # states of all regions; of the program if there is no region
    tasks: tuple[ConstructTotals, ...]
    waits: tuple[WaitTotals, ...] = field(default=())
    loops: tuple[LoopTotals, ...] = field(default=())
    samples: tuple[LocatedSample, ...] = field(default=())  # samples of processor time
    loads: tuple[SampledLoad, ...] = field(default=())
    used_data: tuple[UsedData, ...] = field(default=())  # at samples of work on several threads
    critical_names: Mapping[int, str] = field(default_factory=dict)  # known names of critical constructs
    n_wanted: int = 0  # threads that OMP_NUM_THREADS requests; 0: it is not set
    is_of_gcc: bool = False  # True if the program creates tasks by functions of libgomp
    sample_hz: int = 0  # samples per second of processor time; 0: unknown
    environment: Mapping[str, str] = field(default_factory=dict)  # the recorded variables of OpenMP
    n_rank_cpus: int = 0  # processors of the host, if the launcher of an MPI job bound this rank to fewer
    targets: tuple[TargetTotals, ...] = field(default=())
    devices: tuple[Device, ...] = field(default=())
    is_python: bool = False  # True if the program is a Python interpreter
    blocking_places: Mapping[int, tuple[BlockingPlace, ...]] = field(default_factory=dict)  # by construct
    task_bytes: Mapping[int, int] = field(
        default_factory=dict
    )  # copied for each task of a construct; 0: unknown
    directives: frozenset[tuple[str, int]] = frozenset()  # files and lines of parallel regions and loops
    late_tasks: LateTasks | None = None  # None: the program has no priorities, or they cost nothing

    def place(self, construct: int) -> tuple[int, int]:
        """Returns module and offset of a construct; a task and its wait for dependences share them."""
        definition = self.run.definitions[construct]
        return definition.module, definition.offset

    @property
    def n_completed(self) -> int:
        return sum(t.n_completed for t in self.tasks)

    @property
    def n_deferred(self) -> int:
        return sum(t.n_created - t.n_undeferred for t in self.tasks)

    @property
    def n_threads(self) -> int:
        return self.breakdown.n_threads

    @property
    def helper_work_ns(self) -> int:
        """Time of the tasks that the runtime's helper threads ran; not part of any thread-time."""
        return sum(t.states.work_ns + t.states.offload_ns for t in self.breakdown.helpers)

    @cached_property
    def processor(self) -> ProcessorTime:
        """Processor times of the whole breakdown."""
        return processor_time(self.breakdown)

    @property
    def n_shared(self) -> int:
        """Number of processors in the union of all threads' bindings; 0: unknown."""
        return min(self.run.n_usable_cpus, self.run.n_bound_cpus or self.run.n_usable_cpus)

    @property
    def n_allowed(self) -> float:
        """Number of processors that all threads together could use on average, with a quota; 0: unknown."""
        return allowed_processors(self.n_shared, self.run.quota_us, self.run.quota_period_us)

    @property
    def n_processors(self) -> float:
        """Number of processors that the threads could use at a time, at most one for each thread."""
        return min(self.n_threads, self.n_allowed or self.n_threads)

    @property
    def tied_together(self) -> bool:
        """True if threads had to share processors only because they were bound to too few."""
        return 0 < self.n_shared < min(self.n_threads, self.run.n_usable_cpus)

    @property
    def crowded(self) -> bool:
        """True if the threads had to share processors with each other."""
        limit_ns = self.n_allowed * self.breakdown.wall_ns * thresholds.CROWDED
        return 0 < limit_ns < self.breakdown.thread_time_ns

    @property
    def heavily_crowded(self) -> bool:
        """True if so many threads shared each processor that waits do not reflect the program at all."""
        limit_ns = self.n_allowed * self.breakdown.wall_ns * thresholds.HEAVILY_CROWDED
        return 0 < limit_ns <= self.breakdown.thread_time_ns

    @property
    def unused_ns(self) -> float:
        """Time of the processors that the threads could use and did not."""
        return max(self.n_processors * self.breakdown.wall_ns - self.processor.running_ns, 0.0)

    @property
    def shared_ns(self) -> int:
        """Thread-time preempted because threads of the run shared processors, without a quota's effect."""
        held_ns = self.n_shared * self.breakdown.wall_ns
        return min(
            max(self.breakdown.thread_time_ns - held_ns, 0) if held_ns else 0, self.processor.preempted_ns
        )

    @cached_property
    def throttled_ns(self) -> int:
        """Thread-time preempted by a control group's quota, without `shared_ns`."""
        withheld_ns = held_back_ns(
            self.run, self.breakdown.thread_time_ns, self.breakdown.wall_ns, self.shared_ns
        )
        return max(min(withheld_ns, self.processor.preempted_ns - self.shared_ns), 0)

    @property
    def taken_ns(self) -> int:
        """Thread-time preempted by other programs, without `shared_ns` and `throttled_ns`."""
        return max(self.processor.preempted_ns - self.shared_ns - self.throttled_ns, 0)

    @property
    def throttled(self) -> bool:
        """True if a control group's quota held the threads back for too long."""
        return self.breakdown.share(self.throttled_ns) >= thresholds.THROTTLED_SHARE

    @property
    def disturbed(self) -> bool:
        """True if other programs used the processors of this run for too long."""
        return self.breakdown.share(self.taken_ns) >= thresholds.PREEMPTED_SHARE

    @property
    def calm(self) -> bool:
        """True if each thread had its own processor, so waits reflect only the program."""
        return not self.crowded and not self.disturbed and not self.throttled

    @cached_property
    def task_regions(self) -> tuple[RegionShare, ...]:
        return tuple(r for r in self.breakdown.regions if r.n_tasks)

    def unexplained(self, waited_ns: float) -> float:
        """Returns the waits that preemption does not explain. A preempted thread may delay all others."""
        return max(waited_ns - self.processor.preempted_ns * (self.n_threads - 1), 0.0)

    def idle_ns(self, regions: tuple[RegionShare, ...]) -> float:
        """Returns the idle time in these regions that the program causes."""
        return self.of_program(sum(r.states.idle_ns for r in regions))

    def of_program(self, waited_ns: float) -> float:
        """Returns the part of waiting time that the program causes.

        If threads of the run share processors, returns all of it, because the effect of sharing is unknown.
        """
        return waited_ns if self.crowded else self.unexplained(waited_ns)

    @cached_property
    def system_calls_ns(self) -> float:
        """A lower bound of the work's time in system calls, without page faults; 0 if unknown.

        Subtracts the clock's error, and the time that threads ran outside of work: threads that wait may call
        the system, too.
        """
        return sum(map(_system_calls_ns, self.run.regions)) if knows_switches(self.run) else 0.0

    def team_size(self, regions: tuple[RegionShare, ...]) -> int:
        """Returns the mean team size in these regions, weighted by time."""
        return round(share(sum(r.capacity_ns for r in regions), sum(r.wall_ns for r in regions)))

    def n_active(self, regions: tuple[RegionShare, ...]) -> float:
        """Returns the mean number of threads with work in these regions, on or off processors."""
        chosen = {r.construct for r in regions}
        others = [r for r in self.breakdown.regions if r.construct not in chosen]
        wall_ns = min(outermost_ns(regions, others), self.breakdown.wall_ns)
        return sum(r.states.work_ns + r.states.create_ns for r in regions) / wall_ns if wall_ns else 0.0

    def lacks_work(self, regions: tuple[RegionShare, ...]) -> bool:
        """True if too few threads had work in these regions to use all processors."""
        return self.n_active(regions) < thresholds.ACTIVE_PART * self.n_processors

    def serialised(self, regions: tuple[RegionShare, ...]) -> bool:
        """True if about one thread at a time had work there, however busy the machine was."""
        return self.n_active(regions) <= thresholds.SERIALISED_ACTIVE


def faulting_ns(system_ns: int, n_faults: int) -> int:
    """Returns the part of the system time that page faults explain."""
    return min(system_ns, n_faults * thresholds.MOST_FAULT_NS)


def system_error_ns(system_ns: int) -> float:
    """Returns the error of the kernel's clock of system time."""
    return math.sqrt(max(system_ns, 0) * thresholds.TICK_NS)


def _system_calls_ns(row: RegionRow) -> float:
    running_ns = row.total_ns - row.preempted_ns - row.blocked_ns
    working_ns = row.work_ns - row.work_preempted_ns - row.work_blocked_ns
    called_ns = (
        row.system_ns - faulting_ns(row.system_ns, row.n_minor_faults) - system_error_ns(row.system_ns)
    )
    return max(called_ns - max(running_ns - working_ns, 0), 0.0) if row.construct != OUTSIDE else 0.0

# SPDX-License-Identifier: Apache-2.0
"""The thread-time identity: thread-time = the sum of its states, to the nanosecond.

Owns the scopes (all regions, chosen regions, the whole program) and the sums per region and per thread.
docs/metrics.md has the definitions.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ompass.metrics.processors import Presence, WaitTimes, of_rows, sum_presence, wait_times, with_rest
from ompass.model import OUTSIDE, RegionRow, Run, StateTimes, SystemUse, share, sums

HELPER = "helper"  # kind of the threads on which the runtime runs `target nowait` tasks
_PARTS = "implicit_ns lock_ns n_tasks"  # fields of ThreadShare, RegionShare and Breakdown


class Scope(enum.Enum):
    """The part of the program that a breakdown covers."""

    REGIONS = "regions"  # all parallel regions together
    REGION = "region"  # the instances of chosen parallel constructs
    PROGRAM = "program"  # all OpenMP threads, for the whole run


@dataclass(frozen=True, slots=True)
class ThreadShare:
    """One thread's part of a scope; `states.total_ns` is its thread-time there."""

    thread: int
    kind: str
    states: StateTimes
    implicit_ns: int  # part of the work: in implicit tasks
    lock_ns: int  # part of sync: in locks
    n_tasks: int
    outside_ns: int  # part of the thread-time: outside of regions; 0 unless the scope is PROGRAM
    presence: Presence | None = None  # None: unknown
    system_use: SystemUse | None = None  # None: unknown
    waiting: WaitTimes | None = None  # in regions; None: unknown


@dataclass(frozen=True, slots=True)
class RegionShare:
    """All instances of one parallel construct. capacity_ns == states.total_ns + nested_ns in a sound run."""

    construct: int
    level: int
    n_instances: int
    wall_ns: int
    capacity_ns: int
    nested_ns: int
    max_team_size: int
    states: StateTimes
    implicit_ns: int
    lock_ns: int
    n_tasks: int
    threads: tuple[ThreadShare, ...]
    n_parts: int = 0  # sum of the team sizes of all instances
    n_smaller: int = 0  # instances with fewer threads than the program asked for
    n_requested: int = 0  # the most threads that the program asked for in such an instance

    @property
    def presence(self) -> Presence | None:
        return sum_presence(t.presence for t in self.threads)

    @property
    def waiting(self) -> WaitTimes | None:
        return WaitTimes.sum(t.waiting for t in self.threads)

    @property
    def system_use(self) -> SystemUse | None:
        """The page faults and the time in the kernel; None if unknown for any thread."""
        return SystemUse.sum(t.system_use for t in self.threads)

    @property
    def imbalance(self) -> float:
        """Largest work of a thread over the mean; 1 is perfect, 0 if no thread worked."""
        mean = self.states.work_ns / len(self.threads) if self.threads else 0.0
        return max(t.states.work_ns for t in self.threads) / mean if mean > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Thread-time of a scope. thread_time_ns == states.total_ns == sum over threads, always."""

    scope: Scope
    fell_back: bool  # True if no region was recorded, so the scope is the program instead of regions
    n_threads: int
    wall_ns: int
    thread_time_ns: int
    states: StateTimes
    implicit_ns: int
    lock_ns: int
    n_tasks: int
    threads: tuple[ThreadShare, ...]
    regions: tuple[RegionShare, ...]
    stretched_ns: int  # added to the run's wall time so that all thread times fit in it; 0 in a sound run
    helpers: tuple[ThreadShare, ...]  # the runtime's helper threads; the other fields exclude them

    @property
    def presence(self) -> Presence | None:
        """The parts of the thread-time on and off processors; None if unknown for any thread."""
        return sum_presence(t.presence for t in self.threads)

    @property
    def system_use(self) -> SystemUse | None:
        """The page faults and the time in the kernel; None if unknown for any thread."""
        return SystemUse.sum(t.system_use for t in self.threads)

    @property
    def waiting(self) -> WaitTimes | None:
        """The times of waits in regions; None if unknown for any thread."""
        return WaitTimes.sum(t.waiting for t in self.threads)

    def share(self, part_ns: float) -> float:
        """Returns `part_ns` as a share of the thread-time, 0 to 1; 0 in an empty scope."""
        return share(part_ns, self.thread_time_ns)


def program_ns(run: Run) -> int:
    """Returns the time of the whole program: the recorded time, plus the earlier processor time."""
    return run.wall_ns + run.earlier_cpu_ns


def largest_team(run: Run) -> int:
    """Returns the size of the largest outermost team; 1 without a region.

    More threads may take part, in turn or in nested teams, and their number may differ between equal runs.
    """
    inside = [row for row in run.regions if row.construct != OUTSIDE]
    outermost = [row for row in inside if row.level == 1] or inside
    return max((row.max_team_size for row in outermost), default=1)


def time_breakdown(
    run: Run,
    scope: Scope = Scope.REGIONS,
    *,
    regions: frozenset[int] = frozenset(),
    groups: Mapping[int, int] | None = None,
) -> Breakdown:
    """Returns the breakdown of `scope`.

    `regions` lists the parallel constructs of Scope.REGION. `groups` maps the number of a construct to the
    number that represents it, because one source line may have several addresses. It may omit constructs that
    represent themselves.
    A run without any parallel region falls back to Scope.PROGRAM.
    """
    groups = groups or {}
    inside = [row for row in run.regions if row.construct != OUTSIDE]
    shares = region_shares(run, inside, groups)
    if not inside or scope is Scope.PROGRAM:
        return _of_program(run, shares, fell_back=scope is not Scope.PROGRAM)
    if scope is Scope.REGION:
        chosen = {groups.get(r, r) for r in regions}
        inside = [row for row in inside if groups.get(row.construct, row.construct) in chosen]
        shares = tuple(s for s in shares if s.construct in chosen)
        wall_ns = sum(row.wall_ns for row in inside)
    else:
        wall_ns = outermost_ns(inside)
    threads = thread_shares(run, inside)
    states = sum_states(t.states for t in threads)
    return Breakdown(
        scope=scope,
        fell_back=False,
        n_threads=len(threads),
        wall_ns=min(wall_ns, run.wall_ns),  # several threads may lead regions at the same time
        thread_time_ns=states.total_ns,
        states=states,
        **sums(threads, _PARTS),
        threads=threads,
        regions=shares,
        stretched_ns=0,
        helpers=thread_shares(run, map(_as_helper, run.helper_regions)),
    )


def outermost_ns(
    regions: Iterable[RegionRow | RegionShare], others: Iterable[RegionRow | RegionShare] = ()
) -> int:
    """Returns the wall time of the instances of `regions` that no other instance of `regions` contains.

    `others` are the remaining regions of the run. Without them, the time is exact unless the run was killed:
    the primary thread of an inner instance adds the instance's duration to `nested_ns` of the outer region.
    With them, a part of `nested_ns` may belong to `others`. The levels estimate this part, but each row has
    the level of only one instance.
    """
    regions = tuple(regions)
    wall_ns, nested_ns = sum(r.wall_ns for r in regions), sum(r.nested_ns for r in regions)
    most_ns = min(wall_ns, wall_ns - nested_ns + sum(r.wall_ns for r in others))
    by_level_ns = sum(r.wall_ns for r in regions if r.level == 1) or wall_ns
    return max(min(by_level_ns, most_ns), wall_ns - nested_ns, 0)


def sum_states(parts: Iterable[StateTimes]) -> StateTimes:
    total = StateTimes()
    for part in parts:
        total += part
    return total


def thread_shares(run: Run, rows: Iterable[RegionRow]) -> tuple[ThreadShare, ...]:
    """Returns the rows summed per thread, in thread order."""
    known = {t.thread: t for t in run.threads}
    by_thread: dict[int, list[RegionRow]] = {}
    for row in rows:
        by_thread.setdefault(row.thread, []).append(row)
    return tuple(
        ThreadShare(
            thread=thread,
            kind=known[thread].kind if thread in known else "other",
            states=sum_states(map(StateTimes.of, mine)),
            **sums(mine, _PARTS),
            outside_ns=sum(row.total_ns for row in mine if row.construct == OUTSIDE),
            presence=of_rows(mine, known[thread].cpu_source if thread in known else ""),
            system_use=SystemUse.of(mine),
            waiting=wait_times(
                [row for row in mine if row.construct != OUTSIDE],
                known[thread].cpu_source if thread in known else "",
            ),
        )
        for thread, mine in sorted(by_thread.items())
    )


def _as_helper(row: RegionRow) -> RegionRow:
    """Returns the row of a helper thread, with its waiting time as idle time.

    A helper waits inside the implicit task of its outermost region, a region of the runtime itself.
    """
    if row.level > 1:
        return row
    work_ns = row.work_ns - row.implicit_ns
    preempted_ns = min(row.work_preempted_ns, work_ns)
    return row.replace(
        work_ns=work_ns,
        idle_ns=row.idle_ns + row.implicit_ns,
        implicit_ns=0,
        work_preempted_ns=preempted_ns,
        work_blocked_ns=min(row.work_blocked_ns, work_ns - preempted_ns),
    )


def region_shares(run: Run, rows: Iterable[RegionRow], groups: Mapping[int, int]) -> tuple[RegionShare, ...]:
    """Returns the rows summed per parallel construct, most thread-time first."""
    by_construct: dict[int, list[RegionRow]] = {}
    for row in rows:
        by_construct.setdefault(groups.get(row.construct, row.construct), []).append(row)
    shares = [
        RegionShare(
            construct=construct,
            level=min(row.level for row in mine),
            n_instances=sum(row.n_primary for row in mine),
            max_team_size=max(row.max_team_size for row in mine),
            states=sum_states(map(StateTimes.of, mine)),
            **sums(mine, f"wall_ns capacity_ns nested_ns {_PARTS}"),
            threads=thread_shares(run, mine),
            n_parts=sum(row.n_instances for row in mine),
            n_smaller=sum(row.n_smaller for row in mine),
            n_requested=max(row.max_requested for row in mine),
        )
        for construct, mine in by_construct.items()
    ]
    return tuple(sorted(shares, key=lambda s: (-s.states.total_ns, s.construct)))


def _of_program(run: Run, shares: tuple[RegionShare, ...], *, fell_back: bool) -> Breakdown:
    """Returns the breakdown over the whole wall time; a thread's time without a row is idle.

    Helpers, and threads of kind "other" that never took part in OpenMP, are not counted.
    """
    recorded = {t.thread: t for t in thread_shares(run, run.regions)}
    rows = {t.thread: t for t in run.threads}
    kinds = {number: t.kind for number, t in rows.items() if t.kind not in ("other", HELPER)}
    numbers = sorted(recorded.keys() | kinds.keys())
    longest_ns = max((t.states.total_ns for t in recorded.values()), default=0)
    wall_ns = max(run.wall_ns, longest_ns)
    threads = []
    for number in numbers:
        known = recorded.get(number) or ThreadShare(number, kinds[number], StateTimes(), 0, 0, 0, 0)
        rest_ns = wall_ns - known.states.total_ns
        threads.append(
            replace(
                known,
                states=known.states + StateTimes(idle_ns=rest_ns),
                outside_ns=known.outside_ns + rest_ns,
                presence=with_rest(known.presence, rows[number], rest_ns, wall_ns)
                if number in rows
                else None,
            )
        )
    states = sum_states(t.states for t in threads)
    return Breakdown(
        scope=Scope.PROGRAM,
        fell_back=fell_back,
        n_threads=len(threads),
        wall_ns=wall_ns,
        thread_time_ns=wall_ns * len(threads),
        states=states,
        **sums(threads, _PARTS),
        threads=tuple(threads),
        regions=shares,
        stretched_ns=wall_ns - run.wall_ns,
        helpers=thread_shares(run, map(_as_helper, run.helper_regions)),
    )

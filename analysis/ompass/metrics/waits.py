# SPDX-License-Identifier: Apache-2.0
"""Sums waits and loops over threads: the places and causes of waits, and the imbalance of loops.

Owns the merging of rows of one place. The breakdown includes the thread-time of waits, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ompass.model import UNSHARED_LOOPS, LoopRow, Run, WaitRow, loop_kind, share, sums, wait_kind


@dataclass(frozen=True, slots=True)
class WaitShare:
    """One thread's part of a wait."""

    thread: int
    n_waits: int
    schedule_ns: int
    sync_ns: int
    idle_ns: int
    inside_ns: int  # in tasks that the thread ran there

    @property
    def wait_ns(self) -> int:
        """Thread-time spent waiting there, without the tasks run inside."""
        return self.schedule_ns + self.sync_ns + self.idle_ns


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """The task construct, region or loop that threads waited for last."""

    construct: int
    kind: str
    n_waits: int
    wait_ns: int


@dataclass(frozen=True, slots=True)
class WaitTotals:
    """One wait over all threads; `waited_for` and `threads` list the longest times first."""

    construct: int
    kind: str
    n_waits: int
    n_long: int
    schedule_ns: int
    sync_ns: int
    idle_ns: int
    inside_ns: int
    max_ns: int
    delay_ns: int  # for dependences: time of their tasks from creation to ready; not thread-time
    waited_for: tuple[WaitedFor, ...]
    threads: tuple[WaitShare, ...]

    @property
    def wait_ns(self) -> int:
        """Thread-time spent waiting there, without the tasks run inside."""
        return self.schedule_ns + self.sync_ns + self.idle_ns


@dataclass(frozen=True, slots=True)
class LoopShare:
    """One thread's part of a loop."""

    thread: int
    n_entered: int
    n_chunks: int
    n_taken: int  # iterations
    time_ns: int
    imbalance_ns: int  # idle time at the barrier after the loop, until the last thread arrives


@dataclass(frozen=True, slots=True)
class LoopTotals:
    """One loop or other worksharing construct over all threads."""

    construct: int
    kind: str
    n_led: int  # instances
    n_iterations: int
    n_chunks: int
    time_ns: int
    max_ns: int  # longest time of one thread in one instance
    imbalance_ns: int
    threads: tuple[LoopShare, ...]

    @property
    def has_chunks(self) -> bool:
        """True if the runtime reported which thread took which chunks."""
        return self.n_chunks > 0

    @property
    def n_entered(self) -> int:
        """Number of threads that entered the loop, summed over its instances."""
        return sum(t.n_entered for t in self.threads)

    @property
    def max_thread_ns(self) -> int:
        """The longest time of a thread in the loop."""
        return max((t.time_ns for t in self.threads), default=0)

    @property
    def mean_thread_ns(self) -> float:
        return share(self.time_ns, len(self.threads))

    @property
    def imbalance(self) -> float:
        """Excess of the busiest thread over the mean; 0 for constructs that only one thread executes."""
        if self.kind in UNSHARED_LOOPS or not self.time_ns:
            return 0.0
        return self.max_thread_ns / self.mean_thread_ns - 1.0


def wait_totals(run: Run, groups: Mapping[int, int] | None = None) -> tuple[WaitTotals, ...]:
    """Returns all waits of the run, the most expensive first. `groups` is used as in time_breakdown."""
    rows: dict[int, list[WaitRow]] = {}
    for row in run.waits:
        rows.setdefault((groups or {}).get(row.construct, row.construct), []).append(row)
    totals = [_wait(run, construct, mine, groups or {}) for construct, mine in rows.items()]
    return tuple(sorted(totals, key=lambda w: (-w.wait_ns, -w.delay_ns, -w.n_waits, w.construct)))


def loop_totals(run: Run, groups: Mapping[int, int] | None = None) -> tuple[LoopTotals, ...]:
    """Returns all loops of the run, the most costly imbalance first, then by time.

    `groups` is used as in time_breakdown.
    """
    rows: dict[int, list[LoopRow]] = {}
    for row in run.loops:
        rows.setdefault((groups or {}).get(row.construct, row.construct), []).append(row)
    totals = [_loop(run, construct, mine) for construct, mine in rows.items()]
    return tuple(sorted(totals, key=lambda o: (-o.imbalance_ns, -o.time_ns, o.construct)))


def _wait(run: Run, construct: int, rows: Sequence[WaitRow], groups: Mapping[int, int]) -> WaitTotals:
    by_thread: dict[int, list[WaitRow]] = {}
    for row in rows:
        by_thread.setdefault(row.thread, []).append(row)
    names = "n_waits schedule_ns sync_ns idle_ns inside_ns"
    threads = [WaitShare(thread=thread, **sums(mine, names)) for thread, mine in by_thread.items()]
    threads.sort(key=lambda t: (-t.wait_ns, t.thread))
    return WaitTotals(
        construct=construct,
        kind=wait_kind(run.definitions[construct].flags),
        **sums(rows, f"{names} n_long delay_ns"),
        max_ns=max(row.max_ns for row in rows),
        waited_for=_waited_for(run, rows, groups),
        threads=tuple(threads),
    )


def _waited_for(run: Run, rows: Sequence[WaitRow], groups: Mapping[int, int]) -> tuple[WaitedFor, ...]:
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        for construct, n, ns in zip(row.waited_for, row.waited_for_n, row.waited_for_ns, strict=True):
            if construct:  # 0: all others, for which a row has no room
                key = groups.get(construct, construct)
                before = found.get(key, (0, 0))
                found[key] = (before[0] + n, before[1] + ns)
    entries = [WaitedFor(construct, run.kind_of(construct), n, ns) for construct, (n, ns) in found.items()]
    return tuple(sorted(entries, key=lambda entry: (-entry.wait_ns, entry.construct)))


def _loop(run: Run, construct: int, rows: Sequence[LoopRow]) -> LoopTotals:
    by_thread: dict[int, list[LoopRow]] = {}
    for row in rows:
        by_thread.setdefault(row.thread, []).append(row)
    names = "n_entered n_chunks n_taken time_ns imbalance_ns"
    return LoopTotals(
        construct=construct,
        kind=loop_kind(run.definitions[construct].flags),
        **sums(rows, "n_led n_iterations n_chunks time_ns imbalance_ns"),
        max_ns=max(row.max_ns for row in rows),
        threads=tuple(
            LoopShare(thread=thread, **sums(mine, names)) for thread, mine in sorted(by_thread.items())
        ),
    )

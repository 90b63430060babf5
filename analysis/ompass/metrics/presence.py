# SPDX-License-Identifier: Apache-2.0
"""Thread-time by what processors did: running, preempted and blocked.

    thread-time = running + preempted + blocked        integer nanoseconds, no remainder

docs/metrics.md has the definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ompass.model import CpuTimes, RegionRow, Run, ThreadRow

SWITCHES = "switches"


@dataclass(frozen=True, slots=True)
class Presence:
    """Thread-time and work, each split by what processors did."""

    whole: CpuTimes
    work: CpuTimes | None  # None: the source does not distinguish states
    source: str  # "switches": the kernel's records of switches; "clocks": each thread's clocks

    @property
    def off_in_work(self) -> float:
        """Off-CPU part of the work, over the thread-time, 0 to 1."""
        if self.work is None or not self.whole.total_ns:
            return 0.0
        return self.work.absent_ns / self.whole.total_ns


def knows_switches(run: Run) -> bool:
    """True if every thread's switches were recorded: then constructs have preempted and blocked times."""
    return bool(run.threads) and all(t.cpu_source == SWITCHES for t in run.threads)


def of_rows(rows: Sequence[RegionRow], source: str) -> Presence | None:
    """Returns the sum of one thread's rows, whose times come from `source`; None if that is empty."""
    if not source:
        return None
    whole, work = CpuTimes(), CpuTimes()
    for row in rows:
        whole += CpuTimes.of(row.total_ns, row.preempted_ns, row.blocked_ns)
        work += CpuTimes.of(row.work_ns, row.work_preempted_ns, row.work_blocked_ns)
    return Presence(whole, work if source == SWITCHES else None, source)


def together(parts: Iterable[Presence | None]) -> Presence | None:
    """Returns the sum; None if a part is unknown. Its source is the least detailed one."""
    whole, work = CpuTimes(), CpuTimes()
    sources = set()
    for part in parts:
        if part is None:
            return None
        whole += part.whole
        work += part.work or CpuTimes()
        sources.add(part.source)
    if not sources:
        return None
    source = SWITCHES if sources == {SWITCHES} else max(sources - {SWITCHES})
    return Presence(whole, work if source == SWITCHES else None, source)


def after_all(known: Presence | None, thread: ThreadRow, rest_ns: int, wall_ns: int) -> Presence | None:
    """Adds the rest of the run, which no row covers. Before its start and after its end, a thread counts
    as blocked.
    """
    if not thread.cpu_source:
        return None
    known = known or of_rows((), thread.cpu_source)
    if known is None:
        return None
    gone_ns = thread.first_ns
    if thread.ended_ns and thread.kind != "initial":
        gone_ns += max(0, wall_ns - thread.ended_ns)
    blocked_ns = min(rest_ns, gone_ns + thread.unaccounted_blocked_ns)
    preempted_ns = min(rest_ns - blocked_ns, thread.unaccounted_preempted_ns)
    rest = CpuTimes.of(rest_ns, preempted_ns, blocked_ns)
    return Presence(known.whole + rest, known.work, known.source)

# SPDX-License-Identifier: Apache-2.0
"""Work time inflation by construct: which source lines take longer on many threads, and by how much.

Owns the comparison. The caller names constructs (`Key`), in the same way in all runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, TypeVar

from ompass.metrics.shares import share

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class WorkOf:
    """Own work of one construct in one run."""

    work_ns: int
    n_runs: int  # tasks, executions of a kernel, instances of a region
    create_ns: int = 0  # time to create all of them


@dataclass(frozen=True, slots=True)
class Inflation(Generic[Key]):
    """One construct on P threads and on one thread. Means over the rounds."""

    key: Key
    threads: int
    work_ns: float
    one_work_ns: float
    n_runs: float
    one_n_runs: float
    low: float  # smallest and largest factor of any round
    high: float

    @property
    def factor(self) -> float:
        """W_P,c / W_1,c; 0 when it did no work on one thread."""
        return share(self.work_ns, self.one_work_ns)

    @property
    def excess_ns(self) -> float:
        """W_P,c - W_1,c."""
        return self.work_ns - self.one_work_ns

    @property
    def same_work(self) -> bool:
        """True if it ran as often on one thread. Otherwise the factor compares different work."""
        return abs(self.n_runs - self.one_n_runs) <= 0.01 * max(self.n_runs, self.one_n_runs)


def inflation(
    threads: int, recorded: Sequence[Mapping[Key, WorkOf]], one: Sequence[Mapping[Key, WorkOf]]
) -> tuple[Inflation[Key], ...]:
    """Returns all constructs of the runs (one mapping per round) by decreasing excess."""
    keys: dict[Key, None] = {}
    for run in (*recorded, *one):
        keys.update(dict.fromkeys(run))
    nothing = WorkOf(0, 0)
    rows = []
    for key in keys:
        at_p = [run.get(key, nothing) for run in recorded]
        at_one = [run.get(key, nothing) for run in one]
        factors = [a.work_ns / b.work_ns for a, b in zip(at_p, at_one, strict=False) if b.work_ns]
        rows.append(
            Inflation(
                key=key,
                threads=threads,
                work_ns=fmean(w.work_ns for w in at_p),
                one_work_ns=fmean(w.work_ns for w in at_one),
                n_runs=fmean(w.n_runs for w in at_p),
                one_n_runs=fmean(w.n_runs for w in at_one),
                low=min(factors, default=0.0),
                high=max(factors, default=0.0),
            )
        )
    return tuple(sorted(rows, key=lambda row: -abs(row.excess_ns)))

# SPDX-License-Identifier: Apache-2.0
"""Counts steals, and tasks by the domain where libomp_ext.so placed them and the domain where they ran.

docs/metrics.md has the definitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from ompass.model import Run, share, sums


@dataclass(frozen=True, slots=True)
class Locality:
    """Figures over all regions of a run that the extension scheduled."""

    matrix: tuple[tuple[int, ...], ...]
    """Tasks by the domain where they were placed (rows) and where they ran (columns)."""
    n_rescued: int
    n_steals: int
    n_failed_steals: int
    steal_ns: int
    failed_steal_ns: int

    @property
    def n_tasks(self) -> int:
        return sum(map(sum, self.matrix))

    @property
    def n_local(self) -> int:
        """Tasks that ran in the domain where they were placed."""
        return sum(row[domain] for domain, row in enumerate(self.matrix))

    @property
    def n_remote(self) -> int:
        return self.n_tasks - self.n_local

    @property
    def steal_success(self) -> float:
        """Successful attempts over all attempts, 0 to 1; 0 if there are none."""
        return share(self.n_steals, self.n_steals + self.n_failed_steals)


def locality(run: Run) -> Locality | None:
    """Returns the figures of a run; None if the extension scheduled no region.

    The last domain includes all domains beyond the format's limit.
    """
    rows = [row for row in run.regions if row.domain >= 0]
    if not rows:
        return None
    last = len(rows[0].n_from_domain) - 1
    used = [d for row in rows for d, n in enumerate(row.n_from_domain) if n]
    n_domains = 1 + min(last, max([*used, *(row.domain for row in rows)]))
    matrix = [[0] * n_domains for _ in range(n_domains)]
    for row in rows:
        for placed, n_tasks in enumerate(row.n_from_domain[:n_domains]):
            matrix[placed][min(row.domain, last)] += n_tasks
    return Locality(
        matrix=tuple(tuple(row) for row in matrix),
        **sums(rows, "n_rescued n_steals n_failed_steals steal_ns failed_steal_ns"),
    )

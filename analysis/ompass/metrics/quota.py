# SPDX-License-Identifier: Apache-2.0
"""How many processors a process may really use: those that it may run on, and the quota of its control groups."""

from __future__ import annotations

from ompass.model import Run


def allowed_processors(n_cpus: int, quota_us: int, period_us: int) -> float:
    """A number such as 1.5; 0: not known."""
    quota = quota_us / period_us if quota_us and period_us else 0.0
    return min(quota, n_cpus) if quota and n_cpus else quota or float(n_cpus)


def describe_processors(n_cpus: int, quota_us: int, period_us: int) -> str:
    """`2`, or `1.0 of 2` under a quota; empty where nothing is known."""
    allowed = allowed_processors(n_cpus, quota_us, period_us)
    if n_cpus and allowed == n_cpus:
        return str(n_cpus)
    of = f" of {n_cpus}" if n_cpus else ""
    return f"{allowed:.2g}{of}" if 0 < allowed < 1 else f"{allowed:.1f}{of}" if allowed else ""


def processors_of(run: Run) -> float:
    """The processors that the threads of the run could use at a time, on average; 0: not known."""
    return allowed_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)


def described(run: Run) -> str:
    """The same in words."""
    return describe_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)


def held_back_ns(run: Run, thread_time_ns: int, wall_ns: int) -> int:
    """Thread-time that the quota kept from the processors, at most.

    The kernel counts a processor once, however many threads wait for it; and where the end of the run is not known
    (it was killed), what the threads could use beyond the quota stands for its count.
    """
    if not run.quota_us or run.n_throttled == 0:
        return 0
    beyond_ns = max(int(thread_time_ns - wall_ns * run.quota_us / run.quota_period_us), 0)
    return max(beyond_ns, run.throttled_ns)

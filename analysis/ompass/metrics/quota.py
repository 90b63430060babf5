# SPDX-License-Identifier: Apache-2.0
"""The number of processors that a process may use, by its affinity and its control groups' quota."""

from __future__ import annotations

from typing import Any

from ompass.model import Run


def allowed_processors(n_cpus: int, quota_us: int, period_us: int) -> float:
    """Returns a number such as 1.5; 0: unknown."""
    quota = quota_us / period_us if quota_us and period_us else 0.0
    return min(quota, n_cpus) if quota and n_cpus else quota or float(n_cpus)


def describe_processors(n_cpus: int, quota_us: int, period_us: int) -> str:
    """Returns `2`, or `1.0 of 2` under a quota; empty if unknown."""
    allowed = allowed_processors(n_cpus, quota_us, period_us)
    if n_cpus and allowed == n_cpus:
        return str(n_cpus)
    of = f" of {n_cpus}" if n_cpus else ""
    return f"{allowed:.2g}{of}" if 0 < allowed < 1 else f"{allowed:.1f}{of}" if allowed else ""


def processors_of(run: Run) -> float:
    """Returns the processors that the threads of the run could use at a time, on average; 0: unknown."""
    return allowed_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)


def described(run: Run) -> str:
    """Returns processors_of(run) in words."""
    return describe_processors(run.n_usable_cpus, run.quota_us, run.quota_period_us)


def processor_values(run: Run) -> dict[str, Any]:
    """Returns the affinity, the quota and its effects as JSON values."""
    return {
        "usable": run.n_usable_cpus,
        "allowed": processors_of(run),
        "quota_us": run.quota_us,
        "quota_period_us": run.quota_period_us,
        "throttled_periods": None if run.n_throttled < 0 else run.n_throttled,
        "throttled_ns": None if run.throttled_ns < 0 else run.throttled_ns,
    }


def held_back_ns(run: Run, thread_time_ns: int, wall_ns: int, shared_ns: int) -> int:
    """Returns the thread-time that the quota withheld, besides `shared_ns`, lost by sharing processors.

    The kernel counts it. Where the count is unknown (the run was killed), returns the excess of the
    thread-time over the quota.
    """
    if not run.quota_us or run.n_throttled == 0:
        return 0
    if run.throttled_ns >= 0:
        return run.throttled_ns
    return max(int(thread_time_ns - wall_ns * run.quota_us / run.quota_period_us) - shared_ns, 0)

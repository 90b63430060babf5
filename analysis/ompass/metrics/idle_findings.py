# SPDX-License-Identifier: Apache-2.0
"""Judges how threads wait, spinning on a processor or sleeping, and the cost of this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ompass.metrics import thresholds
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.units import duration, percent

ACTIVE, PASSIVE, DEFAULT = "active", "passive", "default"


def idle_policy(environment: Mapping[str, str]) -> str:
    """Returns how the runtime lets threads wait: actively, passively, or by default (spin, later sleep).

    KMP_BLOCKTIME is the time after which a spinning thread sleeps. It has precedence over OMP_WAIT_POLICY.
    """
    block_time = environment.get("KMP_BLOCKTIME", "").strip().lower()
    if block_time:
        number = block_time.removesuffix("us").removesuffix("ms").strip()
        if number.isdigit():
            return PASSIVE if int(number) == 0 else DEFAULT
        return ACTIVE if block_time.startswith("inf") else DEFAULT
    policy = environment.get("OMP_WAIT_POLICY", "").strip().lower()
    return policy if policy in (ACTIVE, PASSIVE) else DEFAULT


def slow_wakeups(facts: Facts) -> Iterator[Evidence]:
    """Yields the time that sleeping threads took to wake up after their waits were over."""
    breakdown = facts.breakdown
    waiting = breakdown.waiting
    if waiting is None or breakdown.share(waiting.waking_ns) < thresholds.WAKING_SHARE:
        return
    region = max(
        breakdown.regions, key=lambda r: (r.waiting.waking_ns if r.waiting else 0, -r.construct), default=None
    )
    yield evidence(
        f"threads slept while they waited. After the end of a wait they took {duration(waiting.waking_ns)} "
        f"in total to run again, {percent(breakdown.share(waiting.waking_ns))} of the thread-time",
        waiting.waking_ns,
        region.construct if region else None,
        cure=_cure(facts.environment),
        waking_ns=waiting.waking_ns,
        slept_ns=waiting.slept_ns,
        spun_ns=waiting.spun_ns,
    )


def sleeping_cure(facts: Facts) -> str:
    """Returns the setting that makes waiting threads sleep, with its gain; empty if they spin little."""
    spun, wall_ns = facts.breakdown.waiting, facts.breakdown.wall_ns
    if spun is None or idle_policy(facts.environment) == PASSIVE:
        return ""
    if spun.spun_ns < thresholds.SPUN_SHARE * facts.processor.running_ns:
        return ""
    gain_ns = spun.spun_ns / facts.n_processors
    return (
        f"let waiting threads sleep (OMP_WAIT_POLICY=passive): they spun for {duration(spun.spun_ns)} of "
        f"processor time, so the gain is up to about {duration(gain_ns)} of {duration(wall_ns)}"
    )


def _cure(environment: Mapping[str, str]) -> str:
    gain = "then threads spin in short waits"
    if idle_policy(environment) == PASSIVE:
        name = "KMP_BLOCKTIME" if environment.get("KMP_BLOCKTIME", "").strip() else "OMP_WAIT_POLICY"
        return f"remove {name}={environment[name]}, or set KMP_BLOCKTIME=200; {gain}"
    return f"set OMP_WAIT_POLICY=active, or KMP_BLOCKTIME=infinite; {gain}"

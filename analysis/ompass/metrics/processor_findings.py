# SPDX-License-Identifier: Apache-2.0
"""Judges the use of processors: too few for the threads, taken by others, or spent on spinning and waking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.metrics.processors import describe_processors, described, launcher_options, processors_of
from ompass.units import duration, percent, plural

ACTIVE, PASSIVE, DEFAULT = "active", "passive", "default"


def idle_policy(environment: Mapping[str, str]) -> str:
    """Returns the runtime's way to wait: ACTIVE (spin), PASSIVE (sleep) or DEFAULT (spin, later sleep).

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
    """Returns the setting that makes waiting threads sleep, with its gain; empty if it would gain little."""
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


def throttled(facts: Facts) -> Iterator[Evidence]:
    """Yields the throttled time, if the control group's quota was exhausted."""
    if not facts.throttled:
        return
    run = facts.run
    share = facts.breakdown.share(facts.throttled_ns)
    times = f", {plural(run.n_throttled, 'time')} in this run" if run.n_throttled > 0 else ""
    allowed = processors_of(run)
    n_threads = max(int(allowed), 1)
    sleep = sleeping_cure(facts)
    yield evidence(
        f"the control group (container, batch system) allows {described(run)} on average. "
        f"Once threads have used that much of a period of {duration(run.quota_period_us * 1000)}, they stop "
        f"for the rest of the period{times}. They could have run, but were held back for "
        f"{duration(facts.throttled_ns)}, {percent(share)} of the thread-time",
        facts.throttled_ns,
        cure="raise the quota (docker --cpus, Kubernetes limits.cpu, systemd CPUQuota), or run as many "
        f"threads as it allows: OMP_NUM_THREADS={n_threads}{sleep and f'; or {sleep}'}",
        processors=run.n_usable_cpus,
        allowed_processors=allowed,
        throttled_periods=run.n_throttled,
        throttled_share=share,
    )


def disturbed(facts: Facts) -> Iterator[Evidence]:
    """Yields the time in which other programs used the processors of the run."""
    if not facts.disturbed:
        return
    share = facts.breakdown.share(facts.taken_ns)
    yield evidence(
        f"threads waited {duration(facts.taken_ns)}, {percent(share)} of the thread-time, for processors "
        "that other programs used. Threads that wait for a delayed thread look idle, or slow to get tasks, "
        "so only waits that do not depend on other programs are judged",
        facts.taken_ns,
        preempted_share=share,
    )


def bound_together(facts: Facts) -> Iterator[Evidence]:
    """Yields threads that share processors because of their binding."""
    if not facts.tied_together:
        return
    share = facts.breakdown.share(facts.processor.preempted_ns)
    yield evidence(
        f"{plural(facts.n_threads, 'thread')} shared {plural(facts.n_shared, 'processor')}, although the "
        f"process could use {facts.run.n_usable_cpus}: threads waited for a processor {percent(share)} of "
        "their time, and waits for these threads look like a fault of the program",
        facts.processor.preempted_ns,
        processors=facts.n_shared,
        usable_processors=facts.run.n_usable_cpus,
        preempted_share=share,
    )


_FEWER_CURE: Final = (
    "run at most as many threads as there are processors: set OMP_NUM_THREADS or OMP_DYNAMIC=true, lower "
    "num_threads clauses and omp_set_num_threads, and avoid nested regions"
)


def oversubscribed(facts: Facts) -> Iterator[Evidence]:
    """Yields the time lost because the run has more threads than processors."""
    if not facts.crowded or facts.tied_together:
        return  # not crowded, or bound_together explains it
    if facts.throttled and facts.throttled_ns >= facts.shared_ns:
        return
    breakdown, processor = facts.breakdown, facts.processor
    states = breakdown.states
    others_ns = states.total_ns - states.work_ns
    burnt_ns = (
        processor.other_running_ns * (states.sync_ns + states.idle_ns) / others_ns if others_ns else 0.0
    )
    # On one processor, more threads gain nothing, so all waits for the processor are lost.
    lost_ns = min(burnt_ns, processor.preempted_ns) if facts.n_processors > 1 else processor.preempted_ns
    waited = breakdown.share(states.sync_ns + states.idle_ns)
    n_threads = breakdown.thread_time_ns / breakdown.wall_ns
    # If OMP_NUM_THREADS asks for fewer threads than ran, a region of the program asked for more.
    longest = max(breakdown.regions, key=lambda r: (r.states.total_ns, -r.construct), default=None)
    yield evidence(
        f"{n_threads:.3g} threads shared {_shared_processors(facts)}: threads waited for a "
        f"processor {percent(breakdown.share(processor.preempted_ns))} of their time, while threads without "
        f"work used the processors for {duration(lost_ns)}",
        lost_ns,
        longest.construct if longest and 0 < facts.n_wanted < round(n_threads) else None,
        cure=_cure_of_crowd(facts),
        is_note=facts.n_processors > 1
        and not facts.heavily_crowded
        and lost_ns < thresholds.CROWDED_SHARE * processor.running_ns
        and waited < thresholds.CROWDED_WAITS,
        processors=facts.n_allowed,
        preempted_share=breakdown.share(processor.preempted_ns),
    )


def _cure_of_crowd(facts: Facts) -> str:
    if facts.n_rank_cpus >= facts.n_threads:
        return launcher_options(facts.n_threads)
    return f"{_FEWER_CURE}; or {sleep}" if (sleep := sleeping_cure(facts)) else _FEWER_CURE


def _shared_processors(facts: Facts) -> str:
    if facts.n_allowed == facts.n_shared:
        return plural(facts.n_shared, "processor")
    run = facts.run
    return f"{describe_processors(facts.n_shared, run.quota_us, run.quota_period_us)} processors"

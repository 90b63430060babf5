# SPDX-License-Identifier: Apache-2.0
"""The claims about latencies, traffic between sockets, and the other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from papers.conditions import between, count, first_is_largest, percent, ratio_text, untested
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.olivier import numbers, plan
from papers.olivier.locality_claims import ALL, by_scheduler
from papers.olivier.plan import HEALTH, HEAT, INTEL, LOCAL, QTHREADS, STRICT, Program, Scheduler

_OBLIVIOUS: Final = (INTEL, QTHREADS)
_FOUR: Final = ((INTEL, 1), (INTEL, ALL), (QTHREADS, ALL), (STRICT, ALL))
_TO_64, _TO_256 = numbers.RANGES[1:3]
_BLOCKS: Final = (
    "The model counts blocks of 1 KiB, and has no L1. Which loads hit the L1 or L2 needs sampled loads "
    "(`ompass latency`), and neither processor of this machine samples loads."
)


def _label(scheduler: Scheduler, threads: int) -> str:
    return "sequential" if threads == 1 else scheduler.label


def _found(values: Values, program: Program, cycles: int) -> Numbers:
    """Returns the share of the blocks within a latency, of the four executions of the paper's figures."""
    return {_label(one, n): numbers.within(values, program, one, n, cycles) for one, n in _FOUR}


def _part(values: Values, program: Program, name: str) -> Numbers:
    """Returns the part of a range in the latency, of the four executions of the paper's figures."""
    return {_label(one, n): numbers.contributions(values, program, one, n)[name] for one, n in _FOUR}


def _above_256(values: Values, program: Program) -> Numbers:
    """Returns the part of the longest latencies, of the four executions of the paper's figures."""
    return {_label(one, n): numbers.contribution_above(values, program, one, n, 256) for one, n in _FOUR}


def _within(program: Program, cycles: int, *schedulers: Scheduler) -> Callable[[Values], Numbers]:
    """Returns the share of the blocks within a latency, on all threads."""
    return by_scheduler(partial(numbers.within, cycles=cycles), program, *schedulers)


def _found_in(values: Values, program: Program, scheduler: Scheduler, threads: int, where: str) -> float:
    return numbers.found_in(values, program, scheduler, threads)[where]


def _in_l3(program: Program, *schedulers: Scheduler) -> Callable[[Values], Numbers]:
    """Returns the share of the blocks in the L3 of their thread, on all threads."""
    return by_scheduler(partial(_found_in, where="L3"), program, *schedulers)


_BY_CHANCE: Final = (
    "Under both, a random socket processes a subtree or band. Its data are in the L3 of the socket that "
    "processed it in the step before: the same socket once in four. The share of blocks found in the L3 is"
)


def _traffic_claims() -> Iterator[Claim]:
    for program, theirs in ((HEALTH, (34, 26, 1.0)), (HEAT, (31, 31, 0.34))):
        yield Claim(
            name=f"traffic-{program.name}",
            sentence="Locality-based scheduling reduces the data between sockets of "
            f"{program.name.capitalize()} by an order of magnitude",
            place="Tab. 3",
            theirs=f"{theirs[0]} GB (Intel), {theirs[1]} GB (Qthreads), {theirs[2]} GB",
            picture="traffic",
            ours=lambda values, program=program: {  # type: ignore[misc]
                f"{scheduler.label} over strict": numbers.traffic_bytes(values, program, scheduler, ALL)
                / max(1, numbers.traffic_bytes(values, program, STRICT, ALL))
                for scheduler in _OBLIVIOUS
            },
            holds=lambda found: min(found) >= 10,
            show=count,
        )
    yield Claim(
        name="traffic-sequential",
        sentence="The parallel execution of Heat has over 400 times the traffic of the sequential one",
        place="Section 3",
        theirs="31 GB, over 400 times",
        picture="traffic",
        ours=lambda values: {
            _label(INTEL, n): numbers.traffic_bytes(values, HEAT, INTEL, n) / 1e6 for n in (1, ALL)
        },
        holds=lambda found: found[1] > 400 * found[0],
        show=lambda megabytes: f"{megabytes:,.0f} MB",
    )
    yield Claim(
        name="traffic-order",
        sentence="On Health a queue per socket causes at least a tenth less traffic than Intel's scheduler",
        place="Tab. 3",
        theirs="26 GB and 34 GB",
        picture="traffic",
        ours=lambda values: {
            one.label: numbers.traffic_bytes(values, HEALTH, one, ALL) / 1e9 for one in (QTHREADS, INTEL)
        },
        holds=lambda found: found[0] < 0.9 * found[1],
        show=lambda gigabytes: f"{gigabytes:.2f} GB",
        cause=_BY_CHANCE,
        evidence=_in_l3(HEALTH, QTHREADS, INTEL),
        show_evidence=percent,
    )
    yield Claim(
        name="reads-equal",
        sentence="The parallel execution of Heat reads as much from memory as the sequential one, within a "
        "tenth",
        place="Section 3",
        theirs="13.6 GB both",
        picture="traffic",
        ours=lambda values: {
            _label(INTEL, n): numbers.read_bytes(values, HEAT, INTEL, n) / 1e9 for n in (1, ALL)
        },
        holds=lambda found: 0.9 * found[0] <= found[1] <= 1.1 * found[0],
        show=lambda gigabytes: f"{gigabytes:.2f} GB",
    )


def _confinement_claims() -> Iterator[Claim]:
    yield Claim(
        name="quiet-sequential",
        sentence="The interconnect is quiet during sequential execution: less than 1% of Intel's traffic",
        place="Tab. 3",
        theirs="0.067 and 34 GB, 0.077 and 31 GB",
        picture="traffic",
        ours=lambda values: {
            one.name: numbers.traffic_bytes(values, one, INTEL, 1)
            / numbers.traffic_bytes(values, one, INTEL, ALL)
            for one in LOCAL
        },
        holds=lambda found: max(found) < 0.01,
        show=percent,
    )
    yield Claim(
        name="health-confined",
        sentence="With locality, Health's accesses are almost completely confined to the domain: 99% or more",
        place="Section 8",
        theirs="almost completely",
        picture="latencies",
        ours=lambda values: {"strict": 1 - _found_in(values, HEALTH, STRICT, ALL, "other sockets")},
        holds=lambda found: found[0] >= 0.99,
        show=percent,
    )
    yield Claim(
        name="heat-shared",
        sentence="With locality, domains of Heat still share some data, at the boundary of their parts",
        place="Section 8",
        theirs="0.34 GB",
        picture="traffic",
        ours=lambda values: {"strict": numbers.traffic_bytes(values, HEAT, STRICT, ALL) / 1e6},
        holds=lambda found: found[0] > 0,
        show=lambda megabytes: f"{megabytes:,.1f} MB",
    )
    yield Claim(
        name="sort-remote",
        sentence="Sort has remote accesses under any scheduler",
        place="Section 3",
        theirs="inherently",
        picture="others",
        ours=lambda values: {
            one.label: _found_in(values, plan.SORT, one, ALL, "other sockets") for one in plan.SORT.schedulers
        },
        holds=lambda found: min(found) > 0,
        show=percent,
    )


def _latency_claims() -> Iterator[Claim]:
    yield untested(
        name="health-l2",
        sentence="Under all schedulers at least 85% of the loads of Health complete in 16 cycles",
        place="Fig. 14",
        theirs="at least 85%",
        picture="latencies",
        missing=_BLOCKS,
    )
    yield Claim(
        name="health-l3-locality",
        sentence="In Health strict scheduling completes more accesses within 64 cycles than any other "
        "execution",
        place="Fig. 14",
        theirs=FIGURE_ONLY,
        picture="latencies",
        ours=lambda values: _found(values, HEALTH, 64),
        holds=lambda found: found[3] > max(found[:3]),
        show=percent,
    )
    yield Claim(
        name="health-l3-qthreads",
        sentence="In Health a queue per socket completes more accesses within 64 cycles than Intel's "
        "scheduler",
        place="Fig. 14",
        theirs=FIGURE_ONLY,
        picture="latencies",
        ours=_within(HEALTH, 64, QTHREADS, INTEL),
        holds=lambda found: found[0] > found[1] + 0.01,
        show=percent,
        cause=_BY_CHANCE,
        evidence=_in_l3(HEALTH, QTHREADS, INTEL),
    )
    yield Claim(
        name="health-l2-intel",
        sentence="Intel's queues per thread use the L2 of a core better than a queue per socket, in Health",
        place="Fig. 14",
        theirs=FIGURE_ONLY,
        picture="latencies",
        ours=_within(HEALTH, 16, INTEL, QTHREADS),
        holds=lambda found: found[0] > found[1],
        show=lambda share: f"{share:.2%}",
    )
    yield Claim(
        name="health-sequential-l2",
        sentence="The sequential execution of Health uses the L2 best",
        place="Fig. 14",
        theirs=FIGURE_ONLY,
        picture="latencies",
        ours=lambda values: _found(values, HEALTH, 16),
        holds=lambda found: found[0] > max(found[1:]),
        show=lambda share: f"{share:.2%}",
    )
    for program in LOCAL:
        yield Claim(
            name=f"order-{program.name}",
            sentence=f"Among the parallel executions of {program.name.capitalize()}, strict completes most "
            "accesses within 256 cycles, then a queue per socket, then Intel's",
            place="Fig. 14" if program is HEALTH else "Fig. 16",
            theirs=FIGURE_ONLY,
            picture="latencies",
            ours=_within(program, 256, STRICT, QTHREADS, INTEL),
            holds=lambda found: found[0] > found[1] > found[2] + 0.02,
            show=percent,
            cause=f"Strict is first. The two others are alike. {_BY_CHANCE}",
            evidence=_in_l3(program, QTHREADS, INTEL),
        )
    yield Claim(
        name="sequential-remote",
        sentence="Sequential executions make a negligible number of remote accesses, less than 1%",
        place="Figs. 14 and 16",
        theirs="negligible",
        picture="latencies",
        ours=lambda values: {
            one.name: numbers.found_in(values, one, INTEL, 1)["other sockets"] for one in LOCAL
        },
        holds=lambda found: max(found) < 0.01,
        show=percent,
    )
    yield Claim(
        name="health-remote-latency",
        sentence="In Health, accesses above 256 cycles are 40% of the latency or more with oblivious "
        "schedulers",
        place="Fig. 15",
        theirs="almost half (Qthreads), 60% (Intel)",
        picture="contributions",
        ours=lambda values: {
            one.label: numbers.contribution_above(values, HEALTH, one, ALL, 256) for one in _OBLIVIOUS
        },
        holds=lambda found: min(found) >= 0.4,
        show=percent,
    )
    yield Claim(
        name="health-sequential-latency",
        sentence="In the sequential Health most of the latency is in the memory of the own socket",
        place="Fig. 15",
        theirs="the vast majority",
        picture="contributions",
        ours=lambda values: {"sequential": numbers.contributions(values, HEALTH, INTEL, 1)[_TO_256]},
        holds=lambda found: found[0] > 0.5,
        show=percent,
    )
    yield Claim(
        name="health-l3-latency",
        sentence="The L3 contributes more to the latency of Health under strict scheduling than in any other "
        "execution",
        place="Fig. 15",
        theirs="about 40%",
        picture="contributions",
        ours=lambda values: _part(values, HEALTH, _TO_64),
        holds=lambda found: found[3] > max(found[:3]),
        show=percent,
    )
    yield Claim(
        name="health-l3-forty",
        sentence="The L3 contributes less than half of this latency",
        place="Fig. 15",
        theirs="about 40%",
        picture="contributions",
        ours=lambda values: {"strict": numbers.contributions(values, HEALTH, STRICT, ALL)[_TO_64]},
        holds=lambda found: found[0] < 0.5,
        show=percent,
        cause=(
            "The model has no L1 and counts blocks, not loads. Hits in L1 and L2 are part of the paper's "
            "latency. Besides, the four L3 caches hold nearly all of our country. The share of blocks found "
            "in the L3 is"
        ),
        evidence=_in_l3(HEALTH, STRICT),
    )
    yield Claim(
        name="heat-sequential-lowest",
        sentence="The sequential execution of Heat has the lowest latency in all ranges",
        place="Fig. 16",
        theirs=FIGURE_ONLY,
        picture="latencies",
        ours=lambda values: {
            f"{_label(one, n)}, {cycles}": numbers.within(values, HEAT, one, n, cycles)
            for cycles in (16, 64, 256)
            for one, n in _FOUR
        },
        holds=lambda found: all(
            found[first] >= max(found[first : first + len(_FOUR)]) for first in (0, 4, 8)
        ),
        show=percent,
        cause=(
            "In every execution a block that is not in memory is a row that the task before has touched. The "
            "sequential execution and strict scheduling have equally many of them. The paper's sequential "
            "execution hits the L1, which the model does not have."
        ),
    )
    yield Claim(
        name="health-local-memory",
        sentence="In Health strict scheduling completes more accesses within 256 cycles than the Intel "
        "scheduler and the sequential execution",
        place="Fig. 14",
        theirs="in words",
        picture="latencies",
        ours=lambda values: {
            _label(one, n): numbers.within(values, HEALTH, one, n, 256)
            for one, n in ((STRICT, ALL), (INTEL, ALL), (INTEL, 1))
        },
        holds=first_is_largest,
        show=lambda share: f"{share:.2%}",
        cause=(
            "A sequential execution in the model has no remote access at all, so all its blocks are found "
            "within 256 cycles. The paper's has some, caused by the system, and loads that wait longer."
        ),
    )
    yield Claim(
        name="health-high-latency",
        sentence="Accesses above 256 cycles contribute less to the latency of Health with locality",
        place="Fig. 15",
        theirs="low contributions",
        picture="contributions",
        ours=lambda values: _above_256(values, HEALTH),
        holds=lambda found: found[3] < min(found[1:3]),
        show=percent,
    )
    yield Claim(
        name="heat-latencies",
        sentence="Latencies of Heat with locality are much higher than the sequential ones, by half or more",
        place="Fig. 16",
        theirs="much higher",
        picture="latencies",
        ours=lambda values: {
            _label(one, n): numbers.latency(values, HEAT, one, n) for one, n in ((INTEL, 1), (STRICT, ALL))
        },
        holds=lambda found: found[1] >= 1.5 * found[0],
        show=lambda cycles: f"{cycles:.0f} cycles",
    )
    yield Claim(
        name="heat-lower-latencies",
        sentence="These latencies are significantly lower than with oblivious schedulers, by a tenth or more",
        place="Fig. 16",
        theirs="significantly lower",
        picture="latencies",
        ours=by_scheduler(numbers.latency, HEAT, STRICT, *_OBLIVIOUS),
        holds=lambda found: found[0] <= 0.9 * min(found[1:]),
        show=lambda cycles: f"{cycles:.0f} cycles",
    )
    yield Claim(
        name="heat-high-latency",
        sentence="Accesses above 256 cycles contribute less to the latency of Heat with locality",
        place="Fig. 17",
        theirs=FIGURE_ONLY,
        picture="contributions",
        ours=lambda values: _above_256(values, HEAT),
        holds=lambda found: found[3] < min(found[1:3]),
        show=percent,
    )
    yield untested(
        name="l1-l2-latency",
        sentence="L1 and L2 contribute less than 10% to the latency of Health, and 70% to the sequential "
        "Heat's",
        place="Figs. 15 and 17",
        theirs="less than 10% and 70%",
        picture="contributions",
        missing=_BLOCKS,
    )


def _program_claims() -> Iterator[Claim]:
    yield Claim(
        name="sort-bound",
        sentence="No scheduling strategy improves Sort: strict is within a tenth of Intel's on 32 threads",
        place="Section 8",
        theirs="essentially none",
        picture="others",
        ours=lambda values: {
            "strict over queue per thread": numbers.speedup(values, plan.SORT, STRICT, ALL)
            / numbers.speedup(values, plan.SORT, INTEL, ALL)
        },
        holds=between(0.9, 1.1),
        show=ratio_text,
        cause=(
            "Our version with locality sorts and merges inside a socket up to the last two merges, so that "
            "less data cross between sockets. Their ratio to the data under Intel's scheduler is"
        ),
        evidence=lambda values: {
            "strict": numbers.traffic_bytes(values, plan.SORT, STRICT, ALL)
            / numbers.traffic_bytes(values, plan.SORT, INTEL, ALL)
        },
    )
    for program in (plan.SORT, plan.SPARSELU, plan.STRASSEN):
        yield Claim(
            name=f"inflation-{program.name}",
            sentence=f"{program.name.capitalize()} has non-negligible work time inflation on 32 threads "
            "under Intel's scheduler, more than 5%",
            place="Fig. 2",
            theirs="non-negligible in all programs except Alignment",
            picture="others",
            ours=lambda values, program=program: {  # type: ignore[misc]
                "32 threads": numbers.inflation(values, program, INTEL, ALL) - 1
            },
            holds=lambda found: found[0] > 0.05,
            show=percent,
            cause=(
                "In the model, data take a small part of the work of this program, and links between sockets "
                "never become busy. Data over work on 32 threads:"
            ),
            evidence=lambda values, program=program: {  # type: ignore[misc]
                "queue per thread": numbers.memory_share(values, program, INTEL, ALL)
            },
        )
    yield untested(
        name="bandwidth",
        sentence="The bandwidth of a thread is constant up to 12 threads, and falls with more",
        place="Fig. 3",
        theirs=FIGURE_ONLY,
        picture="others",
        missing=(
            "The bandwidth of a memory node is an input of the model, and two processors do not exhaust the "
            "memory of this machine."
        ),
    )


CLAIMS: Final = (*_traffic_claims(), *_confinement_claims(), *_latency_claims(), *_program_claims())

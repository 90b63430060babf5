# SPDX-License-Identifier: Apache-2.0
"""The claims about time and work time inflation of Health and Heat, by scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from papers.conditions import between, percent, ratio_text, rises, threads_label, times
from papers.model import Claim, Numbers, Values
from papers.olivier import numbers, plan
from papers.olivier.plan import (
    HEALTH,
    HEAT,
    INTEL,
    LOCAL,
    QTHREADS,
    STRICT,
    Program,
    Scheduler,
)

ALL: Final = plan.THREADS[-1]

_LINKS: Final = (
    "Most data come from the caches of other sockets, and links between sockets never become busy in the "
    "model. Only accesses to memory wait; their share of the work is"
)
_STREAMS: Final = (
    "Our cores compute a cell in a fraction of the paper's time, so they spend most time on the data, and "
    "the bandwidth of memory limits every scheduler. The share of waits for memory in the work on 32 "
    "threads is"
)


def by_threads(
    of: Callable[[Values, Program, Scheduler, int], float], program: Program, scheduler: Scheduler
) -> Callable[[Values], Numbers]:
    return lambda values: {threads_label(n): of(values, program, scheduler, n) for n in plan.PARALLEL}


def by_scheduler(
    of: Callable[[Values, Program, Scheduler, int], float], program: Program, *schedulers: Scheduler
) -> Callable[[Values], Numbers]:
    """Returns a function that returns our numbers on all threads, by scheduler."""
    return lambda values: {one.label: of(values, program, one, ALL) for one in schedulers}


def _decreases(program: Program) -> Callable[[Values], Numbers]:
    return lambda values: {
        threads_label(n): numbers.decrease(values, program, INTEL, STRICT, n) for n in plan.PARALLEL
    }


def _gain(values: Values, program: Program, scheduler: Scheduler, threads: int) -> float:
    """Returns the speed divided by the speed under Intel's scheduler."""
    speeds = [numbers.speedup(values, program, one, threads) for one in (scheduler, INTEL)]
    return speeds[0] / speeds[1]


def _busy(program: Program) -> Callable[[Values], Numbers]:
    """Returns the part of the work on all threads in which accesses wait for busy memory."""
    return by_scheduler(numbers.busy_share, program, INTEL)


def _health_claims() -> Iterator[Claim]:
    yield Claim(
        name="health-faster",
        sentence="Locality-based scheduling makes Health faster than the Intel scheduler on 8 to 32 threads",
        place="Tab. 1",
        theirs="25.6%, 48.0%, 60.6%, 68.0% less time",
        picture="speedups",
        ours=_decreases(HEALTH),
        holds=lambda found: min(found) > 0,
        show=percent,
    )
    yield Claim(
        name="health-gain-grows",
        sentence="On Health this gain grows with the number of threads",
        place="Tab. 1",
        theirs="25.6%, 48.0%, 60.6%, 68.0%",
        picture="speedups",
        ours=_decreases(HEALTH),
        holds=rises,
        show=percent,
        cause=_LINKS,
        evidence=_busy(HEALTH),
    )
    yield Claim(
        name="health-gain-large",
        sentence="On 32 threads locality-based scheduling makes Health more than 1.3 times as fast",
        place="Abstract, Tab. 1",
        theirs="3.1 times",
        picture="speedups",
        ours=by_scheduler(_gain, HEALTH, STRICT),
        holds=lambda found: found[0] > 1.3,
        show=ratio_text,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-flat",
        sentence="Intel's speed-up on Health flattens at 16 threads: 32 threads are less than a tenth faster",
        place="Fig. 11, Tab. 1",
        theirs="1.71 s and 1.69 s",
        picture="speedups",
        ours=lambda values: {threads_label(n): numbers.speedup(values, HEALTH, INTEL, n) for n in (16, ALL)},
        holds=lambda found: found[1] < 1.1 * found[0],
        show=times,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-linear",
        sentence="Locality-based scheduling has a near-linear speed-up on Health: more than 28 on 32 threads",
        place="Fig. 11, Tab. 1",
        theirs="15.2 s and 0.540 s, 28.1",
        picture="speedups",
        ours=by_threads(numbers.speedup, HEALTH, STRICT),
        holds=lambda found: found[-1] > 28,
        show=times,
        cause=(
            "Each of 32 threads advances 40 or 41 of 1,296 leaf subtrees, then waits for the villages on a "
            "path to the root. Idle time and overhead over the sequential time are"
        ),
        evidence=by_scheduler(numbers.other_time, HEALTH, STRICT),
        show_evidence=percent,
    )
    yield Claim(
        name="health-superlinear",
        sentence="Locality-based scheduling has a super-linear speed-up on Health on 16 threads",
        place="Fig. 11, section 6",
        theirs="slightly super-linear",
        picture="speedups",
        ours=lambda values: {"16 threads": numbers.speedup(values, HEALTH, STRICT, 16)},
        holds=lambda found: found[0] > 16,
        show=times,
        cause=(
            "The work shrinks as in the paper, but the path to the root, which ends each step, takes more "
            "time than the caches save. Idle time and overhead over the sequential time are"
        ),
        evidence=lambda values: {"16 threads": numbers.other_time(values, HEALTH, STRICT, 16)},
        show_evidence=percent,
    )
    yield Claim(
        name="health-inflation-grows",
        sentence="Work time inflation of Health grows with the threads under the Intel scheduler, to more "
        "than 5%",
        place="Fig. 4, section 3",
        theirs="more than 3 on 32 threads",
        picture="breakdown",
        ours=by_threads(numbers.inflation, HEALTH, INTEL),
        holds=lambda found: rises(found) and found[-1] > 1.05,
        show=ratio_text,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-r",
        sentence="Health yields r above 3 on 32 threads under the Intel scheduler",
        place="Section 3",
        theirs="r > 3",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEALTH, INTEL),
        holds=lambda found: found[0] > 3,
        show=ratio_text,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-hierarchy",
        sentence="On Health a queue per socket has less work time inflation than Intel's scheduler",
        place="Fig. 10",
        theirs="12 s and 33 s",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEALTH, QTHREADS, INTEL),
        holds=lambda found: found[0] < found[1] - 0.01,
        show=ratio_text,
        cause=(
            "In our input a leaf task touches its subtree once per step, so threads of one socket share no "
            "data within a step. The share of blocks found in the L3 is nearly the same:"
        ),
        evidence=lambda values: {
            one.label: numbers.found_in(values, HEALTH, one, ALL)["L3"] for one in (QTHREADS, INTEL)
        },
        show_evidence=percent,
    )
    yield Claim(
        name="health-spread",
        sentence="Spreading the pages of Health reduces work time inflation under a queue per socket",
        place="Fig. 10",
        theirs="further reduction",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEALTH, QTHREADS, plan.SPREAD),
        holds=lambda found: found[1] < found[0] - 0.02,
        show=ratio_text,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-less-work",
        sentence="With locality, the work of Health on 32 threads is less than the sequential work",
        place="Fig. 10",
        theirs="roughly half",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEALTH, STRICT),
        holds=lambda found: found[0] < 1,
        show=ratio_text,
    )
    yield Claim(
        name="health-half-work",
        sentence="With locality, the work of Health on 32 threads is roughly half, less than 0.6",
        place="Fig. 10",
        theirs="roughly half",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEALTH, STRICT),
        holds=lambda found: found[0] < 0.6,
        show=ratio_text,
        cause=(
            "Strict scheduling finds nearly all data in the L3, but the L3 takes time, too. If data took no "
            "time, the work would shrink by their part in the sequential work:"
        ),
        evidence=lambda values: {"data": numbers.memory_share(values, HEALTH, INTEL, 1)},
        show_evidence=percent,
    )
    yield Claim(
        name="health-tradeoff",
        sentence="On Health strict scheduling has more idle time and overhead than the other schedulers",
        place="Fig. 10",
        theirs="in words",
        picture="breakdown",
        ours=by_scheduler(numbers.other_time, HEALTH, STRICT, INTEL, QTHREADS),
        holds=lambda found: found[0] > max(found[1:]) + 0.02,
        show=percent,
        cause=(
            "The paper names a lack of balance between domains. Our country is a complete tree, so the four "
            "domains have equal work. Overhead alone, over the sequential time, is"
        ),
        evidence=by_scheduler(numbers.overhead, HEALTH, STRICT, INTEL, QTHREADS),
    )
    yield Claim(
        name="health-qthreads-idle",
        sentence="On Health a queue per socket has more idle time and overhead than Intel's scheduler",
        place="Fig. 10",
        theirs="in words",
        picture="breakdown",
        ours=by_scheduler(numbers.other_time, HEALTH, QTHREADS, INTEL),
        holds=lambda found: found[0] > found[1] + 0.02,
        show=percent,
        cause=(
            "Operations of both schedulers have the costs that were measured on the reference machine; the "
            "costs of Qthreads in 2011 are not known. A queue per socket needs fewer steals. Overhead alone, "
            "over the sequential time, is"
        ),
        evidence=by_scheduler(numbers.overhead, HEALTH, QTHREADS, INTEL),
        show_evidence=percent,
    )


def _socket_claims() -> Iterator[Claim]:
    """Yields the claims about the speed-ups of Health with a queue per socket."""
    yield Claim(
        name="health-socket-faster",
        sentence="On 32 threads a queue per socket has a better speed-up on Health than Intel's scheduler",
        place="Fig. 11, section 6",
        theirs="better",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEALTH, QTHREADS, INTEL),
        holds=lambda found: found[0] > found[1],
        show=ratio_text,
        cause=_LINKS,
        evidence=_busy(HEALTH),
        show_evidence=percent,
    )
    yield Claim(
        name="health-socket-flat",
        sentence="On Health a queue per socket still flattens at 24 threads: 32 are less than a tenth faster",
        place="Fig. 11, section 6",
        theirs="flattens at 24 threads",
        picture="speedups",
        ours=lambda values: {
            threads_label(n): numbers.speedup(values, HEALTH, QTHREADS, n) for n in (24, ALL)
        },
        holds=lambda found: found[1] < 1.1 * found[0],
        show=times,
        cause=_LINKS,
        evidence=by_scheduler(numbers.busy_share, HEALTH, QTHREADS),
        show_evidence=percent,
    )
    yield Claim(
        name="health-spread-faster",
        sentence="Spread pages improve the speed-up of Health with a queue per socket on 32 threads further",
        place="Fig. 11, section 6",
        theirs="further improvement",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEALTH, plan.SPREAD, QTHREADS),
        holds=lambda found: found[0] > found[1],
        show=times,
        cause=_LINKS,
        evidence=by_scheduler(numbers.busy_share, HEALTH, QTHREADS),
        show_evidence=percent,
    )
    yield Claim(
        name="health-spread-18",
        sentence="Even with spread pages Health reaches only 18 with a queue per socket, within a tenth",
        place="Fig. 11, section 6",
        theirs="only 18",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEALTH, plan.SPREAD),
        holds=between(0.9 * 18, 1.1 * 18),
        show=times,
        cause=_LINKS,
        evidence=by_scheduler(numbers.busy_share, HEALTH, plan.SPREAD),
        show_evidence=percent,
    )
    yield Claim(
        name="health-only-strict",
        sentence="Only locality-based scheduling has a near-linear speed-up: all others are below 28",
        place="Fig. 11, section 6",
        theirs="only",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEALTH, INTEL, QTHREADS, plan.SPREAD),
        holds=lambda found: max(found) < 28,
        show=times,
    )
    yield Claim(
        name="health-efficiency",
        sentence="Health runs at only 27% efficiency on 32 threads under Intel's scheduler, within a tenth",
        place="Section 3",
        theirs="27%",
        picture="speedups",
        ours=lambda values: {"32 threads": numbers.speedup(values, HEALTH, INTEL, ALL) / ALL},
        holds=between(0.9 * 0.27, 1.1 * 0.27),
        show=percent,
        cause=_LINKS,
        evidence=_busy(HEALTH),
    )
    yield Claim(
        name="twice-qthreads",
        sentence="On 32 threads locality-based scheduling makes a program twice as fast as a queue per "
        "socket, or more",
        place="Section 1",
        theirs="up to 2 times",
        picture="speedups",
        ours=lambda values: {
            one.name: 1 / (1 - numbers.decrease(values, one, QTHREADS, STRICT, ALL)) for one in LOCAL
        },
        holds=lambda found: max(found) >= 2,
        show=ratio_text,
    )
    for program in LOCAL:
        yield Claim(
            name=f"{program.name}-balanced",
            sentence=f"In {program.name.capitalize()} load imbalance costs much less than work time "
            "inflation under Intel's scheduler: less than half",
            place="Section 8",
            theirs="much smaller",
            picture="breakdown",
            ours=lambda values, program=program: {  # type: ignore[misc]
                "idle": numbers.idle_time(values, program, INTEL, ALL),
                "inflation": numbers.inflation(values, program, INTEL, ALL) - 1,
            },
            holds=lambda found: found[0] < found[1] / 2,
            show=percent,
            cause=(
                "Threads are idle at the end of each step, on the path to the root, whose villages take "
                "longer if their data are far away. With locality, idle time over the sequential time is"
            ),
            evidence=by_scheduler(numbers.idle_time, program, STRICT),
        )


def _heat_work_claims() -> Iterator[Claim]:
    yield Claim(
        name="heat-works-close",
        sentence="Work times of Heat under Intel's scheduler and a queue per socket are close, within a "
        "tenth",
        place="Section 6",
        theirs="close",
        picture="breakdown",
        ours=lambda values: {
            threads_label(n): numbers.work_ns(values, HEAT, INTEL, n)
            / numbers.work_ns(values, HEAT, QTHREADS, n)
            for n in plan.PARALLEL
        },
        holds=between(0.9, 1.1),
        show=ratio_text,
        cause=(
            "The paper's times are close because its two compilers differ by as much as its schedulers. We "
            "use one compiler. Under Intel's scheduler more of the work waits for busy memory:"
        ),
        evidence=by_scheduler(numbers.busy_share, HEAT, INTEL, QTHREADS),
        show_evidence=percent,
    )
    yield Claim(
        name="heat-qthreads-idle",
        sentence="On Heat a queue per socket has more idle time and overhead than Intel's scheduler",
        place="Fig. 12",
        theirs="again higher",
        picture="breakdown",
        ours=by_scheduler(numbers.other_time, HEAT, QTHREADS, INTEL),
        holds=lambda found: found[0] > found[1],
        show=percent,
        cause=(
            "Waits for busy memory make the tasks of one step unequal, and more so under Intel's scheduler. "
            "Their share of the work is"
        ),
        evidence=by_scheduler(numbers.busy_share, HEAT, QTHREADS, INTEL),
    )
    yield Claim(
        name="heat-similar-idle",
        sentence="On Heat strict scheduling has idle time and overhead similar to a queue per socket, within "
        "a factor of 1.5",
        place="Fig. 12",
        theirs="similar",
        picture="breakdown",
        ours=by_scheduler(numbers.other_time, HEAT, STRICT, QTHREADS),
        holds=lambda found: max(found) <= 1.5 * min(found),
        show=percent,
        cause=(
            "Waits for busy memory make the tasks of one step unequal, and more so if data are far away. "
            "Their share of the work is"
        ),
        evidence=by_scheduler(numbers.busy_share, HEAT, STRICT, QTHREADS),
    )


def _heat_claims() -> Iterator[Claim]:
    yield Claim(
        name="heat-faster",
        sentence="Locality-based scheduling makes Heat faster than the Intel scheduler on 8 to 32 threads",
        place="Tab. 2",
        theirs="4.4%, 4.5%, 13.5%, 15.7% less time",
        picture="speedups",
        ours=_decreases(HEAT),
        holds=lambda found: min(found) > 0,
        show=percent,
    )
    yield Claim(
        name="heat-gain-grows",
        sentence="On Heat this gain is larger on 24 and 32 threads than on 8 and 16",
        place="Tab. 2",
        theirs="4.4%, 4.5%; 13.5%, 15.7%",
        picture="speedups",
        ours=_decreases(HEAT),
        holds=lambda found: min(found[2:]) > max(found[:2]),
        show=percent,
        cause=_STREAMS,
        evidence=by_scheduler(numbers.busy_share, HEAT, INTEL, QTHREADS, STRICT),
        show_evidence=percent,
    )
    yield Claim(
        name="heat-r",
        sentence="Heat yields r above 2.5 on 32 threads under the Intel scheduler",
        place="Section 3",
        theirs="r > 2.5",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEAT, INTEL),
        holds=lambda found: found[0] > 2.5,
        show=ratio_text,
    )
    yield Claim(
        name="heat-inflation-grows",
        sentence="Work time inflation of Heat grows with the number of threads under the Intel scheduler",
        place="Fig. 4",
        theirs="in words",
        picture="breakdown",
        ours=by_threads(numbers.inflation, HEAT, INTEL),
        holds=rises,
        show=ratio_text,
    )
    yield Claim(
        name="heat-intel-speedup",
        sentence="Intel's speed-up on Heat is well short of ideal, below 16 on 32 threads",
        place="Section 3, Fig. 13",
        theirs="11.2",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEAT, INTEL),
        holds=lambda found: found[0] < 16,
        show=times,
    )
    yield Claim(
        name="heat-hierarchy",
        sentence="On Heat a queue per socket has less work time inflation than Intel's scheduler",
        place="Fig. 12",
        theirs="near 100% and 170%",
        picture="breakdown",
        ours=lambda values: {
            one.label: numbers.inflation(values, HEAT, one, ALL) - 1 for one in (QTHREADS, INTEL)
        },
        holds=lambda found: found[0] < found[1],
        show=percent,
        cause=_STREAMS,
        evidence=by_scheduler(numbers.busy_share, HEAT, INTEL, QTHREADS, STRICT),
        show_evidence=percent,
    )
    yield Claim(
        name="heat-halves",
        sentence="On 32 threads locality halves the work time inflation of Heat under a queue per socket",
        place="Fig. 12",
        theirs="more than half",
        picture="breakdown",
        ours=lambda values: {
            one.label: numbers.inflation(values, HEAT, one, ALL) - 1 for one in (STRICT, QTHREADS)
        },
        holds=lambda found: found[1] > 0 and found[0] < found[1] / 2,
        show=percent,
        cause=_STREAMS,
        evidence=by_scheduler(numbers.busy_share, HEAT, INTEL, QTHREADS, STRICT),
        show_evidence=percent,
    )
    yield Claim(
        name="heat-remains",
        sentence="Some work time inflation of Heat remains with locality",
        place="Fig. 12",
        theirs="in words",
        picture="breakdown",
        ours=by_scheduler(numbers.inflation, HEAT, STRICT),
        holds=lambda found: found[0] > 1,
        show=ratio_text,
    )
    yield Claim(
        name="heat-not-ideal",
        sentence="No scheduler achieves an ideal speed-up on Heat on 32 threads",
        place="Fig. 13",
        theirs="in words",
        picture="speedups",
        ours=by_scheduler(numbers.speedup, HEAT, *HEAT.schedulers),
        holds=lambda found: max(found) < ALL,
        show=times,
    )
    yield Claim(
        name="heat-less-gain",
        sentence="On 32 threads locality gains less on Heat than on Health",
        place="Section 8, Tabs. 1 and 2",
        theirs="15.7% and 68.0%",
        picture="speedups",
        ours=lambda values: {
            one.name: numbers.decrease(values, one, INTEL, STRICT, ALL) for one in reversed(LOCAL)
        },
        holds=lambda found: found[0] < found[1],
        show=percent,
        cause=(
            "Heat streams through memory, which the model charges in full. Health follows lists, which it "
            "does not charge in full. The share of the time for data in the work of one thread is"
        ),
        evidence=lambda values: {one.name: numbers.memory_share(values, one, INTEL, 1) for one in LOCAL},
        show_evidence=percent,
    )


CLAIMS: Final = (*_health_claims(), *_socket_claims(), *_heat_claims(), *_heat_work_claims())

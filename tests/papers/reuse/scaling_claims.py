# SPDX-License-Identifier: Apache-2.0
"""The claims of Pericàs et al. on speed-ups, overheads and work time inflation."""

from __future__ import annotations

from collections.abc import Callable
from statistics import correlation
from typing import Final

from papers.conditions import by_cores, first_is_largest, gain, percent, rises, times, untested
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.reuse import numbers, plan
from papers.reuse.plan import CORE, FMM, MATMUL, MTH, NESTED, POLICIES, PROGRAMS, SHARED


def _factor(number: float) -> str:
    return f"{number:.3f}"


_ALL: Final = {"TBB": NESTED, "work-first": MTH, "core": CORE, "socket": SHARED}


def _speedup(program: str, theirs: int) -> Claim:
    return Claim(
        name=f"{program}-speedup",
        sentence=f"The work-first scheduler speeds {program} up by {theirs} or more on 24 cores",
        place="Section II.C",
        theirs=f"up to {theirs}",
        picture=program,
        ours=lambda values: {"24 cores": numbers.speedup(values, program, MTH, 24)},
        holds=lambda found: found[0] >= theirs,
        show=times,
    )


def _order_of_programs() -> Claim:
    return Claim(
        name="order-of-programs",
        sentence="The work-first scheduler speeds fmm up less than matmul, with its longer tasks",
        place="Figs. 1 and 2",
        theirs="18 and 21",
        picture=FMM,
        ours=lambda values: {program: numbers.speedup(values, program, MTH, 24) for program in (FMM, MATMUL)},
        holds=lambda found: found[0] < found[1],
        show=times,
    )


def _scales_in_a_socket() -> Claim:
    return Claim(
        name="tbb-scales",
        sentence="Until a socket is full, TBB scales very well: speed-ups on 6 cores are above 5",
        place="Section II.C",
        theirs=FIGURE_ONLY,
        picture=FMM,
        ours=lambda values: {program: numbers.speedup(values, program, NESTED, 6) for program in PROGRAMS},
        holds=lambda found: min(found) > 5,
        show=times,
        cause="The costs of operations are those of the reference machine's libomp, not TBB's.",
    )


def _work_first_overhead() -> Claim:
    return Claim(
        name="work-first-overhead",
        sentence="On 24 cores the work-first scheduler has at most 30% of non-work overhead in both programs",
        place="Section II.C",
        theirs="30% in the worst case",
        picture=FMM,
        ours=lambda values: {program: numbers.overhead(values, program, MTH, 24) for program in PROGRAMS},
        holds=lambda found: max(found) <= 1.3,
        show=_factor,
    )


def _shared_overhead(program: str) -> Claim:
    return Claim(
        name=f"{program}-shared-overhead",
        sentence=f"On all numbers of cores OVR of {program} is larger with a queue per socket than per core",
        place="Section II.C",
        theirs="consistently larger",
        picture=program,
        ours=lambda values: by_cores(plan.THREADS, lambda n: _contention(values, program, n)),
        holds=lambda found: min(found) > 1,
        show=_factor,
    )


def _ratio_to_work_first(program: str) -> Claim:
    def ratio(values: Values, policy: str) -> float:
        other, first = (numbers.overhead(values, program, one, 24) for one in (policy, MTH))
        return other / first

    return Claim(
        name=f"{program}-ratio-of-overheads",
        sentence=f"On 24 cores other schedulers have at least 3 times the OVR of work-first in {program}",
        place="Section II.C",
        theirs="3 to 4 times",
        picture=program,
        ours=lambda values: {
            name: ratio(values, policy)
            for name, policy in (("TBB", NESTED), ("core", CORE), ("socket", SHARED))
        },
        holds=lambda found: min(found) >= 3,
        show=_factor,
        missing=(
            "The paper's losses on 24 cores come from contention: its `perf` finds a quarter of QTH/Socket's "
            "time in two functions that lock the memory bus. The simulator has no contention except for the "
            "locks of shared queues, so it cannot give the size of these losses."
        ),
    )


def _low_overheads() -> Claim:
    return Claim(
        name="matmul-low-overheads",
        sentence="On 12 cores the work-first scheduler has at most 10% of non-work overhead in matmul",
        place="Section IV.B",
        theirs="about 1.1",
        picture=MATMUL,
        ours=lambda values: {"12 cores": numbers.overhead(values, MATMUL, MTH, 12)},
        holds=lambda found: found[0] <= 1.1,
        show=_factor,
    )


def _order_of_overheads() -> Claim:
    return Claim(
        name="matmul-order-of-overheads",
        sentence="On 12 cores OVR of matmul rises from work-first to a queue per core to a queue per socket",
        place="Section IV.B",
        theirs="1.1, 1.2, 1.33",
        picture=MATMUL,
        ours=lambda values: {
            name: numbers.overhead(values, MATMUL, policy, 12)
            for name, policy in (("work-first", MTH), ("core", CORE), ("socket", SHARED))
        },
        holds=rises,
        show=_factor,
    )


Figure = Callable[[Values, str, str, int], float]
"""A number of a program under a policy on some cores."""


def _growth(figure: Figure, values: Values, program: str, policy: str) -> float:
    """Returns a figure on four sockets over that on one socket."""
    four, one = (figure(values, program, policy, n) for n in (24, 6))
    return four / one


def _nested_decays(program: str) -> Claim:
    return Claim(
        name=f"{program}-nested-decays",
        sentence=f"From one socket to four, OVR of {program} grows most under TBB",
        place="Section II.C",
        theirs="TBB decays, the others degrade smoothly",
        picture=program,
        ours=lambda values: {
            name: _growth(numbers.overhead, values, program, policy) for name, policy in _ALL.items()
        },
        holds=first_is_largest,
        show=_factor,
    )


def _qthreads_scale(program: str) -> Claim:
    return Claim(
        name=f"{program}-qthreads-scale",
        sentence=f"From one socket to four, both kinds of queues scale better than TBB in {program}",
        place="Section II.C",
        theirs="scales better than TBB for multiple sockets",
        picture=program,
        ours=lambda values: {
            name: _growth(numbers.speedup, values, program, _ALL[name]) for name in ("core", "socket", "TBB")
        },
        holds=lambda found: min(found[:2]) > found[2],
        show=times,
        cause="TBB's overheads do not grow as much here. On 24 cores, relative to 6, its OVR is",
        evidence=lambda values: {"TBB": _growth(numbers.overhead, values, program, NESTED)},
        show_evidence=_factor,
    )


def _follows_overheads(program: str) -> Claim:
    def of(values: Values) -> float:
        runs = [(policy, n) for policy in POLICIES for n in plan.THREADS[1:]]
        efficiencies = [numbers.speedup(values, program, *run) / run[1] for run in runs]
        return correlation(efficiencies, [1 / numbers.overhead(values, program, *run) for run in runs])

    return Claim(
        name=f"{program}-follows-overheads",
        sentence=(
            f"Speed-ups of {program} per core are highly correlated with non-work overheads: by 0.9 or more "
            "with 1 / OVR"
        ),
        place="Section II.C",
        theirs="highly correlated",
        picture=program,
        ours=lambda values: {"3 to 24 cores": of(values)},
        holds=lambda found: found[0] >= 0.9,
        show=_factor,
    )


def _tbb_low_overheads() -> Claim:
    return Claim(
        name="matmul-tbb-low-overheads",
        sentence="Up to 12 cores TBB has at most 10% of non-work overhead in matmul",
        place="Section II.C",
        theirs="around or below 1.1",
        picture=MATMUL,
        ours=lambda values: by_cores((1, 3, 6, 12), lambda n: numbers.overhead(values, MATMUL, NESTED, n)),
        holds=lambda found: max(found) <= 1.1,
        show=_factor,
    )


def _contention(values: Values, program: str, cores: int) -> float:
    """Returns OVR with a queue per socket over that with a queue per core."""
    shared, core = (numbers.overhead(values, program, policy, cores) for policy in (SHARED, CORE))
    return shared / core


def _contention_by_task() -> Claim:
    return Claim(
        name="contention-by-task",
        sentence=(
            "A queue per socket suffers more from short tasks: on 6 cores its OVR, relative to a queue per "
            "core, is higher in fmm than in matmul"
        ),
        place="Section II.C",
        theirs="inversely proportional to the task size",
        picture=FMM,
        ours=lambda values: {program: _contention(values, program, 6) for program in (FMM, MATMUL)},
        holds=first_is_largest,
        show=_factor,
    )


def _contention_by_workers() -> Claim:
    return Claim(
        name="contention-by-workers",
        sentence=(
            "OVR of a queue per socket, relative to a queue per core, grows with the number of cores that "
            "share a queue, in both programs"
        ),
        place="Section II.C",
        theirs="proportional to the number of workers",
        picture=FMM,
        ours=lambda values: {
            f"{program}, {n} cores": _contention(values, program, n)
            for program in PROGRAMS
            for n in (1, 3, 6)
        },
        holds=lambda found: rises(found[:3]) and rises(found[3:]),
        show=_factor,
    )


def _slowest() -> Claim:
    return Claim(
        name="matmul-times",
        sentence="On 12 cores matmul's time rises from work-first to a queue per core to a queue per socket",
        place="Tab. I",
        theirs="1.642 s, 1.859 s, 2.111 s",
        picture=MATMUL,
        ours=lambda values: {
            name: numbers.time_ns(values, MATMUL, policy, 12) / 1e6
            for name, policy in (("work-first", MTH), ("core", CORE), ("socket", SHARED))
        },
        holds=rises,
        show=lambda time: f"{time:.2f} ms",
    )


def _most_inflation() -> Claim:
    return Claim(
        name="most-inflation",
        sentence="On 24 cores work time inflation takes at most 20% of the speed-up, in any order of tasks",
        place="Section II.C",
        theirs="20% in the worst case",
        picture=FMM,
        ours=lambda values: {
            program: max(1 - 1 / numbers.inflation(values, program, policy, 24) for policy in POLICIES)
            for program in PROGRAMS
        },
        holds=lambda found: max(found) <= 0.2,
        show=percent,
    )


def _inflates_with_sockets(program: str) -> Claim:
    return Claim(
        name=f"{program}-inflates",
        sentence=f"Work time of {program} under work-first inflates with the number of sockets",
        place=f"Fig. {1 if program == MATMUL else 2}",
        theirs=FIGURE_ONLY,
        picture=program,
        ours=lambda values: by_cores((6, 12, 24), lambda n: numbers.inflation(values, program, MTH, n)),
        holds=rises,
        show=_factor,
    )


def _order_of_inflation() -> Claim:
    return Claim(
        name="order-of-inflation",
        sentence="On 12 cores matmul's work time inflation rises from work-first to a queue per core to TBB",
        place="Tab. I",
        theirs="1.0250, 1.0441, 1.0519 (TBB)",
        picture="hardware",
        ours=lambda values: {
            name: numbers.inflation(values, MATMUL, policy, 12)
            for name, policy in (("work-first", MTH), ("core", CORE), ("TBB", NESTED))
        },
        holds=rises,
        show=lambda factor: f"{factor:.4f}",
        cause=(
            "Modelled inflation follows the modelled misses. Work-first and a queue per core differ by "
            "little more than runs of one of them with different random choices."
        ),
    )


def _worst_inflation() -> Claim:
    def ours(values: Values) -> Numbers:
        return {
            f"{program}, {name}": numbers.inflation(values, program, policy, 24)
            for program in (FMM, MATMUL)
            for name, policy in _ALL.items()
        }

    return Claim(
        name="worst-inflation",
        sentence="On 24 cores work time inflates most in fmm under TBB",
        place="Section II.C",
        theirs="in the worst case (FMM with TBB)",
        picture=FMM,
        ours=ours,
        holds=first_is_largest,
        show=_factor,
    )


def _inflation_apart() -> Claim:
    def ratio(values: Values, cores: int) -> float:
        tbb, first = (numbers.inflation(values, MATMUL, policy, cores) for policy in (NESTED, MTH))
        return tbb / first

    return Claim(
        name="inflation-apart",
        sentence="From 12 to 24 cores TBB's work time of matmul grows more than work-first's",
        place="Section II.C",
        theirs="2% and 8% more work time",
        picture=MATMUL,
        ours=lambda values: by_cores((12, 24), lambda n: ratio(values, n)),
        holds=rises,
        show=_factor,
    )


def _shared_inflates() -> Claim:
    return Claim(
        name="inflation-shared",
        sentence="On 12 cores matmul inflates most with a queue per socket, despite the fewest far accesses",
        place="Tab. I",
        theirs="1.0814, most",
        picture="hardware",
        ours=lambda values: {
            name: numbers.inflation(values, MATMUL, policy, 12)
            for name, policy in (("socket", SHARED), ("work-first", MTH), ("core", CORE), ("TBB", NESTED))
        },
        holds=lambda found: found[0] > max(found[1:]),
        show=_factor,
    )


def _tracing(program: str) -> Claim:
    return Claim(
        name=f"{program}-tracing",
        sentence=f"Recording the kernels of {program} and their data makes the run less than 5% longer",
        place="Section III.A",
        theirs="less than 5% in the worst case",
        picture="measured",
        ours=lambda values: {"1 thread": numbers.tracing_cost(values, program)},
        holds=lambda found: found[0] < 0.05,
        show=gain,
        cause=(
            "Ompass also records the creation, start and end of each task; the paper's library records only "
            "kernels. Besides, our processor runs a kernel in the time of fewer records."
        ),
    )


_COSTS: Final = (
    "The simulated operations of all policies have the costs of libomp and of the extension. MassiveThreads "
    "and Qthreads were not measured here."
)
_SPEED: Final = (
    "The size of work time inflation depends on latencies and bandwidths of the paper's machine, which the "
    "paper does not give. The model has round figures of a current server."
)


CLAIMS: Final = (
    _speedup(MATMUL, 21),
    _speedup(FMM, 18),
    _order_of_programs(),
    _scales_in_a_socket(),
    _work_first_overhead(),
    *map(_ratio_to_work_first, PROGRAMS),
    *map(_shared_overhead, PROGRAMS),
    *map(_nested_decays, PROGRAMS),
    *map(_qthreads_scale, PROGRAMS),
    *map(_follows_overheads, PROGRAMS),
    _contention_by_task(),
    _contention_by_workers(),
    _low_overheads(),
    _tbb_low_overheads(),
    _order_of_overheads(),
    _slowest(),
    untested(
        "tbb-light",
        "Within a socket TBB has lower overheads than MassiveThreads",
        "Section II.C",
        FIGURE_ONLY,
        MATMUL,
        _COSTS,
    ),
    untested(
        "qthreads-heavy",
        "On one core Qthreads has the highest overheads",
        "Section II.C",
        FIGURE_ONLY,
        MATMUL,
        _COSTS,
    ),
    _most_inflation(),
    *map(_inflates_with_sockets, PROGRAMS),
    _worst_inflation(),
    _inflation_apart(),
    _order_of_inflation(),
    untested(
        "inflation-12",
        "On 12 cores TBB's work time is 2.7% longer than MassiveThreads'",
        "Tab. I",
        "1.0519 and 1.0250",
        "hardware",
        _SPEED,
    ),
    untested(
        "inflation-24",
        "On 24 cores TBB's work time is 8% to 10% longer than MassiveThreads'",
        "Sections II.C and IV.B",
        "8%, 10%",
        MATMUL,
        _SPEED,
    ),
    _shared_inflates(),
    untested(
        "inflation-m2l",
        "On four sockets the memory-bound kernel M2L inflates by up to 45% relative to MassiveThreads",
        "Section IV.B",
        "45%",
        FMM,
        _SPEED,
    ),
    *map(_tracing, PROGRAMS),
)

# SPDX-License-Identifier: Apache-2.0
"""The claims of Pericàs et al. on speed-ups, overheads and work time inflation."""

from __future__ import annotations

from typing import Final

from papers.conditions import by_cores, times
from papers.model import Claim, Values
from papers.reuse import numbers, plan
from papers.reuse.plan import CORE, FMM, MATMUL, MTH, PROGRAMS, SHARED


def _factor(number: float) -> str:
    return f"{number:.3f}"


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
    def ratio(values: Values, cores: int) -> float:
        shared, core = (numbers.overhead(values, program, policy, cores) for policy in (SHARED, CORE))
        return shared / core

    return Claim(
        name=f"{program}-shared-overhead",
        sentence=f"OVR of {program} with a queue per socket exceeds that with a queue per core everywhere",
        place="Section II.C",
        theirs="consistently larger",
        picture=program,
        ours=lambda values: by_cores(plan.THREADS, lambda n: ratio(values, n)),
        holds=lambda found: min(found) > 1,
        show=_factor,
    )


CLAIMS: Final = (
    _speedup(MATMUL, 21),
    _speedup(FMM, 18),
    _order_of_programs(),
    _work_first_overhead(),
    *map(_shared_overhead, PROGRAMS),
)

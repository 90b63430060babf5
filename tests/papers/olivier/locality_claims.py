# SPDX-License-Identifier: Apache-2.0
"""The claims about Health and Heat: speed-up, work time inflation and traffic, by scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.conditions import count, percent, ratio_text, rises, threads_label
from papers.model import Claim
from papers.olivier import numbers, plan
from papers.olivier.plan import HEALTH, HEAT, INTEL, QTHREADS, STRICT


def _time_claims() -> Iterator[Claim]:
    yield Claim(
        name="health-faster",
        sentence="Locality-based scheduling makes Health faster than the Intel scheduler on 8 to 32 threads",
        place="Tab. 1",
        theirs="25.6%, 48.0%, 60.6%, 68.0% less time",
        picture="speedups",
        ours=lambda values: {
            threads_label(n): numbers.decrease(values, HEALTH, INTEL, STRICT, n) for n in plan.PARALLEL
        },
        holds=lambda found: min(found) > 0,
        show=percent,
    )
    yield Claim(
        name="health-inflation-grows",
        sentence="Work time inflation of Health grows with the number of threads under the Intel scheduler",
        place="Fig. 4, section 3",
        theirs="more than 3 on 32 threads",
        picture="breakdown",
        ours=lambda values: {
            threads_label(n): numbers.inflation(values, HEALTH, INTEL, n) for n in plan.THREADS
        },
        holds=rises,
        show=ratio_text,
        cause=(
            "The kernels of Health declare the ranges of villages and patients that they touch. The model "
            "charges one latency per range and memory, and then bandwidth. The program follows linked lists, "
            "so that each patient costs a latency. The part of the model in the work of one thread is small:"
        ),
        evidence=lambda values: {"data": numbers.memory_share(values, HEALTH, INTEL, 1)},
        show_evidence=percent,
    )
    for program, theirs in ((HEALTH, (34, 26, 1.0)), (HEAT, (31, 31, 0.34))):
        yield Claim(
            name=f"traffic-{program.name}",
            sentence="Locality-based scheduling reduces the data between sockets of "
            f"{program.name.capitalize()} by an order of magnitude",
            place="Tab. 3",
            theirs=f"{theirs[0]} GB (Intel), {theirs[1]} GB (Qthreads), {theirs[2]} GB",
            picture="traffic",
            ours=lambda values, program=program: {  # type: ignore[misc]
                f"{scheduler.label} over strict": numbers.traffic_bytes(values, program, scheduler, 32)
                / max(1, numbers.traffic_bytes(values, program, STRICT, 32))
                for scheduler in (INTEL, QTHREADS)
            },
            holds=lambda found: min(found) >= 10,
            show=count,
        )


CLAIMS: Final = tuple(_time_claims())

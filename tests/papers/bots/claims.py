# SPDX-License-Identifier: Apache-2.0
"""The claims of later papers about runtimes, and about the programs on 32 cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.bots import numbers, plan
from papers.bots.plan import MANUAL, NONE, RUNTIMES
from papers.conditions import percent, ratio_text, rises, times
from papers.model import Claim

_FIB: Final = next(one for one in plan.PROGRAMS if one.name == "fib")


def _runtime_claims() -> Iterator[Claim]:
    yield Claim(
        name="coarse-alike",
        sentence="With coarse tasks the runtimes perform similarly: alignment differs by less than a fifth",
        place="Podobas et al., abstract",
        theirs="quite similar",
        picture="runtimes",
        ours=lambda values: {"2 threads": numbers.runtime_spread(values, "alignment", NONE, 2)},
        holds=lambda found: found[0] < 1.2,
        show=ratio_text,
        cause=(
            "The runtimes are alike on one thread, so the difference comes from two threads on processors "
            "that other programs use. The spread is"
        ),
        evidence=lambda values: {"1 thread": numbers.runtime_spread(values, "alignment", NONE, 1)},
    )
    yield Claim(
        name="fine-not-ready",
        sentence="With very fine tasks no runtime is usable: fib without a cut-off is slower than serial",
        place="Podobas et al., abstract",
        theirs="not yet ready for use",
        picture="runtimes",
        ours=lambda values: {
            runtime: numbers.measured_speedup(values, _FIB, runtime, 2, NONE) for runtime in RUNTIMES
        },
        holds=lambda found: max(found) < 1,
        show=lambda ratio: f"{ratio:.3f}",
    )
    yield Claim(
        name="fine-spread",
        sentence="The runtimes differ more on fib without a cut-off than with a manual one",
        place="Podobas et al., abstract",
        theirs="lowest overhead, highest performance with many short tasks",
        picture="runtimes",
        ours=lambda values: {
            cutoff: numbers.runtime_spread(values, "fib", cutoff, 2) for cutoff in (NONE, MANUAL)
        },
        holds=lambda found: found[0] > found[1],
        show=times,
        cause="With a manual cut-off a run is so short that the start of its team counts.",
    )


def _granularity_claims() -> Iterator[Claim]:
    for name, sentence, part, order in (
        ("overhead", "Coarsening the tasks decreases the overhead time", "overhead", (MANUAL, NONE)),
        ("idle", "Finer tasks decrease the idle time", "idle", (NONE, MANUAL)),
    ):
        for one in plan.WITH_CUTOFFS:
            yield Claim(
                name=f"{name}-{one.name}",
                sentence=f"{sentence} of {one.name} on 32 cores",
                place="Olivier et al., section 1",
                theirs="in words, citing Tallent and Mellor-Crummey",
                picture="predicted",
                ours=lambda values, one=one, part=part, order=order: {  # type: ignore[misc]
                    cutoff: numbers.time_of(values, one.name, cutoff, part, 32) / 1e6 for cutoff in order
                },
                holds=rises,
                show=lambda ms: f"{ms:.2f} ms",
                cause=(
                    "Without a cut-off, overhead makes the run so much longer that even rare idle time adds "
                    "up. The share of idle time in the time of all cores is"
                ),
                evidence=lambda values, one=one: {  # type: ignore[misc]
                    cutoff: numbers.shares(values, plan.traced_name(one.name, cutoff), 32)["idle"]
                    for cutoff in (NONE, MANUAL)
                },
                show_evidence=percent,
            )


def _scaling_claims() -> Iterator[Claim]:
    for one in plan.WIDE:
        if one.name == "strassen":
            continue
        yield Claim(
            name=f"loss-{one.name}",
            sentence=f"Overhead and idle time take less than 10% of the time of {one.name} on 32 cores",
            place="Olivier et al., Fig. 2",
            theirs="less than 10%",
            picture="shares",
            ours=lambda values, name=one.name: {"32 cores": numbers.loss(values, name, 32)},  # type: ignore[misc]
            holds=lambda found: found[0] < 0.1,
            show=percent,
            cause=f"{_CAUSES.get(one.name, _SMALLER)} The parts of our time are",
            evidence=lambda values, name=one.name: numbers.shares(values, plan.wide_name(name), 32),  # type: ignore[misc]
        )
    yield Claim(
        name="loss-strassen",
        sentence="Overhead and idle time take more than 10% of the time of strassen on 32 cores",
        place="Olivier et al., Fig. 2",
        theirs="more than 10%",
        picture="shares",
        ours=lambda values: {"32 cores": numbers.loss(values, "strassen", 32)},
        holds=lambda found: found[0] > 0.1,
        show=percent,
    )
    yield Claim(
        name="alignment-linear",
        sentence="Alignment has a near-linear speed-up on 32 cores: more than 28.8",
        place="Olivier et al., Fig. 1",
        theirs="near-linear",
        picture="speedups",
        ours=lambda values: {"32 cores": numbers.predicted_speedup(values, "alignment", 32)},
        holds=lambda found: found[0] > 28.8,
        show=times,
        cause=f"{_SMALLER} The parts of our time are",
        evidence=lambda values: numbers.shares(values, plan.wide_name("alignment"), 32),
        show_evidence=percent,
    )


_SMALLER: Final = "Our input is smaller than theirs."
_CAUSES: Final = {
    "health": "health simulates the same country as in the suite, but a step of a patient takes a fraction "
    "of the paper's time, so the same costs of operations weigh more. With the suite's 365 steps, a task of "
    "the paper takes 31 µs.",
    "sparselu": "The matrix has blocks like theirs, but a block takes a fraction of the time, so the same "
    "costs of operations weigh more, and the last steps have fewer blocks than cores.",
}

CLAIMS: Final = (*_runtime_claims(), *_granularity_claims(), *_scaling_claims())

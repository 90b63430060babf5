# SPDX-License-Identifier: Apache-2.0
"""The claims about cut-offs: the suite's versions `manual`, `if_clause` and `final`, and no cut-off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from papers.bots import numbers, plan
from papers.bots.plan import FINAL, IF, LIBGOMP, MANUAL, NONE
from papers.conditions import above_one, between, by_cores, percent, ratio_text, threads_label
from papers.model import Claim, Numbers, Values

NOT_AT_HAND: Final = "not at hand"
"""Stands for a number of the paper's evaluation, whose text was not available."""

_INCLUDED: Final = (
    "libomp creates a final task like a deferred one. callgrind counts, per task of fib on one thread, "
    "865 instructions without a cut-off, 716 with the if clause, and 869 with the final clause. Neither "
    "runtime merges mergeable tasks. With libgomp both clauses take 153 instructions. There, the if clause "
    "over the final clause is"
)


ROUNDS: Final = (
    "The limit is below the error of this measurement on processors that other programs use, too. The "
    "shortest times of the rounds, on"
)


def _measured(program: str, over: str, under: str) -> Callable[[Values], Numbers]:
    return lambda values: {
        threads_label(n): numbers.cutoff_ratio(values, program, over, under, n) for n in plan.MEASURED_THREADS
    }


def _predicted(program: str, over: str, under: str) -> Callable[[Values], Numbers]:
    return lambda values: by_cores(
        plan.THREADS, lambda n: numbers.predicted_ratio(values, program, over, under, n)
    )


def _manual_claims() -> Iterator[Claim]:
    """Yields the claims that a manual cut-off beats the if clause."""
    for program in ("fib", "nqueens", "floorplan", "health"):
        yield Claim(
            name=f"manual-if-{program}",
            sentence=f"A manual cut-off of {program} beats the if clause on 1 to 32 cores",
            place=f"suite: {program}, `manual` and `if_clause`",
            theirs=NOT_AT_HAND,
            picture="predicted",
            ours=_predicted(program, IF, MANUAL),
            holds=above_one,
            show=ratio_text,
        )
    for program in ("fib", "nqueens", "health"):
        yield Claim(
            name=f"manual-if-measured-{program}",
            sentence=f"Measured here, too, a manual cut-off of {program} beats the if clause",
            place=f"suite: {program}, `manual` and `if_clause`",
            theirs=NOT_AT_HAND,
            picture="cutoffs",
            ours=_measured(program, IF, MANUAL),
            holds=above_one,
            show=ratio_text,
        )


def _clause_claims() -> Iterator[Claim]:
    """Yields the claims that compare the clauses with each other and with no cut-off."""
    for program in ("fib", "nqueens"):
        yield Claim(
            name=f"if-none-{program}",
            sentence=f"The if clause of {program} beats no cut-off by a tenth or more",
            place=f"suite: {program}, `if_clause`",
            theirs=NOT_AT_HAND,
            picture="cutoffs",
            ours=_measured(program, NONE, IF),
            holds=lambda found: min(found) >= 1.1,
            show=ratio_text,
            cause=(
                "libomp queues no task in a team of one thread, so that the if clause saves only "
                "bookkeeping: callgrind counts 865 instructions per task of fib without a cut-off, and 716 "
                "with the clause. On two threads the claim holds."
            ),
        )
        yield Claim(
            name=f"final-if-{program}",
            sentence=f"The final clause of {program} is faster than the if clause by a tenth or more",
            place=f"suite 1.1.1: {program}, `final`",
            theirs=NOT_AT_HAND,
            picture="cutoffs",
            ours=_measured(program, IF, FINAL),
            holds=lambda found: min(found) >= 1.1,
            show=ratio_text,
            cause=_INCLUDED,
            evidence=lambda values, program=program: {  # type: ignore[misc]
                "1 thread": numbers.cutoff_ratio(values, program, IF, FINAL, 1, LIBGOMP)
            },
        )


def _program_claims() -> Iterator[Claim]:
    yield Claim(
        name="cutoff-gains-differ",
        sentence="A manual cut-off gains more for fib than for any other program that has one in the suite",
        place="suite: five programs with `manual`",
        theirs=NOT_AT_HAND,
        picture="cutoffs",
        ours=lambda values: {
            one.name: numbers.cutoff_ratio(values, one.name, NONE, MANUAL, 1) for one in plan.WITH_CUTOFFS
        },
        holds=lambda found: found[0] == max(found) and found.count(found[0]) == 1,
        show=ratio_text,
    )
    yield Claim(
        name="strassen-little",
        sentence="For strassen, whose tasks are long, all cut-offs take the same time, within a tenth",
        place="suite: strassen, `manual` and `if_clause`",
        theirs=NOT_AT_HAND,
        picture="cutoffs",
        ours=lambda values: {
            f"{cutoff} over manual": numbers.cutoff_ratio(values, "strassen", cutoff, MANUAL, 1)
            for cutoff in (NONE, IF, FINAL)
        },
        holds=between(0.9, 1.1),
        show=ratio_text,
        cause=f"{ROUNDS} 1 thread",
        evidence=lambda values: {
            "differ by a factor of": numbers.round_spread(values, "strassen", plan.CUTOFFS, 1),
            "simulated on one core, the if clause over manual is": numbers.predicted_ratio(
                values, "strassen", IF, MANUAL, 1
            ),
        },
    )
    yield Claim(
        name="no-cutoff-leaves",
        sentence="fft and sort need no cut-off: without one they lose less than a tenth",
        place="suite: fft and sort have no `manual`",
        theirs="no version with a cut-off",
        picture="others",
        ours=lambda values: {
            program: numbers.cutoff_ratio(values, program, NONE, MANUAL, 1) - 1 for program in ("fft", "sort")
        },
        holds=lambda found: max(found) < 0.1,
        show=percent,
    )
    yield Claim(
        name="floorplan-none",
        sentence="A manual cut-off of floorplan beats no cut-off",
        place="suite: floorplan, `manual`",
        theirs=NOT_AT_HAND,
        picture="cutoffs",
        ours=_measured("floorplan", NONE, MANUAL),
        holds=above_one,
        show=ratio_text,
    )


CLAIMS: Final = (*_manual_claims(), *_clause_claims(), *_program_claims())

# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Acar, Charguéraud and Rainey: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.factored import numbers, plan
from papers.factored.claims import CLAIMS
from papers.factored.figures import PICTURES
from papers.model import Paper, Values
from papers.recordings import best_trace, disturbance, n_rounds, n_seeds, spread

_INTRODUCTION = """
The paper splits the loss of speed-up on P cores into parallel work, idle time and work inflation, and draws
a curve for each. Six charts of Cilksort show how the curves identify the cause. Ompass draws these curves
for any program with `ompass scale`.
"""

_METHOD = """
Cilksort was recorded on one thread of clang's libomp, with the paper's numbers of elements and cut-offs.
Each input was recorded {rounds} times, the one of 200,000 elements {small} times. The recording with the
least work was simulated by `ompass simulate --machine-file 4x-xeon-e7-4870 --policy work-first --untraced`
on 1 to 40 cores of the paper's machine, with {seeds} seeds; all figures are medians. Under `work-first` a
thread runs one branch of a fork at once and others may steal the rest, as in the paper's scheduler. An
operation, such as a steal, costs what it costs on Ompass's reference machine. Work takes the recorded time
on any core, so there is no work inflation.

The baseline is the paper's, a quicksort of the whole array: its shortest time of {rounds} rounds. In (e),
with 100 million elements, the best of {huge} recordings was simulated with one seed, and the quicksort
has {huge} rounds. The serial elision of section 2.8 is the program without tasks. Its time here is the
work of the simulated run on one core. It takes longer than the quicksort if the parallel algorithm has
more work.

Other programs used the processors for {busy:.0%} of the time of all recordings. The simulation leaves
this time out, but the recorded work still includes its effect on caches. The recordings of a program
differ by up to {spread:.0%} in their work.

{table}
"""

_CASES: Final = (
    *plan.CHARTS,
    *map(plan.shrinking_name, plan.SHRINKING_THREADS),
)


def _method(values: Values) -> str:
    return _METHOD.format(
        rounds=n_rounds(values, "d"),
        small=n_rounds(values, "a"),
        huge=n_rounds(values, "e"),
        seeds=n_seeds(values, "a"),
        busy=disturbance(values, _CASES),
        spread=spread(values, _CASES),
        table="\n".join(_inputs(values)),
    )


def _inputs(values: Values) -> Iterator[str]:
    yield "| chart | elements | cut-off | tasks | quicksort | serial elision |"
    yield "|---|--:|--:|--:|--:|--:|"
    for letter, (size, cutoff) in plan.CHARTS.items():
        best = best_trace(values, letter)
        yield (
            f"| ({letter}) | {size:,} | {cutoff:,} | {best['n_tasks']:,} "
            f"| {numbers.baseline_ns(values, letter) / 1e6:,.1f} ms "
            f"| {numbers.elision_ns(values, letter) / 1e6:,.1f} ms |"
        )


PAPER: Final = Paper(
    name="factored",
    title="Parallel work inflation, memory effects, and their empirical analysis",
    citation=(
        "Acar, Charguéraud and Rainey, *Parallel Work Inflation, Memory Effects, and their Empirical "
        "Analysis*, 2017."
    ),
    introduction=_INTRODUCTION,
    programs=("cilksort", "arraywalk"),
    duration={"quick": "three minutes", "full": "ten minutes"},
    steps=plan.steps,
    method=_method,
    pictures=PICTURES,
    claims=CLAIMS,
)

# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Duran et al.: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from papers.bots import claims, plan
from papers.bots.figures import PICTURES
from papers.model import Paper, Values
from papers.recordings import best_trace, disturbance, n_rounds, n_seeds, spread
from papers.timings import error, rounds

_INTRODUCTION = """
The paper presents programs with task parallelism, in versions that differ in their cut-offs, in tied or
untied tasks, and in single or multiple generators of tasks, and evaluates them on an SGI Altix. Only its
abstract and its suite were at hand for this page, not the text of its evaluation, so no claim below is
from that text. The figures show our results for the versions of the suite. The claims are statements of
later papers on these programs.
"""

_SOURCES = """
*Olivier et al.*: Characterizing and Mitigating Work Time Inflation in Task Parallel Programs, 2013, on 32
cores with the Intel runtime; [another page](olivier.md) has their claims on work time inflation. *Podobas
et al.*: A Comparison of some recent Task-based Parallel Programming Models, 2010. Limits such as *a
fifth* are ours, set before the first results.
"""

_METHOD = """
The programs of `bots/`, written from their descriptions, ran on clang's libomp, gcc's libgomp and
the extension with its default policy, all with 1 and 2 threads. The cut-off is `none`, `if`, `final` or
`manual`. LLVM's runtime aborts on untied tasks with a false if clause, so these are not combined. Each of
{rounds} rounds runs all variants of a program in random order, each with 3 to 20 repeats. The time of a
variant is its shortest. Other programs used both processors during the measurement. In the median
program, the shortest times of two rounds differ by a factor of {error:.2f} on one thread, and
{error_2:.2f} on two. First results used the median of the rounds' ratios, which varied too much.

For 4 to 32 cores, a program was recorded {recorded} times on one thread of libomp. The recording with the
least work was simulated by `ompass simulate --machine-file {machine} --policy libomp --untraced`, the
machine of Olivier et al., with {seeds} seeds. An operation costs what it costs on Ompass's reference
machine, and work takes the recorded time on any core. The programs for 32 cores have the shapes of the
inputs of Olivier et al. (100 sequences, 14 queens, a matrix of 100 x 100 blocks, …) or smaller ones, and
ran without AVX, which that machine lacks. Other programs used the processors for {busy:.0%} of the time of
all recordings; the simulation leaves this time out. The recordings of a program differ by up to
{spread:.0%} in their work.

{table}
"""


def _method(values: Values) -> str:
    wide = [plan.wide_name(one.name) for one in plan.WIDE]
    narrow = [plan.traced_name(one.name, cutoff) for one in plan.WITH_CUTOFFS for cutoff in plan.CUTOFFS]
    return _METHOD.format(
        error=_error(values, 1),
        error_2=_error(values, 2),
        rounds=len(rounds(values, "fib")),
        recorded=n_rounds(values, wide[0]),
        machine=plan.MACHINE,
        seeds=n_seeds(values, wide[0]),
        busy=disturbance(values, [*wide, *narrow]),
        spread=spread(values, [*wide, *narrow]),
        table="\n".join(_inputs(values)),
    )


def _error(values: Values, threads: int) -> float:
    """Returns the median over the programs of the largest ratio of libomp's times in two rounds."""
    return median(
        error(values, one.group, [plan.variant(plan.LIBOMP, threads, cutoff) for cutoff in one.cutoffs])
        for one in plan.PROGRAMS
    )


def _inputs(values: Values) -> Iterator[str]:
    yield "| simulated program | tasks without cut-off | tasks | work | mean task |"
    yield "|---|--:|--:|--:|--:|"
    for one in plan.WITH_CUTOFFS:
        best = best_trace(values, plan.traced_name(one.name, plan.MANUAL))
        without = best_trace(values, plan.traced_name(one.name, plan.NONE))["n_tasks"]
        yield _row(f"{one.name}, manual", f"{without:,}", best)
    for one in plan.WIDE:
        yield _row(f"{one.name}, for 32 cores", "", best_trace(values, plan.wide_name(one.name)))


def _row(label: str, without: str, best: dict[str, int]) -> str:
    work, tasks = best["work_ns"], best["n_tasks"]
    return f"| {label} | {without} | {tasks:,} | {work / 1e6:.1f} ms | {work / tasks / 1e3:.1f} µs |"


PAPER: Final = Paper(
    name="bots",
    title="Barcelona OpenMP Tasks Suite",
    citation=(
        "Duran, Teruel, Ferrer, Martorell and Ayguadé, *Barcelona OpenMP Tasks Suite: A Set of Benchmarks "
        "Targeting the Exploitation of Task Parallelism in OpenMP*, ICPP 2009."
    ),
    introduction=_INTRODUCTION,
    programs=tuple(one.name for one in plan.PROGRAMS),
    duration={"quick": "five minutes", "full": "an estimated hour and a half"},
    steps=plan.steps,
    method=_method,
    pictures=PICTURES,
    claims=claims.CLAIMS,
    sources=_SOURCES,
    builds=("bots", "bots-gcc"),
)

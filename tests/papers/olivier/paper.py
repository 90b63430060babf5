# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Olivier et al.: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.model import Paper, Values
from papers.olivier import locality_claims, numbers, plan
from papers.olivier.figures import PICTURES
from papers.recordings import calmest_trace, disturbance, n_rounds, n_seeds, spread

_INTRODUCTION = """
The paper divides the time of all threads into sequential equivalent time, work time inflation, overhead
and idle time, and shows that tasks which run where their data are have little inflation. Its calls for
locality domains are those of `libomp_ext.so`.
"""

_METHOD = """
Each program was recorded in its version `locality-marked`, with four threads on a described machine of
four domains, in strict mode. The trace has the domain of each task and the data that each kernel reads and
writes. Of {rounds} recordings, the one whose threads waited least for
a processor was simulated on {machine}, the paper's machine, with
its caches and memory, with {seeds} seeds; all figures are medians. The simulated policies stand for the
paper's schedulers: `libomp` (*queue per thread*, random victims) for Intel, `shared-lifo` (*queue per
socket*) for Qthreads, `locality` (*not strict*) and `strict` for locality-based scheduling. The first two
ignore where tasks were placed. Threads are spread evenly over the four sockets.

The model's latencies and bandwidths are those of the reference machine, not the paper's. Pages belong to
the node that touches them first, in the first step of the computation. Under the first two schedulers,
health was recorded in its version `tasks-marked` on two threads of libomp, where one thread initializes
all pages; *spread pages* is a queue per socket without that. The preparation of the data takes no time.

Four threads shared the processors, so their waits are longer than on four processors. The simulation uses
only their work. A thread waited for a processor, which other threads or programs used, for {busy:.0%} of
the time of all recordings, added up over the threads. The recordings of a program differ by up to
{spread:.0%} in their work.

{table}
"""

_CASES: Final = tuple(case.name for one in plan.SIMULATED for case in one.cases("quick"))


def _method(values: Values) -> str:
    return _METHOD.format(
        rounds=n_rounds(values, _CASES[0]),
        machine=plan.MACHINE,
        seeds=n_seeds(values, _CASES[0]),
        busy=disturbance(values, _CASES),
        spread=spread(values, _CASES),
        table="\n".join(_inputs(values)),
    )


def _inputs(values: Values) -> Iterator[str]:
    yield "| program | options | tasks | sequential equivalent time |"
    yield "|---|---|--:|--:|"
    for one in plan.SIMULATED:
        yield (
            f"| {one.name} | `{one.quick}` | {calmest_trace(values, one.name)['n_tasks']:,} "
            f"| {numbers.sequential_ns(values, one) / 1e6:.1f} ms |"
        )


PAPER: Final = Paper(
    name="olivier",
    title="Work time inflation in task parallel programs",
    citation=(
        "Olivier, de Supinski, Schulz and Prins, *Characterizing and Mitigating Work Time Inflation in Task "
        "Parallel Programs*, Scientific Programming 21, 2013."
    ),
    introduction=_INTRODUCTION,
    programs=tuple(one.name for one in plan.SIMULATED),
    duration={"quick": "about two minutes"},
    steps=plan.steps,
    method=_method,
    pictures=PICTURES,
    claims=locality_claims.CLAIMS,
)

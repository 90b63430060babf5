# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Pericàs et al.: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.model import Paper, Values
from papers.recordings import best_trace, disturbance, n_rounds, spread
from papers.reuse import plan, scaling_claims
from papers.reuse.figures import PICTURES

_INTRODUCTION = """
The paper measures a matrix multiplication and a fast multipole method on 24 cores under four schedulers. It
divides the loss of speed-up into non-work overheads and work time inflation, and introduces the kernel reuse
distance, which shows how well the order of the tasks uses shared caches. Ompass computes this distance
with `ompass krd`.
"""

_METHOD = """
Both programs are in `bots/`, written from their descriptions. Each was recorded on one thread of clang's
libomp with the data of its kernels. The recording with the least work of {rounds} was simulated by `ompass
simulate --machine-file {machine} --untraced` on 1 to 24 cores of the paper's machine, with {seeds} seeds; all
figures are medians. The policies take the place of the paper's schedulers: `work-first` of MassiveThreads,
`help-first` of QThread/Core, `shared-lifo` of QThread/Socket. For TBB stands `libomp`: it, too, never moves a
task that has started, and restricts the tasks that a waiting thread may run. Operations cost what the
reference machine measured, whatever the policy. The simulator models caches and memory for the declared
data; latencies and bandwidths are round figures of a current server, not of the paper's machine.

Other programs used the processors for {busy:.0%} of the time of all recordings. The simulation leaves this
time out, but the recorded work still includes its effect on caches. The recordings of a program differ by up
to {spread:.0%} in their work.

{table}
"""


def _method(values: Values) -> str:
    table = values[f"simulate {plan.MATMUL}"]
    return _METHOD.format(
        machine=plan.MACHINE,
        rounds=n_rounds(values, plan.MATMUL),
        seeds=len({row[table["columns"].index("seed")] for row in table["rows"]}),
        busy=disturbance(values, plan.PROGRAMS),
        spread=spread(values, plan.PROGRAMS),
        table="\n".join(_inputs(values)),
    )


def _inputs(values: Values) -> Iterator[str]:
    yield "| program | tasks | work |"
    yield "|---|--:|--:|"
    for program in plan.PROGRAMS:
        best = best_trace(values, program)
        yield f"| {program} | {best['n_tasks']:,} | {best['work_ns'] / 1e9:.2f} s |"


PAPER: Final = Paper(
    name="reuse",
    title="Analysis of data reuse in task-parallel runtimes",
    citation="Pericàs, Amer, Taura and Matsuoka, *Analysis of Data Reuse in Task-Parallel Runtimes*, 2013.",
    introduction=_INTRODUCTION,
    programs=plan.PROGRAMS,
    duration={"quick": "about three minutes"},
    steps=plan.steps,
    method=_method,
    pictures=PICTURES,
    claims=scaling_claims.CLAIMS,
)

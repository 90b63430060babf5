# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Pericàs et al.: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.model import Paper, Values
from papers.recordings import best_trace, disturbance, n_rounds, n_seeds, spread
from papers.reuse import plan, reuse_claims, scaling_claims
from papers.reuse.distances import accessed_bytes
from papers.reuse.figures import PICTURES

_INTRODUCTION = """
The paper measures a matrix multiplication and a fast multipole method on 24 cores under four schedulers. It
divides the loss of speed-up into non-work overheads and work time inflation, and introduces the kernel reuse
distance, which shows how well the order of the tasks uses shared caches. Ompass computes this distance
with `ompass krd`.
"""

_METHOD = """
Both programs are in `bots/`, written from their descriptions. Each was recorded on one thread of
clang's libomp with the data of its kernels, without AVX, which the paper's processors lack. Of {rounds}
recordings, the one with the least work was simulated by `ompass simulate --machine-file {machine}
--untraced --reuse` on 1 to 24 cores of the paper's machine, with {seeds} seeds ({two_sockets} for
matmul on two sockets, and {fmm_seeds} for fmm); all figures are medians. Threads fill one socket after
another. The policies take
the place of the paper's schedulers:

| in the paper | here | |
|---|---|---|
| MTH, MassiveThreads | `work-first` | the child runs at once, the rest of its creator may be stolen |
| TBB | `tbb` | a started task never moves; a waiting thread runs any task |
| QTH/Core, Qthreads with a queue per core | `help-first` | the creator continues, the child may be stolen |
| QTH/Socket, with a queue per socket | `shared-lifo` | a queue for the threads of a socket, newest first |

An operation costs what it costs on Ompass's reference machine, whatever the policy. The simulator models
caches and memory for the declared data; latencies and bandwidths are round figures of a current server,
not of the paper's machine. Distances need no such figures: they follow from the order of the kernels and
the sizes of the caches. Our distances are in bytes, the paper's in accesses. In matmul all accesses
have the same length.

The paper's matrices have 4,096 rows. Ours have 4,128, because our tiles have 48 rows. Our 86 tiles are not
halved evenly, so the claim that two schedulers have identical distances uses 64 tiles, 3,072 rows.

Other programs used the processors for {busy:.0%} of the time of all recordings. The simulation leaves
this time out, but the recorded work still includes its effect on caches. The recordings of a program
differ by up to {spread:.0%} in their work. Because of this disturbance, times were measured on one thread
only. Each is the shortest of many runs of some milliseconds.

{table}
"""


def _method(values: Values) -> str:
    return _METHOD.format(
        machine=plan.MACHINE,
        rounds=n_rounds(values, plan.MATMUL),
        seeds=n_seeds(values, plan.MATMUL, 24),
        two_sockets=n_seeds(values, plan.MATMUL, 12),
        fmm_seeds=n_seeds(values, plan.FMM),
        busy=disturbance(values, plan.PROGRAMS),
        spread=spread(values, plan.PROGRAMS),
        table="\n".join(_inputs(values)),
    )


def _inputs(values: Values) -> Iterator[str]:
    yield "| program | data | accessed | tasks | work | work per task | in the paper |"
    yield "|---|--:|--:|--:|--:|--:|---|"
    for program, theirs in (
        (plan.MATMUL, "three matrices of 64 MB, 17 µs per kernel"),
        (plan.FMM, "1,000,000 bodies, 3.25 µs per task"),
    ):
        best = best_trace(values, program)
        alone = values[f"reuse {program}"][0]
        yield (
            f"| {program} | {alone['cold_bytes'] / 1e6:.0f} MB | {accessed_bytes(alone) / 1e9:.1f} GB "
            f"| {best['n_tasks']:,} | {best['work_ns'] / 1e9:.2f} s "
            f"| {best['work_ns'] / best['n_tasks'] / 1e3:.1f} µs | {theirs} |"
        )


PAPER: Final = Paper(
    name="reuse",
    title="Analysis of data reuse in task-parallel runtimes",
    citation="Pericàs, Amer, Taura and Matsuoka, *Analysis of Data Reuse in Task-Parallel Runtimes*, 2013.",
    introduction=_INTRODUCTION,
    programs=plan.PROGRAMS,
    duration={
        "quick": "about eight minutes",
        "full": "about an hour, estimated from the quick size",
    },
    steps=plan.steps,
    method=_method,
    pictures=PICTURES,
    claims=(*scaling_claims.CLAIMS, *reuse_claims.CLAIMS),
)

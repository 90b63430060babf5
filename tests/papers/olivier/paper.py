# SPDX-License-Identifier: Apache-2.0
"""The reproduction of Olivier et al.: the text of its page, its steps, figures and claims."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from papers.model import Paper, Values
from papers.olivier import locality_claims, memory_claims, numbers, placement_claims, plan
from papers.olivier.figures import PICTURES
from papers.olivier.steps import steps
from papers.recordings import calmest_trace, disturbance, n_rounds, n_seeds, spread
from papers.timings import rounds

_INTRODUCTION = """
The paper divides the time of all threads into sequential equivalent time, work time inflation, overhead
and idle time, and shows that tasks which run where their data are have little inflation. `libomp_ext.so`
offers its calls for locality domains.
"""

_METHOD = """
**Simulated.** Two processors cannot show work time inflation of 32, so `ompass simulate` replays
recordings on {machine}, the paper's machine, with its caches and four memory nodes. A program was
recorded in its version `locality-marked`, with four threads on a described machine of four domains, in
strict mode: the trace has the domain of each task and the data that each kernel reads and writes. Of
{traces} recordings, the one with the shortest span was simulated with {seeds} seeds, because other
programs that interrupt tasks make the span longer. All figures are medians. The simulated policies stand
for the paper's schedulers: `libomp` (*queue per thread*, random victims) for Intel, `shared-lifo` (*queue
per socket*) for Qthreads, `locality` (*not strict*) and `strict` for locality-based scheduling. The first
two ignore where tasks were placed. As in the paper, one thread initializes the data of Health under these
two: they were simulated with a recording of its version `tasks-marked` on two threads of libomp. *Spread
pages* is a queue per socket with the recording of the placed tasks, the paper's *Q Spread-init*. Other
pages belong to the node that touches them first, in the first step of the computation. The preparation of
the data takes no time. Sparselu has no version with locality, and was recorded in its version
`tasks-marked`, too. Threads are spread evenly over the four sockets. The *sequential equivalent time* is
the work on one thread.

The machine file has the sizes of the paper's caches, and the latencies of memory from the ranges in its
section 6.1. Bandwidths, and latencies of caches, are those that AnandTech measured on a Xeon X7560 of the
same series. Nothing was fitted to the results. With 5 GB/s for a thread and 14.5 GB/s for a node, four
nodes serve 12 threads at full speed, which is the paper's Fig. 3. Links between sockets have a latency,
but never become busy. Work outside of the data takes the recorded time, without AVX, on a faster core
than the paper's, so that data are a larger part of the work than in the paper, and inflation is larger
where memory is busy. These figures matter: with the memory of a current server, r of Health on 32 threads
under Intel's scheduler is {health_r:.2f}, and of Heat {heat_r:.2f}.

The inputs have the paper's relation to its caches of 18 MB each, 72 MB together: the data of Health fit
into four, and the data of the other programs do not. The paper gives the sizes of the last three. We
read its 144 cities as four levels of 36, the medium input of [BOTS](https://github.com/bsc-pm/bots): the
suite has no other input whose numbers give 144. Caches have their full size.

Four threads shared two processors with each other and with other programs: on average, {busy:.1f} threads
waited for a processor. The simulation uses only their work. The recordings of a program differ by up to
{spread:.0%} in their work.

{inputs}

Elapsed times by number of threads, in ms, as in the paper's Tables 1 and 2:

{times}

**Measured here.** The programs were timed and recorded as profiles on one and two threads, in {rounds}
rounds in random order. Each time is the shortest of three repeats and all rounds. In the median program,
the two shortest times of a version on one thread, of different rounds, differ by a factor of {error:.2f}.

**In the virtual machine.** {placement}
"""

_BOOTED = """The machine has four NUMA nodes of two processors each, which qemu emulates: placement is
real there, and time is not. Fig. 8's program, a recursion that places the tasks of every level, health and
heat ran on eight threads."""
_NOT_BOOTED = """The machine was not available, so its claims have no numbers. `./run numa-test` installs
what it needs."""


_CASES: Final = tuple(case.name for one in plan.PROGRAMS for case in one.recorded("quick"))


def _method(values: Values) -> str:
    return _METHOD.format(
        machine=plan.MACHINE,
        traces=n_rounds(values, _CASES[0]),
        seeds=n_seeds(values, _CASES[0]),
        busy=disturbance(values, _CASES),
        spread=spread(values, _CASES),
        inputs="\n".join(_inputs(values)),
        health_r=_on_a_current_server(values, plan.HEALTH),
        heat_r=_on_a_current_server(values, plan.HEAT),
        times="\n".join(_times(values)),
        rounds=len(rounds(values, plan.HEALTH.name)),
        error=median(numbers.measured_error(values, one) for one in plan.PROGRAMS),
        placement=_BOOTED if values["placement"] else _NOT_BOOTED,
    )


def _on_a_current_server(values: Values, program: plan.Program) -> float:
    return numbers.with_reference_memory(numbers.inflation, values, program, plan.INTEL, plan.PARALLEL[-1])


def _inputs(values: Values) -> Iterator[str]:
    yield "| simulated program | tasks | sequential equivalent time | data in it | size | in the paper |"
    yield "|---|--:|--:|--:|--:|---|"
    for one in plan.PROGRAMS:
        n_tasks = calmest_trace(values, one.trace_of(plan.INTEL))["n_tasks"]
        sequential_ns = numbers.sequential_ns(values, one, plan.INTEL)
        data = numbers.memory_share(values, one, plan.INTEL, 1)
        yield (
            f"| {one.name} | {n_tasks:,} | {sequential_ns / 1e6:.1f} ms | {data:.0%} | {one.data} "
            f"| {one.their_data} |"
        )


def _times(values: Values) -> Iterator[str]:
    yield f"| program | scheduler |{''.join(f' {n} |' for n in plan.PARALLEL)}"
    yield f"|---|---|{'--:|' * len(plan.PARALLEL)}"
    for one in plan.PROGRAMS:
        for scheduler in one.schedulers:
            times = [numbers.time_ns(values, one, scheduler, n) / 1e6 for n in plan.PARALLEL]
            yield f"| {one.name} | {scheduler.label} |{''.join(f' {ms:.1f} |' for ms in times)}"


PAPER: Final = Paper(
    name="olivier",
    title="Work time inflation in task parallel programs",
    citation=(
        "Olivier, de Supinski, Schulz and Prins, *Characterizing and Mitigating Work Time Inflation in Task "
        "Parallel Programs*, Scientific Programming 21, 2013."
    ),
    introduction=_INTRODUCTION,
    programs=tuple(one.name for one in plan.PROGRAMS),
    duration={
        "quick": "five minutes",
        "full": "an estimated two hours",
    },
    steps=steps,
    method=_method,
    pictures=PICTURES,
    claims=(*locality_claims.CLAIMS, *memory_claims.CLAIMS, *placement_claims.CLAIMS),
)

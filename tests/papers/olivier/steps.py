# SPDX-License-Identifier: Apache-2.0
"""The measurements for Olivier et al.: simulated recordings, schedules, placement, and timed runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from papers.declared_data import SimulatedWithMemory
from papers.model import Step
from papers.olivier.placement import PLACEMENT
from papers.olivier.plan import (
    INTEL,
    LOCAL,
    MACHINE,
    N_DOMAINS,
    NON_STRICT,
    PROGRAMS,
    REFERENCE_MEMORY,
    STRICT,
    THREADS,
    TOPOLOGY,
    Program,
)
from papers.olivier.schedules import RecordedSchedule, SimulatedSchedule
from papers.recordings import profiles, traces
from papers.timings import Group, timings

_N_REPEATS: Final = 3


def steps(size: str) -> Sequence[Step]:
    n_traces, n_seeds, n_rounds = (5, 9, 5) if size == "quick" else (10, 10, 10)
    made = [*traces([case for one in PROGRAMS for case in one.recorded(size)], n_traces)]
    made += [one.step() for program in PROGRAMS for one in _simulations(program, n_seeds)]
    made += [SimulatedSchedule(one, THREADS[-1]).step() for one in (INTEL, NON_STRICT)]
    made += [RecordedSchedule(STRICT).step(), PLACEMENT]
    made += timings([Group(one.name, list(one.timed(size)), _N_REPEATS) for one in PROGRAMS], n_rounds)
    return [*made, *profiles([case for one in PROGRAMS for case in one.profiled(size)], n_rounds)]


def _simulations(program: Program, n_seeds: int) -> Iterator[SimulatedWithMemory]:
    for trace in dict.fromkeys(map(program.trace_of, program.schedulers)):
        policies = dict.fromkeys(one.policy for one in program.schedulers if program.trace_of(one) == trace)
        plain = SimulatedWithMemory(trace, MACHINE, TOPOLOGY, N_DOMAINS, list(policies), THREADS, n_seeds)
        yield plain
        if program in LOCAL:
            yield replace(plain, variant=REFERENCE_MEMORY, memory_of="reference")

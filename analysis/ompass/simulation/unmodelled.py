# SPDX-License-Identifier: Apache-2.0
"""Times of a recorded run that its simulation lacks, and the resulting doubts about advice.

Owns the time to get a chunk, waits for locks on a busy machine, contended atomic updates, shared cache
lines, and missing processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ompass.metrics.facts import Finding
from ompass.metrics.processors import described, processors_of
from ompass.metrics.thresholds import CROWDED, LEAST_SAMPLES
from ompass.model import Run
from ompass.simulation.reader import SimulatedRun, TaskProgram
from ompass.simulation.refusals import LITTLE, MOST_MISFIT, Doubt, misfit, refusal
from ompass.simulation.trial import Candidate, Trial, Way
from ompass.units import plural

_FASTEST: Final = 100.0
"""Largest assumed speed-up of a construct without this time; samples cannot show a larger one."""


def hides_lock_passing(run: Run, program: TaskProgram, base: SimulatedRun) -> bool:
    """True if threads waited for locks longer than simulated, and other programs may have caused that."""
    unexplained_ns = _lock_ns(run) - base.sync_ns - base.idle_ns
    return _is_disturbed(run, program) and unexplained_ns > MOST_MISFIT * _thread_ns(program)


def _lock_ns(run: Run) -> int:
    return sum(row.lock_ns for row in run.regions)


def _thread_ns(program: TaskProgram) -> int:
    return program.n_threads * program.regions_ns


def _is_disturbed(run: Run, program: TaskProgram) -> bool:
    """True if threads were preempted for so long that recorded and simulated times cannot be compared."""
    return sum(row.preempted_ns for row in run.regions) > LITTLE * _thread_ns(program)


def doubt_of(run: Run, trial: Trial, as_recorded: SimulatedRun) -> Doubt | None:
    """Returns the reason to doubt the gains; None if there is none.

    `as_recorded` is a simulation of the recorded run, with the costs of recording.
    """
    program = trial.program
    processors = processors_of(run)
    if 0 < CROWDED * processors < program.n_threads:
        return Doubt(
            float(program.regions_ns),
            f"{plural(program.n_threads, 'thread')} shared {described(run)}",
            "record it on at most as many threads as processors",
        )
    if doubt := refusal(program, trial.threads, trial.base):
        return doubt
    return None if _is_disturbed(run, program) else misfit(program, as_recorded)


def sampled_chunk_costs(findings: tuple[Finding, ...]) -> dict[int, float]:
    """Returns the times to get a chunk of a loop, in ns, by construct, if enough samples show them."""
    costs = {}
    for finding in findings:
        numbers = dict(finding.numbers)
        if finding.kind != "small_chunks" or finding.construct is None:
            continue
        if numbers["samples"] >= LEAST_SAMPLES:
            costs[finding.construct] = numbers["cost_per_chunk_ns"]
    return costs


_SAMPLED: Final = {"atomic_contention": "atomic", "false_sharing": "sharing"}
"""The change that cures each finding whose time only samples show."""


def without_sampled_loss(trial: Trial, findings: tuple[Finding, ...]) -> Iterator[Candidate]:
    """Yields the program without the time of these findings, if samples have shown some."""
    for finding in findings:
        construct = finding.construct
        is_spread = "common_share" in dict(finding.numbers)  # another change than a copy for each thread
        if finding.kind not in _SAMPLED or construct is None or is_spread:
            continue
        work_ns = trial.program.work_of_constructs.get(construct, 0)
        speed = min(work_ns / max(1, work_ns - finding.cost_ns), _FASTEST)
        if speed > 1:
            way = Way(options={"speed": {construct: speed}})
            change, way = trial.best(_SAMPLED[finding.kind], construct, {0: way}, at_most=True)
            yield replace(change, share_ns=finding.cost_ns), way

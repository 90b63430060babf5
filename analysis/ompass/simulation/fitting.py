# SPDX-License-Identifier: Apache-2.0
"""Fits the runtime's costs to the recorded run.

The costs of a machine file come from one runtime on one machine. With another build of the runtime, many
small operations can take several times as long. Changes that avoid them then gain more. One factor for all
costs makes the simulation of the recorded run as long as the run.
"""

from __future__ import annotations

import math
from typing import Final

from ompass.simulation.machine import Machine
from ompass.simulation.reader import TaskProgram
from ompass.simulation.refusals import LITTLE, REPRODUCIBLE_NS
from ompass.simulation.runs import predict

CLOSE: Final = 0.1
"""Relative difference of times up to which the machine's costs are kept."""

MOST: Final = 16.0
"""Largest factor. If a larger one were needed, the runtime's operations would not explain the time."""

_STEPS: Final = 6


def fitted(program: TaskProgram, machine: Machine) -> tuple[Machine, float]:
    """Returns the machine with costs that fit the recorded run, and their factor.

    Returns the same machine and 1 if its costs fit, if no factor fits, or if the recorded time is not
    comparable (one thread, or a short or disturbed run).
    """
    target_ns = program.regions_ns
    if (
        program.n_threads < 2
        or target_ns < REPRODUCIBLE_NS
        or program.preempted_ns > LITTLE * program.work_ns
    ):
        return machine, 1.0

    def excess(factor: float) -> float:
        """Returns the relative difference between the simulated and the recorded time."""
        run = predict(program, machine.with_costs(factor), "libomp", program.n_threads)
        return (run.wall_ns - run.serial_ns) / target_ns - 1

    first = excess(1.0)
    if abs(first) <= CLOSE:
        return machine, 1.0
    far = MOST if first < 0 else 1 / MOST
    if (excess(far) < 0) == (first < 0):
        return machine, 1.0
    low, high = sorted((1.0, far))
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    factor = math.sqrt(low * high)
    return machine.with_costs(factor), factor

# SPDX-License-Identifier: Apache-2.0
"""Machines to simulate: a topology, and what the operations of a runtime cost there.

A machine file is TOML (docs/simulation.md); those in the folder `machines` go by their bare names.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from ompass import _core
from ompass.errors import UsageError
from ompass.topology import Topology, synthetic_topology

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MACHINES = Path(__file__).parent / "machines"
DEFAULT = "reference"
MOST_THREADS = _core.MAX_SIMULATED_THREADS

_COSTS = tuple(cost.name for cost in _core.simulated_costs())
_KEYS = {"name", "source", "topology", "clock_ghz", "clock_ratio", "costs", "libomp", "omp_ext", "recording"}
_LONGEST_NS = 1e9  # of one operation
_RATIOS = (0.01, 100.0)

Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """What a trace adds to the recorded times, ns."""

    task: float = 0.0  # to the work of each task
    creation: float = 0.0  # to the work of its creator
    create: float | None = None  # what a creation takes without a trace; None: as recorded


@dataclass(frozen=True)
class Machine:
    """Cores, their speed, and costs in nanoseconds by name."""

    name: str
    topology: Topology | None = None  # None: as many cores as are asked for, under one cache
    clock_ratio: float = 1.0  # speed of a core, that of the recorded machine being 1
    costs: Mapping[str, Points] = field(default_factory=dict)
    # Of libomp and omp_ext; those of the reference machine where its file has none.
    by_runtime: Mapping[str, Mapping[str, Points]] = field(default_factory=dict)
    recording: Recording = Recording()

    def costs_of(self, policy: str) -> Mapping[str, Points]:
        """Costs under a policy: those of its runtime, as far as the file has them."""
        return {**self.costs, **self.by_runtime.get("libomp" if policy == "libomp" else "omp_ext", {})}

    def domains(self, n_threads: int) -> list[int]:
        """The domain of each thread, neighbours sharing one; a domain is a last-level cache."""
        return self.topology.group_of_thread(n_threads) if self.topology else []

    def with_topology(self, text: str) -> Machine:
        return replace(self, name=text, topology=synthetic_topology(text, "--machine"))

    def check_threads(self, threads: int) -> None:
        """UsageError when the machine has fewer hardware threads."""
        n_cpus = len(self.topology.cpus) if self.topology else MOST_THREADS
        if not 1 <= threads <= min(n_cpus, MOST_THREADS):
            raise UsageError(
                f"--threads {threads}",
                f"{self.name} has {n_cpus} hardware threads" if self.topology else "out of range",
                f"choose from 1 to {min(n_cpus, MOST_THREADS)}",
            )


def read_machine(name: str = DEFAULT) -> Machine:
    """The machine of a file, or of one of ours by its bare name. UsageError says what is wrong with it."""
    path = Path(name)
    ours = MACHINES / f"{name}.toml"
    if not path.is_file() and ours.is_file():
        path = ours
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        there = ", ".join(sorted(file.stem for file in MACHINES.glob("*.toml")))
        raise UsageError(f"--machine-file {name}", str(error), f"name a file, or one of {there}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--machine-file {name}", f"not TOML: {error}") from error
    return _machine(name, values)


def find_machine(text: str) -> Machine:
    """The machine of a file, of its bare name or of a synthetic string; the default for an empty text."""
    is_topology = ":" in text and not Path(text).is_file()
    return read_machine().with_topology(text) if is_topology else read_machine(text or DEFAULT)


def _machine(name: str, values: Mapping[str, Any]) -> Machine:
    def refuse(what: str, cure: str = "see `ompass docs simulation`") -> UsageError:
        return UsageError(f"--machine-file {name}", what, cure)

    unknown = sorted(set(values) - _KEYS)
    if unknown:
        raise refuse(f"`{unknown[0]}` is not a key of a machine", f"keys are {', '.join(sorted(_KEYS))}")
    topology = values.get("topology", "")
    if not isinstance(topology, str):
        raise refuse("`topology` is not a text")
    ghz, ratio = values.get("clock_ghz", 0.0), values.get("clock_ratio", 1.0)
    if not _is_number(ratio) or not _RATIOS[0] <= ratio <= _RATIOS[1]:
        raise refuse(f"`clock_ratio` is not a number from {_RATIOS[0]} to {_RATIOS[1]:g}")
    if not _is_number(ghz) or not 0 <= ghz <= 100:
        raise refuse("`clock_ghz` is not a number from 0 to 100")

    def costs_in(table: str) -> dict[str, Points]:
        given = values.get(table, {})
        if not isinstance(given, dict):
            raise refuse(f"`{table}` is not a table")
        given = dict(given)
        unit = given.pop("unit", "ns")
        if unit not in ("ns", "cycles") or (unit == "cycles" and not ghz):
            raise refuse(f"`{table}.unit` is neither ns nor cycles with a clock_ghz")
        scale = 1 / ghz if unit == "cycles" else 1.0
        costs = {}
        for key, value in given.items():
            if key not in _COSTS:
                raise refuse(f"`{table}.{key}` is not a cost", f"costs are {', '.join(_COSTS)}")
            points = [[1, value]] if _is_number(value) else value
            if not _are_points(points):
                raise refuse(f"`{table}.{key}` is neither a cost nor a list of [threads, cost]")
            costs[key] = tuple((threads, cost * scale) for threads, cost in points)
            if any(not 0 <= cost <= _LONGEST_NS for _, cost in costs[key]):
                raise refuse(f"`{table}.{key}` is below 0 or above a second")
        return costs

    costs = costs_in("costs")
    by_runtime = {runtime: costs_in(runtime) for runtime in ("libomp", "omp_ext")}
    if name != DEFAULT and not any(by_runtime.values()):
        by_runtime = {
            runtime: {key: points for key, points in defaults.items() if key not in costs}
            for runtime, defaults in read_machine().by_runtime.items()
        }
    return Machine(
        name=str(values.get("name", name)),
        topology=synthetic_topology(topology, f"--machine-file {name}: topology") if topology else None,
        clock_ratio=float(ratio),
        costs=costs,
        by_runtime=by_runtime,
        recording=_recording(name, values),
    )


def _recording(name: str, values: Mapping[str, Any]) -> Recording:
    given = values.get("recording")
    if given is None:
        return Recording() if name == DEFAULT else read_machine().recording
    known = {"task", "creation", "create"}
    if not isinstance(given, dict) or set(given) - known:
        raise UsageError(
            f"--machine-file {name}", f"`recording` is not a table of {', '.join(sorted(known))}"
        )
    if not all(_is_number(value) and 0 <= value <= _LONGEST_NS for value in given.values()):
        raise UsageError(f"--machine-file {name}", "a value of `recording` is not a time in ns")
    return Recording(**given)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _are_points(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(
            isinstance(point, list)
            and len(point) == 2
            and isinstance(point[0], int)
            and 1 <= point[0] <= 1_000_000
            and _is_number(point[1])
            for point in value
        )
        and all(one[0] < other[0] for one, other in pairwise(value))
    )

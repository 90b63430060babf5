# SPDX-License-Identifier: Apache-2.0
"""Machines to simulate: a topology, and the costs of runtime operations.

A machine file is TOML (docs/simulation.md). machines.toml has the machines that Ompass knows by name.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ompass.errors import UsageError
from ompass.simulation.reader import COSTS, MOST_THREADS, MemorySystem
from ompass.topology import Topology, synthetic_topology
from ompass.units import plural

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MACHINES: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("machines.toml").read_text(encoding="utf-8")
)
DEFAULT = "reference"

_KEYS = {
    "name", "source", "topology", "clock_ghz", "clock_ratio", "costs", "libomp", "omp_ext",
    "recording", "memory",
}  # fmt: skip
_SIZES_BYTES = {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}  # default sizes of caches, by level
_PLACEMENTS = ("first-touch", "interleaved")
_SMALLEST_BLOCK, _LARGEST_BLOCK = 64, 1 << 20
_LONGEST_NS = 1e9  # most expensive operation
_RATIOS = (0.01, 100.0)
_SLOWER = 2.0

Points = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """The time that tracing adds to recorded times, in ns."""

    task: float = 0.0  # added to the work of each task
    creation: float = 0.0  # added to the work of the creator
    schedule: float = 0.0  # added to taking each task from a queue
    wait: float = 0.0  # added to each wait
    create: float | None = None  # the cost of a creation without tracing; None: as recorded
    traced_create: float = 0.0  # the cost of a creation with tracing
    # `task` and `creation` in a team of one, where tasks run at once.
    serial_task: float = 0.0
    serial_creation: float = 0.0
    # Added to the work of an implicit task by its begin and end, and by each of its barriers and loops.
    barrier: float = 0.0
    fork: float = 0.0
    loop: float = 0.0

    def scaled(self, factor: float) -> Recording:
        """Returns the costs multiplied by `factor`, except the costs of regions.

        For regions, the factor comes from the distance between threads. Recording does not depend on it.
        """
        costs = {field.name: getattr(self, field.name) for field in fields(self)}
        of_tasks = {name: ns for name, ns in costs.items() if name not in _OF_REGIONS and ns is not None}
        return replace(self, **{name: ns * factor for name, ns in of_tasks.items()})


_OF_REGIONS: Final = ("barrier", "fork", "loop")  # fields of Recording

Distance = tuple[float, float]  # latency in ns, ns per byte


@dataclass(frozen=True, slots=True)
class MemoryCosts:
    """Costs of data accesses, by the location of the data."""

    levels: tuple[Distance, ...]  # by cache level; the last entry also holds for further levels
    local: Distance
    remote: Distance
    other_cache: Distance
    node_ns_per_byte: float
    block: int = 1024
    page: int = 4096
    interleaved: bool = False

    def system(self, topology: Topology, n_threads: int) -> MemorySystem | None:
        """Returns the memory of `n_threads` threads on neighbouring CPUs; None if no caches are known."""
        n = len(topology.cpus)
        if not topology.caches or not n:
            return None
        places = [thread % n for thread in range(n_threads)]
        return MemorySystem(
            levels=[
                (
                    caches.size_bytes or _SIZES_BYTES.get(caches.level, _SIZES_BYTES[3]),
                    self.levels[min(caches.level, len(self.levels)) - 1],
                    [caches.of_cpu[place] for place in places],
                )
                for caches in topology.caches
            ],
            nodes=[topology.nodes[place] for place in places],
            local=self.local,
            remote=self.remote,
            other_cache=self.other_cache,
            node_ns_per_byte=self.node_ns_per_byte,
            block_bytes=self.block,
            page_bytes=self.page,
            interleaved=self.interleaved,
        )


@dataclass(frozen=True)
class Machine:
    """Cores, their speed, and costs of operations in nanoseconds, by name."""

    name: str
    topology: Topology | None = None  # None: as many cores as needed, under one cache
    clock_ratio: float = 1.0  # speed of a core relative to the recorded machine
    costs: Mapping[str, Points] = field(default_factory=dict)
    # Costs on libomp and on omp_ext. If a file omits a cost, the reference machine provides it.
    by_runtime: Mapping[str, Mapping[str, Points]] = field(default_factory=dict)
    recording: Recording = Recording()
    memory: MemoryCosts | None = None  # None: not modelled

    def costs_of(self, policy: str) -> Mapping[str, Points]:
        """Returns the costs under a policy; the costs of its runtime take precedence."""
        return {**self.costs, **self.by_runtime.get("libomp" if policy == "libomp" else "omp_ext", {})}

    def domains(self, n_threads: int) -> list[int]:
        """Returns the domain (the last-level cache) of each thread; neighbouring threads share a domain."""
        return self.topology.group_of_thread(n_threads) if self.topology else []

    def with_topology(self, text: str) -> Machine:
        return replace(self, name=text, topology=synthetic_topology(text, "--topology"))

    def with_costs(self, factor: float) -> Machine:
        """Returns the machine with the costs of the runtimes' operations multiplied by a factor."""

        def scaled(costs: Mapping[str, Points]) -> dict[str, Points]:
            return {name: tuple((n, ns * factor) for n, ns in points) for name, points in costs.items()}

        by_runtime = {runtime: scaled(costs) for runtime, costs in self.by_runtime.items()}
        return replace(self, costs=scaled(self.costs), by_runtime=by_runtime)

    def slowed(self, factor: float) -> Machine:
        """Returns the machine with the costs of the runtimes and of recording multiplied by a factor.

        The factor for recording is limited to 1 / _SLOWER to _SLOWER: recording costs depend only on the
        speed of the processor, but contention also slows down operations of the runtime.
        """
        of_recording = min(max(factor, 1 / _SLOWER), _SLOWER)
        return replace(self.with_costs(factor), recording=self.recording.scaled(of_recording))

    @property
    def most_threads(self) -> int:
        """The largest number of threads that the machine can simulate."""
        return min(len(self.topology.cpus), MOST_THREADS) if self.topology else MOST_THREADS

    def check_threads(self, threads: int) -> None:
        """Raises UsageError if the machine has too few hardware threads."""
        if not 1 <= threads <= self.most_threads:
            because = "out of range"
            if self.topology:
                because = f"{self.name} has {plural(len(self.topology.cpus), 'hardware thread')}"
            raise UsageError(f"--threads {threads}", because, f"choose from 1 to {self.most_threads}")


def read_machine(name: str = DEFAULT) -> Machine:
    """Returns the machine of a file, or one of Ompass's machines by its name.

    Raises UsageError with the problem of the file.
    """
    path = Path(name)
    if name in MACHINES and not path.is_file():
        return _machine(name, MACHINES[name])
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        there = ", ".join(sorted(MACHINES))
        raise UsageError(f"--machine-file {name}", str(error), f"name a file, or one of {there}") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--machine-file {name}", f"not TOML: {error}") from error
    return _machine(name, values)


def find_machine(text: str) -> Machine:
    """Returns the machine of a file, a name or a synthetic string; the default machine for an empty text."""
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
        raise refuse("`topology` is not a string")
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
            if key not in COSTS:
                raise refuse(f"`{table}.{key}` is not a cost", f"costs are {', '.join(COSTS)}")
            points = [[1, value]] if _is_number(value) else value
            if not _are_points(points):
                raise refuse(f"`{table}.{key}` is neither a cost nor a list of [threads, cost]")
            costs[key] = tuple((threads, cost * scale) for threads, cost in points)
            if any(not 0 <= cost <= _LONGEST_NS for _, cost in costs[key]):
                raise refuse(f"`{table}.{key}` is below 0 or above a second")
        return costs

    costs = costs_in("costs")
    by_runtime = {runtime: costs_in(runtime) for runtime in ("libomp", "omp_ext")}
    if name != DEFAULT:
        for runtime, defaults in read_machine().by_runtime.items():
            omitted = {key: points for key, points in defaults.items() if key not in costs}
            by_runtime[runtime] = omitted | by_runtime[runtime]
    return Machine(
        name=str(values.get("name", name)),
        topology=synthetic_topology(topology, f"--machine-file {name}: topology") if topology else None,
        clock_ratio=float(ratio),
        costs=costs,
        by_runtime=by_runtime,
        recording=_recording(name, values),
        memory=_memory(name, values),
    )


def _memory(name: str, values: Mapping[str, Any]) -> MemoryCosts | None:
    given = values.get("memory")
    if given is None:
        return None if name == DEFAULT else read_machine().memory

    def refuse(what: str) -> UsageError:
        return UsageError(f"--machine-file {name}", what, "see `ompass docs simulation`")

    if not isinstance(given, dict):
        raise refuse("`memory` is not a table")
    given = {**MACHINES[DEFAULT]["memory"], **given}
    unknown = sorted(
        set(given) - {"l1", "l2", "l3", "local", "remote", "cache", "node", "block", "page", "pages"}
    )
    if unknown:
        raise refuse(f"`memory.{unknown[0]}` is not a key of a memory")

    def bandwidth(key: str, value: object) -> float:
        if not _is_number(value) or not 0.01 <= value <= 1e5:  # type: ignore[operator]
            raise refuse(f"`memory.{key}` has no bandwidth from 0.01 to 100,000 GB/s")
        return 1 / float(value)  # type: ignore[arg-type]

    def distance(key: str) -> Distance:
        value = given.get(key)
        if not isinstance(value, list) or len(value) != 2 or not _is_number(value[0]):
            raise refuse(f"`memory.{key}` is not [latency in ns, bandwidth in GB/s]")
        if not 0 <= value[0] <= _LONGEST_NS:
            raise refuse(f"`memory.{key}` has a latency below 0 or above a second")
        return float(value[0]), bandwidth(key, value[1])

    def size(key: str) -> int:
        value = given.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value & (value - 1):
            raise refuse(f"`memory.{key}` is not a power of two")
        if not _SMALLEST_BLOCK <= value <= _LARGEST_BLOCK:
            raise refuse(f"`memory.{key}` is not from {_SMALLEST_BLOCK} to {_LARGEST_BLOCK} bytes")
        return value

    if given.get("pages") not in _PLACEMENTS:
        raise refuse(f"`memory.pages` is not one of {', '.join(_PLACEMENTS)}")
    return MemoryCosts(
        levels=tuple(distance(key) for key in ("l1", "l2", "l3")),
        local=distance("local"),
        remote=distance("remote"),
        other_cache=distance("cache"),
        node_ns_per_byte=bandwidth("node", given.get("node")),
        block=size("block"),
        page=size("page"),
        interleaved=given["pages"] == "interleaved",
    )


def _recording(name: str, values: Mapping[str, Any]) -> Recording:
    given = values.get("recording")
    if given is None:
        return Recording() if name == DEFAULT else read_machine().recording
    known = {field.name for field in fields(Recording)}
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

# SPDX-License-Identifier: Apache-2.0
"""Steps that compute reuse distances of simulated and recorded runs, and shares of the accessed bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any, Final

from ompass.readers.run import open_run
from ompass.reuse.metrics import ReuseHistogram, total_histogram
from ompass.reuse.reader import read_reuse
from ompass.simulation.machine import Machine, read_machine
from ompass.simulation.reader import UNCHANGED, AccessLog, read_task_program
from ompass.simulation.runs import DeclaredData, predict, reuse_of
from papers.model import Step, Values, Workplace
from papers.recordings import best_folder

PLAIN, COHERENT = "plain", "coherent"
"""The metric of the paper, and the one with coherence misses."""
MB: Final = 2**20

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SimulatedReuse:
    """A step that simulates the best trace of a case. Its value is a list with two rows per run."""

    case: str
    machine: str
    policies: Sequence[str]
    threads: Sequence[int]
    n_seeds: int
    seeds_of: Mapping[int, int] = field(default_factory=dict)  # exceptions to n_seeds, by number of threads

    def step(self) -> Step:
        return Step(f"reuse {self.case}", self)

    def __call__(self, place: Workplace) -> list[Row]:
        folder = best_folder(place, self.case)
        program, machine = read_task_program(folder), read_machine(self.machine)
        memory = DeclaredData.of(folder, program)
        log = AccessLog()
        made: list[Row] = []
        for policy in self.policies:
            for n in self.threads:
                n_seeds = self.seeds_of.get(n, self.n_seeds) if n > 1 else 1  # one core has no random choices
                for seed in range(1, 1 + n_seeds):
                    options = replace(UNCHANGED, seed=seed, accesses=log)
                    predict(program, machine, policy, n, options, untraced=True, memory=memory)
                    run = {"policy": policy, "threads": n, "seed": seed}
                    made += [{**run, **row} for row in _of_log(log, machine, n)]
        return made


def _of_log(log: AccessLog, machine: Machine, threads: int) -> Iterator[Row]:
    assert machine.topology is not None
    for metric in (PLAIN, COHERENT):
        histogram = reuse_of(log, machine.topology, threads, coherent=metric == COHERENT)
        yield {"metric": metric, **_row(histogram)}


@dataclass(frozen=True, slots=True)
class RecordedReuse:
    """A step that computes the distances of the best trace itself, with all threads in one socket."""

    case: str
    machine: str

    def step(self) -> Step:
        return Step(f"recorded reuse {self.case}", self)

    def __call__(self, place: Workplace) -> Row:
        run = open_run(best_folder(place, self.case))
        topology = read_machine(self.machine).topology
        assert topology is not None
        group = topology.groups[0].with_sizes()
        reuse = read_reuse(
            run,
            group_of_thread=[0] * len(run.threads),
            group_of_cpu=[],
            class_bytes=[(group.l2_bytes, group.llc_bytes)],
            coherent=False,
        )
        return _row(total_histogram(reuse))


def _row(histogram: ReuseHistogram) -> Row:
    values = asdict(histogram)
    return {**values, "bins": list(histogram.bins[: histogram.n_bins])}


def _rows(values: Values, program: str, policy: str, cores: int, metric: str) -> list[Row]:
    return [
        row
        for row in values[f"reuse {program}"]
        if (row["policy"], row["threads"], row["metric"]) == (policy, cores, metric)
    ]


def accessed_bytes(row: Row) -> int:
    return sum(int(row[f"{name}_bytes"]) for name in ("close", "near", "far", "coherence", "cold"))


def shares(
    values: Values, program: str, policy: str, cores: int, name: str, metric: str = PLAIN
) -> list[float]:
    """Returns the share of a class of distances, by seed: close, near, far, coherence or cold."""
    rows = _rows(values, program, policy, cores, metric)
    return [int(row[f"{name}_bytes"]) / accessed_bytes(row) for row in rows]


def share(values: Values, program: str, policy: str, cores: int, name: str, metric: str = PLAIN) -> float:
    """Returns the median share of a class of distances."""
    return median(shares(values, program, policy, cores, name, metric))


def missed(values: Values, program: str, policy: str, cores: int) -> list[float]:
    """Returns the share of the bytes beyond the last cache, cold ones included, by seed."""
    far, cold = (shares(values, program, policy, cores, name) for name in ("far", "cold"))
    return [a + b for a, b in zip(far, cold, strict=True)]


def _within(row: Row, window: int) -> float:
    bins: list[int] = row["bins"][: window.bit_length()]
    return sum(bins) / accessed_bytes(row)


def within(values: Values, program: str, policy: str, cores: int, window: int) -> float:
    """Returns the share of the bytes that are reused at a distance of at most `window`, a power of two."""
    return median(_within(row, window) for row in _rows(values, program, policy, cores, PLAIN))


def beyond(values: Values, program: str, policy: str, cores: int, window: int) -> list[float]:
    """Returns the share of the bytes at larger distances, cold ones included, by seed."""
    return [1 - _within(row, window) for row in _rows(values, program, policy, cores, PLAIN)]


def recorded_within(values: Values, case: str, window: int) -> float:
    return _within(values[f"recorded reuse {case}"], window)

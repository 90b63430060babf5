# SPDX-License-Identifier: Apache-2.0
"""The specification of a sweep, its jobs in order of execution, and the order of CPUs: one per core first.

Owns the replacement of `{threads}` and `{ranks}`, the interleaving, and the variables that pin threads. A
user's setting of such a variable takes precedence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

PLACEHOLDER: Final = "{threads}"
RANKS: Final = "{ranks}"

RECORDED: Final = "recorded"
UNRECORDED: Final = "unrecorded"
BASELINE: Final = "baseline"
ELISION: Final = "elision"


@dataclass(frozen=True, slots=True)
class SweepSpec:
    """The settings that determine measurements. Sweeps with equal specifications may share a directory.

    Excludes the numbers of threads, ranks and repeats, because a user may extend these later.
    """

    command: tuple[str, ...]
    baseline: tuple[str, ...] = ()  # empty: none
    elision: tuple[str, ...] = ()
    working_directory: str = ""
    brackets: bool = True
    pinned: bool = True
    seconds: str = ""  # pattern of the seconds in a program's output; empty: the process's time counts
    libomp: str = ""

    def to_json(self) -> dict[str, Any]:
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SweepSpec:
        """Returns the specification in JSON values. Raises KeyError or TypeError for other values."""
        return cls(
            command=tuple(values["command"]),
            baseline=tuple(values["baseline"]),
            elision=tuple(values["elision"]),
            working_directory=str(values["working_directory"]),
            brackets=bool(values["brackets"]),
            pinned=bool(values["pinned"]),
            seconds=str(values["seconds"]),
            libomp=str(values["libomp"]),
        )

    def command_of(self, kind: str) -> tuple[str, ...]:
        return {BASELINE: self.baseline, ELISION: self.elision}.get(kind, self.command)

    def depends_on_threads(self, kind: str) -> bool:
        """True if the command of this kind of job contains `{threads}`."""
        return any(PLACEHOLDER in word for word in self.command_of(kind))


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one program. `value` replaces {threads}, `n_ranks` replaces {ranks}; 0: not in command."""

    kind: str
    threads: int
    value: int
    repeat: int
    n_ranks: int = 0

    @property
    def key(self) -> str:
        """The job's name in the journal and on disk."""
        value = f"-for{self.value}" if self.value else ""
        ranks = f"-n{self.n_ranks}" if self.n_ranks else ""
        return f"{self.kind}-t{self.threads}{value}{ranks}-r{self.repeat}"

    def command(self, spec: SweepSpec) -> tuple[str, ...]:
        words = spec.command_of(self.kind)
        values = {PLACEHOLDER: self.value, RANKS: self.n_ranks}
        for name, value in values.items():
            words = tuple(word.replace(name, str(value)) for word in words) if value else words
        return words


def one_round(
    spec: SweepSpec, threads: tuple[int, ...], unrecorded: bool, repeat: int, ranks: tuple[int, ...] = ()
) -> list[Job]:
    """Returns the jobs of one round: serial programs, then one thread and each number of threads.

    With `ranks`, each number of threads runs on each number of ranks. A command that contains `{threads}`
    also runs on one thread with each value of `{threads}`.
    """
    found: dict[Job, None] = {}
    for kind in (BASELINE, ELISION):
        if spec.command_of(kind):
            for p in threads:
                found[Job(kind, 1, p if spec.depends_on_threads(kind) else 0, repeat)] = None
    for p in threads:
        value = p if spec.depends_on_threads(RECORDED) else 0
        for n in (1, p):
            for kind in (RECORDED, *((UNRECORDED,) if unrecorded else ())):
                for n_ranks in ranks or (0,):
                    found[Job(kind, n, value, repeat, n_ranks)] = None
    return list(found)


def jobs_of(
    spec: SweepSpec,
    threads: tuple[int, ...],
    repeats: int,
    unrecorded: bool = False,
    ranks: tuple[int, ...] = (),
) -> Iterator[Job]:
    """Yields all jobs in order, round after round; each round starts with a different job.

    A machine that becomes slower or warmer therefore affects all numbers of threads equally.
    """
    for repeat in range(1, repeats + 1):
        jobs = one_round(spec, threads, unrecorded, repeat, ranks)
        first = (repeat - 1) % len(jobs)
        yield from jobs[first:] + jobs[:first]


_USERS_OWN: Final = ("OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_TOPOLOGY = Path("/sys/devices/system/cpu")


def users_own(environ: Mapping[str, str]) -> str:
    """Returns the variable by which the user pins threads; empty if there is none."""
    return next((name for name in _USERS_OWN if environ.get(name)), "")


def cpus_in_order(allowed: frozenset[int], topology: Path = _TOPOLOGY) -> tuple[int, ...]:
    """Returns the allowed CPUs: the first of each core by number, then the second of each, and so on."""
    taken: dict[str, int] = {}
    ranked = []
    for cpu in sorted(allowed):
        core = _core_of(cpu, topology)
        ranked.append((taken.get(core, 0), cpu))
        taken[core] = taken.get(core, 0) + 1
    return tuple(cpu for _, cpu in sorted(ranked))


def _core_of(cpu: int, topology: Path) -> str:
    for name in ("core_cpus_list", "thread_siblings_list"):
        try:
            return (topology / f"cpu{cpu}" / "topology" / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
    return str(cpu)


def pinned_to(n_threads: int, cpus: tuple[int, ...]) -> tuple[frozenset[int], dict[str, str]]:
    """Returns the CPUs of the process and the runtime's variables that pin one thread to each CPU.

    With more threads than CPUs, returns all CPUs and pins no thread.
    """
    if n_threads > len(cpus):
        return frozenset(cpus), {}
    places = ",".join(f"{{{cpu}}}" for cpu in cpus[:n_threads])
    return frozenset(cpus[:n_threads]), {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}


def allowed_cpus() -> frozenset[int]:
    return frozenset(os.sched_getaffinity(0))

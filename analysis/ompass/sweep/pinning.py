# SPDX-License-Identifier: Apache-2.0
"""Chooses the CPUs of a run: one per core first, among the CPUs that this process may use.

Owns the variables that pin threads. A user's setting of such a variable takes precedence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

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
    """Returns the process's CPUs, and the runtime's variables, for one thread per CPU.

    With more threads than CPUs, returns all CPUs and pins no thread.
    """
    if n_threads > len(cpus):
        return frozenset(cpus), {}
    places = ",".join(f"{{{cpu}}}" for cpu in cpus[:n_threads])
    return frozenset(cpus[:n_threads]), {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}


def allowed_cpus() -> frozenset[int]:
    return frozenset(os.sched_getaffinity(0))

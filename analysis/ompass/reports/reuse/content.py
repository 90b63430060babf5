# SPDX-License-Identifier: Apache-2.0
"""The content of the reports on reuse distances, for one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ompass.metrics.reuse import ReuseProfile, reuse_profile
from ompass.model import Run
from ompass.readers import read_reuse
from ompass.topology import Topology, recorded_topology
from ompass.units import percent, size

Progress: TypeAlias = Callable[[float], None]
"""Receives the finished share."""


@dataclass(frozen=True, slots=True)
class ReuseOptions:
    """Options of the count; 0 for sizes from the topology, and for all CPUs."""

    machine: Topology | None = None  # None: the recorded machine
    place: str = "compact"  # how threads are mapped onto `machine`: "compact" or "scatter"
    l2_bytes: int = 0
    llc_bytes: int = 0
    coherent: bool = True
    rate: float = 1.0
    n_jobs: int = 0


@dataclass(frozen=True, slots=True)
class ReuseContent:
    run: Run
    machine: str  # "recorded machine", or the synthetic topology
    profile: ReuseProfile
    notes: tuple[str, ...]  # sentences on assumptions and missing data

    @property
    def label(self) -> str:
        return self.run.path.name.removesuffix(".ompass") or str(self.run.path)


def collect_reuse(
    run: Run, options: ReuseOptions | None = None, progress: Progress | None = None
) -> ReuseContent:
    """Returns the reuse distances of a run.

    Raises NothingToShowError if it declares no accesses, DamagedRunError.
    """
    options = options or ReuseOptions()
    topology = options.machine or recorded_topology(run.path)
    n_threads = 1 + max((thread.thread for thread in run.threads), default=0)
    group_of_thread = topology.group_of_thread(n_threads, options.place) if options.machine else []
    groups = [group.with_sizes(options.l2_bytes, options.llc_bytes) for group in topology.groups]
    reuse = read_reuse(
        run,
        group_of_thread=group_of_thread,
        group_of_cpu=topology.group_of_cpu(),
        class_bytes=[(group.l2_bytes, group.llc_bytes) for group in groups],
        rate=options.rate,
        coherent=options.coherent,
        n_jobs=options.n_jobs,
        progress=progress,
    )
    profile = reuse_profile(
        run, groups, reuse, rate=options.rate, coherent=options.coherent, group_of_thread=group_of_thread
    )
    notes = list(run.incomplete_reasons)
    for name, option, given, known, used in (
        (
            "L2",
            "--l2",
            options.l2_bytes,
            [group.l2_bytes for group in topology.groups],
            [group.l2_bytes for group in groups],
        ),
        (
            "last-level cache",
            "--llc",
            options.llc_bytes,
            [group.llc_bytes for group in topology.groups],
            [group.llc_bytes for group in groups],
        ),
    ):
        if not given and 0 in known:
            assumed = size(used[known.index(0)])
            notes.append(f"The topology has no size for the {name}; {assumed} is assumed ({option} sets it).")
    if profile.sample and profile.sample.error_share > 0.1:
        notes.append(
            f"This sample may be off by {percent(profile.sample.error_share)}: it has too few blocks, "
            "or a few blocks have most accesses. Raise --sample, or omit it."
        )
    return ReuseContent(run, topology.description, profile, tuple(notes))

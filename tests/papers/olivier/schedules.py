# SPDX-License-Identifier: Apache-2.0
"""Steps that extract the schedule of Health's leaf tasks, with the socket at which the data of each task lie.

A leaf task steps one subtree of villages. The subtrees follow each other in memory, and each socket owns an
equal number of them, so the address that a task declares shows the home of its data under every scheduler.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars

import ompass
from ompass.simulation.machine import read_machine
from ompass.simulation.runs import simulate
from papers.model import Step, Workplace
from papers.olivier.plan import HEALTH, MACHINE, N_DOMAINS, Scheduler
from papers.recordings import calmest_trace, trace_folder

N_SHOWN: Final = 8
"""Threads in the figure: the threads of one socket, if the team has 32."""
_LEAF: Final = "simulate_subtree"
_SHOWN_STEP: Final = 20


def schedule_key(scheduler: Scheduler) -> str:
    return f"schedule {scheduler.label}"


@dataclass(frozen=True, slots=True)
class SimulatedSchedule:
    """Simulates the calmest trace of Health under one scheduler, and extracts the schedule."""

    scheduler: Scheduler
    threads: int

    def step(self) -> Step:
        return Step(schedule_key(self.scheduler), self)

    def __call__(self, place: Workplace) -> dict[str, Any]:
        recorded = _calmest(place)
        folder = place.folder / "schedule.ompass"
        shutil.rmtree(folder, ignore_errors=True)
        simulate(
            recorded,
            machine=read_machine(MACHINE),
            threads=[self.threads],
            policies=[self.scheduler.policy],
            untraced=True,
            anyway=True,
            record=folder,
        )
        return _schedule(folder, {n: n * N_DOMAINS // self.threads for n in range(self.threads)})


@dataclass(frozen=True, slots=True)
class RecordedSchedule:
    """Extracts the schedule of the calmest trace of Health, which was recorded under this scheduler."""

    scheduler: Scheduler

    def step(self) -> Step:
        return Step(schedule_key(self.scheduler), self)

    def __call__(self, place: Workplace) -> dict[str, Any]:
        return _schedule(_calmest(place), _domains(_calmest(place)))


def _calmest(place: Workplace) -> Path:
    return trace_folder(place, HEALTH.name, calmest_trace(place.values, HEALTH.name)["number"])


def _domains(folder: Path) -> dict[int, int]:
    """Returns the domain of each recorded thread. The order of the threads in a run is arbitrary."""
    placed = ompass.open(folder).table("regions").filter(polars.col("domain") >= 0)
    return dict(placed.select("thread", "domain").unique().iter_rows())


def _schedule(folder: Path, sockets: Mapping[int, int]) -> dict[str, Any]:
    """Returns figures on all leaf tasks, and the bars of one step: thread, begin, end in ns, home.

    `sockets`: the socket of each thread.
    """
    tasks = _leaf_tasks(folder).with_columns(
        socket=polars.col("thread").replace_strict(sockets, return_dtype=polars.Int64),
        length=polars.col("end_ns") - polars.col("start_ns"),
        at=_share_of_step("start_ns"),
    )
    at_home = tasks["socket"] == tasks["home"]
    halves = (tasks["at"] < 0.5, tasks["at"] >= 0.5)
    shown = tasks.filter((polars.col("step") == _SHOWN_STEP) & (polars.col("thread") < N_SHOWN))
    begin = tasks.filter(polars.col("step") == _SHOWN_STEP)["start_ns"].min()
    bars = shown.select("thread", polars.col("start_ns") - begin, polars.col("end_ns") - begin, "home")
    return {
        "n_tasks": tasks.height,
        "home_share": at_home.mean(),
        "home_share_by_half": [at_home.filter(half).mean() for half in halves],
        "home_ns_by_half": [tasks.filter(at_home & half)["length"].mean() for half in halves],
        "home_ns": tasks.filter(at_home)["length"].mean(),
        "away_ns": tasks.filter(~at_home)["length"].mean(),
        "bars": [list(bar) for bar in bars.sort("thread", "start_ns").iter_rows()],
    }


def _leaf_tasks(folder: Path) -> polars.DataFrame:
    """Returns thread, begin, end, home and step of every leaf task."""
    run = ompass.open(folder)
    constructs = run.table("constructs")
    leaf = constructs.filter(polars.col("name") == _LEAF)["construct"].unique().to_list()
    kernels = run.table("kernels").filter(polars.col("construct").is_in(leaf))
    first = (
        run.table("accesses")
        .filter(polars.col("construct").is_in(leaf))
        .group_by("thread", start_ns="time_ns")
        .agg(polars.col("address").min())
    )
    tasks = kernels.join(first, on=["thread", "start_ns"]).sort("start_ns")
    places = tasks["address"].rank("dense") - 1
    n_places = places.max() + 1
    return tasks.with_columns(
        home=places.cast(polars.Int64) * N_DOMAINS // n_places,
        step=polars.int_range(polars.len()).over("address"),
    )


def _share_of_step(column: str) -> polars.Expr:
    """Returns the place of a time within its step, from 0 to 1."""
    begin, end = polars.col(column).min().over("step"), polars.col("end_ns").max().over("step")
    return (polars.col(column) - begin) / (end - begin)

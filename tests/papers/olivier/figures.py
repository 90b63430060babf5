# SPDX-License-Identifier: Apache-2.0
"""The figures of Olivier et al., drawn from our measurements and simulations on the paper's axes."""

from __future__ import annotations

from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.model import Picture, Values
from papers.olivier import numbers, plan
from papers.olivier.plan import SCHEDULERS, Program

COLOURS: Final = dict(
    zip(
        [one.label for one in SCHEDULERS],
        (panels.RED, panels.ORANGE, panels.PURPLE, panels.BLUE, panels.GREEN),
        strict=True,
    )
)
_PARTS: Final = {
    "sequential equivalent": panels.BLUE,
    "work time inflation": panels.RED,
    "overhead and idle time": "#c4c9ce",
}


def _breakdown(values: Values) -> Spec:
    made = []
    for one in plan.SIMULATED:
        for scheduler in one.schedulers:
            rows: list[Spec] = []
            for n in plan.THREADS:
                work = numbers.inflation(values, one, scheduler, n)
                parts = (min(1.0, work), max(0.0, work - 1), numbers.other_time(values, one, scheduler, n))
                rows += [
                    {"x": str(n), "y": share, "series": name, "rank": rank}
                    for rank, (name, share) in enumerate(zip(_PARTS, parts, strict=True))
                ]
            y = panels.axis(f"{one.name}, sequential = 1", scale={"domain": [0, _highest(values, one)]})
            made.append(panels.stacks(scheduler.label, rows, panels.axis("threads"), y, _PARTS, 150))
    return panels.grid("Time of all threads by part", made, len(SCHEDULERS))


def _highest(values: Values, program: Program) -> float:
    return max(
        numbers.inflation(values, program, scheduler, n) + numbers.other_time(values, program, scheduler, n)
        for scheduler in program.schedulers
        for n in plan.THREADS
    )


def _speedups(values: Values) -> Spec:
    made = []
    for one in plan.SIMULATED:
        rows: list[Spec] = [{"x": n, "y": n, "series": "linear"} for n in plan.THREADS]
        rows += [
            {"x": n, "y": numbers.speedup(values, one, scheduler, n), "series": scheduler.label}
            for scheduler in one.schedulers
            for n in plan.THREADS
        ]
        x = panels.axis("threads", values=list(plan.THREADS), grid=False)
        colours = {**COLOURS, "linear": panels.GREY}
        made.append(panels.lines(one.name, rows, x, panels.axis("speed-up"), colours, 260))
    return panels.grid("Speed-up by number of threads", made, 2)


def _traffic(values: Values) -> Spec:
    rows: list[Spec] = [
        {
            "x": one.name,
            "y": numbers.traffic_bytes(values, one, scheduler, plan.THREADS[-1]) / 1e9,
            "series": scheduler.label,
        }
        for one in plan.SIMULATED
        for scheduler in one.schedulers
    ]
    panel = panels.groups(
        "32 threads", rows, panels.axis(None), panels.axis("GB between sockets"), COLOURS, 400
    )
    return panels.grid("Data that cross between sockets", [panel], 1)


PICTURES: Final = (
    Picture(
        "breakdown",
        "Figs. 4, 10 and 12",
        "time of all threads",
        "Simulated",
        "The time of all threads over the sequential equivalent time. Bars whose blue part is below 1 have "
        "less work than the sequential execution.",
        _breakdown,
    ),
    Picture(
        "speedups",
        "Figs. 11 and 13",
        "speed-up",
        "Simulated",
        "Over the sequential equivalent time, the work on one thread.",
        _speedups,
    ),
    Picture(
        "traffic",
        "Tab. 3",
        "data transferred between sockets",
        "Simulated",
        "Declared data that a socket fetches from the memory or a cache of another. Write-back does not "
        "count.",
        _traffic,
    ),
)

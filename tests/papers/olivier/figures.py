# SPDX-License-Identifier: Apache-2.0
"""The figures of Olivier et al., drawn from our measurements and simulations on the paper's axes."""

from __future__ import annotations

from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.model import Picture, Values
from papers.olivier import numbers, plan
from papers.olivier.placement import KINDS
from papers.olivier.plan import SCHEDULERS, Program, Scheduler
from papers.olivier.schedules import schedule_key
from papers.timings import ratio

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
    for one in plan.LOCAL:
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
    for one in plan.LOCAL:
        rows = panels.linear(plan.THREADS)
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
        for one in plan.LOCAL
        for scheduler in one.schedulers
    ]
    panel = panels.groups(
        "32 threads", rows, panels.axis(None), panels.axis("GB between sockets"), COLOURS, 400
    )
    return panels.grid("Data that cross between sockets", [panel], 1)


def _latencies(values: Values) -> Spec:
    made = []
    for one in plan.LOCAL:
        rows: list[Spec] = []
        for scheduler, n in _latency_runs(one):
            total = 0.0
            for limit, share in zip(
                numbers.LIMITS, numbers.by_latency(values, one, scheduler, n).values(), strict=True
            ):
                total += share
                rows.append({"x": limit, "y": total, "series": _latency_label(scheduler, n)})
        x = panels.axis(
            "latency in cycles",
            scale={"type": "log", "base": 2},
            values=list(numbers.LIMITS),
            grid=False,
            format="d",
        )
        y = panels.axis("blocks found", format="%", scale={"domain": [0, 1]})
        made.append(panels.lines(one.name, rows, x, y, _LATENCY_COLOURS, 300))
    return panels.grid("Cumulative distribution of latencies", made, 2)


def _contributions(values: Values) -> Spec:
    made = []
    for one in plan.LOCAL:
        rows: list[Spec] = [
            {"x": _latency_label(scheduler, n), "y": share, "series": name, "rank": rank}
            for scheduler, n in _latency_runs(one)
            for rank, (name, share) in enumerate(numbers.contributions(values, one, scheduler, n).items())
        ]
        y = panels.axis("share of the latency", format="%")
        made.append(panels.stacks(one.name, rows, panels.axis(None), y, _RANGE_COLOURS, 620))
    return panels.grid("Latency by range", made, 1)


def _latency_runs(program: Program) -> list[tuple[Scheduler, int]]:
    """Returns the sequential run, and each scheduler with all threads."""
    return [(plan.INTEL, 1), *((one, plan.THREADS[-1]) for one in program.schedulers)]


def _latency_label(scheduler: Scheduler, threads: int) -> str:
    return "sequential" if threads == 1 else scheduler.label


_LATENCY_COLOURS: Final = {"sequential": panels.BLACK, **COLOURS}
_RANGE_COLOURS: Final = dict(
    zip(numbers.RANGES, ("#9ecae1", panels.BLUE, panels.ORANGE, panels.RED, "#7f2704"), strict=True)
)


def _schedules(values: Values) -> Spec:
    colours = dict(
        zip(
            ("socket 0", "socket 1", "socket 2", "socket 3"),
            ("#f0e442", "#56b4e9", panels.GREEN, panels.RED),
            strict=True,
        )
    )
    titles = {
        plan.INTEL: "(a) queue per thread",
        plan.NON_STRICT: "(b) not strict",
        plan.STRICT: "(c) strict",
    }
    made = []
    for scheduler, title in titles.items():
        rows: list[Spec] = [
            {"x": begin / 1e3, "x2": end / 1e3, "y": thread, "series": f"socket {home}"}
            for thread, begin, end, home in values[schedule_key(scheduler)]["bars"]
        ]
        made.append(panels.spans(title, rows, panels.axis("µs"), panels.axis("thread", grid=False), colours))
    return panels.grid("Leaf tasks of one step of Health by the home of their data", made, 1)


def _measured(values: Values) -> Spec:
    versions = {
        f"{plan.TASKS} 1": "#9ecae1",
        f"{plan.TASKS} 2": panels.BLUE,
        f"{plan.LOCALITY} 2": panels.PURPLE,
        f"{plan.STRICTLY} 2": panels.GREEN,
    }
    timed: list[Spec] = []
    inflated: list[Spec] = []
    for one in plan.PROGRAMS:
        for version in versions:
            if one.has_locality or version.startswith(plan.TASKS):
                time = ratio(values, one.name, plan.SERIAL, version)
                timed.append({"x": one.name, "y": time, "series": version})
                work = numbers.measured_inflation(values, one, version)
                inflated.append({"x": one.name, "y": work, "series": version})
    return panels.grid(
        "Measured speed-up and work time inflation",
        [
            panels.groups(
                "speed-up over serial", timed, panels.axis(None), panels.axis("speed-up"), versions, 380
            ),
            panels.groups(
                "work on two threads",
                inflated,
                panels.axis(None),
                panels.axis("r, over tasks on one thread"),
                versions,
                380,
            ),
        ],
        2,
    )


def _placement(values: Values) -> Spec:
    rows: list[Spec] = [
        {
            "x": program,
            "y": numbers.placed_share(values, f"{program}-{kind.replace(' ', '-')}"),
            "series": kind,
        }
        for program in ("health", "heat")
        for kind in KINDS
    ]
    rows += [
        {"x": f"recursion, {what}", "y": numbers.placed_share(values, what), "series": "strict"}
        for what in ("tasks", "pages")
    ]
    colours = {"strict": panels.BLUE, "not strict": panels.PURPLE}
    y = panels.axis("share at home", format="%", scale={"domain": [0, 1]})
    panel = panels.groups("four nodes, 8 threads", rows, panels.axis(None), y, colours, 420)
    return panels.grid("Tasks and pages at home", [panel], 1)


def _others(values: Values) -> Spec:
    made = []
    others = [one for one in plan.PROGRAMS if one not in plan.LOCAL]
    x = panels.axis("threads", values=list(plan.THREADS), grid=False)
    colours = {**{one.label: COLOURS[one.label] for one in plan.SORT.schedulers}, "linear": panels.GREY}
    for name, of in (("speed-up", numbers.speedup), ("work / sequential work", numbers.inflation)):
        for one in others:
            rows: list[Spec] = [
                {"x": n, "y": of(values, one, scheduler, n), "series": scheduler.label}
                for scheduler in one.schedulers
                for n in plan.THREADS
            ]
            if of is numbers.speedup:
                rows += panels.linear(plan.THREADS)
            made.append(panels.lines(one.name, rows, x, panels.axis(name), colours))
    return panels.grid("Speed-up and work time inflation of the other programs", made, len(others))


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
        "The speed-up over the sequential equivalent time, which is the work on one thread.",
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
    Picture(
        "others",
        "Figs. 1 and 2",
        "the other programs",
        "Simulated",
        "Sort, strassen and sparselu; sparselu has no version with locality. The parts of overhead and idle "
        "time of these and further programs are on the [page of BOTS](bots.md).",
        _others,
    ),
    Picture(
        "latencies",
        "Figs. 14 and 16",
        "distribution of latencies",
        "Simulated",
        "The share of the accessed blocks of 1 KiB that are found within the latency. The L2 takes up to "
        "16 cycles, the L3 up to 64, idle memory of the own socket up to 256, other sockets up to 512. Where "
        "memory is busy, its latency is longer by the ratio of the times with and without waits. The last "
        "point stands for all longer latencies. The paper samples single loads; most of them hit the L1, "
        "which the model does not have.",
        _latencies,
    ),
    Picture(
        "contributions",
        "Figs. 15 and 17",
        "latency by range",
        "Simulated",
        "The number of blocks in each range times the low end of the range, as in the paper: 9, 33, 129, 257 "
        "and 513 cycles.",
        _contributions,
    ),
    Picture(
        "schedules",
        "Fig. 18",
        "one step of Health, coloured by the home of the data",
        "(a) and (b) simulated on 32 threads, (c) recorded here",
        "Leaf tasks of step 20. (a) and (b) show the eight threads of socket 0; both have spread pages. "
        "(c) is the recording itself, of four threads in four domains, which share two processors. Its time "
        "axis is longer, and long boxes contain interruptions. The simulator cannot record strict schedules.",
        _schedules,
    ),
    Picture(
        "measured",
        "Figs. 1 and 2, here",
        "speed-up and work on one and two threads",
        "Measured here",
        "*tasks* is the version without locality on libomp; *not strict* and *strict* divide the two "
        "processors into two domains. Other programs used the "
        "processors, too, so the times are uneven, by the factor above; work leaves that time out.",
        _measured,
    ),
    Picture(
        "placement",
        "Fig. 8",
        "tasks and pages at home on four nodes",
        "Run in the virtual machine",
        "The share of tasks that ran in the domain in which they were placed, and of pages on the node of "
        "the task that touched them first. *Recursion* places the tasks of every level.",
        _placement,
    ),
)

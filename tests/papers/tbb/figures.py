# SPDX-License-Identifier: Apache-2.0
"""The figures of Contreras and Martonosi, drawn from our measurements on the paper's axes."""

from __future__ import annotations

from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.model import Picture, Values
from papers.recordings import best_trace
from papers.tbb import numbers, plan

_MICRO: Final = ("bitcounter", "lu", "matmult", "treeadd")
_PARSEC: Final = tuple(one.name for one in plan.PARSEC)
_STEALERS: Final = {
    plan.OCCUPANCY: panels.BLUE,
    plan.GROUP: panels.ORANGE,
    plan.IDEAL_OCCUPANCY: panels.PURPLE,
    plan.IDEAL_STEALER: panels.GREEN,
}
_CATEGORY_COLOURS: Final = dict(
    zip(
        numbers.CATEGORIES,
        (panels.ORANGE, panels.BLUE, panels.RED, panels.PURPLE, "#c4c9ce"),
        strict=True,
    )
)
BEYOND_ONE: Final = plan.THREADS[1:]
GAIN_CORES: Final = (16, 25, 32)

PAPER_GAINS: Final = {
    "bitcounter": {
        plan.OCCUPANCY: (0.025, 0.025, 0.037),
        plan.GROUP: (0.023, 0.035, 0.042),
        plan.IDEAL_OCCUPANCY: (0.0241, 0.028, 0.037),
        plan.IDEAL_STEALER: (0.047, 0.069, 0.078),
    },
    "lu": {
        plan.OCCUPANCY: (0.10, 0.041, 0.097),
        plan.GROUP: (0.099, 0.043, 0.083),
        plan.IDEAL_OCCUPANCY: (0.102, 0.046, 0.080),
        plan.IDEAL_STEALER: (0.16, 0.104, 0.206),
    },
    "matmult": {
        plan.OCCUPANCY: (0.095, 0.06, 0.19),
        plan.GROUP: (0.082, 0.053, 0.178),
        plan.IDEAL_OCCUPANCY: (0.098, 0.07, 0.211),
        plan.IDEAL_STEALER: (0.108, 0.098, 0.287),
    },
}
"""Table IV: gains over random stealing on GAIN_CORES."""


def _costs(values: Values) -> Spec:
    colours = {"1 thread": "#9ecae1", "2 threads": panels.BLUE}
    panels_made = []
    for program in ("bitcounter", "treeadd"):
        rows: list[Spec] = []
        for operation in numbers.OPERATIONS:
            for threads, series in zip(plan.MEASURED_THREADS, colours, strict=True):
                found = numbers.costs_ns(values, program, threads, operation)
                if found:
                    rows.append({"x": operation, "y": min(found), "series": series})
        panels_made.append(
            panels.groups(program, rows, panels.axis(None), panels.axis("ns per operation"), colours)
        )
    return panels.grid("Cost of the operations of the extension", panels_made, 2)


def _speedups(values: Values) -> Spec:
    colours = {"tasks": panels.BLUE, "static": panels.ORANGE, "linear": panels.GREY}
    made = []
    for program in (*_PARSEC, *_MICRO):
        rows = panels.linear(plan.THREADS)
        for n in plan.THREADS:
            rows.append({"x": n, "y": numbers.speedup(values, program, n), "series": "tasks"})
            if program == "swaptions":
                rows.append({"x": n, "y": numbers.static_speedup(n), "series": "static"})
        y = panels.axis(
            "speed-up", scale={"type": "log", "base": 2, "domain": [1, 32]}, values=[1, 2, 4, 8, 16, 32]
        )
        made.append(panels.lines(program, rows, panels.cores((1, 2, 4, 8, 16, 32)), y, colours, 170))
    return panels.grid("Speed-up by number of cores", made, 4)


def _overheads(values: Values) -> Spec:
    made = []
    for program in _PARSEC:
        rows = [
            {"x": str(n), "y": share, "series": name, "rank": rank}
            for n in BEYOND_ONE
            for rank, (name, share) in enumerate(numbers.shares(values, program, n).items())
        ]
        y = panels.axis("share of the time", format="%")
        made.append(panels.stacks(program, rows, panels.axis("cores"), y, _CATEGORY_COLOURS, 170))
    return panels.grid("Time of the cores that is not work", made, 4)


def _stealing(values: Values) -> Spec:
    colours = {"success rate": panels.BLUE, "false negatives": panels.RED}
    made = []
    for program in _MICRO:
        rows: list[Spec] = []
        for n in BEYOND_ONE:
            rows.append({"x": n, "y": numbers.success(values, program, n), "series": "success rate"})
            failed = numbers.false_negatives(values, program, n)
            rows.append({"x": n, "y": failed, "series": "false negatives"})
        y = panels.axis("share of the attempts", format="%", scale={"domain": [0, 1]})
        made.append(panels.lines(program, rows, panels.cores((2, 4, 8, 16, 32)), y, colours, 170))
    return panels.grid("Success and false negatives of random stealing", made, 4)


def _gains(values: Values) -> Spec:
    made = []
    for program, theirs in PAPER_GAINS.items():
        rows: list[Spec] = []
        for policy in _STEALERS:
            for k, n in enumerate(GAIN_CORES):
                low, high = numbers.gain_range(values, program, policy, n)
                rows.append(
                    {
                        "x": str(n),
                        "y": numbers.gain(values, program, policy, n),
                        "series": policy,
                        "paper": theirs[policy][k],
                        "low": low,
                        "high": high,
                    }
                )
        rows.sort(key=lambda row: GAIN_CORES.index(int(row["x"])))
        y = panels.axis("gain over random stealing", format="+%")
        made.append(panels.groups(program, rows, panels.axis("cores"), y, _STEALERS, 230))
    return panels.grid("Gain of other policies over random stealing", made, 3)


def _back_offs(values: Values) -> Spec:
    colours = {plan.RANDOM: panels.RED, plan.OCCUPANCY: panels.BLUE, plan.GROUP: panels.ORANGE}
    made = []
    for program in PAPER_GAINS:
        rows: list[Spec] = [
            {"x": cycles, "y": numbers.regions_ns(values, case, 32, policy) / 1e6, "series": policy}
            for cycles, case in (
                (plan.BACK_OFF, program),
                *((cycles, plan.with_back_off(program, cycles)) for cycles in plan.OTHER_BACK_OFFS),
            )
            for policy in colours
        ]
        x = panels.axis(
            "cycles of a failed steal",
            scale={"type": "log"},
            values=[200, 1000, 5000],
            grid=False,
            format="d",
        )
        made.append(panels.lines(program, rows, x, panels.axis("ms on 32 cores"), colours, 200))
    return panels.grid("Time by cost of a failed steal", made, 3)


def _grains(values: Values) -> Spec:
    colours = {"8 cores": panels.ORANGE, "32 cores": panels.BLUE}
    rows: list[Spec] = [
        {
            "x": numbers.task_cycles(values, case),
            "y": numbers.work_share(values, case, n),
            "series": f"{n} cores",
        }
        for case in (plan.grain_case(grain).name for grain in plan.GRAINS)
        for n in (8, 32)
    ]
    x = panels.axis(
        "cycles per task",
        scale={"type": "log", "domain": [4e3, 1.2e5]},
        values=[5e3, 1e4, 1e5],
        format="~s",
        grid=False,
    )
    y = panels.axis("work / time of the cores", format="%", scale={"domain": [0, 1]})
    shallow, deep = (plan.depth_case(depth).name for depth in plan.DEPTHS)
    bars: list[Spec] = [
        {
            "x": f"{best_trace(values, case)['n_tasks']:,} tasks",
            "y": numbers.speedup_over(values, shallow, case, n),
            "series": f"{n} cores",
        }
        for case in (shallow, deep)
        for n in (8, 32)
    ]
    return panels.grid(
        "Speed-up by length and number of tasks",
        [
            panels.lines("blackscholes", rows, x, y, colours, 280),
            panels.groups("treeadd", bars, panels.axis(None), panels.axis("speed-up"), colours, 200),
        ],
        2,
    )


PICTURES: Final = (
    Picture(
        "costs",
        "Fig. 4",
        "costs of operations",
        "Recorded here",
        "The cost of creating a task (the paper's `spawn`), of taking one from the own queue "
        "(`get_task`), and of steals, under `libomp_ext.so` with random stealing, on one and two "
        "threads. Each bar is the least of all rounds. Costs include recording; time in which other "
        "programs used the processor is subtracted only from `take`. Costs on more than two cores would "
        "need more processors; the simulation takes them from its machine file.",
        _costs,
    ),
    Picture(
        "speedups",
        "Fig. 5",
        "speed-ups",
        "Simulated; static computed",
        "Speed-up under random stealing, over the time of one core. *Static* divides 64 swaptions of "
        "equal length into equal blocks, as the code of the paper's Fig. 3 does; the last core takes "
        "the rest.",
        _speedups,
    ),
    Picture(
        "overheads",
        "Fig. 6",
        "time that is not work",
        "Simulated",
        "Shares of the time of all cores in parallel regions. Stealing includes failed attempts, and waiting "
        "the pauses after them, as in the paper; synchronization is the time to wake and to release threads. "
        "The simulation has no cost of atomic operations that grows with the number of cores.",
        _overheads,
    ),
    Picture(
        "stealing",
        "Fig. 7",
        "success of random stealing",
        "Simulated",
        "The success rate is the share of attempts that take a task. False negatives are the failed "
        "share of those attempts that are made while some queue holds a task.",
        _stealing,
    ),
    Picture(
        "gains",
        "Tab. IV",
        "gain of other policies",
        "Simulated",
        "The gain in speed over random stealing. Black ticks are the paper's values. Grey lines span "
        "the runs of random stealing with other seeds.",
        _gains,
    ),
    Picture(
        "back-off",
        "Tab. IV, cause",
        "failed steals of other lengths",
        "Simulated",
        "Time on 32 cores. In all other figures a failed steal takes 1,000 cycles. With 200 cycles the next "
        "attempt follows at once. The longer a failed steal, the more a better choice of the victim gains.",
        _back_offs,
    ),
    Picture(
        "grains",
        "Section VIII",
        "length and number of tasks",
        "Simulated",
        "Left: the part of the time of all cores that is work, for blackscholes in tasks of three lengths. "
        "There are always 32,768 tasks, about as many per core as in the paper, so waits at the end of the "
        "loop take little time. Right: treeadd with tasks down to level 11 and to level 21 of the tree, "
        "relative to the fewer tasks on one core. Treeadd replaces the paper's blackscholes with tasks "
        "for parts of a price: our tasks of blackscholes have 64 options or more.",
        _grains,
    ),
)

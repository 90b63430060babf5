# SPDX-License-Identifier: Apache-2.0
"""The figures for Duran et al., from our measurements and simulations."""

from __future__ import annotations

from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.bots import numbers, plan
from papers.bots.plan import LIBOMP, MANUAL, NONE, RUNTIMES, variant
from papers.model import Picture, Values
from papers.timings import ratio

_LABELS: Final = dict(
    zip(plan.CUTOFFS, ("no cut-off", "if clause", "final clause", "manual"), strict=True)
)  # fmt: skip
_CUTOFF_COLOURS: Final = dict(
    zip(_LABELS.values(), (panels.RED, panels.ORANGE, panels.PURPLE, panels.BLUE), strict=True)
)
_RUNTIME_COLOURS: Final = dict(zip(RUNTIMES, (panels.BLUE, panels.ORANGE, panels.GREEN), strict=True))
_SHARE_COLOURS: Final = dict(zip(numbers.SHARES, (panels.BLUE, panels.RED, "#c4c9ce"), strict=True))


def _cutoffs(values: Values) -> Spec:
    made = []
    for one in plan.WITH_CUTOFFS:
        rows: list[Spec] = [
            {
                "x": f"{runtime} {threads}",
                "y": ratio(
                    values, one.group, variant(runtime, threads, MANUAL), variant(runtime, threads, cutoff)
                ),
                "series": _LABELS[cutoff],
            }
            for runtime in RUNTIMES
            for threads in plan.MEASURED_THREADS
            for cutoff in plan.CUTOFFS
        ]
        y = panels.axis("speed, manual = 1")
        made.append(panels.groups(one.name, rows, panels.axis(None), y, _CUTOFF_COLOURS, 440))
    return panels.grid("Speed with each cut-off relative to the manual cut-off", made, 2)


def _others(values: Values) -> Spec:
    rows: list[Spec] = [
        {
            "x": one.name,
            "y": ratio(
                values, one.group, variant(LIBOMP, 1, MANUAL), variant(LIBOMP, 1, cutoff)
            ),
            "series": _LABELS[cutoff],
        }
        for one in plan.WITHOUT_CUTOFFS
        if MANUAL in one.cutoffs
        for cutoff in (NONE, MANUAL)
    ]  # fmt: skip
    panel = panels.groups(
        "1 thread of libomp", rows, panels.axis(None), panels.axis("speed, manual = 1"),
        {_LABELS[name]: _CUTOFF_COLOURS[_LABELS[name]] for name in (NONE, MANUAL)}, 260,
    )  # fmt: skip
    return panels.grid("Speed without a cut-off relative to a manual one", [panel], 1)


def _predicted(values: Values) -> Spec:
    made = []
    for one in plan.WITH_CUTOFFS:
        rows = [
            {"x": n, "y": numbers.predicted_speed(values, one.name, cutoff, n), "series": _LABELS[cutoff]}
            for cutoff in plan.CUTOFFS
            for n in numbers.predicted_threads(values, one.name, cutoff)
        ]
        y = panels.axis("speed, manual on 1 core = 1", scale={"type": "log", "base": 2}, format=".2~g")
        made.append(panels.lines(one.name, rows, panels.cores(plan.THREADS), y, _CUTOFF_COLOURS))
    return panels.grid("Simulated speed with each cut-off", made, 3)


def _untied(values: Values) -> Spec:
    made = []
    for threads in plan.MEASURED_THREADS:
        rows: list[Spec] = [
            {
                "x": f"{one.name}, none" if cutoff != one.usual else one.name,
                "y": numbers.untied_ratio(values, one.group, cutoff, runtime, threads),
                "series": runtime,
            }
            for one in plan.PROGRAMS
            for cutoff in ((NONE, MANUAL) if one.name == "fib" else (one.usual,))
            for runtime in RUNTIMES
        ]
        y = panels.axis("time of untied / tied")
        title = f"{threads} thread{'s' if threads > 1 else ''}"
        made.append(panels.groups(title, rows, panels.axis(None), y, _RUNTIME_COLOURS, 900))
    return panels.grid("Time with untied tasks relative to tied ones", made, 1)


def _generators(values: Values) -> Spec:
    rows: list[Spec] = [
        {
            "x": f"{threads} thread{'s' if threads > 1 else ''}",
            "y": numbers.generators_ratio(values, plan.SPARSELU, runtime, threads),
            "series": runtime,
        }
        for threads in plan.MEASURED_THREADS
        for runtime in RUNTIMES
    ]
    y = panels.axis("time of single / multiple")
    panel = panels.groups("sparselu", rows, panels.axis(None), y, _RUNTIME_COLOURS)
    return panels.grid("Time with a single generator relative to multiple ones", [panel], 1)


def _runtimes(values: Values) -> Spec:
    made = []
    for cutoff in ("", NONE):
        rows: list[Spec] = [
            {
                "x": one.name,
                "y": numbers.measured_speedup(values, one, runtime, 2, cutoff),
                "series": runtime,
            }
            for one in plan.PROGRAMS
            for runtime in RUNTIMES
        ]
        title = "without cut-offs" if cutoff else "manual cut-offs where the program has them"
        y = panels.axis("speed-up on 2 threads")
        made.append(panels.groups(title, rows, panels.axis(None), y, _RUNTIME_COLOURS, 760))
    return panels.grid("Speed-up on two threads by runtime", made, 1)


def _shares(values: Values) -> Spec:
    rows = [
        {"x": one.name, "y": share, "series": name, "rank": rank}
        for one in plan.WIDE
        for rank, (name, share) in enumerate(numbers.shares(values, plan.wide_name(one.name), 32).items())
    ]
    y = panels.axis("share of the time", format="%")
    panel = panels.stacks("32 cores", rows, panels.axis(None), y, _SHARE_COLOURS, 460)
    return panels.grid("Time of 32 cores by state", [panel], 1)


def _speedups(values: Values) -> Spec:
    colours = {"simulated": panels.BLUE, "linear": panels.GREY}
    made = []
    for one in plan.WIDE:
        rows = panels.linear(plan.THREADS)
        for n in plan.THREADS:
            rows.append({"x": n, "y": numbers.predicted_speedup(values, one.name, n), "series": "simulated"})
        y = panels.axis("speed-up", scale={"type": "log", "base": 2, "domain": [0.5, 32]}, format="~r")
        made.append(panels.lines(one.name, rows, panels.cores(plan.THREADS), y, colours, 170))
    return panels.grid("Speed-up by number of cores", made, 4)


PICTURES: Final = (
    Picture(
        "cutoffs",
        "Cut-offs",
        "speed with each cut-off, on each runtime and 1 and 2 threads",
        "Measured here",
        "Each bar is the time with the manual cut-off divided by the time with the bar's cut-off, on the "
        "same runtime and number of threads. For these programs, the suite has versions with an if clause "
        "and with a manual cut-off.",
        _cutoffs,
    ),
    Picture(
        "others",
        "No cut-offs",
        "speed without a cut-off where the suite has no version with one",
        "Measured here",
        "alignment and sparselu have no cut-off here either: each pair and each block is a task.",
        _others,
    ),
    Picture(
        "predicted",
        "Simulated cut-offs",
        "speed with each cut-off on 1 to 32 cores",
        "Simulated",
        "Both axes are logarithmic. The inputs are the same as in the figure of cut-offs. "
        "Points are missing where the simulation refuses a recording as too uncertain.",
        _predicted,
    ),
    Picture(
        "untied",
        "Untied tasks",
        "time with untied tasks relative to tied ones",
        "Measured here",
        "A value above 1 means that untied tasks are slower. *fib, none* has tasks down to its leaves.",
        _untied,
    ),
    Picture(
        "generators",
        "Generators",
        "time of sparselu with a single generator relative to multiple ones",
        "Measured here",
        "A value above 1 means that multiple generators are faster.",
        _generators,
    ),
    Picture(
        "runtimes",
        "Runtimes",
        "speed-up on two threads over the serial version, by runtime",
        "Measured here",
        "clang builds the serial version, and gcc the programs that libgomp runs. On two threads, floorplan "
        "finds a good plan earlier, and visits fewer plans.",
        _runtimes,
    ),
    Picture(
        "shares",
        "Olivier et al., Fig. 2",
        "time of 32 cores by state",
        "Simulated",
        "Serial parts are left out, and there is no work time inflation.",
        _shares,
    ),
    Picture(
        "speedups",
        "Olivier et al., Fig. 1",
        "speed-up by number of cores",
        "Simulated",
        "The speed-up over the work of the simulated run on one core. There is no work time inflation.",
        _speedups,
    ),
)

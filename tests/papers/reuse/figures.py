# SPDX-License-Identifier: Apache-2.0
"""The figures of Pericàs et al., drawn from our measurements on the paper's axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.model import Picture, Values
from papers.reuse import numbers, plan
from papers.reuse.distances import COHERENT, MB, beyond, recorded_within, share, within

LABELS: Final = dict(
    zip(
        plan.POLICIES,
        (
            "work-first (MTH)",
            "nested waits (TBB)",
            "queue per core (QTH/Core)",
            "per socket (QTH/Socket)",
        ),
        strict=True,
    )
)
_COLOURS: Final = dict(
    zip(LABELS.values(), (panels.BLUE, panels.ORANGE, panels.GREEN, panels.RED), strict=True)
)
SHORT: Final = dict(zip(plan.POLICIES, ("MTH", "TBB", "QTH/Core", "QTH/Socket"), strict=True))
_CLASS_COLOURS: Final = {
    "far": panels.ORANGE,
    "coherence": panels.RED,
    "cold": panels.BLUE,
}
WINDOWS: Final = tuple(2**k for k in range(14, 28))
"""16 KiB to 128 MiB."""
PAPER_FAR: Final = {plan.MTH: 0.0357, plan.NESTED: 0.045, plan.SHARED: 0.0315}
"""Section IV.B: accesses beyond 32 MB on two sockets."""
PAPER_HARDWARE: Final = {
    plan.MTH: (1.829e6, 1.0250),
    plan.NESTED: (2.807e6, 1.0519),
    plan.CORE: (2.339e6, 1.0441),
    plan.SHARED: (1.987e6, 1.0814),
}
"""Table I: misses of the last-level cache per core, and work time inflation."""
_LINEAR: Final = {"linear": panels.GREY}


def _scaling(program: str, values: Values) -> Spec:
    linear: list[Spec] = [{"x": n, "y": n, "series": "linear"} for n in plan.THREADS]
    speedup = panels.axis("speed-up", scale={"domain": [0, 24]}, values=[1, 6, 12, 18, 24])
    overhead = panels.axis("non-work overheads, OVR", scale={"zero": False})
    product = panels.axis("1 / WTI", scale={"domain": [0.7, 1]})
    return panels.grid(
        f"Speed-up and overheads of {program}",
        [
            _panel("speed-up", linear + _rows(values, program, numbers.speedup), speedup, _COLOURS | _LINEAR),
            _panel("non-work overheads", _rows(values, program, numbers.overhead), overhead, _COLOURS),
            _panel(
                "work time inflation",
                _rows(values, program, lambda *one: 1 / numbers.inflation(*one)),
                product,
                _COLOURS,
            ),
        ],
        3,
    )


def _rows(values: Values, program: str, y: Callable[[Values, str, str, int], float]) -> list[Spec]:
    return [
        {"x": n, "y": y(values, program, policy, n), "series": LABELS[policy]}
        for policy in plan.POLICIES
        for n in plan.THREADS
    ]


def _panel(title: str, rows: list[Spec], y: Spec, colours: panels.Colours) -> Spec:
    x = panels.axis("cores", values=[1, 6, 12, 18, 24], grid=False, format="d")
    return panels.lines(title, rows, x, y, colours, 230)


def _window_panel(title: str, rows: list[Spec], colours: panels.Colours) -> Spec:
    """Returns a panel of the shares that are reused within a window, by the size of the window."""
    x = panels.axis(
        "window",
        scale={"type": "log", "base": 2, "domain": [WINDOWS[0], WINDOWS[-1]]},
        values=[2**k for k in range(15, 29, 3)],
        labelExpr="datum.value < 1048576 ? datum.value / 1024 + ' KB' : datum.value / 1048576 + ' MB'",
        grid=False,
    )
    y = panels.axis("reused within the window", format="%", scale={"domain": [0, 1]})
    return panels.lines(title, rows, x, y, colours, 230)


def _distances(program: str, values: Values) -> Spec:
    made = []
    for n, title in ((1, "1 core"), (6, "1 socket, 6 cores"), (24, "4 sockets, 24 cores")):
        rows: list[Spec] = [
            {"x": window, "y": within(values, program, policy, n, window), "series": LABELS[policy]}
            for policy in plan.POLICIES
            for window in WINDOWS
        ]
        made.append(_window_panel(title, rows, _COLOURS))
    return panels.grid(f"Reuse distances of {program}", made, 3)


def _far(values: Values) -> Spec:
    rows: list[Spec] = [
        {
            "x": f"> {megabytes} MB",
            "y": median(beyond(values, plan.MATMUL, policy, 12, megabytes * MB)),
            "series": LABELS[policy],
            "paper": PAPER_FAR.get(policy) if megabytes == 32 else None,
        }
        for megabytes in (16, 32, 64, 128)
        for policy in plan.POLICIES
    ]
    rows += [
        {"x": "cold", "y": share(values, plan.MATMUL, policy, 12, "cold"), "series": LABELS[policy]}
        for policy in plan.POLICIES
    ]
    y = panels.axis("share of the accessed bytes", format=".1%")
    panel = panels.groups("matmul, 12 cores", rows, panels.axis(None), y, _COLOURS, 460)
    return panels.grid("Far reuses of matmul on two sockets", [panel], 1)


def _classes(values: Values) -> Spec:
    made = []
    for program in plan.PROGRAMS:
        for n in (6, 24):
            rows: list[Spec] = [
                {
                    "x": SHORT[policy],
                    "y": share(values, program, policy, n, name, COHERENT),
                    "series": name,
                    "rank": rank,
                }
                for policy in plan.POLICIES
                for rank, name in enumerate(_CLASS_COLOURS)
            ]
            y = panels.axis("share of the accessed bytes", format="~%")
            made.append(
                panels.stacks(f"{program}, {n} cores", rows, panels.axis(None), y, _CLASS_COLOURS, 260)
            )
    return panels.grid("Accesses that miss the last cache", made, 2)


def _hardware(values: Values) -> Spec:
    base = numbers.misses(values, plan.MATMUL, plan.MTH, 12)
    misses: list[Spec] = []
    inflation: list[Spec] = []
    for policy in plan.POLICIES:
        row = {"x": SHORT[policy], "series": "simulated"}
        theirs_missed, theirs_inflated = PAPER_HARDWARE[policy]
        missed = numbers.misses(values, plan.MATMUL, policy, 12) / base
        misses.append({**row, "y": missed, "paper": theirs_missed / PAPER_HARDWARE[plan.MTH][0]})
        inflated = numbers.inflation(values, plan.MATMUL, policy, 12) - 1
        inflation.append({**row, "y": inflated, "paper": theirs_inflated - 1})
    x, colours = panels.axis(None), {"simulated": panels.BLUE}
    return panels.grid(
        "Cache misses and work time inflation on two sockets",
        [
            panels.groups("misses of the last cache", misses, x, panels.axis("MTH = 1"), colours, 260),
            panels.groups(
                "work time inflation", inflation, x, panels.axis("WTI - 1", format="+.1%"), colours, 260
            ),
        ],
        2,
    )


def _measured(values: Values) -> Spec:
    colours = dict(zip(plan.PROGRAMS, (panels.BLUE, panels.ORANGE), strict=True))
    rows: list[Spec] = [
        {"x": runtime, "y": numbers.measured_overhead(values, program, runtime), "series": program}
        for runtime in plan.RUNTIMES
        for program in plan.PROGRAMS
    ]
    rows += [
        {"x": "with the tool", "y": 1 + numbers.tracing_cost(values, program), "series": program}
        for program in plan.PROGRAMS
    ]
    y = panels.axis("time, without tasks or tool = 1")
    panel = panels.groups("1 thread", rows, panels.axis(None), y, colours, 340)
    return panels.grid("Cost of tasks and of recording on one thread", [panel], 1)


def _check(values: Values) -> Spec:
    colours = {"recorded": panels.BLACK, "simulated": panels.ORANGE}
    made = []
    for program in plan.PROGRAMS:
        case = plan.pair_name(program)
        rows: list[Spec] = []
        for window in WINDOWS:
            rows.append({"x": window, "y": recorded_within(values, case, window), "series": "recorded"})
            ours = within(values, case, plan.LIBOMP, 2, window)
            rows.append({"x": window, "y": ours, "series": "simulated"})
        made.append(_window_panel(program, rows, colours))
    return panels.grid("Recorded and simulated distances on two threads", made, 2)


PICTURES: Final = (
    Picture(
        "matmul",
        "Fig. 1",
        "scalability and overheads of matrix multiplication",
        "Simulated",
        "The speed-up over the work on one core; the non-work overhead OVR; and 1 / WTI, which is speed-up "
        "* OVR / cores. WTI is the work time inflation by the simulator's model of caches and memory.",
        partial(_scaling, plan.MATMUL),
    ),
    Picture(
        "fmm",
        "Fig. 2",
        "scalability and overheads of the fast multipole method",
        "Simulated",
        "As in the figure before. Ours covers the whole method, the paper's only the traversal of the tree.",
        partial(_scaling, plan.FMM),
    ),
    Picture(
        "matmul-distances",
        "Fig. 4",
        "kernel reuse distances of matrix multiplication",
        "Simulated",
        "The share of the accessed bytes that their socket accessed before, at a distance of at most the "
        "window. Cold accesses are in no window. The metric is the paper's, without coherence misses.",
        partial(_distances, plan.MATMUL),
    ),
    Picture(
        "fmm-distances",
        "Fig. 5",
        "kernel reuse distances of the fast multipole method",
        "Simulated",
        "As in the figure before.",
        partial(_distances, plan.FMM),
    ),
    Picture(
        "far",
        "Fig. 6",
        "far reuses of matrix multiplication on two sockets",
        "Simulated",
        "The share of the accessed bytes at distances beyond a window, cold ones included. Black ticks are "
        "the paper's values, which its text gives for 32 MB only.",
        _far,
    ),
    Picture(
        "classes",
        "Figs. 4 and 5",
        "accesses that miss the last cache",
        "Simulated",
        "Far accesses have a distance of more than 18 MB. Coherence misses are accesses to bytes that "
        "another socket has written since; the metric of the paper counts them by their distance.",
        _classes,
    ),
    Picture(
        "hardware",
        "Tab. I",
        "cache misses and work time inflation on two sockets",
        "Simulated",
        "Matrix multiplication on 12 cores, by the simulator's model of caches and memory. Black ticks are "
        "the paper's values. Under a queue per socket, tasks with common data run on different cores, whose "
        "L2 caches miss twice as often; this inflates the work most, although the last cache misses least.",
        _hardware,
    ),
    Picture(
        "measured",
        "Sections II and III",
        "cost of tasks and of recording on one thread",
        "Measured here",
        "The shortest time with tasks, on each runtime, divided by the serial program's; and the shortest "
        "time with a trace, on libomp, divided by the time without one. Inputs take some milliseconds.",
        _measured,
    ),
    Picture(
        "check",
        "Section III",
        "recorded and simulated distances on two threads",
        "Recorded here; simulated",
        "Both threads in one socket. The simulation replays the recording of two threads under the policy "
        "`libomp`; the other curve has the recorded order. Other programs used the processors during the "
        "recordings, so the recorded threads often ran in turns, and interleave less at short windows.",
        _check,
    ),
)

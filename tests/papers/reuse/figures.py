# SPDX-License-Identifier: Apache-2.0
"""The figures of Pericàs et al., drawn from our measurements on the paper's axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ompass.figures.style import Spec
from papers import panels
from papers.model import Picture, Values
from papers.reuse import numbers, plan

LABELS: Final = dict(
    zip(
        plan.POLICIES,
        (
            "work-first (MTH)",
            "nested waits (for TBB)",
            "queue per core (QTH/Core)",
            "per socket (QTH/Socket)",
        ),
        strict=True,
    )
)
_COLOURS: Final = dict(
    zip(LABELS.values(), (panels.BLUE, panels.ORANGE, panels.GREEN, panels.RED), strict=True)
)
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


PICTURES: Final = (
    Picture(
        "matmul",
        "Fig. 1",
        "scalability and overheads of matrix multiplication",
        "Simulated",
        "Speed-up over the work on one core, OVR, and their product divided by the number of cores, which is "
        "1 / WTI. The work time inflation is that of the simulator's model of caches and memory.",
        partial(_scaling, plan.MATMUL),
    ),
    Picture(
        "fmm",
        "Fig. 2",
        "scalability and overheads of the fast multipole method",
        "Simulated",
        "As the figure before. Ours is the whole method, the paper's the traversal of the tree.",
        partial(_scaling, plan.FMM),
    ),
)

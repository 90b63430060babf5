# SPDX-License-Identifier: Apache-2.0
"""Bars of characters: stacked states, and lengths.

Every state has a colour and a glyph, so bars can also be read without colours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from ompass.metrics import MeanStates
from ompass.model import StateTimes
from ompass.reports.model import STATES


@dataclass(frozen=True, slots=True)
class Canvas:
    """Capabilities of the reader's terminal."""

    width: int  # columns
    unicode: bool  # True if the terminal shows block characters


LOOKS: Final = {
    "work": "green",
    "create": "yellow",
    "schedule": "magenta",
    "sync": "red",
    "idle": "bright_black",
    # classes of reuse distance
    "close": "green",
    "near": "yellow",
    "far": "red",
    "coherence": "magenta",
    "cold": "blue",
}
"""Colours of states and classes, wherever they are named."""
_GLYPHS: Final = {"work": "█", "create": "▓", "schedule": "▒", "sync": "░", "idle": "·"}
_ASCII_GLYPHS: Final = {"work": "#", "create": "+", "schedule": "=", "sync": "~", "idle": "."}
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def glyph(state: str, unicode: bool) -> str:
    return (_GLYPHS if unicode else _ASCII_GLYPHS)[state]


def state_values(states: StateTimes | MeanStates) -> tuple[float, ...]:
    """Returns the five states in the order of STATES."""
    return (states.work_ns, states.create_ns, states.schedule_ns, states.sync_ns, states.idle_ns)


def split_cells(values: Sequence[float], cells: int) -> list[int]:
    """Returns `cells` distributed in proportion to `values`, largest remainder first; the sum is exact."""
    total = sum(values)
    if total <= 0:
        return [0] * len(values)
    exact = [value * cells / total for value in values]
    parts = [int(x) for x in exact]
    order = sorted(range(len(values)), key=lambda k: (parts[k] - exact[k], k))
    for k in order[: cells - sum(parts)]:
        parts[k] += 1
    return parts


def state_bar(states: StateTimes | MeanStates, cells: int, unicode: bool = True) -> Text:
    """Returns a stacked bar of the states, `cells` wide; empty without any time."""
    bar = Text()
    for state, n in zip(STATES, split_cells(state_values(states), cells), strict=True):
        bar.append(glyph(state, unicode) * n, style=LOOKS[state])
    return bar


def length_bar(value: float, largest: float, cells: int, style: str, unicode: bool = True) -> Text:
    """Returns a bar of length value / largest; any value above zero is visible."""
    if value <= 0 or largest <= 0:
        return Text()
    eighths = max(1, round(value / largest * cells * 8))
    if not unicode:
        return Text("#" * max(1, round(eighths / 8)), style=style)
    return Text("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip(), style=style)

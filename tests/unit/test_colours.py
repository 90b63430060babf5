# SPDX-License-Identifier: Apache-2.0
"""People with any kind of colour vision can distinguish the colours that Ompass draws next to each other.

Simulates the three kinds of colour blindness at full severity (Machado, Oliveira and Fernandes 2009), and
compares colours by their distance in CIELAB.
"""

import math
from itertools import combinations

import pytest

from ompass.figures.style import CONSTRUCT_COLOURS, STATE_COLOURS
from ompass.page.assemble import _file

Matrix = tuple[tuple[float, float, float], ...]
VISIONS: dict[str, Matrix] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
CLEAR = 15.0  # distance at which small areas next to each other differ at a glance; 2 is barely visible


def linear(colour: str) -> list[float]:
    values = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def lab(rgb: list[float]) -> tuple[float, float, float]:
    red, green, blue = (min(max(value, 0.0), 1.0) for value in rgb)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, vision: str) -> float:
    seen = [
        lab([sum(a * b for a, b in zip(row, linear(colour), strict=True)) for row in VISIONS[vision]])
        for colour in (one, other)
    ]
    return math.dist(*seen)


@pytest.mark.parametrize("vision", VISIONS)
def test_states_are_distinguished(vision: str) -> None:
    for one, other in combinations(STATE_COLOURS.values(), 2):
        assert distance(one, other, vision) > CLEAR, (one, other)


@pytest.mark.parametrize("vision", VISIONS)
def test_constructs_are_distinguished_from_each_other_and_from_states_without_work(vision: str) -> None:
    states = [colour for state, colour in STATE_COLOURS.items() if state != "work"]
    for one, other in combinations([*CONSTRUCT_COLOURS, *states], 2):
        assert distance(one, other, vision) > CLEAR, (one, other)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISIONS)
def test_advice_has_a_different_colour_than_work(theme: str, vision: str) -> None:
    rules = _file("page.css").split("color-scheme: dark")[0].split('[data-theme="dark"]')
    accent = rules[theme == "dark"].split("--accent: ")[1][:7]
    assert distance(accent, STATE_COLOURS["work"], vision) > CLEAR

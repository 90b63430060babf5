# SPDX-License-Identifier: Apache-2.0
"""Pictures that need no chart library: small ones in the head of a report, and the icicles of sampled stacks.

Small pictures are SVG without scripts: bars, areas and curves. They have no axes: the figure next to them
states the value, and their label describes them to screen readers. page/client/flame.js draws the icicles.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ompass.figures.style import CONSTRUCT_COLOURS
from ompass.page.markup import Markup, element
from ompass.plain_text import visible
from ompass.samples.stacks import StackNode
from ompass.symbols.names import compact_name

WIDTH: Final = 120
HEIGHT: Final = 28
MOST_BARS: Final = 60


def bars(values: Sequence[float], label: str, most: float = 0.0) -> Markup:
    """Returns a bar per value; neighbours share a bar if there are many. `most`: value of a full bar."""
    means = _means(values)
    most = most or max(means, default=0.0)
    if not most:
        return Markup("")
    room = WIDTH / len(means)
    width = max(min(room - 1, 12), 0.8)
    parts = [
        element(
            "rect",
            x=f"{k * room:.1f}",
            y=f"{HEIGHT * (1 - min(value / most, 1)):.1f}",
            width=f"{width:.1f}",
            height=f"{max(HEIGHT * min(value / most, 1), 0.5 if value else 0):.1f}",
        )
        for k, value in enumerate(means)
    ]
    return _picture(parts, label)


def area(values: Sequence[float], label: str, most: float) -> Markup:
    """Returns the area below values at equal distances; `most` is the value at the top."""
    means = _means(values, 2 * MOST_BARS)
    if len(means) < 2 or not most:
        return Markup("")
    step = WIDTH / len(means)
    corners = "".join(
        f"L{k * step:.1f} {y:.1f}H{(k + 1) * step:.1f}"
        for k, value in enumerate(means)
        for y in [HEIGHT * (1 - min(value / most, 1))]
    )
    return _picture([element("path", d=f"M0 {HEIGHT}{corners}V{HEIGHT}Z")], label)


def curve(points: Sequence[tuple[float, float]], label: str) -> Markup:
    """Returns a curve through points with increasing x, drawn over the grey diagonal x = y."""
    if len(points) < 2:
        return Markup("")
    right, top = points[-1][0], max(y for _, y in points) * 1.1

    def at(x: float, y: float) -> str:
        return f"{WIDTH * x / right:.1f} {HEIGHT - (HEIGHT - 2) * min(y / top, 1):.1f}"

    line = "L".join(at(x, y) for x, y in points)
    diagonal = element("path", d=f"M{at(0, 0)}L{at(top, top)}", class_="faint")
    return _picture([diagonal, element("path", d=f"M{line}", class_="line")], label)


def pair(before: float, after: float, label: str, most: float) -> Markup:
    """Returns a bar for each of two values, the first one in grey; `most`: value of a full bar."""
    lengths = [WIDTH * min(value / most, 1) if most else 0.0 for value in (before, after)]
    bars = (
        element("rect", x=0, y=y, width=f"{length:.1f}", height=9, rx=2, class_=look)
        for length, y, look in zip(lengths, (HEIGHT - 21, HEIGHT - 10), ("earlier", None), strict=True)
    )
    return _picture(list(bars), label)


def part(value: float, label: str) -> Markup:
    """Returns a bar that is filled up to a share of 0 to 1."""
    low = HEIGHT - 8
    whole = element("rect", x=0, y=low, width=WIDTH, height=8, rx=2, class_="rest")
    filled = element("rect", x=0, y=low, width=f"{WIDTH * min(max(value, 0), 1):.1f}", height=8, rx=2)
    return _picture([whole, filled], label)


def _means(values: Sequence[float], most: int = MOST_BARS) -> list[float]:
    in_group = max(-(-len(values) // most), 1)
    groups = [values[k : k + in_group] for k in range(0, len(values), in_group)]
    return [sum(group) / len(group) for group in groups]


def _picture(parts: Sequence[Markup], label: str) -> Markup:
    return element(
        "svg",
        *parts,
        class_="small",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )


_LONG_NAME: Final = 60  # longer names omit template arguments


def difference(than: str) -> str:
    """Returns the explanation of the colours of a differential icicle."""
    return f"Red functions took more time than {than}, blue ones less, grey ones about the same."


def flame(
    tree: StackNode, *, unit: str = "samples", before: str = "", after: str = "", grain: float = 1.0
) -> Markup:
    """Returns the element of an icicle. `before` and `after` name the two runs of a differential icicle.

    `grain`: the value of one sample. Grey shows differences that chance may cause in so few samples.
    """
    names: dict[str, int] = {}

    def packed(node: StackNode) -> list[Any]:
        short = compact_name(node.name, _LONG_NAME) if len(node.name) > _LONG_NAME else ""
        name = names.setdefault(visible(short or node.name), len(names))
        return [name, round(node.n, 2), round(node.before, 2), [packed(part) for part in node.parts]]

    packed_tree = packed(tree)
    data = {
        "tree": packed_tree,
        "names": list(names),
        "colours": CONSTRUCT_COLOURS,
        "unit": unit,
        "before": before,
        "after": after,
        "grain": grain,
    }
    return element("div", class_="flame", data_flame=json.dumps(data, separators=(",", ":")))

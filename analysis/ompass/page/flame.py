# SPDX-License-Identifier: Apache-2.0
"""The sampled stacks as data for page/client/flame.js, which draws them as an icicle."""

from __future__ import annotations

import json
from typing import Any, Final

from ompass.figures.style import CONSTRUCT_COLOURS
from ompass.page.markup import Markup, element
from ompass.plain_text import visible
from ompass.samples.stacks import StackNode
from ompass.symbols.names import compact_name

_LONG_NAME: Final = 60  # longer names omit template arguments


def difference(than: str) -> str:
    """Returns the explanation of the colours of a differential icicle."""
    return f"Red functions took more time than {than}, blue ones less, grey ones about the same."


def flame(
    tree: StackNode, *, unit: str = "samples", before: str = "", after: str = "", grain: float = 1.0
) -> Markup:
    """Returns the element of an icicle. `before` and `after` name the two runs of a differential one.

    `grain`: the part of one sample in a value; differences that so few samples may have by chance are grey.
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

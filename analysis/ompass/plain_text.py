# SPDX-License-Identifier: Apache-2.0
"""Makes names from the program (kernels, functions, files) harmless for each kind of output.

Owns the set of harmful characters: they control a terminal, are forbidden in XML, or change the writing
direction. `visible` suits terminals, XML, HTML and pictures; the other functions suit one format each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

_BIDI: Final = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_HARMFUL: Final = (*range(0x20), *range(0x7F, 0xA0), *_BIDI, *range(0xD800, 0xE000), 0xFEFF, 0xFFFE, 0xFFFF)


def _ranges(numbers: Iterable[int]) -> str:
    """Returns the characters as ranges for a regular expression's brackets, without surrogates."""
    found: list[list[int]] = []
    for number in sorted(set(numbers) - set(range(0xD800, 0xE000))):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return "".join(f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in found)


HARMFUL_PATTERN: Final = f"[{_ranges(_HARMFUL)}]"
"""The harmful characters as a regular expression in Rust's syntax, for columns of polars."""

REPLACEMENT: Final = "\ufffd"
_PICTURES: Final = {
    number: chr(0x2400 + number) if number < 0x20 else "\u2421" if number == 0x7F else REPLACEMENT
    for number in _HARMFUL
}
_PICTURES_OF_TEXT: Final = {n: c for n, c in _PICTURES.items() if n != 0x0A}
_IN_JSON: Final = re.compile("[\x7f-\x9f\ufeff" + "".join(map(chr, _BIDI)) + "]|[\ud800-\udfff]")


def visible(text: str) -> str:
    """Returns a line of text in which visible characters replace harmful ones; ESC becomes `␛`."""
    return text.translate(_PICTURES)


def visible_lines(text: str) -> str:
    """Returns the text as `visible` does, but keeps its line breaks."""
    return text.translate(_PICTURES_OF_TEXT)


def visible_values(value: Any) -> Any:
    """Returns nested lists and dictionaries, such as a figure's, with every string made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: visible_values(part) for key, part in value.items()}
    return [visible_values(part) for part in value] if isinstance(value, list) else value


def json_text(text: str) -> str:
    """Returns JSON with harmful characters escaped; its meaning stays the same."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def csv_cell(value: Any) -> Any:
    """Returns a value for a CSV file, with an apostrophe before text that a spreadsheet would evaluate."""
    if not isinstance(value, str):
        return value
    return visible(f"'{value}" if value.startswith(("=", "+", "-", "@")) else value)


def dot_text(text: str) -> str:
    """Returns text for the inside of a quoted DOT string."""
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')

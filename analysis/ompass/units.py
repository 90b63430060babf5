# SPDX-License-Identifier: Apache-2.0
"""Formats numbers for people (durations, shares, counts, sizes, task ids), and parses them.

Owns the wording of quantities in all of Ompass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_TASK_COUNTER_BITS = 40  # low bits of a task id (format.h); the high bits are the creating thread
_DURATIONS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_DURATION_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s|m)?\s*")
_DURATION_UNIT_NS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000
}  # fmt: skip
_LONGEST_NS = 10**18
"""Some thirty years, so sums with other times still fit 64 bits."""


def duration(ns: float) -> str:
    """Returns three significant digits with a unit: 1.23 s, 45.6 ms, 789 ns."""
    for scale, unit in _DURATIONS:
        # 999.6 of a smaller unit would be rounded to 1000, four digits
        if abs(ns) >= scale * 0.9995:
            return f"{_three_digits(ns / scale)} {unit}"
    return f"{_three_digits(ns)} ns"


def durations_alike(values: Sequence[float], *, parts: bool = False) -> Callable[[float], str]:
    """Returns a function that formats durations of one table column.

    The function uses the unit of the largest value if every value then shows two digits; else each value has
    its own unit. `parts`: the values are parts of a sum, so values below a thousandth of the largest do not
    count.
    """
    largest = max(map(abs, values), default=0.0)
    scale, unit = next(((s, u) for s, u in _DURATIONS if largest >= s * 0.9995), (1, "ns"))
    least = min((abs(v) for v in values if not parts or abs(v) * 1000 >= largest), default=0.0)
    if least < 0.1 * scale:
        return duration

    def alike(ns: float) -> str:
        if 0 < abs(ns) < 0.01 * scale:
            return f"<0.01 {unit}"
        return f"{_three_digits(ns / scale)} {unit}"

    return alike


def _three_digits(value: float) -> str:
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if magnitude >= 9.995 else f"{value:.2f}"


def percent(share: float) -> str:
    """Returns a share as a percentage with at most three digits (up to 999%); <0.1% for tiny shares."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}%" if abs(share) < 0.9995 else f"{share * 100:,.0f}%"


def gain(part: float, *, is_bound: bool, is_least: bool = False) -> str:
    """Returns a predicted gain; predictions are no finer than 1%.

    `is_bound`: `part` is an upper bound. `is_least`: `part` is a lower bound; the rest is unknown.
    """
    words = f"{part:.0%} less time"
    return f"{words} or more" if is_least else f"up to about {words}" if is_bound else words


def ratio(value: float) -> str:
    """Returns a quotient with three significant digits, at most two of them decimals: 0.50, 13.9, 386."""
    return f"{value:.2f}" if abs(value) < 9.995 else _three_digits(value)


def count(n: int) -> str:
    """Returns an integer with thousands separators."""
    return f"{n:,}"


def plural(n: int, word: str, words: str = "") -> str:
    """Returns `1 task`, `2 tasks`; `words` is an irregular plural."""
    return f"{n:,} {word}" if n == 1 else f"{n:,} {words or word + 's'}"


def size(n_bytes: float) -> str:
    """Returns bytes with a binary unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n_bytes) < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} TiB"


def parse_duration(text: str) -> int:
    """Returns `250us`, `1.5ms` or `2s` in nanoseconds, the default unit. Raises ValueError for other text."""
    match = _DURATION_TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a time; write a number with ns, us, ms, s or m, such as 1.5ms")
    whole, _, fraction = match.group(1).partition(".")
    scale = _DURATION_UNIT_NS[match.group(2) or "ns"]
    # integers, because a float would lose nanoseconds of long times
    ns = int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)
    if ns > _LONGEST_NS:
        raise ValueError(f"`{text}` is longer than any run")
    return ns


_LARGEST_LIMIT = 1 << 60
_SIZE_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(B|([KMGT])i?B?)?\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Returns `512K`, `18MiB` or `1.5g` in bytes, the default unit; units are binary. Raises ValueError."""
    match = _SIZE_TEXT.fullmatch(text)
    if match is None or float(match.group(1)) == 0:
        raise ValueError(f"`{text}` is not a size; write a number with K, M or G, such as 512K or 18MiB")
    power = " KMGT".index((match.group(3) or " ").upper())
    return round(float(match.group(1)) * float(1024**power))


def parse_limit(text: str) -> int:
    """Returns a trace limit in bytes. Like parse_size, but a number without a unit is in megabytes.

    Raises ValueError with `why; cure`. ompt_tool/src/options.cpp parses OMPASS_LIMIT_MB by the same rule.
    """
    try:
        n_bytes = parse_size(text if text.strip()[-1:].isalpha() else f"{text}M")
    except ValueError:
        n_bytes = 0
    if not 0 < n_bytes <= _LARGEST_LIMIT:
        raise ValueError(
            "not a size; write megabytes, or a number with k, M, G or T, such as 500, 500M or 1.5G"
        )
    return n_bytes


def in_sentence(title: str) -> str:
    """Returns a title as a part of a sentence: with a small first letter."""
    return title[:1].lower() + title[1:]


def task_name(task: int) -> str:
    """Returns `2.17` for the 17th task that thread 2 created; `-` for 0, which is not a task."""
    return f"{task >> _TASK_COUNTER_BITS}.{task & ((1 << _TASK_COUNTER_BITS) - 1)}" if task else "-"

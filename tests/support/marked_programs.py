# SPDX-License-Identifier: Apache-2.0
"""Programs that mark lines by comments `@name`: finds the lines, and repeats disturbed recordings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from toolchains import PROGRAMS

ATTEMPTS = 4
Seen = TypeVar("Seen")


def lines_of(source: str) -> dict[str, int]:
    """Returns the line of each comment `@name`, by name."""
    lines = (PROGRAMS / source).read_text(encoding="utf-8").splitlines()
    marked = ((re.search(r"[/!] @(\w+)$", line), number) for number, line in enumerate(lines, 1))
    return {found[1]: number for found, number in marked if found}


def in_a_calm_moment(record: Callable[[], Seen], check: Callable[[Seen], None]) -> None:
    """Checks a recording. If the check fails, records again, because a preempted thread may arrive too late.

    `record` checks that each recording is complete and consistent.
    """
    for _ in range(ATTEMPTS - 1):
        seen = record()
        try:
            check(seen)
        except AssertionError:
            continue
        return
    check(record())

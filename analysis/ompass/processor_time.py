# SPDX-License-Identifier: Apache-2.0
"""How long CPUs have been busy, by the kernel's account (/proc/stat), which counts in steps of 10 ms."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

_STAT = Path("/proc/stat")
_BUSY_FIELDS = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal


def step_ns() -> int:
    """Resolution of the kernel's account."""
    return 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def busy_ns(cpus: Collection[int], stat: Path = _STAT) -> int | None:
    """Time that these CPUs have been busy since the machine started; None where the kernel does not tell."""
    tick_ns = step_ns()
    total, seen = 0, 0
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
            seen += 1
            total += sum(int(fields[k]) for k in _BUSY_FIELDS if k < len(fields)) * tick_ns
    return total if seen == len(cpus) and total else None

# SPDX-License-Identifier: Apache-2.0
"""Returns the output of other programs, and the busy and stolen time of CPUs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_ANSWER_SECONDS = 60
_STAT = Path("/proc/stat")
_STEAL_FIELD = 7
_BUSY_FIELDS = (0, 1, 2, 5, 6, _STEAL_FIELD)  # user, nice, system, irq, softirq, steal


def step_ns() -> int:
    """Returns the resolution of /proc/stat."""
    return 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def _counted_ns(fields: Collection[int], cpus: Collection[int], stat: Path) -> int | None:
    """Returns the sum of these fields over these CPUs; None if the kernel does not report every CPU."""
    tick_ns = step_ns()
    total, seen = 0, 0
    try:
        lines = stat.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    for line in lines:
        name, *counts = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
            seen += 1
            total += sum(int(counts[k]) for k in fields if k < len(counts)) * tick_ns
    return total if seen == len(cpus) else None


def busy_ns(cpus: Collection[int], stat: Path = _STAT) -> int | None:
    """Returns the busy time of these CPUs since boot (/proc/stat); None if it is unknown."""
    return _counted_ns(_BUSY_FIELDS, cpus, stat) or None


def stolen_ns(cpus: Collection[int], stat: Path = _STAT) -> int | None:
    """Returns the time since boot in which the host of a virtual machine withheld these CPUs (steal time).

    Returns None if the kernel does not report it. A thread's processor time does not include it.
    """
    return _counted_ns((_STEAL_FIELD,), cpus, stat)


def answer_of(
    command: Sequence[str],
    environ: Mapping[str, str] | None = None,
    *,
    errors_too: bool = False,
    limit_s: float = _ANSWER_SECONDS,
) -> str | None:
    """Returns stdout of the command (`errors_too`: and stderr); None if it cannot be run, fails or hangs."""
    try:
        return subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if errors_too else subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=True,
            env=environ,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None

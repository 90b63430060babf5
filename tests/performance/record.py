# SPDX-License-Identifier: Apache-2.0
"""Runs benchmarks and collects the samples of each figure into one record."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolchains import REPOSITORY

FORMAT = "ompass performance 1"

BENCHMARKS = {
    "overhead": ("overhead.py", "--repeat"),
    "reading": ("reading.py", "--repeat"),
    "units": ("bots_units.py", "--rounds"),
}
"""Benchmarks that write all samples: script in tests/benchmarks, option for the number of samples."""

_IDENTITY = ("case", "program", "name", "threads", "way", "variant")
"""Keys whose values identify a row of a benchmark."""

Record = dict[str, Any]
"""A record: format, machine, commit, and the samples of each figure by its name."""


def measure(names: list[str], n_samples: int) -> Record:
    """Runs these benchmarks; returns the record. Raises CalledProcessError if one fails."""
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            script, option = BENCHMARKS[name]
            file = Path(folder) / f"{name}.json"
            command = [sys.executable, str(REPOSITORY / "tests/benchmarks" / script)]
            command += [option, str(n_samples), "--json", str(file)]
            subprocess.run(command, check=True, stdout=sys.stderr)
            figures |= samples_in(json.loads(file.read_text(encoding="utf-8")), (name,))
    return {"format": FORMAT, "machine": machine(), "commit": commit(), "figures": figures}


def samples_in(value: Any, place: tuple[str, ...]) -> dict[str, list[float]]:
    """Returns all lists of numbers in the output of a benchmark, by their place in the output.

    A list of rows of numbers gives a list for each column. Lists with one number are not samples.
    """
    return dict(_samples_in(value, place))


def _samples_in(value: Any, place: tuple[str, ...]) -> Iterator[tuple[str, list[float]]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _samples_in(part, (*place, str(key)))
    elif isinstance(value, list) and len(value) > 1 and all(map(_is_number, value)):
        yield " ".join(place), value
    elif isinstance(value, list) and all(isinstance(row, Mapping) for row in value):
        if len(value) > 1 and all(_is_number(number) for row in value for number in row.values()):
            for key in value[0]:
                yield " ".join((*place, key)), [row[key] for row in value]
            return
        for row in value:
            yield from _samples_in(row, (*place, *(str(row[key]) for key in _IDENTITY if key in row)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def machine() -> str:
    """Returns the model of the processor and the number of processors."""
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {os.cpu_count()} processors"


def commit() -> str:
    """Returns the commit of this working tree, with + if files differ from it."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    return subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.strip()


def file_name(record: Record) -> str:
    words = re.findall(r"[A-Za-z0-9]+", record["machine"])
    return f"{'-'.join(words)}-{record['commit']}.json"

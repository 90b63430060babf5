# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a paper, saves the value of each immediately, and resumes after an interruption.

Owns the file of results, tests/papers/results/NAME.json.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import toolchains
from ompass.errors import UsageError
from ompass.journal import Journal
from papers import priority
from papers.model import Paper, Step, Workplace

RESULTS: Final = toolchains.REPOSITORY / "tests" / "papers" / "results"
SCHEMA: Final = "ompass paper 1"

READERS: Final = frozenset({"conditions.py", "figures.py", "numbers.py", "page.py", "panels.py", "paper.py"})
"""Files that only read finished measurements, as do files whose names end in claims.py."""

Settings = dict[str, Any]
"""Settings that must not change when a campaign resumes."""


def settings_of(paper: Paper, size: str) -> Settings:
    return {"paper": paper.name, "size": size, "machine": machine(), "priority": priority.described()}


def machine() -> dict[str, Any]:
    """Returns the processor's name and the number of processors that this process may use."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {"cpu": models[0] if models else "", "n_cpus": len(os.sched_getaffinity(0))}


def measuring_code() -> str:
    """Returns a digest of the code in tests/papers that measures. Changes of readers do not change it."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.name not in READERS and not path.name.endswith("claims.py"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def run_steps(
    steps: Sequence[Step], settings: Settings, folder: Path, progress: Callable[[int, str], None]
) -> dict[str, Any]:
    """Returns the value of every step; runs the steps that an earlier call in `folder` did not finish.

    Raises UsageError if the folder holds steps with other settings or of other code, or if another process
    uses it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    header = {"format": SCHEMA, "settings": settings, "code": measuring_code()}
    values: dict[str, Any] = {}
    with Journal(folder / "journal", f"remove {folder} to start again", header) as journal:
        for number, entry in journal.entries():
            if number == 1:
                _check(entry, header, folder)
            else:
                values[entry["key"]] = entry["value"]
        for number, step in enumerate(steps, 1):
            if step.key not in values:
                progress(number, step.key)
                value = step.run(Workplace(folder, values))
                journal.append({"key": step.key, "value": value})
                values[step.key] = value
    return {step.key: values[step.key] for step in steps}


def _check(entry: Any, header: dict[str, Any], folder: Path) -> None:
    if entry != header:
        raise UsageError(
            f"{folder} holds measurements of another machine, size or paper, or of an older version",
            "old and new measurements must not be mixed",
            "remove it to start again",
        )


def results_file(name: str) -> Path:
    return RESULTS / f"{name}.json"


def write_results(settings: Settings, values: dict[str, Any]) -> None:
    """Writes all measurements, one step per line."""
    lines = ",\n".join(f"  {json.dumps(key)}: {_compact(value)}" for key, value in values.items())
    head = ",\n".join(f" {json.dumps(key)}: {json.dumps(value)}" for key, value in settings.items())
    text = f'{{\n "schema": {json.dumps(SCHEMA)},\n{head},\n "values": {{\n{lines}\n }}\n}}\n'
    RESULTS.mkdir(exist_ok=True)
    results_file(settings["paper"]).write_text(text, encoding="utf-8")


def read_results(name: str) -> dict[str, Any]:
    """Returns the settings, and the measurements under the key "values"."""
    results: dict[str, Any] = json.loads(results_file(name).read_text(encoding="utf-8"))
    return results


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))

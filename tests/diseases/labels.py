# SPDX-License-Identifier: Apache-2.0
"""The label of every program: its disease, and the other findings that are right if threads share processors.

`labels.csv` holds them. `crowded` lists the kinds that are also right if there are more threads than
processors; `gcc` the kinds that are also right for programs built by gcc, whose static loops and sections the
runtime does not see. On one processor, "too many threads" is always right. A comment `DISEASE` in the program
marks the line that the finding should name.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from diseases.conditions import Condition

FOLDER = Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
HEALTHY = "healthy"
NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Label:
    """The known disease of a program, and its alternatives."""

    program: str  # file name
    disease: str  # kind of the finding that should come first; HEALTHY: none at all
    crowded: frozenset[str]
    gcc: frozenset[str] = frozenset()

    @property
    def source(self) -> Path:
        return PROGRAMS / self.program

    @property
    def needs_sweep(self) -> bool:
        """True if only a comparison with one thread shows the disease."""
        return self.disease == "memory_contention"

    @property
    def marked_line(self) -> int:
        """Returns the line that the finding should name; 0: any."""
        lines = self.source.read_text(encoding="utf-8").splitlines()
        return next((number for number, line in enumerate(lines, 1) if "DISEASE" in line), 0)

    def accepts(self, found: str, compiler: str, condition: Condition, threads: int) -> bool:
        """True if `found`, a kind or NOTHING, is a right first finding in that case."""
        right = {NOTHING if self.disease == HEALTHY else self.disease}
        if compiler.startswith("gcc"):
            right |= self.gcc
        if threads > condition.n_cpus:
            right |= self.crowded
        if condition.n_cpus == 1:
            right.add("oversubscribed")
        if condition.hogged:
            right.add("disturbed")
        return found in right


def all_labels() -> tuple[Label, ...]:
    """Returns the labels in the order of the file, which groups programs by disease."""
    with (FOLDER / "labels.csv").open(encoding="utf-8") as file:
        return tuple(
            Label(
                row["program"],
                row["label"],
                frozenset(row["crowded"].split()),
                frozenset(row["gcc"].split()),
            )
            for row in csv.DictReader(file)
        )

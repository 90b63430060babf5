# SPDX-License-Identifier: Apache-2.0
"""The label of every program: its kind of disease, and the right findings and verdicts.

`labels.csv` holds them, one row per program:

- `kind`: its disease; `healthy`: none
- `label`: the right first findings of one run; empty: the kind. `nothing`: one run cannot show the disease
- `scale`: the right verdicts of a sweep; empty: the kind
- `crowded`: findings that, besides "too many threads", are right if there are more threads than processors
  or only one processor
- `gcc`: findings that are also right if gcc builds the program, because the runtime does not see its static
  loops and sections
- `compilers`: the families of compilers that can build it and whose runtime shows the disease; empty: all
- `environment`: variables of its runs, sick or cured

`advice.csv` lists the kinds of advice that express the cure of a program, if there are any.

Lists are separated by spaces. On one processor, "too many threads" is always right. The macro `CURED` builds
the program without its disease, so its runs should have no finding. A comment `DISEASE` marks the construct
that a finding should name, and a comment `HOT` the line whose processor time grows with the threads.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from diseases.conditions import Condition

FOLDER = Path(__file__).resolve().parent
PROGRAMS = FOLDER / "programs"
HEALTHY = "healthy"
NOTHING = "nothing"
SCALES = "scales"


@dataclass(frozen=True, slots=True)
class Label:
    """The known disease of a program, and its alternatives."""

    program: str  # file name
    disease: str  # kind; HEALTHY: none
    crowded: frozenset[str]
    gcc: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()  # of one run; empty: the kind
    verdicts: frozenset[str] = frozenset()  # of a sweep; empty: the kind
    compilers: tuple[str, ...] = ()  # families; empty: all
    environment: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def source(self) -> Path:
        return PROGRAMS / self.program

    @property
    def is_healthy(self) -> bool:
        return self.disease == HEALTHY

    def builds_with(self, compiler: str) -> bool:
        """True if this compiler of the matrix builds the program."""
        return not self.compilers or compiler.startswith(self.compilers)

    def marked_lines(self, *marks: str) -> tuple[int, ...]:
        """Returns the lines with one of these marks; empty: any line is right."""
        lines = self.source.read_text(encoding="utf-8").splitlines()
        return tuple(n for n, line in enumerate(lines, 1) if any(mark in line for mark in marks))

    def accepts(
        self, found: str, compiler: str, condition: Condition, threads: int, *, well: bool = False
    ) -> bool:
        """True if `found`, a kind or NOTHING, is a right first finding in that case.

        `well`: the program was cured, or it is healthy.
        """
        right = {NOTHING} if well or self.is_healthy else set(self.findings or {self.disease})
        if compiler.startswith("gcc") and not well:
            right |= self.gcc
        if threads > condition.n_cpus or condition.n_cpus == 1:
            right |= {"oversubscribed"} | (set() if well else self.crowded)
        if condition.hogged:
            right.add("disturbed")
        return found in right

    def accepts_verdict(
        self, found: str, compiler: str, condition: Condition, threads: int, *, well: bool = False
    ) -> bool:
        """True if `found` is a right verdict of a sweep to that number of threads."""
        if threads > condition.n_cpus:
            return found == "oversubscribed"
        if well or self.is_healthy:
            return found == SCALES
        of_compiler = self.gcc if compiler.startswith("gcc") else frozenset()
        return found in (self.verdicts or {self.disease}) | of_compiler


def all_labels() -> tuple[Label, ...]:
    """Returns the labels in the order of the file, which groups programs by disease."""
    with (FOLDER / "labels.csv").open(encoding="utf-8") as file:
        return tuple(
            Label(
                program=row["program"],
                disease=row["kind"],
                crowded=frozenset(row["crowded"].split()),
                gcc=frozenset(row["gcc"].split()),
                findings=frozenset(row["label"].split()),
                verdicts=frozenset(row["scale"].split()),
                compilers=tuple(row["compilers"].split()),
                environment=dict(setting.split("=", 1) for setting in row["environment"].split()),
            )
            for row in csv.DictReader(file)
        )


def advised_kinds() -> dict[str, tuple[str, ...]]:
    """Returns the kinds of advice that express the cure, by program; omits programs without any."""
    with (FOLDER / "advice.csv").open(encoding="utf-8") as file:
        return {row["program"]: tuple(row["advice"].split()) for row in csv.DictReader(file)}

# SPDX-License-Identifier: Apache-2.0
"""The examples in README.md and docs/*.md: commands, SQL queries and Python, and the output shown for them.

A block is fenced or indented. It is a console block if its first line is a command. If `$ ` precedes that
command, lines without `$ ` are output. Words after two blanks explain a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from toolchains import REPOSITORY

PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
_COMMAND = re.compile(
    r"(\w+=\S+ )*(\./|build/|ompass |mpirun |dask |srun |for |cmake |ctest |pip |python3? |pytest )"
)
_PYTHON = re.compile(r"(import|from) \w|\w+ = \w+\.")
_GLOSS = re.compile(r"\s{2,}\S.*$")
_WORD = re.compile(r"[A-Za-z_]{3,}")

Kind = Literal["console", "sql", "python", "other"]


@dataclass
class Example:
    """A command, a query or a piece of a program, and the output that the page shows for it."""

    page: str
    line: int
    kind: Kind
    text: str
    shown: list[str] = field(default_factory=list)


def blocks_of(page: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the fenced and the indented blocks of a page: number of the first line, lines without indent."""
    lines = page.splitlines()
    number = 0
    while number < len(lines):
        end = number + 1
        if lines[number].startswith("```"):
            while not lines[end].startswith("```"):
                end += 1
            yield number + 2, lines[number + 1 : end]
        elif lines[number].startswith("    ") and (number == 0 or not lines[number - 1]):
            while end < len(lines) and (lines[end].startswith("    ") or _goes_on(lines, end)):
                end += 1
            yield number + 1, [line[4:] for line in lines[number:end]]
        number = end + 1 if lines[number].startswith("```") else end


def _goes_on(lines: list[str], blank: int) -> bool:
    return not lines[blank] and blank + 1 < len(lines) and lines[blank + 1].startswith("    ")


def kind_of(block: list[str]) -> Kind:
    """Returns the kind of a block, by its first line."""
    first = block[0].removeprefix("$ ")
    if _COMMAND.match(first):
        return "console"
    if first.startswith(("SELECT ", "WITH ")):
        return "sql"
    return "python" if _PYTHON.match(first) else "other"


def examples_in(name: str, page: str) -> list[Example]:
    """Returns the examples of a page in order; a console block has one for each command."""
    found: list[Example] = []
    for number, block in blocks_of(page):
        kind = kind_of(block)
        if kind == "console":
            with_prompts = block[0].startswith("$ ")
            for offset, line in enumerate(block):
                if with_prompts and not line.startswith("$ "):
                    found[-1].shown.append(line)
                elif line:
                    command = _GLOSS.sub("", line.removeprefix("$ "))
                    found.append(Example(name, number + offset, kind, command))
        elif kind != "other":
            found.append(Example(name, number, kind, "\n".join(block)))
    return found


def lines_without_likeness(shown: list[str], output: str) -> list[str]:
    """Returns the shown lines for which no output line contains all words. Order and figures may differ."""
    printed = [set(_WORD.findall(line)) for line in output.splitlines()]
    return [line for line in shown if not any(set(_WORD.findall(line)) <= words for words in printed)]


def all_examples() -> dict[str, list[Example]]:
    """Returns the examples of every page that has some, by the name of the page."""
    found = {page.name: examples_in(page.name, page.read_text(encoding="utf-8")) for page in PAGES}
    return {name: examples for name, examples in found.items() if examples}


def page_path(name: str) -> Path:
    return next(page for page in PAGES if page.name == name)

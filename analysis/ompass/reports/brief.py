# SPDX-License-Identifier: Apache-2.0
"""The default report on a run: about 30 lines that answer what is slow, where, and what to do.

Owns the choice of content from the whole report (`--full`): the worst findings, the states, the most
expensive constructs and the important notes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ompass.metrics.breakdown import program_ns
from ompass.reports.content import ReportContent
from ompass.reports.findings import note_parts
from ompass.reports.model import Report, Section, Table
from ompass.reports.next_commands import shell_word
from ompass.reports.run import run_name, run_report
from ompass.symbols.kept import NAMES_FILE
from ompass.units import duration, plural

_FINDING_LINES: Final = 11
_ROWS: Final = 3
_IMPORTANT: Final = ("unlogged", "dropped", "second_runtime")
"""Notes without which the figures would mislead."""
_CONSTRUCTS: Final = ("tasks", "loops", "regions")
_TITLES: Final = ("task", "tasks", "work", "create", "mean work", "loop", "kind", "runs", "time", "max/mean",
                  "lost", "region", "team", "wall", "idle", "share", "call", "class", "place", "calls",
                  "target", "host time", "transfer", "launch", "wait", "to device",
                  "from device")  # fmt: skip


def brief_report(content: ReportContent) -> Report:
    """Returns the report that fits on one screen."""
    whole = run_report(content)
    facts = (run_name(content.run), duration(program_ns(content.run)), plural(content.n_tasks, "task"))
    return replace(
        whole,
        title=" · ".join(facts),
        facts=(),
        sections=tuple(_sections(content, whole)),
    )


def _sections(content: ReportContent, whole: Report) -> Iterator[Section]:
    sections = {section.key: section for section in whole.sections}
    more = f"ompass report {shell_word(content.run.path)} --full"
    if "findings" in sections:
        yield replace(sections["findings"], most_lines=_FINDING_LINES, more=more)
    states = sections["thread-time"]
    yield replace(states, parts=states.parts[:2])  # the scope of all shares, and the states
    key = next((key for key in _CONSTRUCTS if key in sections), "")
    for each in (key, "mpi", "targets"):
        if each in sections:
            parts = [_brief(part, more) for part in sections[each].parts if isinstance(part, Table)]
            yield replace(sections[each], parts=tuple(parts))
    damaged = (f"Note: {problem}." for problem in content.problems if problem.startswith(NAMES_FILE))
    if notes := (*note_parts(content, _IMPORTANT), *damaged):
        yield Section("notes", "Notes", notes)


def _brief(table: Table, more: str) -> Table:
    """Returns a few rows and the most important columns of a table."""
    chosen = [
        k for k, column in enumerate(table.columns) if column.title in _TITLES and not column.kind.is_bar
    ]
    rows = tuple(tuple(row[k] for k in chosen) for row in table.rows)
    return replace(
        table, columns=tuple(table.columns[k] for k in chosen), rows=rows, most=_ROWS, more=more, notes=()
    )

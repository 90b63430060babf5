# SPDX-License-Identifier: Apache-2.0
"""Writes remarks in the form that --format names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ompass.commands.options import EditorForm
from ompass.commands.streams import say, to_json, write_result
from ompass.reports.editors import gcc_messages, sarif
from ompass.reports.remarks import NOTE, Remark, SourceTree, merged
from ompass.units import plural


def write_remarks(remarks: Iterable[Remark], form: EditorForm, output: Path | None) -> None:
    """Writes remarks to a file or to stdout; reports on stderr how many problems have no line."""
    found = merged(remarks)
    if form is EditorForm.SARIF:
        write_result(to_json(sarif(found, SourceTree.of_repository(Path.cwd()))), output)
        return
    write_result(gcc_messages(found, SourceTree(Path.cwd())), output)
    without = sum(1 for remark in found if remark.level != NOTE and not remark.location.line)
    if without:
        say(f"omitted {plural(without, 'finding')} without a line: compile with -g, or see `ompass report`")

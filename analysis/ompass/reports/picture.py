# SPDX-License-Identifier: Apache-2.0
"""The terminal report as a self-contained SVG picture, without external fonts or scripts."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.terminal_theme import SVG_EXPORT_THEME

from ompass.reports.model import Report
from ompass.reports.terminal import TerminalConsole, print_report

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_COLUMNS = 110


def svg_report(reports: Sequence[Report], columns: int = _COLUMNS) -> str:
    """Returns one or more reports as SVG text, `columns` characters wide."""
    console = TerminalConsole(
        record=True,
        width=columns,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for report in reports:
        print_report(console, report)
    picture = console.export_svg(title="ompass report", theme=SVG_EXPORT_THEME)
    return _FONT_FACE.sub("", picture).replace("Fira Code", "DejaVu Sans Mono")

# SPDX-License-Identifier: Apache-2.0
"""The terminal report as an SVG picture that stands alone: no font or script from elsewhere."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

from ompass.reports.content import ReportContent
from ompass.reports.terminal import print_report

_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_COLUMNS = 110


def svg_report(contents: Sequence[ReportContent], columns: int = _COLUMNS) -> str:
    """The report of one or more runs as SVG text, `columns` characters wide."""
    console = Console(
        record=True,
        width=columns,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    for content in contents:
        print_report(console, content)
    picture = console.export_svg(title="ompass report", theme=SVG_EXPORT_THEME)
    return _FONT_FACE.sub("", picture).replace("Fira Code", "DejaVu Sans Mono")

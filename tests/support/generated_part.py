# SPDX-License-Identifier: Apache-2.0
"""The part of a document that a subcommand of ./run writes, between two comments."""

from __future__ import annotations

from pathlib import Path

_END = "<!-- end -->"


def write(text: str, page: Path, command: str) -> None:
    """Puts `text` into the part of the page that `./run COMMAND` writes."""
    before, _, after = _divided(page, command)
    page.write_text(f"{before}\n\n{text}\n{after}", encoding="utf-8")


def read(page: Path, command: str) -> str:
    """Returns the text that `./run COMMAND` wrote into the page."""
    return _divided(page, command)[1]


def _divided(page: Path, command: str) -> tuple[str, str, str]:
    begin = f"<!-- written by ./run {command} -->"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    text, after = rest.split(_END)
    return before + begin, text, _END + after

# SPDX-License-Identifier: Apache-2.0
"""Manual pages of the command and its subcommands, generated from the texts of --help.

Owns the layout of a page. The build runs `python -m ompass.commands.manual FOLDER VERSION [CORE]`. CORE is
the directory of the core, if the core lies outside of the package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

import ompass
from ompass.commands.help import argument_rows, epilog_sections, first_sentence, option_rows, synopsis


def man_pages(app: typer.Typer, version: str) -> dict[str, str]:
    """Returns man(7) pages by file name: one for the command, and one for each subcommand."""
    group: Any = typer.main.get_command(app)
    top = typer.Context(group, info_name=group.name, **group.context_settings)
    names = [name for name in group.list_commands(top) if not group.get_command(top, name).hidden]
    pages = {f"{group.name}.1": _page(top, group.name, version, [f"{group.name}-{name}" for name in names])}
    for name in names:
        command: Any = group.get_command(top, name)
        context = typer.Context(command, info_name=name, parent=top)
        pages[f"{group.name}-{name}.1"] = _page(context, f"{group.name}-{name}", version, [group.name])
    return pages


def _page(context: Any, title: str, version: str, see_also: Iterable[str]) -> str:
    command = context.command
    rest = (command.help or "").split("\n\n")[1:]
    lines = [
        f'.TH {title.upper()} 1 "" "Ompass {version}" "Ompass"',
        ".nh",
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(first_sentence(command))}",
        ".SH SYNOPSIS",
        f".B {_escaped(context.command_path)}",
        _escaped(synopsis(context)),
    ]
    for number, paragraph in enumerate(rest):
        lines += [".SH DESCRIPTION" if number == 0 else ".PP", _escaped(" ".join(paragraph.split()))]
    subcommands = [
        (f"{context.command_path} {name}", first_sentence(sub))
        for name, sub in getattr(command, "commands", {}).items()
        if not sub.hidden
    ]
    options = [row for rows in option_rows(context).values() for row in rows]
    arguments = argument_rows(context)
    for heading, entries in (("ARGUMENTS", arguments), ("COMMANDS", subcommands), ("OPTIONS", options)):
        if entries:
            lines += [f".SH {heading}", *_entries(entries)]
    lines += _epilog(command.epilog or "")
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{_escaped(name)}\\fR(1)" for name in sorted(see_also))]
    return "\n".join(lines) + "\n"


def _entries(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in entries:
        name = _escaped(name).replace("|", "|\\:")  # a line may end after each |
        yield from (".TP", f".B {name}", _escaped(" ".join(text.split())))


def _epilog(epilog: str) -> Iterator[str]:
    """Yields the lines of an epilog: headings become sections, indented lines keep their layout."""
    headings = [".SH NOTES", ".PP"]
    for heading, lines in epilog_sections(epilog):
        text = [_escaped(line) for line in lines]
        yield f".SH {_escaped(heading.upper())}" if heading else headings.pop(0) if headings[1:] else ".PP"
        yield from (".nf", *text, ".fi") if lines[0].startswith(" ") else text


def _escaped(text: str) -> str:
    """Returns text that man(7) shows unchanged: escapes hyphens, and characters that begin a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def main(folder: Path, version: str, *core_folder: str) -> None:
    """Writes the pages of `ompass` into `folder`; `core_folder` has the core if the package lacks it."""
    ompass.__path__.extend(core_folder)
    from ompass.commands.main import application  # after the line above, because it loads the core

    folder.mkdir(parents=True, exist_ok=True)
    for name, text in man_pages(application(), version).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])

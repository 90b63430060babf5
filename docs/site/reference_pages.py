# SPDX-License-Identifier: Apache-2.0
"""Generates pages of the site from the code: commands, and the interfaces in C, Fortran and Python.

On the site, links to the `sources` of a page lead to that page.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from ompass import recording, results
from ompass.commands.help import argument_rows, epilog_sections, first_sentence, option_rows, synopsis
from ompass.commands.main import application

ROOT = Path(__file__).resolve().parents[2]


class Page(NamedTuple):
    """A generated page: its file name, the sources that it shows, and a function that returns its text."""

    name: str
    sources: tuple[str, ...]
    text: Callable[[], str]


def version() -> str:
    """Returns the version in pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert found, "pyproject.toml has no version"
    return found[1]


def commands() -> str:
    """Returns a page with every command: use, examples, arguments and options."""
    group: Any = typer.main.get_command(application())
    top = typer.Context(group, info_name="ompass", **group.context_settings)
    parts = ["# Every command and option\n", "Generated from the texts of `ompass COMMAND --help`.\n"]
    for name in group.list_commands(top):
        command: Any = group.get_command(top, name)
        if not command.hidden:
            context = typer.Context(command, info_name=name, parent=top)
            parts += _command(name, context)
    return "\n".join(parts)


def _command(name: str, context: Any) -> Iterator[str]:
    command = context.command
    yield f"## ompass {name}\n\n{_prose(first_sentence(command))}.\n"
    yield f"```text\n{context.command_path} {synopsis(context)}\n```\n"
    for paragraph in (command.help or "").split("\n\n")[1:]:
        yield f"{_prose(' '.join(paragraph.split()))}\n"
    for heading, rows in {"Arguments": argument_rows(context), **option_rows(context)}.items():
        if rows:
            yield f"**{heading}**\n"
            yield from _table(("name", "meaning"), rows)
    for heading, lines in epilog_sections(command.epilog or ""):
        if heading:
            yield f"**{heading}**\n"
        if lines[0].startswith(" "):
            yield "```text\n" + "\n".join(line.removeprefix("  ") for line in lines) + "\n```\n"
        else:
            yield _prose(" ".join(lines)) + "\n"


def _prose(text: str) -> str:
    """Returns text that Markdown shows unchanged, except words in backquotes."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([\\*_<>\[\]|])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _table(heads: tuple[str, str], rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield f"| {heads[0]} | {heads[1]} |\n|---|---|"
    for name, text in rows:
        bar = r"\|"
        yield f"| `{name.replace('|', bar)}` | {_prose(' '.join(text.split()))} |"
    yield ""


def c_interface(path: str, title: str, text: str) -> Callable[[], str]:
    """Returns a function that returns a page with the source of a header or a Fortran module."""

    def page() -> str:
        language = "fortran" if path.endswith(".f90") else "c"
        source = (ROOT / path).read_text(encoding="utf-8")
        return f"# {title}\n\n{text} This is the complete file `{path}`.\n\n```{language}\n{source}```\n"

    return page


def python_interface() -> str:
    """Returns a page with signatures and docstrings of the public functions and classes."""
    parts = [
        "# Python classes and functions\n",
        "Generated from the docstrings. [Python](python-api.md) has examples.\n",
    ]
    parts += ["## Functions of ompass\n"]
    for function in (recording.open_recording, recording.open_sweep, recording.compare):
        name = "open" if function is recording.open_recording else function.__name__
        parts += _member(f"ompass.{name}", function)
    for each in (recording.Recording, results.Comparison, results.Sweep):
        parts += [f"## {each.__name__}\n", f"{_docstring(each)}\n"]
        for name, member in inspect.getmembers(each):
            if not name.startswith("_") and (inspect.getdoc(member) or callable(member)):
                parts += _member(name, member)
    return "\n".join(parts)


def _member(name: str, member: Any) -> Iterator[str]:
    yield f"### {name}\n"
    if callable(member):
        yield f"```python\n{name.rpartition('.')[2]}{_signature(member)}\n```\n"
    yield f"{_docstring(member)}\n"


def _signature(member: Any) -> str:
    """Returns the signature without `self`, and with types as the source writes them."""
    text = str(inspect.signature(member)).replace("(self, ", "(").replace("(self)", "()")
    text = re.sub(r"(: |-> )'([^']+)'", r"\1\2", text)
    return re.sub(r"<(\w+\.\w+): '[^']*'>", r"\1", text)


def _docstring(member: Any) -> str:
    return "\n\n".join(
        _prose(" ".join(part.split())) for part in (inspect.getdoc(member) or "").split("\n\n")
    )


PAGES = (
    Page("commands.md", ("analysis/ompass/commands",), commands),
    Page("python-reference.md", ("analysis/ompass/recording.py",), python_interface),
    Page(
        "c-marks.md",
        ("ompt_tool/include/ompass.h",),
        c_interface(
            "ompt_tool/include/ompass.h",
            "C and C++: marks",
            "Marks name kernels, data and phases of a program.",
        ),
    ),
    Page(
        "c-domains.md",
        ("omp_ext/include/omp_ext.h",),
        c_interface(
            "omp_ext/include/omp_ext.h",
            "C and C++: locality domains",
            "[Locality](locality.md) explains the calls.",
        ),
    ),
    Page(
        "fortran-marks.md",
        ("ompt_tool/fortran/ompass.f90",),
        c_interface(
            "ompt_tool/fortran/ompass.f90", "Fortran: marks", "Compile this module with your program."
        ),
    ),
    Page(
        "fortran-domains.md",
        ("omp_ext/fortran/omp_ext.f90",),
        c_interface(
            "omp_ext/fortran/omp_ext.f90",
            "Fortran: locality domains",
            "Compile this module with your program.",
        ),
    ),
)

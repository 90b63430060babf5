# SPDX-License-Identifier: Apache-2.0
"""Adapts typer: the texts of --help, and the conversion of values.

Owns the layout of the first screen of `ompass` and of the page of each command. The words come from the
commands, which state them once for --help and the manual pages.

Converts plain values itself, because typer 0.29 loads pydantic for every conversion, which takes 80 ms. typer
converts values that need a check. Earlier versions of typer need no pydantic, and ignore these conversions.
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from ompass.errors import UsageError

_PATH_CHECKS: Final = ("allow_dash", "exists", "parser", "path_type", "resolve_path", "writable")
"""Settings of a parameter that only typer can apply."""


class _NeedsTyperError(Exception):
    """Only typer can convert the value, or explain why it is wrong."""


class PlainValues:
    """A mixin for typer's commands: converts plain values (text, defaults, paths) without typer."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            by_typer = getattr(parameter, "get_runtime_param", None)
            if by_typer and "get_runtime_param" not in vars(parameter):
                parameter.get_runtime_param = partial(_Conversion, by_typer)
        return parameters


class _Conversion:
    """The conversion of a parameter, with typer's interface; calls typer's conversion when needed."""

    def __init__(self, by_typer: Callable[[], Any]) -> None:
        self._by_typer = by_typer

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        described = param.type_descriptor
        try:
            if value is None:
                return () if param.multiple or param.nargs == -1 else None
            return _plain(value, described.annotation, described.parameter_info)
        except _NeedsTyperError:
            return self._by_typer().coerce(value, param=param, ctx=ctx)


def _plain(value: Any, kind: Any, info: Any) -> Any:
    """Returns the value as typer would. Raises _NeedsTyperError."""
    if get_origin(kind) is list and isinstance(value, (list, tuple)):
        return [_plain(each, get_args(kind)[0], info) for each in value]
    if kind is Path and isinstance(value, str):
        return _path(value, info)
    if info.parser is None and isinstance(kind, type) and isinstance(value, kind):
        return value
    raise _NeedsTyperError


def _path(value: str, info: Any) -> Path:
    is_checked = not (info.file_okay and info.dir_okay) or any(getattr(info, name) for name in _PATH_CHECKS)
    is_unreadable = info.readable and os.path.exists(value) and not os.access(value, os.R_OK)  # noqa: PTH110
    if is_checked or is_unreadable:
        raise _NeedsTyperError
    return Path(value)


_HEADING: Final = re.compile(r"\[bold\](.+)\[/bold\]")
_MOST_COLUMNS: Final = 100
_NAMES_COLUMNS: Final = 30
"""The widest column of names; the text of a longer name begins on the next line."""

_FEWEST_FOR_HEADINGS: Final = 7

_START: Final = """\
  ompass ./fib 30                          record a program, show what slows it
  ompass view fib.ompass                   look at the recorded run in a browser
  ompass advise fib.ompass                 predict the gain of each change
  ompass scale -t 1,2,4 -- ./fib 30        explain why it does not scale
"""

_MORE: Final = """\
  ompass COMMAND --help    options and examples of a command
  ompass help              what each command does, and the exit codes
  ompass docs              the pages of the documentation
  ompass doctor            check whether this machine can record programs
"""


def overview(summary: str, groups: Mapping[str, Iterable[str]]) -> str:
    """Returns the first screen: how to start, and the names of all commands."""
    parts = [
        summary,
        f"{_bold('Usage:')} ompass PROGRAM ..., or ompass COMMAND [OPTIONS] ...",
        f"{_bold('Start here:')}\n{_START.rstrip()}",
        f"{_bold('Commands:')}\n" + _columns([(name, ", ".join(names)) for name, names in groups.items()]),
        f"{_bold('More:')}\n{_MORE.rstrip()}",
    ]
    return "\n\n".join(parts) + "\n"


def every_command(context: Any, groups: Mapping[str, Iterable[str]], epilog: str) -> str:
    """Returns a line on each command of the group, and the epilog."""
    width = max(len(name) for names in groups.values() for name in names)
    parts = []
    for heading, names in groups.items():
        rows = [(name, first_sentence(context.command.get_command(context, name))) for name in names]
        parts.append(f"{_bold(heading.capitalize() + ':')}\n{_columns(rows, width)}")
    parts += _sections(epilog)
    return "\n\n".join(parts) + "\n"


def first_sentence(command: Any) -> str:
    """Returns the first paragraph of a command's help, without a full stop."""
    return " ".join((command.help or "").split("\n\n")[0].split()).rstrip(".")


def command_page(context: Any) -> str:
    """Returns the help of a command: usage, description, examples, arguments, options and notes."""
    command = context.command
    parts = [f"{_bold('Usage:')} {context.command_path} {synopsis(context)}"]
    parts += [_wrapped(paragraph) for paragraph in (command.help or "").split("\n\n") if paragraph.strip()]
    sections = list(_sections(command.epilog or ""))
    examples = [text for text in sections if re.match(r"\W*(\x1b\[1m)?Examples", text)]
    parts += examples
    rows = {"Arguments": argument_rows(context), **option_rows(context)}
    width = max(min(_NAMES_COLUMNS, len(name)) for panel in rows.values() for name, _ in panel)
    parts += [f"{_bold(heading + ':')}\n{_columns(panel, width)}" for heading, panel in rows.items() if panel]
    parts += [text for text in sections if text not in examples]
    return "\n\n".join(parts) + "\n"


def synopsis(context: Any) -> str:
    """Returns [OPTIONS] and the arguments: optional ones in brackets, repeatable ones with dots."""
    if hasattr(context.command, "commands"):
        return "COMMAND [OPTIONS] ..."
    words = ["[OPTIONS]"]
    for argument in filter(_is_argument, context.command.get_params(context)):
        word = str(argument.metavar or argument.name)
        if not argument.required and not word.startswith("["):
            word = f"[{word}]"
        words.append(word if argument.nargs == 1 or word.rstrip("]").endswith("...") else f"{word}...")
    return " ".join(words)


def argument_rows(context: Any) -> list[tuple[str, str]]:
    """Returns the arguments of a command, each with its meaning."""
    arguments = filter(_is_argument, context.command.get_params(context))
    return [(str(each.metavar or each.name), each.help or "") for each in arguments]


def option_rows(context: Any) -> dict[str, list[tuple[str, str]]]:
    """Returns the options of a command, each with its meaning, by heading; --help comes last.

    If only a few options have a heading, lists all options under `Options`.
    """
    panels: dict[str, list[tuple[str, str]]] = {}
    shown = [each for each in context.command.get_params(context) if not (_is_argument(each) or each.hidden)]
    grouped = [each for each in shown if getattr(each, "rich_help_panel", None)]
    if len(grouped) < _FEWEST_FOR_HEADINGS:
        return {"Options": [(_names(each), _meaning(each)) for each in shown]}
    for option in [*grouped, *(each for each in shown if each not in grouped)]:
        panel = getattr(option, "rich_help_panel", None) or "Other options"
        panels.setdefault(panel, []).append((_names(option), _meaning(option)))
    return panels


def epilog_sections(epilog: str) -> Iterator[tuple[str, list[str]]]:
    """Yields headings and lines of an epilog; text after the indented lines of a section has no heading."""
    heading = ""
    lines: list[str] = []
    for line in filter(str.strip, epilog.splitlines()):
        match = _HEADING.fullmatch(line.strip())
        if match or (lines and lines[-1].startswith(" ") and not line.startswith(" ")):
            if lines:
                yield heading, lines
            heading, lines = (match[1] if match else ""), []
        if not match:
            lines.append(line)
    if lines:
        yield heading, lines


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _names(option: Any) -> str:
    """Returns the names of an option, short ones first, and the kind of its value."""
    names = ", ".join(sorted(option.opts, key=lambda name: name.startswith("--")))
    if option.secondary_opts:
        names += f" / {', '.join(option.secondary_opts)}"
    is_flag = getattr(option, "is_flag", False) or getattr(option, "count", False)
    return names if is_flag or not option.metavar else f"{names} {option.metavar}"


def _meaning(option: Any) -> str:
    """Returns the help of an option; adds a plain default value that the help does not mention."""
    default, text = option.default, option.help or ""
    if isinstance(default, Enum):
        default = default.value
    known = (
        isinstance(default, (str, int, float)) and not isinstance(default, bool) and default not in ("", -1)
    )
    if known and option.show_default and "default" not in text:
        text = (
            f"{text.rstrip('.')} (default: {default:,})."
            if isinstance(default, int)
            else (f"{text.rstrip('.')} (default: {default}).")
        )
    return text


def _sections(epilog: str) -> Iterator[str]:
    """Yields the formatted sections of an epilog."""
    for heading, lines in epilog_sections(epilog):
        if not lines[0].startswith(" "):
            text = _wrapped(" ".join(lines))
        else:
            text = _indented(lines) if heading == "Examples" or "   " in lines[0].strip() else _listed(lines)
        yield f"{_bold(heading + ':')}\n{text}" if heading else text


def _indented(lines: Iterable[str]) -> str:
    """Returns lines in two columns; the first, such as a command to type, is never broken."""
    rows = [(first, rest.strip()) for first, _, rest in (line.strip().partition("   ") for line in lines)]
    return _columns(rows, max((len(first) for first, rest in rows if rest), default=0), most=44)


def _listed(lines: Iterable[str]) -> str:
    text = " ".join(line.strip() for line in lines)
    return textwrap.indent(textwrap.fill(text, _width() - 2, break_on_hyphens=False), "  ")


def _columns(rows: Iterable[tuple[str, str]], least: int = 0, most: int = _NAMES_COLUMNS) -> str:
    rows = list(rows)
    names = min(most, max(least, *(len(name) for name, _ in rows if len(name) <= most), 0))
    begin = " " * (names + 4)
    lines = []
    for name, text in rows:
        wrapped = textwrap.wrap(" ".join(text.split()), _width() - len(begin), break_on_hyphens=False)
        if len(name) <= names and wrapped:
            lines.append(f"  {name:{names}}  {wrapped.pop(0)}")
        else:
            lines.append(f"  {name}")
        lines += [begin + line for line in wrapped]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _width(), break_on_hyphens=False)


def _width() -> int:
    return min(_MOST_COLUMNS, max(40, shutil.get_terminal_size((80, 24)).columns))


def _bold(text: str) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, bold=True)


class HelpedCommand(PlainValues, TyperCommand):
    """A command that shows our help page."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(command_page(ctx))


class HelpedGroup(PlainValues, TyperGroup):
    """The command `ompass`, which shows our first screen. `groups`: the names of all commands, by heading."""

    groups: Mapping[str, Iterable[str]] = {}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(overview(self.help or "", self.groups))


def register(app: typer.Typer) -> None:
    app.command("help")(help_)


def help_(
    name: Annotated[str, typer.Argument(metavar="[COMMAND]", help="The command to explain.")] = "",
) -> None:
    """Show what each command does, and the exit codes; or the help of COMMAND."""
    from ompass.commands.main import EPILOG, GROUPS, application  # only here: it loads every command

    group: Any = typer.main.get_command(application())
    context = typer.Context(group, info_name="ompass", **group.context_settings)
    if not name:
        typer.echo(every_command(context, GROUPS, EPILOG), nl=False)
        return
    command = group.get_command(context, name)
    if command is None:
        raise UsageError(f"there is no command {name}", "", "`ompass help` lists the commands")
    typer.echo(command_page(typer.Context(command, info_name=name, parent=context)), nl=False)

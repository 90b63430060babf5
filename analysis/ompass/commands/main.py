# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`: its subcommands, and the handling of errors.

Prints each error on one line and exits with its exit code; subcommands only raise errors.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import typer

import ompass
from ompass.commands.help import HelpedCommand, HelpedGroup
from ompass.commands.options import current_name
from ompass.commands.streams import discard_stdout, ending_at_closed_pipe, prepare_streams, say
from ompass.errors import OmpassError, OutputError, UsageError
from ompass.units import in_sentence

_CommandLineError: Any = next(
    each for each in typer.BadParameter.__mro__ if each.__name__ == "ClickException"
)
"""The base of typer's errors, which typer does not export."""

EPILOG: Final = """
[bold]Examples[/bold]

  ompass ./fib 30                                   record and report; short for ompass run -- ./fib 30
  ompass run --mode trace -o t.ompass -- ./fib 30   record every event
  ompass report t.ompass                            report again
  ompass advise t.ompass                            rank changes by their gain
  ompass scale --threads 1,2,4 -- ./fib 30          explain why it does not scale
  ompass compare before.ompass after.ompass         show what changed
  ompass check "./old 30" -- ./new 30               decide whether ./new is worse
  ompass simulate t.ompass --threads 2,8,32         predict the run on more cores
  ompass doctor ./fib                               check whether it can be recorded

[bold]Exit codes[/bold]

  0     done
  2     wrong usage
  3     not a run
  4     damaged or inconsistent run
  5     nothing to show
  6     cannot be recorded here
  7     cannot write
  8     incomplete installation
  9     a program of a sweep or a check failed
  10    incomplete run (`validate`)
  125   `run` could not start the program for recording, or recorded nothing (`--strict`)
  126   the program of `run` is not executable
  127   the program of `run` is not found

`run` exits with the program's status, `check` with 0 (not worse), 1 (worse) or 2 (unknown).
"""

_OWN_OPTIONS: Final = ("-h", "--help", "--version", "--install-completion", "--show-completion")
_SUMMARY: Final = "Record any OpenMP task program and show where its time went."
_MODULES: Final = {
    "start": {
        "run": "commands.run",
        "report": "commands.report",
        "view": "commands.view",
        "top": "commands.top",
    },
    "explain": {
        "advise": "simulation.command",
        "graph": "graph.command",
        "samples": "samples.command",
        "latency": "latency.command",
        "krd": "reuse.command",
        "simulate": "simulation.command",
        "query": "commands.query",
        "dump": "commands.dump",
        "info": "commands.info",
    },
    "compare": {
        "compare": "comparison.command",
        "check": "check.command",
        "scale": "scaling.command",
    },
    "export": {
        "plot": "commands.plot",
        "timeline": "commands.timeline",
        "export": "commands.query",
        "pack": "keeping.command",
    },
    "set up": {
        "doctor": "commands.doctor",
        "config": "commands.config",
        "calibrate": "simulation.command",
        "validate": "commands.validate",
        "clean": "keeping.command",
        "docs": "commands.docs",
        "help": "commands.help",
    },
}
"""The module of each subcommand, by the headings and in the order of --help."""
GROUPS: Final = {heading: tuple(names) for heading, names in _MODULES.items()}
COMMANDS: Final = {name: module for names in _MODULES.values() for name, module in names.items()}
"""The module of each subcommand."""


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ompass {ompass.__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(UsageError.exit_code)


class _Ompass(HelpedGroup):
    groups = GROUPS


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Returns the command with all subcommands of the modules that define `commands`; loads only these."""
    app = typer.Typer(
        name="ompass",
        cls=_Ompass,
        help=_SUMMARY,
        epilog=EPILOG,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_options)
    for module in dict.fromkeys(COMMANDS[command] for command in commands):
        importlib.import_module(f"ompass.{module}").register(app)
    for command in app.registered_commands:
        command.cls = HelpedCommand
        renamed = partial(current_name, command.name or "")
        command.context_settings = {**(command.context_settings or {}), "token_normalize_func": renamed}
    return app


def main() -> None:
    run_and_exit(lambda: _call(sys.argv[1:]))


def _call(arguments: Sequence[str]) -> object:
    """Runs a subcommand; `ompass [OPTIONS] PROGRAM` is short for `ompass run [OPTIONS] -- PROGRAM`."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        return _ended((first,), arguments)
    if not first or first in _OWN_OPTIONS:
        return _ended(COMMANDS if "_OMPASS_COMPLETE" in os.environ else (), arguments)
    if first.startswith("-"):
        return _ended(("run",), ["run", *arguments])
    _check_program(first)
    return _ended(("run",), ["run", "--", *arguments])


def _ended(commands: Iterable[str], arguments: Sequence[str]) -> object:
    """Runs a command line that needs only these commands. Returns an exit code, or None."""
    return application(commands)(arguments, standalone_mode=False)


def _check_program(name: str) -> None:
    """Raises UsageError if `name` is a run directory, or not a program (perhaps a misspelt command).

    Does not check whether the program can be started: `ompass run` reports that.
    """
    from ompass.readers.run import is_run_directory

    if is_run_directory(Path(name)):
        raise UsageError(name, "a run directory, not a program", f"`ompass report {name}` shows it")
    if "/" in name or shutil.which(name) or Path(name).is_file():
        return
    import difflib  # slow to load

    like = difflib.get_close_matches(name, COMMANDS, n=1)
    raise UsageError(
        name,
        "neither a command of ompass nor a program in PATH",
        f"did you mean `ompass {like[0]}`?" if like else "`ompass --help` lists the commands",
    )


def run_and_exit(command: Callable[[], object]) -> None:
    """Runs `command`, which may return an exit code. Turns its errors into messages and exit codes.

    A closed pipe is not an error.
    """
    prepare_streams()
    status: object = None
    try:
        with ending_at_closed_pipe():
            status = command()
    except OmpassError as error:
        say(f"error: {error.one_line()}")
        sys.exit(error.exit_code)
    except _CommandLineError as error:
        say(f"error: {_one_line(error)}")
        sys.exit(UsageError.exit_code)
    except OSError as error:
        say(f"error: {error}")
        discard_stdout()
        sys.exit(OutputError.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _one_line(error: Any) -> str:
    """Returns the message of an error in the command line, and the command that shows help."""
    words = ("ompass", *[word for word in sys.argv[1:2] if word in COMMANDS])
    message = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    return f"{in_sentence(message)}; see `{' '.join(words)} --help`"


if __name__ == "__main__":
    main()

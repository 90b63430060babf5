# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`: its subcommands, and the handling of errors.

Owns the one-line form of errors and the exit codes; subcommands only raise errors.
"""

from __future__ import annotations

import difflib
import importlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import typer

from ompass import __version__
from ompass.commands.streams import prepare_streams, say
from ompass.errors import OmpassError, OutputError, UsageError

_EPILOG = """
[bold]Examples[/bold]

  ompass ./fib 30                              record and report; short for ompass run -- ./fib 30

  ompass run --mode trace -o t.ompass -- ./fib 30

  ompass report t.ompass                       report again

  ompass scale --threads 1,2,4 -- ./fib 30     explain why it does not scale
  ompass compare before.ompass after.ompass    what changed

  ompass check "./old 30" -- ./new 30          decide whether it became worse
  ompass krd t.ompass                          reuse distances of its kernels

  ompass simulate t.ompass --threads 2,8,32    predict it on more cores

  ompass advise t.ompass                       rank changes by their gain

  ompass doctor ./fib                          check whether it can be recorded

  ompass docs                                  list the documentation

[bold]Exit codes[/bold]

  0 done · 2 wrong usage · 3 not a run · 4 damaged or inconsistent run · 5 nothing to show ·
  6 cannot be recorded here · 7 cannot write · 8 incomplete installation ·
  9 a program of a sweep or a check failed · 10 incomplete run (`validate`).
  `run` ends as the program does; 125 if the program could not be started for recording, 126 if it
  is not executable, 127 if it is not found.
"""

_OWN_OPTIONS: Final = ("-h", "--help", "--version", "--install-completion", "--show-completion")
_FORMER_OPTIONS: Final = {"brackets": "wrappers", "no-brackets": "no-wrappers"}
COMMANDS: Final = {
    "run": "commands.run",
    "report": "commands.report",
    "plot": "commands.plot",
    "doctor": "commands.doctor",
    "info": "commands.info",
    "dump": "commands.dump",
    "scale": "scaling.command",
    "graph": "graph.command",
    "compare": "comparison.command",
    "check": "check.command",
    "validate": "commands.validate",
    "view": "commands.view",
    "krd": "reuse.command",
    "latency": "latency.command",
    "timeline": "commands.timeline",
    "simulate": "simulation.command",
    "advise": "simulation.command",
    "calibrate": "simulation.command",
    "top": "commands.top",
    "query": "commands.query",
    "samples": "samples.command",
    "config": "commands.config",
    "docs": "commands.docs",
}
"""The module of each subcommand, in the order of --help."""


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ompass {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Record any OpenMP task program and show where its time went."""


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """Returns the command with these subcommands and all others of their modules; loads no other module."""
    app = typer.Typer(
        name="ompass",
        help="Record any OpenMP task program and show where its time went.",
        epilog=_EPILOG,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "token_normalize_func": lambda name: _FORMER_OPTIONS.get(name, name),
        },
    )
    app.callback()(_options)
    for module in dict.fromkeys(COMMANDS[command] for command in commands):
        importlib.import_module(f"ompass.{module}").register(app)
    return app


def _discard_stdout() -> None:
    """Discards buffered output, so that Python's flush at exit does not fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    run_and_exit(lambda: _call(sys.argv[1:]))


def _call(arguments: Sequence[str]) -> None:
    """Runs a subcommand; `ompass [OPTIONS] PROGRAM` is short for `ompass run [OPTIONS] -- PROGRAM`."""
    first = arguments[0] if arguments else ""
    if first in COMMANDS:
        application((first,))(arguments)
    elif not first or first in _OWN_OPTIONS:
        application()(arguments)
    elif first.startswith("-"):
        application(("run",))(["run", *arguments])
    else:
        _check_program(first)
        application(("run",))(["run", "--", *arguments])


def _check_program(name: str) -> None:
    """Raises UsageError for a run directory, and for a word that is no program: perhaps a misspelt command.

    `ompass run` explains why other programs cannot be started.
    """
    from ompass.readers.run import is_run_directory

    if is_run_directory(Path(name)):
        raise UsageError(name, "a run directory, not a program", f"`ompass report {name}` shows it")
    if "/" in name or shutil.which(name) or Path(name).is_file():
        return
    like = difflib.get_close_matches(name, COMMANDS, n=1)
    raise UsageError(
        name,
        "neither a command of ompass nor a program in PATH",
        f"did you mean `ompass {like[0]}`?" if like else "`ompass --help` lists the commands",
    )


def run_and_exit(command: Callable[[], None]) -> None:
    """Runs a command, and turns its errors into messages and exit codes."""
    prepare_streams()
    try:
        command()
    except OmpassError as error:
        say(f"error: {error.one_line()}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe.
        _discard_stdout()
        sys.exit(0)
    except OSError as error:
        say(f"error: {error}")
        _discard_stdout()
        sys.exit(OutputError.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()

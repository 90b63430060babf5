# SPDX-License-Identifier: Apache-2.0
"""The command `ompass`: its subcommands, and how errors leave the process.

Owns the one-line form of errors and the exit codes; a subcommand only raises.
"""

from __future__ import annotations

import os
import sys

import typer

from ompass import __version__
from ompass.commands import (
    advise,
    calibrate,
    compare,
    config,
    docs,
    doctor,
    dump,
    graph,
    info,
    krd,
    latency,
    plot,
    query,
    report,
    run,
    samples,
    scale,
    simulate,
    suite,
    timeline,
    top,
    validate,
    view,
)
from ompass.commands.streams import prepare_streams, say
from ompass.errors import OmpassError, OutputError

_EPILOG = """
[bold]Examples[/bold]

  ompass run -- ./fib 30                       record and report

  ompass run --mode trace -o t.ompass -- ./fib 30

  ompass report t.ompass                       report again

  ompass scale --threads 1,2,4 -- ./fib 30     why does it not scale
  ompass compare before.ompass after.ompass    what changed
  ompass krd t.ompass                          reuse distance of its kernels

  ompass simulate t.ompass --threads 2,8,32    what would it be on more cores

  ompass advise t.ompass                       which change pays

  ompass doctor ./fib                          can it be recorded, and how

  ompass docs                                  what there is to read

[bold]Exit codes[/bold]

  0 done · 2 wrong usage · 3 no such run · 4 damaged or inconsistent run · 5 nothing to show ·
  6 cannot be recorded here · 7 cannot write · 8 incomplete installation ·
  9 a program of a suite or a sweep failed.
  `run` ends as the program does; 125 when it could not be started for recording, 126 when it
  is not executable, 127 when it is not found.
"""

app = typer.Typer(
    name="ompass",
    help="Record any OpenMP task program and show where its time went.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ompass {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Record any OpenMP task program and show where its time went."""


run.register(app)
report.register(app)
plot.register(app)
doctor.register(app)
info.register(app)
dump.register(app)
scale.register(app)
graph.register(app)
compare.register(app)
validate.register(app)
view.register(app)
suite.register(app)
krd.register(app)
latency.register(app)
timeline.register(app)
simulate.register(app)
advise.register(app)
calibrate.register(app)
top.register(app)
query.register(app)
samples.register(app)
config.register(app)
docs.register(app)


def _discard_stdout() -> None:
    """What is still buffered goes nowhere, without a complaint at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """The command, with its errors as lines and exit codes."""
    prepare_streams()
    try:
        app()
    except OmpassError as error:
        say(f"error: {error.one_line()}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output, `head` for one, has had enough.
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

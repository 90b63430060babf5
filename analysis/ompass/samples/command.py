# SPDX-License-Identifier: Apache-2.0
"""`ompass samples`: hot functions, lines and libraries of a run, inside each construct."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ompass.commands.options import JsonOutputOption, RunArgument, check_json_output, file_option, json_option
from ompass.commands.streams import console_for, to_json, waiting, write_result
from ompass.errors import NothingToShowError
from ompass.keeping.names import keep_names
from ompass.readers.run import open_run
from ompass.reports.content import same_place
from ompass.reports.model import plain
from ompass.reports.terminal import print_report
from ompass.samples.content import SampleContent, collect_samples
from ompass.samples.exports import folded_stacks, pprof_profile, speedscope_profile
from ompass.samples.report import samples_report
from ompass.symbols.resolver import Resolver

_EPILOG = """
[bold]Examples[/bold]

  ompass samples fib.ompass

  ompass samples fib.ompass --speedscope fib.speedscope.json      open it at speedscope.app

  ompass samples fib.ompass --pprof fib.pb.gz                     then: go tool pprof -http : fib.pb.gz

  ompass samples fib.ompass --folded fib.folded                   then: flamegraph.pl fib.folded
"""


def register(app: typer.Typer) -> None:
    app.command("samples", epilog=_EPILOG)(samples)


def samples(
    directory: RunArgument,
    speedscope: Annotated[
        Path | None, file_option("--speedscope", help="Write a profile for speedscope.")
    ] = None,
    pprof: Annotated[Path | None, file_option("--pprof", help="Write a profile for pprof (.pb.gz).")] = None,
    folded: Annotated[
        Path | None, file_option("--folded", help="Write folded stacks, for flame graphs.")
    ] = None,
    as_json: Annotated[bool, json_option("report-schema")] = False,
    output: JsonOutputOption = None,
) -> None:
    """Show hot functions, lines and libraries inside each task construct, region and the serial part."""
    check_json_output(as_json, output)
    with waiting(f"reading {directory}"):
        content = samples_of(directory)
    if not content.samples:
        why = content.refusal().rstrip(".") or "it was recorded without sampling, or was too short"
        if content.unsampled:
            why = "its threads switched so often that only their clocks were read"
        raise NothingToShowError(f"{directory} holds no samples", why, "record it with --sample 1000")
    if speedscope is not None:
        write_result(speedscope_profile(content), speedscope)
    if pprof is not None:
        write_result(pprof_profile(content), pprof)
    if folded is not None:
        write_result(folded_stacks(content), folded)
    if as_json:
        write_result(to_json(plain(samples_report(content))), output)
    elif speedscope is None and pprof is None and folded is None:
        print_report(console_for(), samples_report(content))


def samples_of(directory: Path) -> SampleContent:
    """Returns the samples of a run; there may be none."""
    run = open_run(directory)
    resolver = Resolver.of_run(run)
    locations = {definition.id: resolver.locate(definition) for definition in run.definitions}
    content = collect_samples(run, locations, same_place(run, locations), resolver)
    keep_names(run, resolver)
    return content

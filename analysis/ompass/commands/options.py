# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share: scope, time window, output, and where the analysis runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ompass.errors import OutputError, UsageError
from ompass.files import file_problem, folder_problem
from ompass.packed import unpacked
from ompass.readers.meta import traced_run
from ompass.units import parse_duration

if TYPE_CHECKING:
    from ompass.model import Run

SHOWN: Final = "Selection"
OUTPUT: Final = "Output"
RUNNING: Final = "How the program runs"
"""The headings above options in --help."""

FORMER_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "brackets": "wrappers",
        "no-brackets": "no-wrappers",
        "color": "colour",
        "pdf": "figure",
        "plot": "figure",
        "png": "figure",
        "processes": "jobs",
        "svg": "figure",
    },
    "check": {"time": "time-limit"},
    "graph": {"time": "clock"},
    "krd": {"sample": "share"},
    "query": {"rows": "limit"},
    "report": {"from": "source"},
    "run": {"json": "report-json", "limit-mb": "limit"},
    "simulate": {"machine": "topology"},
}
"""Former names of options, by command (empty: all commands). They still work, but --help omits them."""


def current_name(command: str, name: str) -> str:
    """Returns the current name of an option; `name` may be a former one. Both lack the leading hyphens."""
    return FORMER_OPTIONS.get(command, {}).get(name) or FORMER_OPTIONS[""].get(name, name)


def choice_option(values: type[Enum], *names: str, help: str, panel: str = SHOWN) -> Any:
    """Returns an option with a fixed set of values."""
    metavar = "|".join(str(each.value) for each in values)
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel)


def table_option(tables: type[Enum]) -> Any:
    """Returns the option --table of a command that writes CSV."""
    names = ", ".join(str(each.value) for each in tables)
    return typer.Option("--table", metavar="NAME", help=f"Table for --csv: {names}.", rich_help_panel=OUTPUT)


class ScopeName(str, Enum):
    """Values of --scope: the part of the run whose times are shown."""

    REGIONS = "regions"
    PROGRAM = "program"


class Colour(str, Enum):
    """Values of --colour: the property of a task that determines its colour in a timeline."""

    CONSTRUCT = "construct"
    HOME = "home"


ColourOption = Annotated[
    Colour,
    choice_option(
        Colour,
        "--colour",
        help="Colour tasks of the timeline by construct, or by home: their domain, or else "
        "the thread that created them.",
        panel=OUTPUT,
    ),
]
ScopeOption = Annotated[
    ScopeName,
    choice_option(ScopeName, "--scope", help="All parallel regions together, or the whole program."),
]


def _unpacked(value: Path) -> Path:
    return unpacked(value)


def _all_unpacked(values: list[Path]) -> list[Path]:
    return [unpacked(value) for value in values]


def _traced(value: Path) -> Path:
    return traced_run(unpacked(value))


def _all_traced(values: list[Path]) -> list[Path]:
    return [_traced(value) for value in values]


def run_argument(metavar: str, help: str) -> Any:
    """Returns an argument for a run directory, a packed run, or another path."""
    return typer.Argument(metavar=metavar, help=help, callback=_unpacked)


def runs_argument(help: str) -> Any:
    """Returns an argument for several run directories, packed runs, or other paths."""
    return typer.Argument(metavar="DIR...", help=help, callback=_all_unpacked)


RunArgument = Annotated[Path, run_argument("DIR", "A run directory (NAME.ompass), or a packed run.")]
TraceArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A run directory with a trace: from --mode trace, or from a second run (--twice).",
        callback=_traced,
    ),
]
TablesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="A run directory, or a packed run; if the program was run twice, its traced run is read.",
        callback=_traced,
    ),
]
RunsArgument = Annotated[list[Path], runs_argument("Run directories (NAME.ompass), or packed runs.")]
TracesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR...",
        help="Run directories with traces: from --mode trace, or from a second run (--twice).",
        callback=_all_traced,
    ),
]


def output_file(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Raises OutputError, which names the option, if a file cannot be written. Called before any work."""
    if value is not None and str(value) != "-":
        refuse_output(_name_of(param), value, file_problem(value), "name another file")
    return value


def output_folder(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Raises OutputError, which names the option, if a directory cannot be made, or written if it exists."""
    if value is not None:
        refuse_output(_name_of(param), value, folder_problem(value), "name another place")
    return value


def new_folder(param: typer.CallbackParam, value: Path | None) -> Path | None:
    """Raises OutputError, which names the option, if a directory exists or cannot be made."""
    if value is not None:
        refuse_output(_name_of(param), value, folder_problem(value, may_exist=False), "name a new directory")
    return value


def refuse_output(option: str, path: Path, problem: str, cure: str) -> None:
    """Raises OutputError if `problem` is not empty."""
    if problem:
        missing = problem.endswith("does not exist")
        raise OutputError(f"{option} {path} cannot be written", problem, "make it first" if missing else cure)


def _name_of(param: typer.CallbackParam) -> str:
    return "-o" if "-o" in param.opts else param.opts[0]


def file_option(*names: str, help: str) -> Any:
    """Returns an option for a file to write."""
    return typer.Option(*names, callback=output_file, metavar="FILE", help=help, rich_help_panel=OUTPUT)


def json_option(document: str) -> Any:
    """Returns the option --json; `document` describes the fields."""
    return typer.Option("--json", help=f"JSON instead (`ompass docs {document}`).", rich_help_panel=OUTPUT)


JsonOption = Annotated[bool, typer.Option("--json", help="JSON instead.", rich_help_panel=OUTPUT)]
CsvOption = Annotated[
    bool, typer.Option("--csv", help="CSV instead, of the table named by --table.", rich_help_panel=OUTPUT)
]
OutputOption = Annotated[
    Path | None, file_option("--output", "-o", help="File for --json or --csv (default: stdout).")
]
JsonOutputOption = Annotated[
    Path | None, file_option("--output", "-o", help="File for --json (default: stdout).")
]
FigureOption = Annotated[Path | None, file_option("--figure", help="Draw a figure (.svg, .pdf, .png).")]

HtmlOption = Annotated[
    Path | None, file_option("--html", help="Write the report as one self-contained page.")
]

SourcesOption = Annotated[
    bool,
    typer.Option("--sources", help="With --html: show source lines with their cost.", rich_help_panel=OUTPUT),
]

WindowOption = Annotated[
    str,
    typer.Option(
        "--window",
        metavar="FROM:TO",
        help="Only this part of the run, such as 10ms:12ms since its start; either end may be left out.",
        rich_help_panel=SHOWN,
    ),
]
FormerFromOption = Annotated[str, typer.Option("--from", metavar="TIME", hidden=True)]
FormerToOption = Annotated[str, typer.Option("--to", metavar="TIME", hidden=True)]

ThreadOption = Annotated[
    list[int] | None,
    typer.Option("--thread", metavar="N", help="Only this thread; may be repeated.", rich_help_panel=SHOWN),
]

LibompOption = Annotated[
    Path | None,
    typer.Option(
        "--libomp",
        metavar="FILE",
        help="Use this OpenMP runtime (a libomp.so.5 or libiomp5.so).",
        rich_help_panel=RUNNING,
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

DaskOption = Annotated[
    str,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help="Read the runs on the workers of this Dask scheduler (`ompass docs ranks`).",
    ),
]

MinimumOption = Annotated[
    str,
    typer.Option(
        "--min-difference",
        metavar="PERCENT",
        show_default=False,
        help="Least difference of times that counts, such as 2% (the default depends on the number and order "
        "of the runs: `ompass docs comparison`).",
    ),
]

EachOption = Annotated[bool, typer.Option("--each", help="Add the report on each rank to the overview.")]

FullOption = Annotated[
    bool,
    typer.Option(
        "--full",
        help="All tables, hot lines and notes (default: the most important lines).",
        rich_help_panel=SHOWN,
    ),
]

JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        show_default=False,
        help="Use N processors at a time (default: all, if the logs are large).",
    ),
]


class EditorForm(str, Enum):
    """Values of --format: formats that editors and code hosts read."""

    GCC = "gcc"
    SARIF = "sarif"


FormatOption = Annotated[
    EditorForm | None,
    choice_option(
        EditorForm,
        "--format",
        help="Findings by source line instead, for editors (gcc) or code hosts (sarif): "
        "`ompass docs editors`.",
        panel=OUTPUT,
    ),
]


def check_form(
    as_json: bool, as_csv: bool, output: Path | None, others: str, form: EditorForm | None = None
) -> None:
    """Raises UsageError if --json, --csv, --format and -o contradict each other.

    `others` names the options that the error for -o suggests. `form` is the value of --format, if the command
    has it.
    """
    given = [
        name for name, is_given in (("--json", as_json), ("--csv", as_csv), ("--format", form)) if is_given
    ]
    if len(given) > 1:
        raise UsageError(" and ".join(given), "only one format can be written at a time", "call ompass twice")
    if output is not None and not given:
        raise UsageError("-o", "it needs --json or --csv", f"add one of these, or use {others}")


def check_json_output(as_json: bool, output: Path | None) -> None:
    """Raises UsageError for -o without --json, in commands that have no --csv."""
    if output is not None and not as_json:
        raise UsageError("-o", "it needs --json", "add --json")


def check_sources(sources: bool, html: Path | None) -> None:
    """Raises UsageError for --sources without --html."""
    if sources and html is None:
        raise UsageError("--sources", "it needs --html", "add --html FILE")


def parse_minimum(text: str) -> float | None:
    """Returns --min-difference as a share; None if it is not given. Raises UsageError."""
    if not text:
        return None
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%?\s*", text)
    if match is None or not 0 < float(match[1]) < 1000:
        raise UsageError(
            f"--min-difference {text}", "it is not a percentage", "write a percentage such as 2%"
        )
    return float(match[1]) / 100


def check_threads(run: Run, numbers: Sequence[int] | None) -> None:
    """Raises UsageError if --thread names a thread that the run does not have."""
    known = {recorded.thread for recorded in run.threads}
    for number in numbers or ():
        if number not in known:
            raise UsageError(
                f"--thread {number}", "no such thread", f"the run has threads 0 to {max(known, default=0)}"
            )


def parse_from_to(window: str, start: str, end: str) -> tuple[int, int]:
    """Returns --window, or --from and --to, in ns; by default 0 and -1 (the run's end)."""
    if window and (start or end):
        raise UsageError("--window and --from", "they mean the same", "write --window FROM:TO alone")
    if window:
        return parse_window(window)
    start_ns, end_ns = _parse_time("--from", start, 0), _parse_time("--to", end, -1)
    if 0 <= end_ns <= start_ns:
        raise UsageError("--from and --to", "the window is empty", "choose a --to after --from")
    return start_ns, end_ns


def _parse_time(option: str, text: str, default: int) -> int:
    if not text:
        return default
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}", str(error)) from error


def parse_window(window: str) -> tuple[int, int]:
    """Returns the start and end of `FROM:TO` in ns; an empty FROM is 0, an empty TO is -1 (the run's end)."""
    if not window:
        return 0, -1
    first, colon, last = window.partition(":")
    try:
        start_ns = parse_duration(first) if first else 0
        end_ns = parse_duration(last) if last else -1
    except ValueError as error:
        raise UsageError(f"--window {window}", str(error), "write it as 10ms:12ms") from None
    if not colon or 0 <= end_ns <= start_ns:
        raise UsageError(
            f"--window {window}", "it is not FROM:TO with FROM before TO", "write it as 10ms:12ms"
        )
    return start_ns, end_ns

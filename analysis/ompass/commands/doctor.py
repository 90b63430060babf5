# SPDX-License-Identifier: Apache-2.0
"""`ompass doctor`: checks whether this machine, and a program, can be recorded."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ompass.commands.options import JsonOption, JsonOutputOption, check_json_output
from ompass.commands.streams import console_for, to_json, write_result
from ompass.doctor.checks import Check, Verdict, examine_machine
from ompass.errors import CannotRecordError
from ompass.launch.launchers import inspect_command
from ompass.launch.plan import Plan, RunOptions, plan_recording
from ompass.launch.program import Program, mpi_library
from ompass.launch.runtime_versions import runtime_version
from ompass.launch.runtimes import Runtime, find_runtimes
from ompass.launch.tool import find_tool_library
from ompass.reports.terminal import print_lines

_EPILOG = """
[bold]Examples[/bold]

  ompass doctor                 check this machine

  ompass doctor ./fib           check whether this program can be recorded

  ompass doctor -- mpirun -n 2 ./solver

  ompass doctor --json
"""

_STYLES = {Verdict.OK: "green", Verdict.LIMITED: "yellow", Verdict.MISSING: "bold red"}


def register(app: typer.Typer) -> None:
    app.command("doctor", epilog=_EPILOG)(doctor)


def doctor(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROGRAM]", help="A program to check; arguments and a launcher are allowed."),
    ] = None,
    as_json: JsonOption = False,
    output: JsonOutputOption = None,
) -> None:
    """Check whether this machine, or PROGRAM, can be recorded, and name what is missing.

    Exits with 6 when recording is not possible.
    """
    check_json_output(as_json, output)
    if not command:
        _examine_machine(as_json, output)
    else:
        _examine_program(command, as_json, output)


def _examine_machine(as_json: bool, output: Path | None) -> None:
    checks = examine_machine(os.environ, Path.cwd())
    if as_json:
        write_result(to_json([_check_json(check) for check in checks]), output)
    else:
        console = console_for()
        for check in checks:
            line = Text(f"{check.verdict.value:<8}", style=_STYLES[check.verdict])
            line.append(f" {check.name:<10} {check.found}", style="default")
            line.append(f" -> {check.advice}" if check.advice else "", style="cyan")
            console.print(line, soft_wrap=True)
    if any(check.verdict is Verdict.MISSING for check in checks):
        raise typer.Exit(CannotRecordError.exit_code)


def _check_json(check: Check) -> dict[str, str]:
    return {"name": check.name, "verdict": check.verdict.value, "found": check.found, "advice": check.advice}


def _examine_program(command: list[str], as_json: bool, output: Path | None) -> None:
    program = inspect_command(command, os.environ).program
    plan: Plan | None = None
    refusal: CannotRecordError | None = None
    try:
        tool = find_tool_library(os.environ)
        installed = find_runtimes(os.environ)
        plan = plan_recording(program, tool, RunOptions(), os.environ, installed, mpi_library(tool))
    except CannotRecordError as error:
        refusal = error
    if as_json:
        write_result(to_json(_program_json(program, plan, refusal)), output)
    else:
        _print_program(shlex.join(command), program, plan, refusal)
    if refusal is not None:
        raise typer.Exit(CannotRecordError.exit_code)


def _kind(program: Program) -> str:
    if program.is_script:
        return f"script for {program.interpreters[-1]}"
    if program.elf is None:
        return "not an ELF program"
    return f"{program.elf.bits}-bit {program.elf.machine.removeprefix('EM_')} program" + (
        ", statically linked" if program.is_static else ""
    )


def _version(runtime: Runtime) -> str:
    """Returns the version and known faults of a runtime of the LLVM family; empty for others."""
    if not runtime.is_llvm:
        return ""
    version = runtime_version(runtime.path)
    return "".join(f", {text}" for text in (version.described, *version.known()))


def _lines_known(program: Program) -> str:
    if program.elf is None or program.is_script:
        return "not checked"
    if program.elf.has_lines:
        return "present: reports show files and lines"
    return "missing: compile with -g to see files and lines"


def _print_program(
    command: str, program: Program, plan: Plan | None, refusal: CannotRecordError | None
) -> None:
    console = console_for()
    rows = [("program", f"{program.path}, {_kind(program)}")]
    for runtime in program.runtimes:
        ompt = "with OMPT" if runtime.has_ompt else "without OMPT"
        place = f"{runtime.path}{', linked in' if runtime.is_static else ''}"
        rows.append(("runtime", f"{runtime.kind}, {place}{_version(runtime)}, {ompt}"))
    if not program.runtimes:
        rows.append(("runtime", "the program is linked with none"))
    rows.append(("debug info", _lines_known(program)))
    if plan is not None:
        rows += [("warning", warning) for warning in plan.warnings]
        rows.append(("answer", f"can be recorded {plan.how}"))
        rows.append(("do", f"ompass run -- {command}"))
    elif refusal is not None:
        rows.append(("answer", f"cannot be recorded: {refusal.why}"))
        rows.append(("do", refusal.cure))
    print_lines(console, rows, 11)


def _program_json(program: Program, plan: Plan | None, refusal: CannotRecordError | None) -> dict[str, Any]:
    return {
        "program": str(program.path),
        "kind": _kind(program),
        "interpreters": [str(path) for path in program.interpreters],
        "runtimes": [
            {
                "kind": r.kind,
                "path": str(r.path),
                "ompt": r.has_ompt,
                "gomp": r.has_gomp,
                "version": runtime_version(r.path).name if r.is_llvm else "",
                "static": r.is_static,
            }
            for r in program.runtimes
        ],
        "missing_libraries": list(program.missing),
        "debug_information": bool(program.elf and program.elf.has_lines),
        "recordable": plan is not None,
        "how": plan.how if plan else "",
        "why_not": refusal.why if refusal else "",
        "cure": refusal.cure if refusal else "",
        "variables": dict(plan.variables) if plan else {},
        "warnings": list(plan.warnings) if plan else [],
    }

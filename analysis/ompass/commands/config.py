# SPDX-License-Identifier: Apache-2.0
"""`ompass config`: prints how to compile and link with the libraries of this package."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from ompass.commands.streams import write_result
from ompass.installation import (
    Component,
    cmake_directory,
    fortran_source,
    include_directory,
    library_path,
    pkg_config_directory,
)

_EPILOG = """
[bold]Examples[/bold]

  cc -fopenmp program.c $(ompass config --cflags)                        marks of ompass.h

  clang -fopenmp program.c $(ompass config ext --cflags --libs)          domains of omp_ext.h

  flang-new -fopenmp $(ompass config ext --fortran --libs) program.f90   the same in Fortran

  cmake -S . -B build -DOmpass_DIR=$(ompass config --cmake)              find_package(Ompass)

  PKG_CONFIG_PATH=$(ompass config --pkg-config) pkg-config --libs omp_ext

`ompass docs install` has whole examples.
"""

# Some linkers drop a library whose functions the program does not call; --no-as-needed keeps it. For the
# extension, the option stays in force: linkers would also drop the runtime after it, because the extension
# defines the runtime's functions.
_KEPT = {
    Component.TOOL: ("-Wl,--push-state,--no-as-needed", "-lompass", "-Wl,--pop-state"),
    Component.EXT: ("-Wl,--no-as-needed", "-lomp_ext"),
}


def register(app: typer.Typer) -> None:
    app.command("config", epilog=_EPILOG)(config)


def config(
    component: Annotated[
        Component,
        typer.Argument(
            metavar="COMPONENT", help="tool: libompass.so and ompass.h; ext: libomp_ext.so and omp_ext.h."
        ),
    ] = Component.TOOL,
    cflags: Annotated[bool, typer.Option("--cflags", help="Options of the compiler.")] = False,
    libs: Annotated[
        bool,
        typer.Option(
            "--libs", help="Options of the linker. A program linked with the tool records every run."
        ),
    ] = False,
    fortran: Annotated[
        bool,
        typer.Option("--fortran", help="The source file of the Fortran module; compile it first."),
    ] = False,
    cmake: Annotated[bool, typer.Option("--cmake", help="The directory for Ompass_DIR.")] = False,
    pkg_config: Annotated[
        bool, typer.Option("--pkg-config", help="The directory for PKG_CONFIG_PATH.")
    ] = False,
) -> None:
    """Show how to build programs with ompass.h, omp_ext.h and their libraries.

    Prints the requested values on one line, quoted for a shell. Without options, shows all with their names.
    """
    library = library_path(component)  # first: raises an error if the library is missing
    folder = str(library.parent)
    answers = {
        "cflags": (cflags, [f"-I{include_directory()}"]),
        "libs": (
            libs,
            [f"-L{folder}", f"-Wl,-rpath,{folder}", *_KEPT[component]],
        ),
        "fortran": (fortran, [str(fortran_source(component))]),
        "cmake": (cmake, [str(cmake_directory())]),
        "pkg-config": (pkg_config, [str(pkg_config_directory())]),
    }
    asked = [word for is_asked, words in answers.values() if is_asked for word in words]
    if asked:
        write_result(shlex.join(asked) + "\n", None)
        return
    lines = [f"{name:<11} {shlex.join(words)}\n" for name, (_, words) in answers.items()]
    write_result("".join([f"{'library':<11} {shlex.quote(str(library))}\n", *lines]), None)

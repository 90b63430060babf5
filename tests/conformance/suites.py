# SPDX-License-Identifier: Apache-2.0
"""The table of suites: how to recognize a checkout, and how its programs are built and started.

A suite that is not in the table works, too, if each of its programs is a single file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Made:
    """A program of several source files. Patterns and folders are relative to the checkout."""

    name: str
    source: str  # the file after which the executable is named
    others: tuple[str, ...] = ()  # patterns of the other source files
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()  # {suite} stands for the checkout
    free: str = ""  # pattern of the lines that depend on which thread is first, in stock runs too


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite. Folders are relative to the checkout, as are the patterns of programs."""

    name: str
    marker: str = ""  # a file that a checkout of this suite contains
    folders: tuple[str, ...] = (".",)  # of its single-file programs
    includes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # text in a program: files that it needs
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of programs, by pattern
    races: str = ""  # pattern of the programs whose results depend on a data race
    undefined: tuple[str, ...] = ()  # patterns of the programs that read undefined memory; they are left out
    made: tuple[Made, ...] = ()


_BOTS_DEFINES: Final = tuple(
    f'-D{name}="conformance"' for name in ("CDATE", "CC", "LD", "CMESSAGE", "CFLAGS", "LDFLAGS")
)


def _bots(name: str, *arguments: str, folder: str = "", others: tuple[str, ...] = (), free: str = "") -> Made:
    """Returns a program of BOTS with tied tasks and, where the program has one, a manual cut-off."""
    home = f"omp-tasks/{folder or name}"
    return Made(
        name=folder.rpartition("/")[2] or name,
        source=f"{home}/{name}.c",
        others=("common/bots_common.c", "common/bots_main.c", *(f"{home}/{other}" for other in others)),
        includes=("common", home),
        # Programs with a cut-off replace this value.
        flags=("-std=gnu89", "-DMANUAL_CUTOFF", "-DBOTS_CUTOFF_DEF_VALUE=3", *_BOTS_DEFINES),
        arguments=arguments,
        free=free,
    )


SUITES: Final = (
    Suite("OpenMP_VV", "ompvv/ompvv.h", ("tests",), ("ompvv",), ("-DVERBOSE_MODE=1",)),
    Suite(
        "DataRaceBench",
        "micro-benchmarks/DRB001-antidep1-orig-yes.c",
        ("micro-benchmarks", "micro-benchmarks-fortran"),
        ("micro-benchmarks", "micro-benchmarks/utilities"),
        ("-DPOLYBENCH_NO_FLUSH_CACHE", "-D_POSIX_C_SOURCE=200112L"),
        needs={"PolyBench": ("micro-benchmarks/utilities/polybench.c",)},
        races="*-yes.*",
        undefined=(
            "*/DRB100-*.f95",  # flang's task reads an argument of a call that has returned, as in DRB101
            "*/DRB101-*.f95",
            "*/DRB120-*.f95",  # increments a variable without a value
        ),
    ),
    Suite("OpenMP Examples", "openmp-examples.tex", undefined=("*/fort_shared_var.*",)),  # as the file states
    Suite(
        "BOTS",
        "common/bots_main.c",
        folders=(),
        made=(
            _bots("alignment", "-f", "{suite}/inputs/alignment/prot.20.aa", folder="alignment/alignment_for"),
            _bots(
                "alignment", "-f", "{suite}/inputs/alignment/prot.20.aa", folder="alignment/alignment_single"
            ),
            _bots("fft", "-n", "4096", "-c"),
            _bots("fib", "-n", "20", "-c"),
            # Prints the layout that it finds first; several layouts have the smallest area.
            _bots("floorplan", "-f", "{suite}/inputs/floorplan/input.5", "-c", free=r"[A-Z ]+"),
            _bots("health", "-f", "{suite}/inputs/health/test.input", "-c"),
            _bots("knapsack", "-f", "{suite}/inputs/knapsack/knapsack-012.input", "-c"),
            _bots("nqueens", "-n", "8", "-c"),
            _bots("sort", "-n", "100000", "-c"),
            _bots("sparselu", "-n", "12", "-m", "16", "-c", folder="sparselu/sparselu_for"),
            _bots("sparselu", "-n", "12", "-m", "16", "-c", folder="sparselu/sparselu_single"),
            _bots("strassen", "-n", "256", "-c"),
            _bots("uts", "-f", "{suite}/inputs/uts/test.input", others=("brg_sha1.c",)),
        ),
    ),
    Suite(
        "LULESH",
        "lulesh.cc",
        folders=(),
        made=(
            Made(
                "lulesh",
                "lulesh.cc",
                ("lulesh-*.cc",),
                flags=("-DUSE_MPI=0",),
                arguments=("-s", "8", "-i", "20"),
            ),
        ),
    ),
    Suite(
        "ParRes Kernels",
        "common/make.defs.llvm",
        ("C1z", "FORTRAN"),
        ("C1z", "include"),
        ("-std=gnu11", "-DRESTRICT_KEYWORD=1"),
        arguments={
            "*nstream*": ("5", "100000"),
            "*p2p-hyperplane*": ("5", "200", "20"),
            "*p2p*2d*": ("5", "200", "200", "50", "50"),
            "*p2p*": ("5", "200", "200"),
            "*dgemm*": ("3", "100"),
            "*pic*": ("10", "100", "1000", "1", "2", "GEOMETRIC", "0.99"),
            "*": ("5", "200"),
        },
    ),
)


def suite_of(folder: Path) -> Suite:
    """Returns the suite of a checkout. An unknown folder is a suite of its own, named after the folder."""
    for suite in SUITES:
        if (folder / suite.marker).exists():
            return suite
    return Suite(folder.resolve().name)

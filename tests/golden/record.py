#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the golden traces: small runs of each runtime, compiler, loading method and mode.

Run it in the project's environment, with the native libraries and the test runtimes in build/:

    .venv/bin/python tests/golden/record.py [NAME...]

It writes the input of tests/unit/test_golden_traces.py: a NAME.tar.xz per run, and known.json, which holds
the program's own counts (FACTS) and the number of records of each kind in its logs. Add a golden trace for
each new kind of record. Old traces stay: readers must read them, or refuse them in one line.

Logs name modules, hosts and directories. Therefore the script runs all programs in the neutral directory
NEUTRAL, which it removes afterwards, and replaces the host name.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

from fake_mpi import build_fake_mpi  # noqa: E402
from mpi_jobs import compiler_flags  # noqa: E402
from ompass import _core  # noqa: E402
from toolchains import BUILD, PROGRAMS, REPOSITORY, TOOLCHAINS, compile_source, toolchain_named  # noqa: E402

NEUTRAL = Path("/tmp/golden")
LIBRARIES = ("libompass.so", "libomp_ext.so", "libompass_mpi.so")
WAYS = ("by-variable", "preloaded", "linked")
# Matches the attributes in topology.xml that describe the host but not its topology.
OF_THE_HOST = re.compile(rb'\s*<info name="(?!PCI|Inclusive)[^>]*/>')


@dataclass(frozen=True)
class Case:
    """One recorded run."""

    name: str
    source: str
    arguments: tuple[str, ...] = ()
    toolchain: str = "clang-19"
    way: str = "preloaded"
    mode: str = "trace"
    environment: Mapping[str, str] = field(default_factory=dict)
    linked_with: tuple[str, ...] = ()
    extra_sources: tuple[Path, ...] = ()
    ending: int = 0
    calls_mpi: bool = False
    compiled_by: str = (
        ""  # the compiler command of a real MPI; empty: programs that call MPI use a fake MPI library
    )


_TASKS = (
    "7",
    "120",
)  # random_tasks.c: nested, dependent, undeferred, untied and final tasks, groups and loops
_EXT = {"OMP_EXT_SCHEDULE": "1", "OMP_EXT_DOMAINS": "2", "OMP_EXT_STRICT": "1"}
_CANCELLATION = {"OMP_CANCELLATION": "true"}
_KINDS = {
    "nested-regions": ("nested_parallel", {}),
    "detached": ("detach_late_task", {}),
    "detached-events": ("detach_late_pthread", {}),
    "cancelled": ("cancel_taskgroup", _CANCELLATION),
    "dependent-waits": ("taskwait_depend", {}),
    "barriers": ("barriers", {}),
    "threads": ("pthread_regions", {}),
}
CASES = (
    *(
        Case(f"{toolchain.name}-{way}-{mode}", "spans/random_tasks.c", _TASKS, toolchain.name, way, mode)
        for toolchain in TOOLCHAINS
        for way in WAYS
        for mode in ("profile", "trace")
        if mode == "trace" or way == "preloaded"
    ),
    *(Case(name, f"kinds/{kind}.c", environment=settings) for name, (kind, settings) in _KINDS.items()),
    Case("short-tasks", "golden/short.c"),
    Case("short-tasks-unbracketed", "golden/short.c", way="by-variable"),
    Case("killed", "golden/killed.c", ending=-9),
    Case("killed-profile", "golden/killed.c", mode="profile", ending=-9),
    Case("paused", "golden/paused.c"),
    Case("paused-unbracketed", "golden/paused.c", way="by-variable"),
    Case("ended-by-control", "survival/controlled.c"),
    Case("kernels", "api/kernels.c"),
    *(
        Case(
            f"fortran-{compiler}",
            "api/kernels.f90",
            toolchain=toolchain,
            extra_sources=(REPOSITORY / "ompt_tool" / "fortran" / "ompass.f90",),
        )
        for compiler, toolchain in (("flang", "clang-19"), ("gfortran", "gcc-12-libomp-19"))
    ),
    # From format version 2 on: waits and loops with their places, off-CPU intervals.
    Case("loops", "kinds/worksharing_loops.c", environment={"OMP_WAIT_POLICY": "passive"}),
    Case("dependences", "kinds/depend_mutexinoutset.c"),
    Case("waits", "waits/waits.c", environment={"OMPASS_SAMPLE": "0"}),
    Case("absences", "processor/sleeps.c", ("200", "6", "2")),
    # From format version 3 on: short records, of tasks that run on their creator's thread and of others.
    Case("short-records", "golden/short.c"),
    Case("short-records-unbracketed", "golden/short.c", way="by-variable"),
    Case("short-records-of-all-kinds", "spans/random_tasks.c", _TASKS),
    Case("short-records-absences", "processor/sleeps.c", ("200", "6", "2")),
    Case("short-records-killed", "golden/killed.c", ending=-9),
    # From format version 4 on: page faults and system time.
    Case("page-faults", "processor/touches.c", ("2000",)),
    # From format version 5 on: numbers and releases of locks, times of the events of detached tasks.
    Case("numbered-locks", "waits/waits.c", environment={"OMPASS_SAMPLE": "0"}),
    Case("dated-events", "kinds/detach_late_task.c"),
    # From format version 6 on: depend clauses.
    Case("depend-clauses", "kinds/depend_mutexinoutset.c", environment={"OMPASS_SAMPLE": "0"}),
    # From format version 8 on: MPI calls.
    Case("mpi-calls", "mpi/states.c", environment={"OMPASS_SAMPLE": "0"}, calls_mpi=True),
    # From format version 9 on: messages of MPI calls.
    Case(
        "mpi-messages",
        str(FOLDER / "messages.c"),
        environment={"OMPASS_SAMPLE": "0"},
        calls_mpi=True,
        compiled_by="mpicc.mpich",
    ),
    Case("domains", "ext/fig8.c", ("3", "2"), linked_with=("libomp_ext.so",), environment=_EXT),
    Case("domains-random", "spans/random_tasks.c", _TASKS, linked_with=("libomp_ext.so",), environment=_EXT),
)


def main(names: list[str]) -> None:
    unknown = set(names) - {case.name for case in CASES}
    assert not unknown, f"not a golden trace: {', '.join(sorted(unknown))}"
    chosen = [case for case in CASES if not names or case.name in names]
    known_file = FOLDER / "known.json"
    known = json.loads(known_file.read_text(encoding="utf-8")) if known_file.exists() else {}
    NEUTRAL.mkdir()
    try:
        for library in LIBRARIES:
            shutil.copy(BUILD / "lib" / library, NEUTRAL)
        for case in chosen:
            run_dir, output = record(case)
            facts = facts_in(output)
            make_neutral(run_dir)
            known[case.name] = {"facts": facts, "mode": case.mode, "records": records_of(run_dir, case)}
            n_bytes = pack(run_dir, FOLDER / f"{case.name}.tar.xz")
            print(f"{case.name}: {n_bytes} bytes, {facts}")
    finally:
        shutil.rmtree(NEUTRAL)
    known_file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def record(case: Case) -> tuple[Path, str]:
    """Runs the program in the neutral directory; returns its run directory and its output."""
    toolchain = toolchain_named(case.toolchain)
    linked_with = (*case.linked_with, *(("libompass.so",) if case.way == "linked" else ()))
    flags = [str(NEUTRAL / library) for library in linked_with]
    if flags:
        flags = ["-Wl,--no-as-needed", *flags, f"-Wl,-rpath,{NEUTRAL}"]
    if case.compiled_by:
        flags += compiler_flags(case.compiled_by, "-show")
    elif case.calls_mpi:
        build_fake_mpi(NEUTRAL)
        flags += [f"-L{NEUTRAL}", f"-Wl,-rpath,{NEUTRAL}", "-lfakempi"]
    if case.source.startswith("kinds/") and toolchain.cc.startswith("clang"):
        flags.append("-fopenmp-version=51")
    built = compile_source(case.source, toolchain, flags=flags, extra_sources=case.extra_sources)
    program = Path(shutil.copy(built, NEUTRAL / Path(case.source).stem))
    runtime = NEUTRAL / "runtime"
    shutil.rmtree(runtime, ignore_errors=True)
    shutil.copytree(toolchain.runtime_dir, runtime)
    run_dir = NEUTRAL / f"{case.name}.ompass"
    settings = {
        "LD_LIBRARY_PATH": str(runtime),
        "OMPASS_MODE": case.mode,
        "OMPASS_DIR": run_dir.name,
        "OMPASS_SUMMARY": "off",
        "OMP_NUM_THREADS": "2",
        **case.environment,
    }
    if case.way != "linked":
        loading = "LD_PRELOAD" if case.way == "preloaded" else "OMP_TOOL_LIBRARIES"
        settings[loading] = str(NEUTRAL / "libompass.so")
    if case.calls_mpi:
        settings["LD_PRELOAD"] += f":{NEUTRAL / 'libompass_mpi.so'}"
    ended = toolchain.run([str(program), *case.arguments], settings, cwd=NEUTRAL)
    assert ended.returncode == case.ending, f"{case.name} ended with {ended.returncode}: {ended.stderr}"
    return run_dir, ended.stdout


def facts_in(output: str) -> dict[str, int]:
    """Returns the counts of the program's last line."""
    last = output.splitlines()[-1].split()
    assert last[0] == "FACTS"
    return {name: int(value) for name, value in (word.split("=") for word in last[1:])}


def make_neutral(run_dir: Path) -> None:
    """Removes the host's names. Raises AssertionError if a name of the host or of this checkout is left."""
    meta_file = run_dir / "meta.json"
    meta = json.loads(meta_file.read_text(encoding="utf-8"))
    meta["host"] = "golden"
    meta_file.write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
    topology = run_dir / "topology.xml"
    if topology.exists():
        topology.write_bytes(OF_THE_HOST.sub(b"", topology.read_bytes()))
    forbidden = [str(REPOSITORY), str(Path.home()), os.path.realpath(BUILD), os.uname().release]
    words = [text.encode() for text in forbidden if len(text) > 5]
    names = [b'"' + socket.gethostname().encode() + b'"']
    for path in run_dir.iterdir():
        contents = path.read_bytes()
        left = [word for word in (*words, *names) if word in contents]
        assert not left, f"{path} still has {left}"


def records_of(run_dir: Path, case: Case) -> dict[str, int]:
    """Returns the number of records of each kind in the logs; empty without a trace."""
    if case.mode != "trace":
        return {}
    numbers = _core.read_events(str(run_dir)).kind.tolist()
    kinds = [name for name, _ in _core.event_kinds()]
    return {kinds[kind]: numbers.count(kind) for kind in sorted(set(numbers))}


def pack(run_dir: Path, archive: Path) -> int:
    """Writes the directory as an archive without owner and date; returns its size."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(run_dir.iterdir()):
            contents = path.read_bytes()
            entry = tarfile.TarInfo(f"{run_dir.name}/{path.name}")
            entry.size = len(contents)
            tar.addfile(entry, io.BytesIO(contents))
    return archive.stat().st_size


if __name__ == "__main__":
    assert PROGRAMS.is_dir()
    main(sys.argv[1:])

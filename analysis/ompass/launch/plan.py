# SPDX-License-Identifier: Apache-2.0
"""Plans how to record a program: its environment, its runtime, and warnings for the user.

Owns every decision about LD_PRELOAD and OMP_TOOL_LIBRARIES. Keeps the user's settings and adds to them.
"""

from __future__ import annotations

import re
import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ompass.elf import NotElfError, dynamic_symbols, exported_symbols, imported_symbols
from ompass.errors import CannotRecordError
from ompass.launch.program import Program, calls_mpi, mpi_library
from ompass.launch.runtimes import Runtime, find_runtimes, read_runtime
from ompass.launch.tool import find_tool_library, preloadable
from ompass.runtime_names import runtime_kind

INSTALL_LIBOMP = (
    "install LLVM's runtime (Debian, Ubuntu: apt install libomp5; Fedora: dnf install libomp; "
    "conda: llvm-openmp), or name one with --libomp FILE"
)


# Prefixes of the functions that gcc programs call in their OpenMP and OpenACC runtime.
_RUNTIME_PREFIXES = ("GOMP_", "GOACC_", "omp_", "acc_")
# Functions that no runtime replaces correctly: for target regions, teams, task events, and doacross loops
# with unsigned 8-byte bounds (LLVM's runtimes fail an assertion after such a loop). The tool defines some of
# them, and ends the program if a library that was loaded later calls one.
_NOT_REPLACED = re.compile(
    r"GOMP_(target|teams|loop_ull_doacross|doacross_ull)\w*|GOACC_\w+|omp_fulfill_event_?"
)
_DEFAULTS = ("OMP_SCHEDULE", "KMP_STACKSIZE")  # variables that libgomp_defaults sets
_LLVM_STACK_BYTES = 4 << 20  # default stack of a thread
# Functions that need no replacement: libgomp returns a constant, which is right with every runtime.
_CONSTANT = re.compile(r"omp_get_(supported_active_levels|device_num)_?")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The user's options; None or empty: the environment or the tool decides."""

    mode: str | None = None
    threads: str = ""  # OMP_NUM_THREADS, may be a list for nested regions
    wrappers: bool | None = None
    counters: str = ""
    sample: str = ""  # samples per second, or off
    limit_mb: str = ""  # value of OMPASS_LIMIT_MB
    keep_last: str = ""  # value of OMPASS_KEEP_LAST
    dump_on: str = ""  # value of OMPASS_DUMP_ON
    dump_if_longer: str = ""  # value of OMPASS_DUMP_IF_LONGER
    libomp: Path | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The data needed to start the program."""

    how: str  # completes "can be recorded ..." in `ompass doctor PROGRAM`
    variables: Mapping[str, str]  # variables to set
    warnings: tuple[str, ...]
    runtime: Runtime | None  # the recorded runtime, if known
    wrappers: bool
    libraries: tuple[Path, ...] = field(default=())  # preloaded, in order
    recording: frozenset[Path] = frozenset()  # libraries that only record: the tool, and the library for MPI


def plan_recording(
    program: Program,
    tool: Path,
    options: RunOptions,
    environ: Mapping[str, str],
    installed: Sequence[Runtime],
    for_mpi: Path | None = None,
) -> Plan:
    """Returns the plan for `program`; `installed` are the runtimes that may replace libgomp.

    `for_mpi`: the library that records MPI calls; None: this build has none. Raises CannotRecordError,
    which states the reason and the cure.
    """
    warnings: list[str] = []
    _refuse_static(program)
    runtime, substitute, how = _choose_runtime(program, options, installed)
    if substitute is not None:
        _refuse_incomplete(program, substitute, tool)
    wrappers = (
        options.wrappers
        if options.wrappers is not None
        else environ.get("OMPASS_WRAPPERS", environ.get("OMPASS_BRACKETS")) != "off"
    )
    variables: dict[str, str] = {}
    preload: list[Path] = []
    with_mpi = calls_mpi(program, environ)
    if with_mpi and for_mpi is None:
        warnings.append(
            "MPI calls are not recorded and count as work: there is no libompass_mpi.so for this processor"
        )
    if wrappers or substitute is not None or (with_mpi and for_mpi):
        # Without wrappers, the tool still keeps libgomp from binding the main thread, and records MPI calls.
        preload.append(tool)
    if with_mpi and for_mpi:
        preload.append(for_mpi)
    recording = frozenset(preload)
    if substitute is not None:
        preload.append(substitute.path)
    if program.is_privileged:
        warnings.append(
            f"{program.path} runs with raised privileges, so the loader ignores LD_PRELOAD; "
            "record a copy without these privileges"
        )
    if preload:
        variables["LD_PRELOAD"] = _preloaded(preload, environ.get("LD_PRELOAD", ""))
    # Set in addition to LD_PRELOAD: a runtime linked into the program searches this list first.
    variables["OMP_TOOL_LIBRARIES"] = _joined([tool], environ.get("OMP_TOOL_LIBRARIES", ""))
    variables["OMPASS_WRAPPERS"] = "on" if wrappers else "off"
    if substitute is not None and any(runtime.kind == "libgomp" for runtime in program.runtimes):
        variables.update(libgomp_defaults(environ))
    variables.update(_requested(options))
    warnings += other_tools(program, tool, environ)
    if environ.get("OMP_TOOL", "").strip().lower() == "disabled":
        variables["OMP_TOOL"] = "enabled"
        warnings.append("OMP_TOOL=disabled would switch the recording off; this run sets OMP_TOOL=enabled")
    if program.missing:
        warnings.append(f"{program.path} needs {', '.join(program.missing)}, which the loader cannot find")
    return Plan(how, variables, tuple(warnings), runtime, wrappers, tuple(preload), recording)


def unrecorded_variables(plan: Plan) -> dict[str, str]:
    """Returns the variables of an unrecorded run on the plan's runtime, with the same binding of threads.

    For a gcc program, LD_PRELOAD names the runtime, and the tool, which keeps libgomp from binding the main
    thread. Other programs need no variables.
    """
    if plan.recording.issuperset(plan.libraries):
        return {}
    kept = {name: plan.variables[name] for name in ("LD_PRELOAD", *_DEFAULTS) if name in plan.variables}
    return {**kept, "OMPASS_ENABLED": "off"}


def plan_here(
    program: Program, options: RunOptions, environ: Mapping[str, str], scratch: Path
) -> tuple[Path, Plan]:
    """Returns the tool, and the plan to record `program` with it and this machine's runtimes.

    `scratch` receives links to libraries whose paths LD_PRELOAD cannot hold; keep it until the runs end.
    """
    tool = preloadable(find_tool_library(environ), scratch)
    installed = [replace(r, path=preloadable(r.path, scratch)) for r in find_runtimes(environ)]
    if options.libomp is not None:
        options = replace(options, libomp=preloadable(options.libomp.absolute(), scratch))
    for_mpi = mpi_library(tool)
    if for_mpi is not None:
        for_mpi = preloadable(for_mpi, scratch)
    return tool, plan_recording(program, tool, options, environ, installed, for_mpi)


def _requested(options: RunOptions) -> dict[str, str]:
    wanted: dict[str, str] = {}
    if options.mode is not None:
        wanted["OMPASS_MODE"] = options.mode
    if options.threads:
        wanted["OMP_NUM_THREADS"] = options.threads
    if options.counters:
        wanted["OMPASS_COUNTERS"] = options.counters
    if options.sample:
        wanted["OMPASS_SAMPLE"] = options.sample
    if options.limit_mb:
        wanted["OMPASS_LIMIT_MB"] = options.limit_mb
    if options.keep_last:
        wanted["OMPASS_KEEP_LAST"] = options.keep_last
    if options.dump_on:
        wanted["OMPASS_DUMP_ON"] = options.dump_on
    if options.dump_if_longer:
        wanted["OMPASS_DUMP_IF_LONGER"] = options.dump_if_longer
    return wanted


def _refuse_static(program: Program) -> None:
    if program.is_static:
        raise CannotRecordError(
            f"{program.path} cannot be recorded",
            "it is statically linked, so no tool can be loaded into it",
            "link it without -static",
        )


def _choose_runtime(
    program: Program, options: RunOptions, installed: Sequence[Runtime]
) -> tuple[Runtime | None, Runtime | None, str]:
    """Returns the recorded runtime, the runtime that replaces libgomp (or None), and Plan.how."""
    if options.libomp is not None:
        named = _named_runtime(options.libomp)
        return named, named, f"on the requested OpenMP runtime {named.path}"
    native = next((r for r in program.runtimes if r.is_llvm), None)
    if native is not None:
        if not native.has_ompt:
            raise CannotRecordError(
                f"{program.path} cannot be recorded",
                f"its OpenMP runtime {native.path} was built without OMPT",
                f"use another runtime with --libomp FILE, or {INSTALL_LIBOMP}",
            )
        linked = "linked into it" if native.is_static else str(native.path)
        return native, None, f"directly: its OpenMP runtime ({native.kind}, {linked}) supports OMPT"
    other = next(iter(program.runtimes), None)
    if other is None:
        if program.is_script:
            return (
                None,
                None,
                f"through {program.interpreters[-1]}: any OpenMP runtime of the LLVM family that it loads is "
                "recorded",
            )
        return (
            None,
            None,
            "if it loads an OpenMP runtime of the LLVM family while it runs; none is linked with it",
        )
    if other.has_ompt:
        return other, None, f"directly: its OpenMP runtime ({other.kind}, {other.path}) supports OMPT"
    if other.is_static:
        raise CannotRecordError(
            f"{program.path} cannot be recorded",
            f"{other.kind}, which has no OMPT, is linked into it and cannot be replaced",
            "link it with the shared libgomp.so.1, or compile it with clang -fopenmp",
        )
    if other.kind != "libgomp":
        raise CannotRecordError(
            f"{program.path} cannot be recorded",
            f"its OpenMP runtime {other.path} has no OMPT, and no other runtime can replace it",
            "compile it with clang -fopenmp or gcc -fopenmp",
        )
    for candidate in installed:
        if candidate.has_ompt and candidate.has_gomp:
            return candidate, candidate, f"on {candidate.path} in place of gcc's libgomp, which has no OMPT"
    seen = ", ".join(str(r.path) for r in installed) or "none was found"
    raise CannotRecordError(
        f"{program.path} cannot be recorded",
        "it uses gcc's libgomp, which has no OMPT, and no installed runtime of the LLVM family with OMPT "
        f"and gcc's entry points can replace it ({seen})",
        INSTALL_LIBOMP,
    )


def _refuse_incomplete(program: Program, substitute: Runtime, tool: Path) -> None:
    """Raises CannotRecordError if the program calls functions that the replacing runtime lacks.

    Such a call would reach libgomp, all other calls would reach `substitute`, and results would be wrong.
    """
    if lacking := missing_functions(program, substitute, tool):
        named = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        raise CannotRecordError(
            f"{program.path} cannot be recorded",
            f"it, or one of its libraries, calls {named}, which {substitute.path} does not replace",
            "compile it with clang -fopenmp, or remove the calls to these functions",
        )


def missing_functions(program: Program, substitute: Runtime, tool: Path) -> list[str]:
    """Returns the runtime functions that a gcc program or its libraries call and that no definition replaces.

    `substitute` is the runtime that replaces libgomp. A definition replaces a function only if it has the
    version that the caller requests, or no version.
    """
    if program.elf is None:
        return []
    files = [program.elf.path, *(loaded.facts.path for loaded in program.libraries if loaded.facts)]
    return unreplaced_functions([path for path in files if not runtime_kind(path.name)], substitute, tool)


def unreplaced_functions(users: Sequence[Path], substitute: Runtime, tool: Path) -> list[str]:
    """Returns the functions of libgomp that these files call and that no definition replaces."""
    try:
        called = _union(imported_symbols(path, _RUNTIME_PREFIXES) for path in users)
        names = {name for name, _ in called}
        defined = _union(exported_symbols(path, names) for path in (*users, substitute.path, tool))
    except NotElfError:
        return []

    def is_replaced(name: str, version: str) -> bool:
        if _NOT_REPLACED.fullmatch(name):
            return False
        if not version:
            return any(name == other for other, _ in defined)
        return bool(_CONSTANT.fullmatch(name)) or (name, version) in defined or (name, "") in defined

    return sorted(name for name, version in called if not is_replaced(name, version))


def _union(sets: Iterable[frozenset[tuple[str, str]]]) -> frozenset[tuple[str, str]]:
    return frozenset[tuple[str, str]]().union(*sets)


def libgomp_defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that set libgomp's defaults for a program on LLVM's runtime.

    They make `schedule(runtime)` loops dynamic, and give threads stacks of the system's size.
    """
    defaults = {}
    if "OMP_SCHEDULE" not in environ:
        defaults["OMP_SCHEDULE"] = "dynamic,1"
    if not {"OMP_STACKSIZE", "GOMP_STACKSIZE", "KMP_STACKSIZE"} & environ.keys():
        limit = resource.getrlimit(resource.RLIMIT_STACK)[0]
        if limit > _LLVM_STACK_BYTES:
            defaults["KMP_STACKSIZE"] = f"{limit}B"
    return defaults


def _named_runtime(path: Path) -> Runtime:
    runtime = read_runtime(runtime_kind(path.name) or "libomp", path.absolute())
    if runtime is None:
        raise CannotRecordError(f"--libomp {path}", "not a readable shared library", "name a libomp.so.5")
    if not runtime.has_ompt:
        raise CannotRecordError(f"--libomp {path}", "it was built without OMPT", "name another libomp.so.5")
    return runtime


def other_tools(program: Program, tool: Path, environ: Mapping[str, str]) -> list[str]:
    """Returns warnings about OMPT tools in the user's environment or program: only one can be active."""
    found = []
    if program.has_own_tool:
        found.append(f"{program.path} contains an OMPT tool, which comes first, so Ompass may record nothing")
    for text in _names(environ.get("LD_PRELOAD", "")):
        if Path(text) != tool and _offers_tool(Path(text)):
            found.append(
                f"LD_PRELOAD names the OMPT tool {text}; only one tool can be active, and Ompass comes first"
            )
    for text in environ.get("OMP_TOOL_LIBRARIES", "").split(":"):
        if text and Path(text) != tool:
            found.append(
                f"OMP_TOOL_LIBRARIES names {text}; only one tool can be active, and Ompass comes first"
            )
    return found


def _offers_tool(path: Path) -> bool:
    # Runtimes and the extension define this function too, but only to forward to the next tool.
    return _defines(path, "ompt_start_tool") and not runtime_kind(path.name) and not _is_extension(path)


def _is_extension(path: Path) -> bool:
    return _defines(path, "omp_ext_observe")


def _defines(path: Path, symbol: str) -> bool:
    try:
        return symbol in dynamic_symbols(path, (symbol,))[0]
    except NotElfError:
        return False


def _names(preload: str) -> list[str]:
    """Returns the libraries of an LD_PRELOAD."""
    return [name for name in preload.replace(" ", ":").split(":") if name]


def _preloaded(ours: Sequence[Path], theirs: str) -> str:
    """Returns an LD_PRELOAD: the extension, then our libraries, then the user's.

    If the tool came first, its wrappers would only forward calls.
    """
    extensions = [name for name in _names(theirs) if _is_extension(Path(name))]
    others = [name for name in _names(theirs) if name not in extensions]
    return ":".join([*extensions, *map(str, ours), *others])


def _joined(ours: Sequence[Path], theirs: str) -> str:
    return ":".join([*(str(path) for path in ours), *([theirs] if theirs else [])])

# SPDX-License-Identifier: Apache-2.0
"""The checks of the doctor, each with a result and advice.

Owns the list of checks and their order; probes.py and trial.py run other programs.
"""

from __future__ import annotations

import enum
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ompass.doctor import probes, trial
from ompass.errors import IncompleteInstallationError
from ompass.installation import Component, library_path
from ompass.launch.runtime_versions import runtime_version
from ompass.launch.runtimes import Runtime, find_runtimes
from ompass.launch.tool import find_tool_library
from ompass.metrics.processors import describe_processors
from ompass.readers.run import CORE_FILE, read_group_limits
from ompass.units import duration, plural, size

_FREE_BYTES = 1 << 30


class Verdict(enum.Enum):
    """The result of a check."""

    OK = "ok"
    LIMITED = "limited"  # works with restrictions
    MISSING = "missing"  # recording or reading does not work without it


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor."""

    name: str
    verdict: Verdict
    found: str
    advice: str = ""


def examine_machine(environ: Mapping[str, str], directory: Path) -> list[Check]:
    """Returns all checks, in order of importance; `directory` is the place for recordings."""
    makers: list[Callable[[], Iterator[Check]]] = [
        lambda: _tool(environ),
        _reader,
        lambda: _runtimes(environ),
        _compilers,
        _hwloc,
        _papi,
        _perf,
        _symbols,
        _clock,
        _topology,
        _quota,
        lambda: _disk(directory),
    ]
    return [check for maker in makers for check in maker()]


def _tool(environ: Mapping[str, str]) -> Iterator[Check]:
    try:
        path = find_tool_library(environ)
    except IncompleteInstallationError as error:
        yield Check("tool", Verdict.MISSING, error.what, error.cure)
        return
    problem = probes.loading_problem(path)
    if problem:
        yield Check("tool", Verdict.MISSING, f"{path} does not load: {problem}", "reinstall the package here")
    else:
        yield Check("tool", Verdict.OK, str(path))


def _reader() -> Iterator[Check]:
    yield Check("reader", Verdict.OK, CORE_FILE)


def _runtimes(environ: Mapping[str, str]) -> Iterator[Check]:
    n_good = 0
    for runtime in find_runtimes(environ):
        answer = probes.ask_runtime(runtime.path)
        found = f"{runtime.path}, {runtime_version(runtime.path).described}"
        problem = answer.problem or _trial_of_tool(runtime.path, environ)
        if problem:
            yield Check(
                "libomp", Verdict.LIMITED, f"{found}: {problem}", "use another runtime (--libomp FILE)"
            )
        else:
            n_good += 1
            gomp = "" if runtime.has_gomp else "; cannot run gcc's programs"
            yield Check("libomp", Verdict.OK, f"{found}, {answer.version}, with OMPT{gomp}{_known(runtime)}")
        if answer.version:
            yield _extension(runtime)
    if not n_good:
        yield Check(
            "libomp",
            Verdict.MISSING,
            "no OpenMP runtime with OMPT was found",
            "Debian, Ubuntu: apt install libomp5; Fedora: dnf install libomp; conda: llvm-openmp",
        )


def _known(runtime: Runtime) -> str:
    return "".join(f"; {note}" for note in runtime_version(runtime.path).known())


def _trial_of_tool(path: Path, environ: Mapping[str, str]) -> str:
    """Returns the problem of a recording on this runtime; empty if it works, or if no tool can be tried."""
    try:
        tool = find_tool_library(environ)
    except IncompleteInstallationError:
        return ""
    if probes.loading_problem(tool):
        return ""
    problem = trial.problem_of_tool(path, tool)
    return f"the tool does not work on it: {problem}" if problem else ""


def _extension(runtime: Runtime) -> Check:
    try:
        library = library_path(Component.EXT)
    except IncompleteInstallationError as error:
        return Check("extension", Verdict.LIMITED, error.what, error.cure)
    problem = trial.problem_of_extension(runtime.path, library)
    if problem:
        return Check(
            "extension",
            Verdict.LIMITED,
            f"libomp_ext.so does not work on {runtime.path}: {problem}",
            "use another runtime for programs with locality domains",
        )
    return Check("extension", Verdict.OK, f"libomp_ext.so is active on {runtime.path}")


def _compilers() -> Iterator[Check]:
    for name, commands, package in (
        ("clang", ("clang", *(f"clang-{v}" for v in range(30, 13, -1))), "clang and libomp-dev"),
        ("gcc", ("gcc",), "gcc"),
        (
            "fortran",
            ("gfortran", "flang", *(f"flang-new-{v}" for v in range(30, 17, -1))),
            "gfortran or flang",
        ),
    ):
        path = next((found for command in commands if (found := shutil.which(command))), None)
        if path is None:
            yield Check(
                name, Verdict.LIMITED, "not found", f"install {package} to compile programs for recording"
            )
        else:
            yield Check(name, Verdict.OK, f"{path}, {probes.first_line_of_version(path)}")


def _library(name: str, files: tuple[str, ...], with_it: str, without: str, package: str) -> Iterator[Check]:
    library = probes.find_shared(*files)
    if library:
        yield Check(name, Verdict.OK, f"{library}: {with_it}")
    else:
        advice = f"Debian, Ubuntu: apt install {package}"
        yield Check(name, Verdict.LIMITED, f"{files[0]} was not found: {without}", advice)


def _hwloc() -> Iterator[Check]:
    files = ("libhwloc.so.15", "libhwloc.so")
    with_it = "the topology is recorded with each run"
    return _library("hwloc", files, with_it, "runs contain no topology", "libhwloc15")


def _papi() -> Iterator[Check]:
    files = ("libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7", "libpapi.so.6.0", "libpapi.so")
    return _library("papi", files, "--counters can be used", "--counters cannot be used", "libpapi7.0")


def _perf() -> Iterator[Check]:
    """Tries the tool's perf events, since sysctl does not show limits of containers and security modules."""
    switches, samples = probes.open_switches(), probes.open_samples()
    level = probes.paranoid_level()
    if not switches and not samples:
        yield Check("perf", Verdict.OK, f"the kernel records switches of threads and samples{level}")
        return
    lost = []
    if switches:
        lost.append(f"switches of threads ({os.strerror(switches)}): processor time is known per region only")
    if samples:
        lost.append(f"samples ({os.strerror(samples)}): no hot lines")
    yield Check(
        "perf",
        Verdict.LIMITED,
        f"the kernel refuses {'; '.join(lost)}{level}",
        probes.advice_on_refusal(switches or samples),
    )


def _symbols() -> Iterator[Check]:
    try:
        import symbolic

        yield Check("symbols", Verdict.OK, f"symbolic ({Path(symbolic.__file__).parent})")
    except (ImportError, OSError):
        other = shutil.which("llvm-symbolizer") or shutil.which("addr2line")
        found = f"only {other}" if other else "no reader of debug information, so no files and lines"
        yield Check("symbols", Verdict.LIMITED, found, "pip install symbolic")


def _clock() -> Iterator[Check]:
    flags = probes.cpu_flags()
    if {"constant_tsc", "nonstop_tsc"} <= flags:
        yield Check("clock", Verdict.OK, "invariant time stamp counter")
    elif os.uname().machine in ("aarch64", "arm64"):
        yield Check("clock", Verdict.OK, "generic timer (CNTVCT)")
    else:
        yield Check(
            "clock",
            Verdict.LIMITED,
            "no invariant time stamp counter: clock_gettime is used, at twice the cost",
        )


def _topology() -> Iterator[Check]:
    machine = probes.machine_shape()
    allowed = len(os.sched_getaffinity(0))
    found = (
        f"{plural(machine.n_packages, 'package')}, {plural(machine.n_nodes, 'memory node')}, "
        f"{plural(machine.n_cores, 'core')}, {plural(machine.n_cpus, 'CPU')}"
    )
    if allowed < machine.n_cpus:
        found += f", {allowed} of them for this process"
    yield Check("topology", Verdict.OK, found)


def _quota(root: str = "") -> Iterator[Check]:
    limits = read_group_limits(root)
    usable = len(os.sched_getaffinity(0))
    if not limits.quota_us:
        found = "none" if limits.is_known else "none known: the files of control groups cannot be read"
        yield Check("quota", Verdict.OK, found)
        return
    processors = describe_processors(usable, limits.quota_us, limits.period_us)
    found = (
        f"{processors} processors: control groups allow "
        f"{duration(limits.quota_us * 1000)} in {duration(limits.period_us * 1000)}, reached "
        f"{plural(limits.n_throttled, 'time')} so far"
    )
    if limits.quota_us >= usable * limits.period_us:
        yield Check("quota", Verdict.OK, found)
    else:
        yield Check(
            "quota",
            Verdict.LIMITED,
            found,
            "use no more threads than processors (-t), or raise the quota",
        )


def _disk(directory: Path) -> Iterator[Check]:
    if not os.access(directory, os.W_OK):
        yield Check(
            "directory", Verdict.LIMITED, f"{directory} cannot be written", "name another place with -o"
        )
        return
    free = shutil.disk_usage(directory).free
    if free < _FREE_BYTES:
        yield Check(
            "directory",
            Verdict.LIMITED,
            f"{directory} has {size(free)} left",
            "free space, or use --limit",
        )
    else:
        yield Check("directory", Verdict.OK, f"{directory}, {size(free)} free")

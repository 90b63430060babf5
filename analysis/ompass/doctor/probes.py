# SPDX-License-Identifier: Apache-2.0
"""Probes: small experiments on the machine.

Loads the tool and the runtimes in child processes, so a broken library cannot harm the doctor.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from ompass.launch.libraries import loader_cache
from ompass.system import answer_of

_ASK_RUNTIME = """
import ctypes, sys
try:
    print("threads", ctypes.CDLL(sys.argv[1]).omp_get_max_threads())
except (OSError, AttributeError) as error:
    print("reason:", error)
"""
_LOAD = """
import ctypes, sys
try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    print(error)
"""


@dataclass(frozen=True, slots=True)
class RuntimeAnswer:
    """The result of starting a runtime."""

    has_ompt: bool
    version: str
    problem: str  # the reason why it cannot record; empty if it can


def ask_runtime(path: Path) -> RuntimeAnswer:
    """Starts the runtime in another process, and checks whether it looks for an OMPT tool."""
    environ = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("OMP_", "KMP_", "OMPASS_")) and k != "LD_PRELOAD"
    }
    # Names a missing tool: only a runtime with OMPT looks for it.
    environ |= {
        "OMP_TOOL_VERBOSE_INIT": "stdout",
        "OMP_TOOL_LIBRARIES": "/nonexistent/ompass-doctor.so",
        "OMP_DISPLAY_ENV": "true",
        "KMP_VERSION": "1",
        "OMP_NUM_THREADS": "1",
    }
    answer = answer_of([sys.executable, "-c", _ASK_RUNTIME, str(path)], environ, errors_too=True)
    if answer is None or "threads 1" not in answer:
        reason = re.search(r"^reason: (.*)$", answer or "", re.MULTILINE)
        return RuntimeAnswer(False, "", f"it does not start{f' ({reason[1]})' if reason else ''}")
    match = re.search(r"_OPENMP\s*=\s*'?(\d+)", answer)
    version = f"OpenMP {match[1]}" if match else "OpenMP version unknown"
    has_ompt = "TOOL REGISTRATION" in answer
    return RuntimeAnswer(has_ompt, version, "" if has_ompt else "it was built without OMPT")


def loading_problem(path: Path) -> str:
    """Returns the reason why a shared library does not load; empty if it does. Disables recording."""
    environ = {**os.environ, "OMPASS_ENABLED": "off"}
    answer = answer_of([sys.executable, "-c", _LOAD, str(path)], environ, errors_too=True)
    if answer is None:
        return "it cannot be tested"
    return answer.strip()


def first_line_of_version(path: str) -> str:
    """Returns the first line that `path --version` prints."""
    lines = (answer_of([path, "--version"]) or "").strip().splitlines()
    return lines[0] if lines else "version unknown"


def find_shared(*names: str) -> str:
    """Returns the path, or the name, of the first library that loads; empty if none does."""
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        paths = loader_cache().get(name, ())
        return str(paths[0]) if paths else name
    return ""


def cpu_flags() -> frozenset[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(match[1].split()) if match else frozenset()


@dataclass(frozen=True, slots=True)
class MachineShape:
    n_packages: int
    n_nodes: int
    n_cores: int
    n_cpus: int


def machine_shape() -> MachineShape:
    """Returns counts from sysfs. Without sysfs, assumes one package and node, and one CPU per core."""
    cpus = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology"))
    packages, cores = set(), set()
    for cpu in cpus:
        package = _read(cpu / "physical_package_id")
        packages.add(package)
        cores.add((package, _read(cpu / "core_id")))
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    n_cpus = os.cpu_count() or 1
    return MachineShape(len(packages) or 1, len(nodes) or 1, len(cores) or n_cpus, n_cpus)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""

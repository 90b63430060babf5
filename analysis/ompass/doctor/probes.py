# SPDX-License-Identifier: Apache-2.0
"""Probes: small experiments on the machine.

Loads the tool and the runtimes in child processes, so a broken library cannot harm the doctor.

Opens and closes perf events like the tool's (ompt_tool/src/perf: processor_ring.cpp, samples.cpp) for the
calling thread. Containers (seccomp) and security modules refuse events independently of
kernel.perf_event_paranoid, so only a trial shows the result.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import re
import struct
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    """Returns the reason why a shared library does not load; empty if it does. Loads it without recording."""
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
    """Returns the path of the first library that loads, or its name if the path is unknown; else empty."""
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


_SYSCALL: Final = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319, "s390x": 331}
_PARANOID: Final = Path("/proc/sys/kernel/perf_event_paranoid")
_SOFTWARE: Final = 1
_TASK_CLOCK, _DUMMY = 1, 9
_TIME, _CALLCHAIN, _USER_REGISTERS, _USER_STACK = 1 << 2, 1 << 5, 1 << 12, 1 << 13
_REGISTERS: Final = {"x86_64": 0b111 << 6, "aarch64": 1 << 29 | 1 << 31 | 1 << 32}
_EXCLUDE_KERNEL, _EXCLUDE_HV, _WATERMARK, _SAMPLE_ID_ALL = 1 << 5, 1 << 6, 1 << 14, 1 << 18
_NO_KERNEL_CALLERS, _USE_CLOCKID, _CONTEXT_SWITCH = 1 << 21, 1 << 25, 1 << 26
_CLOSE_ON_EXEC: Final = 8
_SAMPLE_PERIOD_NS: Final = 10_000_000
_STACK_BYTES, _MOST_CALLERS = 1024, 64


def open_switches() -> int:
    """Opens the event that records context switches of a thread. Returns 0, or the errno of the refusal."""
    return _open_event(_attributes(_DUMMY, _TIME, _SAMPLE_ID_ALL | _CONTEXT_SWITCH))


def open_samples() -> int:
    """Opens samples of processor time. Returns 0, or the errno of the refusal."""
    registers = _REGISTERS.get(os.uname().machine, 0)
    wanted = _TIME | _CALLCHAIN | (_USER_REGISTERS | _USER_STACK if registers else 0)
    return _open_event(_attributes(_TASK_CLOCK, wanted, _NO_KERNEL_CALLERS, registers, _SAMPLE_PERIOD_NS))


def paranoid_level() -> str:
    """Returns the level, such as ` (perf_event_paranoid is 2)`; empty if it cannot be read."""
    try:
        return f" (perf_event_paranoid is {int(_PARANOID.read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        return ""


def advice_on_refusal(error: int) -> str:
    """Returns advice on the refusal of perf events; `error` is its errno."""
    if error in (errno.ENOSYS, errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL):
        return "use a kernel with perf events (CONFIG_PERF_EVENTS), not gVisor or an emulation"
    if error in (errno.EMFILE, errno.ENFILE):
        return "raise the limit of open files (ulimit -n)"
    container = (
        "in a container: a seccomp profile that allows perf_event_open (docker run --cap-add PERFMON, or "
        "--security-opt seccomp=FILE)"
    )
    try:
        level = int(_PARANOID.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return container
    return (
        container
        if level <= 2
        else f"as root of the machine: sysctl kernel.perf_event_paranoid=2; {container}"
    )


def _attributes(config: int, sample: int, flags: int, registers: int = 0, period: int = 0) -> bytes:
    """Returns a perf_event_attr of 112 bytes."""
    common = _EXCLUDE_KERNEL | _EXCLUDE_HV | _WATERMARK | _USE_CLOCKID
    return struct.pack(
        "=IIQQQQQIIQQQQIiQIHH",
        *(_SOFTWARE, 112, config, period, sample, 0, flags | common, 0xFFFFFFFF, 0, 0, 0, 0, registers),
        *(_STACK_BYTES if registers else 0, time.CLOCK_MONOTONIC, 0, 0, _MOST_CALLERS if period else 0, 0),
    )


def _open_event(attributes: bytes) -> int:
    number = _SYSCALL.get(os.uname().machine)
    if number is None:
        return errno.ENOSYS
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    arguments = (ctypes.c_char_p(attributes), 0, -1, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
    descriptor = libc.syscall(ctypes.c_long(number), *arguments)
    if descriptor < 0:
        return ctypes.get_errno()
    try:
        mmap.mmap(
            descriptor, 2 * mmap.PAGESIZE
        ).close()  # the ring, which may exceed the limit of locked memory
    except OSError as error:
        return error.errno or errno.EPERM
    finally:
        os.close(descriptor)
    return 0

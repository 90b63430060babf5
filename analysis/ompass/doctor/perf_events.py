# SPDX-License-Identifier: Apache-2.0
"""Opens and closes the tool's perf events for the calling thread.

Owns a copy of the attributes in ompt_tool/src/perf: processor_ring.cpp, samples.cpp. Containers (seccomp) and
security modules refuse events independently of kernel.perf_event_paranoid, so only a trial shows the result.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import time
from pathlib import Path
from typing import Final

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
    """Opens the records of a thread's switches. Returns 0, or the errno of the refusal."""
    return _open(_attributes(_DUMMY, _TIME, _SAMPLE_ID_ALL | _CONTEXT_SWITCH))


def open_samples() -> int:
    """Opens samples of processor time. Returns 0, or the errno of the refusal."""
    registers = _REGISTERS.get(os.uname().machine, 0)
    wanted = _TIME | _CALLCHAIN | (_USER_REGISTERS | _USER_STACK if registers else 0)
    return _open(_attributes(_TASK_CLOCK, wanted, _NO_KERNEL_CALLERS, registers, _SAMPLE_PERIOD_NS))


def paranoid_level() -> str:
    """Returns ` (perf_event_paranoid is 2)`; empty without that file."""
    try:
        return f" (perf_event_paranoid is {int(_PARANOID.read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        return ""


def advice(error: int) -> str:
    """Returns advice on a refusal."""
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


def _open(attributes: bytes) -> int:
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

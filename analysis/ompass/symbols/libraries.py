# SPDX-License-Identifier: Apache-2.0
"""Groups functions by origin: the program's own code, or a library known by its purpose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from ompass.runtime_names import runtime_kind
from ompass.sampled import IO, MEMORY, MPI, MUTEX, OWN, RUNTIME, TOOL

# By file name. Transports and launchers that only MPI calls (UCX, libfabric, PMI), and libompass_mpi,
# which forwards MPI calls, count as MPI.
_MODULES: Final = (
    (
        MPI,
        re.compile(
            r"lib(mpi|ompass_mpi|mpich|open-pal|open-rte|pmi|ucp|ucs|uct|ucm|fabric|psm2)[\w+-]*\.so.*"
        ),
    ),
    (TOOL, re.compile(r"lib(ompass|omp_ext)\.so")),
    (MEMORY, re.compile(r"lib(tcmalloc|jemalloc|mimalloc|hoard)[\w-]*\.so.*")),
    ("libm", re.compile(r"lib(m|mvec)[-.\d]*\.so.*")),
    ("libc", re.compile(r"lib(c|pthread|rt|dl)[-.\d]*\.so.*|ld[-\w.]*\.so.*|linux-vdso.*")),
    ("libstdc++", re.compile(r"lib(stdc\+\+|c\+\+|c\+\+abi|gcc_s)\.so.*")),
    ("Fortran runtime", re.compile(r"lib(gfortran|quadmath|flang_rt[\w.]*|FortranRuntime)\.so.*")),
    ("BLAS", re.compile(r"lib(\w*blas\w*|lapack\w*|mkl_\w+|cblas)[-\w.]*\.so.*")),
)
# By function, in system libraries.
_FUNCTIONS: Final = (
    (
        MEMORY,
        re.compile(
            r"(__libc_|__GI_+(libc_)?|_int_|_+)?(malloc|free|calloc|realloc|memalign|posix_memalign|aligned_alloc)"
            r"(_consolidate|_trim|_chunk|_merge_chunk|_create_chunk)?|sysmalloc|systrim|unlink_chunk|tcache_\w+"
            r"|operator (new|delete)(\[\])?(\(.*\))?|arena_get\w*"
        ),
    ),
    # The C library's locks for its own use, in malloc for example, end with _private.
    (MUTEX, re.compile(r"\w*(pthread_(mutex|rwlock)_|lll_(mutex_)?(un|try)?lock)\w*(?<!_private)")),
    (
        IO,
        re.compile(
            r"(__libc_|__GI_+(libc_)?|_+)?(read|write|pread|pwrite|readv|writev|open|openat|close|lseek|fsync|recv"
            r"|send|recvfrom|sendto|poll|select|epoll_wait)(64)?"
            r"|(_IO_|__GI__IO_)\w+|(__)?(v?f?s?n?(printf|scanf)|printf_fp\w*|fread|fwrite|fputs|fgets|puts|fflush)\w*"
            r"|_gfortran_(st|transfer)_\w+"
        ),
    ),
)
_ALWAYS_WAITS: Final = re.compile(
    r"(__)?sched_yield|pthread_spin_lock|__pthread_spin_lock|thrd_yield|omp_taskyield"
)
_SYSTEM: Final = frozenset({"libc", "libstdc++", "Fortran runtime"})
_WITHOUT_TASKS: Final = _SYSTEM | {RUNTIME, TOOL, "libm"}


def group_of(module: str, function: str) -> str:
    """Returns the group of a function, by its name and the path of its module."""
    name = PurePosixPath(module).name
    if runtime_kind(name):
        return RUNTIME
    group = next((group for group, names in _MODULES if names.fullmatch(name)), OWN)
    if group in _SYSTEM:
        return next((purpose for purpose, names in _FUNCTIONS if names.fullmatch(function)), group)
    return group


def group_of_calls(groups: Sequence[str]) -> str:
    """Returns the group of a chain of calls, innermost first: the library that the program's code called.

    A memory copy inside of MPI counts as MPI, and a `new` that calls malloc counts as malloc.
    """
    called: list[str] = []
    for group in groups:
        if group == OWN:
            break
        called.append(group)
    for strong in (MPI, RUNTIME):
        if strong in called:
            return strong
    return next((group for group in called if group not in _SYSTEM), called[0] if called else OWN)


def may_create_tasks(module: str) -> bool:
    """True if the module may create tasks. The OpenMP runtime, the tool and system libraries create none."""
    return group_of(module, "") not in _WITHOUT_TASKS


def always_waits(function: str) -> bool:
    """True if a thread inside this library function waits for other threads."""
    return _ALWAYS_WAITS.fullmatch(function) is not None

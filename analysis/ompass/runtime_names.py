# SPDX-License-Identifier: Apache-2.0
"""Identifies OpenMP runtimes and Python interpreters by file name."""

from __future__ import annotations

import re

LLVM_FAMILY = ("libomp", "libiomp5")
# Names may have suffixes: libgomp-a34b3233.so.1.0.0 in wheels, libomp-64.so.5 in distributions.
_NAMES = (
    ("libomp", re.compile(r"libomp(-\w+)?\.so[\d.]*")),
    ("libiomp5", re.compile(r"libiomp5(-\w+)?\.so[\d.]*")),
    ("libgomp", re.compile(r"libgomp(-\w+)?\.so[\d.]*")),
    ("libnvomp", re.compile(r"libnvomp(-\w+)?\.so[\d.]*")),
)


def runtime_kind(name: str) -> str:
    """Returns the kind of an OpenMP runtime by its file name; empty for other libraries."""
    return next((kind for kind, pattern in _NAMES if pattern.fullmatch(name)), "")


_PYTHON = re.compile(r"(python|pypy)[\d.]*t?d?")


def is_python(name: str) -> bool:
    """True for the file name of a Python interpreter."""
    return bool(_PYTHON.fullmatch(name))

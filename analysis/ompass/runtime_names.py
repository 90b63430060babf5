# SPDX-License-Identifier: Apache-2.0
"""The file names of OpenMP runtimes."""

from __future__ import annotations

import re

LLVM_FAMILY = ("libomp", "libiomp5")
# Wheels carry copies such as libgomp-a34b3233.so.1.0.0; distributions libomp-64.so.5.
_NAMES = (
    ("libomp", re.compile(r"libomp(-\w+)?\.so[\d.]*")),
    ("libiomp5", re.compile(r"libiomp5(-\w+)?\.so[\d.]*")),
    ("libgomp", re.compile(r"libgomp(-\w+)?\.so[\d.]*")),
    ("libnvomp", re.compile(r"libnvomp(-\w+)?\.so[\d.]*")),
)


def runtime_kind(name: str) -> str:
    """Returns the kind of a library by its file name; empty when it is not an OpenMP runtime."""
    return next((kind for kind, pattern in _NAMES if pattern.fullmatch(name)), "")

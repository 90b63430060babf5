# SPDX-License-Identifier: Apache-2.0
"""The analysis of Ompass: reads a recorded OpenMP run and shows where its thread-time went.

    import ompass
    run = ompass.open("fib-1234.ompass")        # a Recording, see docs/python-api.md
    run.breakdown().states

docs/architecture.md lists the layers of the package, and the layers that each of them may use.
"""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from ompass.recording import Recording

try:
    __version__ = metadata.version("ompass")
except metadata.PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+source"

__all__ = ["__version__", "open"]


def open(path: str | PathLike[str]) -> Recording:
    """Returns the recorded run in a directory. Raises ompass.errors.RunNotFoundError, DamagedRunError."""
    from ompass.recording import open_recording  # only here, because the import is slow

    return open_recording(path)

# SPDX-License-Identifier: Apache-2.0
"""The analysis of Ompass: reads a recorded OpenMP run and shows where its thread-time went.

    import ompass
    run = ompass.open("fib-1234.ompass")        # a Recording, see docs/python-api.md
    run.breakdown().states

docs/architecture.md lists the layers of the package, and the layers that each of them may use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is slow to load, and each rank of an MPI job would load it
if TYPE_CHECKING:
    from os import PathLike

    from ompass.recording import Recording
    from ompass.results import Comparison, Sweep

    __version__: str

__all__ = ["__version__", "compare", "open", "open_sweep"]


def __getattr__(name: str) -> str:
    """Reads `__version__` at its first use."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    version = globals()[name] = _version()
    return version


def _version() -> str:
    """Returns the version of the installed package.

    Usually reads it from the name of ompass-VERSION.dist-info: importlib.metadata takes 20 ms to load.
    """
    from pathlib import Path

    found = list(Path(__file__).parents[1].glob("ompass-*.dist-info"))
    if len(found) == 1:
        return found[0].stem.partition("-")[2]
    from importlib import metadata

    try:
        return metadata.version("ompass")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return "0+source"


def open(path: str | PathLike[str]) -> Recording:
    """Returns a recorded run, also a packed one. Raises ompass.errors.RunNotFoundError, DamagedRunError."""
    from ompass.recording import open_recording  # only here, because the import is slow

    return open_recording(path)


def open_sweep(path: str | PathLike[str]) -> Sweep:
    """Returns the sweep in a directory that `ompass scale` wrote. Raises errors of ompass.errors."""
    from ompass import recording

    return recording.open_sweep(path)


def compare(before: str | PathLike[str], after: str | PathLike[str]) -> Comparison:
    """Returns the changes between runs, directories of runs, or sweeps. Raises errors of ompass.errors."""
    from ompass import recording

    return recording.compare(before, after)

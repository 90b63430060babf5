# SPDX-License-Identifier: Apache-2.0
"""Finds the tool library, and a path to it that LD_PRELOAD can hold."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ompass.errors import IncompleteInstallationError
from ompass.installation import native_prefix, source_tree

_LIBRARY = "libompass.so"


def find_tool_library(environ: Mapping[str, str]) -> Path:
    """Returns the tool library: OMPASS_LIBRARY, or the package's, or the source tree's.

    Raises IncompleteInstallationError if there is none.
    """
    named = environ.get("OMPASS_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise IncompleteInstallationError(
                f"OMPASS_LIBRARY={named}", "no such file", f"unset it, or set it to a {_LIBRARY}"
            )
        return Path(named).absolute()
    for path in _candidates():
        if path.is_file():
            return path
    raise IncompleteInstallationError(
        f"{_LIBRARY} is not installed with this package",
        f"looked for {', '.join(str(path) for path in _candidates())}",
        "reinstall the package with `pip install .`, or set OMPASS_LIBRARY to the library",
    )


def preloadable(path: Path, scratch: Path) -> Path:
    """Returns a path that LD_PRELOAD can hold: `path`, or a link to it in `scratch`.

    Spaces and colons separate the paths in LD_PRELOAD and cannot be escaped.
    """
    if not set(str(path)) & set(" :"):
        return path
    for number in itertools.count():
        # a directory for each, because two libraries may have the same file name
        link = scratch / str(number) / path.name
        if not link.is_symlink():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(path)
        if link.readlink() == path:
            break
    return link


def _candidates() -> tuple[Path, ...]:
    return (native_prefix() / "lib" / _LIBRARY, source_tree() / "build" / "release" / "lib" / _LIBRARY)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Makes a directory for the links of `preloadable`, and removes it after the context."""
    place = "/tmp" if set(tempfile.gettempdir()) & set(" :") else None
    with tempfile.TemporaryDirectory(prefix="ompass-", dir=place) as name:
        yield Path(name)

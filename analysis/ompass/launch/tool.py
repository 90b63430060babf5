# SPDX-License-Identifier: Apache-2.0
"""Where the native parts of the package are: libompass.so, the header, the Fortran module."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ompass.errors import IncompleteInstallationError

_LIBRARY = "libompass.so"


def find_tool_library(environ: Mapping[str, str]) -> Path:
    """The tool library: OMPASS_LIBRARY, else the one in the package, else that of the source tree.

    IncompleteInstallationError when there is none.
    """
    named = environ.get("OMPASS_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise IncompleteInstallationError(
                f"OMPASS_LIBRARY={named}", "no such file", f"unset it, or let it name a {_LIBRARY}"
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


def _candidates() -> tuple[Path, ...]:
    packaged = Path(str(resources.files("ompass"))) / "_native" / "lib" / _LIBRARY
    # analysis/ompass/launch/tool.py of a source tree
    repository = Path(__file__).resolve().parents[3]
    return (packaged, repository / "build" / "release" / "lib" / _LIBRARY)

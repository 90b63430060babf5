# SPDX-License-Identifier: Apache-2.0
"""The installed parts other than Python code: libraries, headers, sources of Fortran modules, documents.

Owns the paths of these parts; `cmake --install` uses the same layout below its prefix.
"""

from __future__ import annotations

from enum import Enum
from importlib import resources
from pathlib import Path

from ompass.errors import IncompleteInstallationError


class Component(str, Enum):
    """A library that programs are built with."""

    TOOL = "tool"
    EXT = "ext"

    @property
    def library(self) -> str:
        """The name of the library for the linker's -l."""
        return {Component.TOOL: "ompass", Component.EXT: "omp_ext"}[self]


def native_prefix() -> Path:
    """Returns the directory of the native parts in this package. A source tree has no such directory."""
    return Path(str(resources.files("ompass"))) / "_native"


def source_tree() -> Path:
    """Returns the root of the repository, if this module runs from its sources."""
    return Path(__file__).resolve().parents[2]


def library_path(component: Component) -> Path:
    """Returns the path of the installed library. Raises IncompleteInstallationError if it is missing."""
    path = native_prefix() / "lib" / f"lib{component.library}.so"
    if path.is_file():
        return path
    raise IncompleteInstallationError(
        f"{path.name} is not installed with this package",
        "hwloc.h was missing at build time" if component is Component.EXT else f"{path} does not exist",
        "install libhwloc-dev, then reinstall the package"
        if component is Component.EXT
        else "reinstall the package with `pip install .`",
    )


def include_directory() -> Path:
    """Returns the directory of ompass.h and omp_ext.h."""
    return native_prefix() / "include"


def fortran_source(component: Component) -> Path:
    """Returns the source of the Fortran module, which users compile with their own compiler."""
    return native_prefix() / "share" / "ompass" / "fortran" / f"{component.library}.f90"


def cmake_directory() -> Path:
    """Returns the directory of OmpassConfig.cmake, for Ompass_DIR."""
    return native_prefix() / "lib" / "cmake" / "Ompass"


def pkg_config_directory() -> Path:
    """Returns the directory of ompass.pc and omp_ext.pc, for PKG_CONFIG_PATH."""
    return native_prefix() / "lib" / "pkgconfig"


def site_directory() -> Path:
    """Returns the directory of the website. Raises IncompleteInstallationError if it is not installed.

    Wheels contain it. Installations from sources do not, because its build needs Sphinx.
    """
    for path in (native_prefix() / "share" / "doc" / "ompass" / "html", source_tree() / "build" / "docs"):
        if (path / "index.html").is_file():
            return path
    raise IncompleteInstallationError(
        "the website is not installed with this package",
        "it was installed from sources",
        "read the pages here with `ompass docs`, or build the website with `./run docs`",
    )


def documents_directory() -> Path:
    """Returns the directory of the installed documents; if none are installed, docs/ of the source tree."""
    installed = native_prefix() / "share" / "doc" / "ompass"
    return installed if installed.is_dir() else source_tree() / "docs"

# SPDX-License-Identifier: Apache-2.0
"""Finds libomp_ext.so, and compiles programs that are linked with it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import toolchains
from toolchains import Toolchain

FORTRAN_MODULE = toolchains.REPOSITORY / "omp_ext" / "fortran" / "omp_ext.f90"
STEAL_POLICIES = re.findall(
    r'X\(k\w+, "([\w-]+)"',
    (toolchains.REPOSITORY / "omp_ext" / "src" / "scheduler" / "steal_policies.h").read_text(),
)


def ext_library() -> Path:
    """Returns the extension under test: OMP_EXT_LIBRARY if set, otherwise the one that ./run builds."""
    library = Path(os.environ.get("OMP_EXT_LIBRARY", toolchains.BUILD / "lib" / "libomp_ext.so"))
    # The loader only warns about a missing library.
    assert library.is_file(), f"{library} is not built: ./run test builds it"
    return library


def ways_to_load(tool: Path) -> dict[str, dict[str, str]]:
    """Returns by name the variables that load the tool, the extension or both. The extension schedules."""
    extension = str(ext_library())
    return {
        "tool": {"OMP_TOOL_LIBRARIES": str(tool)},
        "preload": {"LD_PRELOAD": str(tool)},
        "extension": {"LD_PRELOAD": extension, "OMP_EXT_SCHEDULE": "1"},
        "extension-tool": {"LD_PRELOAD": f"{extension} {tool}", "OMP_EXT_SCHEDULE": "1"},
        "tool-extension": {"LD_PRELOAD": f"{tool} {extension}", "OMP_EXT_SCHEDULE": "1"},
    }


def compile_with_ext(
    source: str, toolchain: Toolchain, *flags: str, extra_sources: Sequence[Path] = ()
) -> Path:
    """Compiles a program of tests/programs and links it with the extension, before the runtime."""
    folder = ext_library().parent
    linking = ("-Wl,--no-as-needed", f"-L{folder}", "-lomp_ext", f"-Wl,-rpath,{folder}")
    return toolchains.compile_source(source, toolchain, flags=(*linking, *flags), extra_sources=extra_sources)

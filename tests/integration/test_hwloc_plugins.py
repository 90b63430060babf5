# SPDX-License-Identifier: Apache-2.0
"""Checks that hwloc loads no plugins, and so neither X11 nor OpenCL, into recorded programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ext_programs import ext_library
from toolchains import CompileProgram, Toolchain


@pytest.mark.parametrize("library", ["tool", "extension"])
def test_hwloc_loads_no_plugin_into_the_program(
    library: str,
    tmp_path: Path,
    libompass: Path,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
) -> None:
    if not list(Path("/usr/lib").glob("*/hwloc/hwloc_*.so")):
        pytest.skip("hwloc has no plugins here")
    program = compile_program("loading/environment.c", default_toolchain)
    settings = (
        {"LD_PRELOAD": str(libompass), "OMPASS_DIR": str(tmp_path / "run"), "OMPASS_SUMMARY": "off"}
        if library == "tool"
        else {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1"}
    )
    loads = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "loads")}
    ended = subprocess.run(
        [str(program)],
        env=default_toolchain.run_environment({**settings, **loads}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("loads.*"))
    assert "libhwloc.so" in loaded
    assert "/hwloc/hwloc_" not in loaded
    if library == "tool":
        assert "<topology" in (tmp_path / "run" / "topology.xml").read_text(encoding="utf-8")
    assert "HWLOC" not in ended.stdout

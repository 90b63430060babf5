# SPDX-License-Identifier: Apache-2.0
"""A directory in which a test edits a program, builds it, records it and reads the runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from command import call
from ompass.commands.main import application
from toolchains import Toolchain

SOURCE = Path(__file__).parents[1] / "programs" / "names" / "steps.c"


class Workshop:
    """A directory with a source, its program, and recordings of the program."""

    def __init__(self, folder: Path, toolchain: Toolchain, library: Path) -> None:
        self.folder = folder
        self.toolchain = toolchain
        self.environment = toolchain.run_environment({"OMPASS_LIBRARY": str(library), "OMP_NUM_THREADS": "2"})
        shutil.copy(SOURCE, folder / "steps.c")
        self.build()

    def build(self, *sources: str) -> None:
        """Builds the program from sources in the directory."""
        toolchain = self.toolchain
        command = [toolchain.cc, "-O2", "-g", *toolchain.compile_flags, *(sources or ("steps.c",))]
        subprocess.run([*command, "-o", "steps", *toolchain.link_flags], check=True, cwd=self.folder)

    def record(self, *options: str, run: str = "q.ompass") -> None:
        """Records the program with the launcher."""
        self.ompass("run", *options, "-o", run, "--", "./steps")

    def ompass(self, *arguments: str, folder: Path | None = None, status: int = 0) -> str:
        """Runs a command in a new process and returns its output."""
        return call(self.environment, folder or self.folder, *arguments, status=status).stdout

    def read(self, *arguments: str, folder: Path | None = None) -> str:
        """Returns the output of a command that reads runs. Runs it in this process, which is faster."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder or self.folder)
            result = CliRunner().invoke(application(), list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

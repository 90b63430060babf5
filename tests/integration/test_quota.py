# SPDX-License-Identifier: Apache-2.0
"""A program under a real CPU quota is throttled; skipped where no control group can be made."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from command import ompass
from toolchains import CompileProgram, Toolchain

GROUPS = Path("/sys/fs/cgroup")
QUOTA_US, PERIOD_US = 80_000, 100_000
SPIN = """
#include <omp.h>
#include <stdlib.h>
int main(int argc, char **argv) {
#pragma omp parallel
    for (double end = omp_get_wtime() + atof(argv[argc - 1]); omp_get_wtime() < end;) {}
    return 0;
}
"""


@dataclass(frozen=True)
class Group:
    """A control group with a quota of less than a processor."""

    folder: Path

    def run(self, *command: str | Path, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Runs the command in the group."""
        enter = f'echo $$ > {self.folder}/cgroup.procs && exec "$@"'
        words = ["sh", "-c", enter, "sh", *map(str, command)]
        return subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)


@pytest.fixture
def group() -> Iterator[Group]:
    name = f"ompass-test-{os.getpid()}"
    for above, file, text in (
        (GROUPS, "cpu.max", f"{QUOTA_US} {PERIOD_US}"),
        (GROUPS / "cpu", "cpu.cfs_quota_us", str(QUOTA_US)),
    ):
        folder = above / name
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if not (folder / file).exists():
                raise OSError  # an ordinary folder
            (folder / file).write_text(text, encoding="ascii")
        except OSError:
            folder.rmdir()
            continue
        yield Group(folder)
        folder.rmdir()
        return
    pytest.skip("no control group with a CPU quota can be made here")


@pytest.fixture
def spin(tmp_path: Path, compile_program: CompileProgram, default_toolchain: Toolchain) -> Path:
    source = tmp_path / "spin.c"
    source.write_text(SPIN, encoding="utf-8")
    return compile_program(str(source), default_toolchain, "-O1")


def command() -> str:
    found = shutil.which("ompass", path=str(Path(sys.executable).parent))
    assert found
    return found


def test_threads_under_a_quota_are_throttled(tmp_path: Path, group: Group, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    done = group.run(command(), "run", "-q", "-t", "2", "-o", directory, "--", spin, "1.5")
    assert done.returncode == 0, done.stderr
    info = json.loads(ompass("info", str(directory), "--json").stdout)["processors"]
    assert (info["quota_us"], info["quota_period_us"]) == (QUOTA_US, PERIOD_US)
    assert info["allowed"] == pytest.approx(min(0.8, info["usable"]))
    assert info["throttled_periods"] > 3
    report = json.loads(ompass("report", str(directory), "--json").stdout)
    kinds = [f["kind"] for f in report["findings"] if f["severity"] == "problem"]
    assert "throttled" in kinds
    text = ompass("report", str(directory)).stdout
    assert f"0.8 of {info['usable']} processors" in " ".join(text.split())


def test_killed_program_is_judged_by_its_quota_alone(tmp_path: Path, group: Group, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    done = group.run(
        command(), "run", "-q", "-t", "2", "-o", directory, "--", "timeout", "-s", "KILL", "1.5", spin, "60"
    )
    assert done.returncode in (137, -signal.SIGKILL), done.stderr
    info = json.loads(ompass("info", str(directory), "--json").stdout)["processors"]
    assert info["quota_us"] == QUOTA_US
    assert info["throttled_periods"] is None


def test_program_without_a_quota_is_not_throttled(tmp_path: Path, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    ompass("run", "-q", "-t", "2", "-o", str(directory), "--", str(spin), "0.2")
    report = json.loads(ompass("report", str(directory), "--json").stdout)
    assert report["processors"]["throttled_periods"] in (0, None) or report["processors"]["quota_us"]
    assert not report["processors"]["throttled_periods"] or report["processors"]["quota_us"]

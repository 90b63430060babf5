# SPDX-License-Identifier: Apache-2.0
"""Reports of programs under a real CPU quota. Skipped if no control group can be created."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from toolchains import CompileProgram

GROUPS = Path("/sys/fs/cgroup")
QUOTA_US, PERIOD_US = 20_000, 100_000  # two threads exceed it even on a busy machine
SPIN = """
#include <omp.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    for (double end = omp_get_wtime() + atof(argv[argc - 1]); omp_get_wtime() < end;)
#pragma omp parallel
        for (double stop = omp_get_wtime() + 0.001; omp_get_wtime() < stop;) {}
    return 0;
}
"""


@dataclass(frozen=True)
class Group:
    """A control group with a quota of less than one processor."""

    folder: Path

    def inside(self, *command: str | Path) -> list[str]:
        """Returns a command that runs `command` in the group; `ompass run` stays outside."""
        return ["sh", "-c", f'echo $$ > {self.folder}/cgroup.procs && exec "$@"', "sh", *map(str, command)]


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
                raise OSError  # a folder of another file system, not a control group
            (folder / file).write_text(text, encoding="ascii")
        except OSError:
            folder.rmdir()
            continue
        yield Group(folder)
        folder.rmdir()
        return
    pytest.skip("no control group with a CPU quota can be created here")


@pytest.fixture
def spin(tmp_path: Path, compile_program: CompileProgram) -> Path:
    source = tmp_path / "spin.c"
    source.write_text(SPIN, encoding="utf-8")
    return compile_program(str(source), opt_level="-O1")


def recorded(directory: Path, *command: str | Path, status: int = 0) -> dict[str, Any]:
    """Records a command. Returns the field `processors` of `ompass info`."""
    ompass("run", "-q", "-t", "2", "-o", str(directory), "--", *command, status=status)
    processors: dict[str, Any] = json.loads(ompass("info", str(directory), "--json").stdout)["processors"]
    return processors


def test_threads_under_a_quota_are_throttled(tmp_path: Path, group: Group, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    processors = recorded(directory, *group.inside(spin, "1.5"))
    assert (processors["quota_us"], processors["quota_period_us"]) == (QUOTA_US, PERIOD_US)
    assert processors["allowed"] == pytest.approx(0.2)
    assert processors["throttled_periods"] > 3
    report = json.loads(ompass("report", str(directory), "--json").stdout)
    assert "throttled" in [f["kind"] for f in report["findings"] if f["severity"] == "problem"]
    text = ompass("report", str(directory), "--full").stdout  # another program may be the first finding
    assert f"0.2 of {processors['usable']} processors" in " ".join(text.split())


def test_killed_program_is_judged_by_its_quota_alone(tmp_path: Path, group: Group, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    processors = recorded(
        directory, *group.inside("timeout", "-s", "KILL", "1.5", spin, "60"), status=-signal.SIGKILL
    )
    assert processors["quota_us"] == QUOTA_US
    assert processors["throttled_periods"] is None
    report = json.loads(ompass("report", str(directory), "--json").stdout)
    assert "throttled" in [f["kind"] for f in report["findings"] if f["severity"] == "problem"]


def test_program_without_a_quota_is_not_throttled(tmp_path: Path, spin: Path) -> None:
    directory = tmp_path / "spin.ompass"
    ompass("run", "-q", "-t", "2", "-o", str(directory), "--", str(spin), "0.2")
    report = json.loads(ompass("report", str(directory), "--json").stdout)
    if not report["processors"]["quota_us"]:
        assert "throttled" not in [finding["kind"] for finding in report["findings"]]
        assert report["processors"]["allowed"] == report["processors"]["usable"]

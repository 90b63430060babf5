# SPDX-License-Identifier: Apache-2.0
"""Checks that the wheel installs, records and reports in a fresh Debian 12 with Python, clang and libomp.

The test builds programs with the wheel's libraries: with `ompass config`, with pkg-config and with CMake. It
needs root for the fresh system, and the network for its packages and for the wheel's dependencies.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from toolchains import PROGRAMS, REPOSITORY, neutral_environment

RELEASE, PYTHON = "bookworm", "3.11"
PACKAGES = ("python3", "python3-venv", "clang", "libomp-dev")
EXPECTED = {"marks": "sum=1225", "placed": "sum=1225 held=50", "recorded": "sum=1225"}

pytestmark = pytest.mark.timeout(3600)


@dataclass(frozen=True)
class System:
    """A Debian system in a directory. Its /work holds the user's programs, and its /wheels the wheels."""

    root: Path

    def run(self, command: str) -> str:
        """Runs a shell command in /work; returns its stdout. Raises AssertionError if the command fails."""
        root = shlex.quote(str(self.root))
        inside = f"mount -t proc proc {root}/proc && exec chroot {root}"
        script = f"set -e; export PATH=/environment/bin:$PATH; cd /work; {command}"
        ended = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"{inside} sh -c {shlex.quote(script)}"],
            env=neutral_environment()
            | {"OMP_NUM_THREADS": "2", "OMPASS_SUMMARY": "off", "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended.stdout


def attempt(what: str, *command: object) -> None:
    """Runs a command. If it fails, probably for lack of a network, skips the test."""
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=1200, check=False)
    if ended.returncode != 0:
        lines = (ended.stderr + ended.stdout).strip().splitlines()
        pytest.skip(f"cannot {what}: {lines[-1] if lines else ended.returncode}")


@pytest.fixture(scope="module")
def fresh_debian(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    if os.geteuid() != 0:
        pytest.skip("only root can make a fresh Debian")
    if shutil.which("debootstrap") is None:
        pytest.skip("the package debootstrap is not installed")
    folder = tmp_path_factory.mktemp("debian")
    root = folder / "root"
    try:
        attempt(
            "fetch a fresh Debian",
            *("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE, root),
        )
        subprocess.run([REPOSITORY / "run", "wheel"], check=True, timeout=3000)
        (wheel,) = (REPOSITORY / "dist").glob(f"ompass-*-cp{PYTHON.replace('.', '')}-manylinux_*.whl")
        # pip of this Python version, in the environment of `./run wheel`, selects the wheels that fit.
        python = REPOSITORY / "build" / "wheel" / f"env-{PYTHON}" / "bin" / "python"
        attempt(
            "fetch the wheel's dependencies",
            *(python, "-m", "pip", "download", "--only-binary", ":all:", "--dest", root / "wheels", wheel),
        )
        (root / "work").mkdir()
        shutil.copytree(PROGRAMS / "consumer", root / "work" / "consumer")
        yield System(root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_programs(system: System, folder: str) -> None:
    """Checks the output of the programs, and the recording of the one that links the tool."""
    system.run(f"rm -rf {folder}/run.ompass")
    for program, output in EXPECTED.items():
        assert system.run(f"cd {folder}; OMPASS_DIR=run.ompass ./{program}").strip() == output
    report = json.loads(system.run(f"ompass report {folder}/run.ompass --json"))
    assert [(kernel["name"], kernel["executions"]) for kernel in report["kernels"]] == [("add", 50)]


def test_the_wheel_works_in_a_fresh_debian(fresh_debian: System) -> None:
    system = fresh_debian
    system.run("python3 -m venv /environment")
    system.run("pip install --no-index --find-links /wheels ompass")
    assert system.run("ompass docs metrics").startswith("# Metrics")
    assert system.run("ls /environment/share/man/man1/ompass-run.1")
    assert system.run("ldconfig -p | grep -cE 'hwloc|papi' || true").strip() == "0"

    system.run("clang -fopenmp -g consumer/marks.c -o plain $(ompass config --cflags)")
    system.run("ompass run --mode trace --no-report -o plain.ompass -- ./plain")
    report = json.loads(system.run("ompass report plain.ompass --json"))
    assert [construct["tasks"] for construct in report["constructs"]] == [50]
    assert [(kernel["name"], kernel["executions"]) for kernel in report["kernels"]] == [("add", 50)]
    assert "marks.c" in system.run("ompass report plain.ompass")
    system.run("ompass validate plain.ompass")

    system.run("consumer/build config by-config")
    check_programs(system, "by-config")

    system.run("apt-get install --yes --no-install-recommends pkg-config cmake make >&2")
    system.run("PKG_CONFIG_PATH=$(ompass config --pkg-config) consumer/build pkg-config by-pkg-config")
    check_programs(system, "by-pkg-config")
    system.run("Ompass_DIR=$(ompass config --cmake) consumer/build cmake by-cmake")
    check_programs(system, "by-cmake")

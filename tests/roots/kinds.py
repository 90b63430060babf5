# SPDX-License-Identifier: Apache-2.0
"""Installs Ompass in a bare system in one of three ways, and uses it as a user would.

The source build also makes a wheel, which the other ways use by default. The Debian package is made from the
wheel, in a bare system of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from roots.systems import StepError, System, fresh_system
from toolchains import PROGRAMS, REPOSITORY

COMPILER = "clang libomp-dev"
"""The packages of a user of OpenMP on Debian."""

SOURCE_PATH = "/srv/ompass/.venv/bin"

_PYTHON_TAGS = {"12": "cp311-cp311", "13": "cp312-abi3"}
"""Tags of the wheels for the Python of each Debian release."""

_OUTPUTS = {"marks": "sum=1225", "placed": "sum=1225 held=50", "recorded": "sum=1225"}
_OF_USER = {"OMP_NUM_THREADS": "2", "OMPASS_SUMMARY": "off", "CC": "clang"}
"""Variables of a user's commands. The build of the source may use another compiler."""


@dataclass(frozen=True)
class Step:
    """One step in one system: its name, its duration, and the reason if it failed."""

    name: str
    seconds: float
    failure: str = ""


@dataclass(frozen=True)
class Installed:
    """A system with Ompass; `path` is the folder of the command if it is not on PATH."""

    system: System
    path: str = ""

    def run(self, command: str, **settings: str) -> str:
        return self.system.run(command, path=self.path, environment=_OF_USER | settings)


Action = Callable[[], object]


def steps_of(
    kind: str, release: str, folder: Path, wheels: Path, *, with_tests: bool, compiled: Path | None
) -> Iterator[Step]:
    """Installs and uses Ompass in a fresh system; yields each step. Ends after a failure.

    The source build takes object files from `compiled`, a folder of ccache, if it is given. It adds its wheel
    to the folder `wheels`, which the other kinds use.
    """
    system = fresh_system(release, kind, folder, compiled if kind == "source" else None)
    installed = Installed(system, {"source": SOURCE_PATH, "wheel": "/environment/bin"}.get(kind, ""))
    actions: list[tuple[str, Action]] = [
        *installation_of(kind, release, folder, wheels, system),
        ("record", lambda: record(installed)),
        ("report", lambda: report(installed)),
        ("find_package", lambda: build_by_cmake(installed)),
        ("pkg-config", lambda: build_by_pkg_config(installed)),
    ]
    if kind == "source":
        actions.append(("wheel", lambda: make_wheel(system, wheels)))
        if with_tests:
            actions.append(("./run test", lambda: system.run("cd ompass && ./run test")))
    for name, action in actions:
        begin = time.monotonic()
        try:
            action()
        except (StepError, AssertionError, OSError, ValueError) as error:
            yield Step(name, time.monotonic() - begin, str(error) or type(error).__name__)
            return
        yield Step(name, time.monotonic() - begin)


def installation_of(
    kind: str, release: str, folder: Path, wheels: Path, system: System
) -> list[tuple[str, Action]]:
    """Returns the steps that install Ompass, a compiler and the programs."""
    first: dict[str, list[tuple[str, Action]]] = {
        "source": [("./run demo", lambda: run_demo(system))],
        "wheel": [("install", lambda: install_wheel(system, wheel_for(release, wheels)))],
        "deb": [
            ("./run deb", lambda: make_deb(release, folder, wheel_for(release, wheels))),
            ("install", lambda: install_deb(system, folder / release)),
        ],
    }
    return [*first[kind], ("compiler", lambda: prepare_programs(system))]


def run_demo(system: System) -> None:
    """Runs the first command of README.md; checks both recordings."""
    copy_sources(system.root / "srv" / "ompass")
    if system.compiled:
        system.run("apt-get update && apt-get install --yes --no-install-recommends ccache")
    system.run("cd ompass && ./run demo")
    for threads in (1, 2):
        command = f"ompass report ompass/build/demo/health-{threads}.ompass --json"
        found = json.loads(system.run(command, path=SOURCE_PATH))
        assert sum(construct["tasks"] for construct in found["constructs"]) > 0


def make_wheel(system: System, wheels: Path) -> None:
    """Makes the wheel of this system's Python, and copies it into the folder."""
    system.run("cd ompass && ./run wheel $(python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])')")
    wheels.mkdir(parents=True, exist_ok=True)
    for wheel in (system.root / "srv/ompass/dist").glob("*.whl"):
        shutil.copy(wheel, wheels)


def wheel_for(release: str, wheels: Path) -> Path:
    """Returns the wheel for the Python of this release. Raises StepError unless there is one."""
    found = sorted(wheels.glob(f"ompass-*-{_PYTHON_TAGS[release]}-*.whl"))
    if len(found) != 1:
        raise StepError(f"{wheels} has {len(found)} wheels with the tag {_PYTHON_TAGS[release]}")
    return found[0]


def install_wheel(system: System, wheel: Path) -> None:
    shutil.copy(wheel, system.root / "srv")
    system.run("apt-get update && apt-get install --yes --no-install-recommends python3-venv")
    system.run(f"python3 -m venv /environment && /environment/bin/pip install ./{wheel.name}")
    assert system.run("ldconfig -p | grep -cE 'hwloc|papi' || true").strip() == "0"
    assert system.run("/environment/bin/ompass docs metrics").startswith("# Metrics")
    system.run("ls /environment/share/man/man1/ompass-run.1")


def make_deb(release: str, folder: Path, wheel: Path) -> None:
    """Makes the Debian package in a bare system of its own."""
    system = fresh_system(release, "packager", folder)
    copy_sources(system.root / "srv" / "ompass")
    shutil.copy(wheel, system.root / "srv")
    system.run(f"cd ompass && ./run deb ../{wheel.name}")
    (package,) = (system.root / "srv/ompass/dist").glob("*.deb")
    shutil.copy(package, folder / release / "ompass.deb")
    system.remove()


def install_deb(system: System, folder: Path) -> None:
    shutil.copy(folder / "ompass.deb", system.root / "srv")
    system.run("apt-get update && apt-get install --yes ./ompass.deb")
    assert system.run("ompass docs metrics").startswith("# Metrics")


KINDS = ("source", "wheel", "deb")


def copy_sources(place: Path) -> None:
    """Copies the files of this working tree that git tracks or does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source, copy = REPOSITORY / name, place / name
        if source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def prepare_programs(system: System) -> None:
    """Installs a user's compiler and build systems, and copies the programs of the tests."""
    system.run(f"apt-get install --yes --no-install-recommends {COMPILER} cmake make pkg-config")
    shutil.copytree(PROGRAMS / "consumer", system.root / "srv" / "consumer")


def record(installed: Installed) -> None:
    installed.run("clang -fopenmp -g consumer/marks.c -o plain $(ompass config --cflags)")
    installed.run("ompass run --mode trace --no-report -o plain.ompass -- ./plain")
    installed.run("ompass validate plain.ompass")


def report(installed: Installed) -> None:
    """Checks the report in both forms: all tasks, all marked kernels, and the line of the source."""
    found = json.loads(installed.run("ompass report plain.ompass --json"))
    assert [construct["tasks"] for construct in found["constructs"]] == [50]
    assert [(kernel["name"], kernel["executions"]) for kernel in found["kernels"]] == [("add", 50)]
    assert "marks.c" in installed.run("ompass report plain.ompass")


def build_by_cmake(installed: Installed) -> None:
    where = "" if installed.path == "" else "Ompass_DIR=$(ompass config --cmake) "
    installed.run(f"{where}consumer/build cmake by-cmake")
    check_programs(installed, "by-cmake")


def build_by_pkg_config(installed: Installed) -> None:
    where = "" if installed.path == "" else "PKG_CONFIG_PATH=$(ompass config --pkg-config) "
    installed.run(f"{where}consumer/build pkg-config by-pkg-config")
    check_programs(installed, "by-pkg-config")


def check_programs(installed: Installed, folder: str) -> None:
    """Checks the output of the programs, and the recording of the one that links the tool."""
    for program, output in _OUTPUTS.items():
        assert installed.run(f"cd {folder}; ./{program}", OMPASS_DIR="run.ompass").strip() == output, program
    found = json.loads(installed.run(f"ompass report {folder}/run.ompass --json"))
    assert [(kernel["name"], kernel["executions"]) for kernel in found["kernels"]] == [("add", 50)]

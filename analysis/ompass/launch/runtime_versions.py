# SPDX-License-Identifier: Apache-2.0
"""The version of an OpenMP runtime, and its known faults.

Owns the list of tested releases. Recording does not depend on the version: the tool and the extension test
whether a function exists. LLVM's runtimes do not state their release. This module derives it from the
functions that a release added, and from the compiler, which usually has the same release.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.elf import NotElfError, dynamic_symbols
from ompass.system import answer_of

TESTED: Final = (14, 15, 16, 19, 20, 21, 22, 23)
"""The LLVM releases on which `./run test -m slow` runs."""

# A function that each release added to libomp; 20 added none.
_ADDED: Final = {
    15: "omp_in_explicit_task",
    16: "__kmpc_omp_taskwait_deps_51",
    17: "__kmpc_for_collapsed_init",
    18: "__kmpc_task_get_successors",
    19: "__kmpc_dispatch_deinit",
    21: "omp_get_device_memspace",
    22: "omp_get_uid_from_device",
    23: "omp_get_dyn_gprivate_size",
}
_OF_LLVM: Final = "__kmpc_omp_task_alloc"
_CLANG: Final = re.compile(rb"LLVM OMP build compiler: Clang (\d+)\.(\d+)")
_COMPILER: Final = rb"clang version (%d\.\d+\.\d+)"
_INTEL: Final = re.compile(rb"Intel\(R\) OMP version: [\d.]*?(\d{4})(\d\d)(\d\d)\b")
_EARLIEST: Final = 1
_LATEST: Final = 10**6

# First and last release, and a fault that users of these releases may meet; also in docs/runtimes.md.
_KNOWN: Final = (
    (0, 14, "reports no chunks of loops"),
    (15, 16, "loses tasks with priorities now and then, with and without a tool"),
    (16, 18, "may crash under a tool at tasks that depend on target tasks"),
    (0, 20, "runs tasks with threadset(omp_pool) outside of the team"),
)


@dataclass(frozen=True, slots=True)
class RuntimeVersion:
    """The version of a runtime: its name, the possible releases of LLVM, the package that installed it."""

    name: str  # such as "LLVM 22.1"; "version unknown" if nothing states it
    first: int = 0  # first and last possible release of LLVM; 0: not LLVM's, or unknown
    last: int = 0
    package: str = ""

    @property
    def described(self) -> str:
        """The name, and the package in parentheses."""
        return f"{self.name} ({self.package})" if self.package else self.name

    @property
    def is_newer_than_tested(self) -> bool:
        return self.first > TESTED[-1]

    def known(self) -> list[str]:
        """Returns remarks on this version for users; none if it is tested and has no known faults."""
        notes = [text for first, last, text in _KNOWN if self.first >= first and 0 < self.last <= last]
        if self.is_newer_than_tested:
            notes.append(f"newer than the tested releases (up to LLVM {TESTED[-1]})")
        elif self.first and not any(self.first <= major <= self.last for major in TESTED):
            notes.append(f"not tested (tested: LLVM {', '.join(map(str, TESTED))})")
        return notes


def runtime_version(path: Path) -> RuntimeVersion:
    """Returns the version of the runtime in this library, or in this program."""
    package = _package_of(path)
    try:
        content = path.read_bytes()
        defined, _ = dynamic_symbols(path, (_OF_LLVM, *_ADDED.values()))
    except (OSError, NotElfError):
        return RuntimeVersion("version unknown", package=package)
    if match := _INTEL.search(content):
        year, month, day = (part.decode() for part in match.groups())
        return RuntimeVersion(f"Intel, built {year}-{month}-{day}", package=package)
    first, last = _releases_with(defined) if _OF_LLVM in defined else (0, 0)
    if match := _CLANG.search(content):
        major, minor = int(match[1]), int(match[2])
        if not first or first <= major <= last:
            exact = re.search(_COMPILER % major, content)
            name = exact[1].decode() if exact else f"{major}.{minor}"
            return RuntimeVersion(f"LLVM {name}", major, major, package)
    if not first:
        return RuntimeVersion("version unknown", package=package)
    return RuntimeVersion(_name_of(first, last), first, last, package)


def _name_of(first: int, last: int) -> str:
    if last == _LATEST:
        return f"LLVM {first} or later"
    if first == _EARLIEST:
        return f"LLVM {last} or earlier"
    return f"LLVM {first}" if first == last else f"LLVM {first} to {last}"


def _releases_with(defined: Collection[str]) -> tuple[int, int]:
    """Returns the first and the last release that has these functions and no others of the list."""
    first = max((major for major, name in _ADDED.items() if name in defined), default=_EARLIEST)
    later = [major for major, name in _ADDED.items() if major > first and name not in defined]
    return first, min(later) - 1 if later else _LATEST


def _package_of(path: Path) -> str:
    """Returns name and version of the package that installed a file; empty if no package is known."""
    real = path.resolve()
    for makers in (_of_conda, _of_wheel, _of_system):
        if found := next(makers(real), ""):
            return found
    return ""


def _of_conda(path: Path) -> Iterator[str]:
    for name in ("llvm-openmp", "intel-openmp"):
        for record in (path.parent.parent / "conda-meta").glob(f"{name}-*.json"):
            try:
                values = json.loads(record.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if any(str(file).endswith(f"/{path.name}") for file in values.get("files", ())):
                yield f"{values.get('name')} {values.get('version')}"


def _of_wheel(path: Path) -> Iterator[str]:
    """Yields the names and versions of the wheels that list the file, from all directories above it."""
    for parent in path.parents:
        packages = [parent, *parent.glob("lib/python3*/site-packages")]
        for record in (r for folder in packages for r in folder.glob("*.dist-info/RECORD")):
            try:
                files = record.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            named = re.findall(rf"^([^\n]*{re.escape(path.name)}),", files, re.MULTILINE)
            if any((record.parents[1] / name).resolve() == path for name in named):
                yield record.parent.name.removesuffix(".dist-info").replace("-", " ")


def _of_system(path: Path) -> Iterator[str]:
    """Yields the package to which Debian's or Fedora's package manager assigns the file."""
    if not path.is_relative_to("/usr") or path.is_relative_to("/usr/local"):
        return
    if shutil.which("dpkg-query"):
        owner = answer_of(["dpkg-query", "-S", str(path)])
        for package in re.findall(r"^([\w.+:-]+): ", owner or "", re.MULTILINE)[:1]:
            version = answer_of(["dpkg-query", "-W", "-f", "${Version}", package])
            yield f"{package.split(':')[0]} {version}"
    elif shutil.which("rpm"):
        owner = answer_of(["rpm", "-q", "-f", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", str(path)])
        if owner:
            yield owner.strip()

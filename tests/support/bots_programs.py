# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs for tests: lists them, reads the options of each, and runs them.

The list comes from bots/CMakeLists.txt, so a program that was not built fails its tests.
"""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from toolchains import BUILD, COMPILED, REPOSITORY, neutral_environment

_LINE = re.compile(r"^bots_program\((?P<words>[^)]*)\)", re.MULTILINE)
EXTENSION = BUILD / "lib" / "libomp_ext.so"

# Threads wait passively, because the tests run more threads than there are processors.
ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}

Answer = dict[str, Any]


class Kind(NamedTuple):
    """A kind of tasks; a field is None if the version has no such choice."""

    cutoff: str | None
    tied: bool | None

    def options(self) -> list[str]:
        words = [] if self.cutoff is None else ["--cutoff", self.cutoff]
        return words if self.tied is None else [*words, "--tied" if self.tied else "--untied"]


def versions() -> list[str]:
    """Returns the file names of all versions of all programs, except versions whose library is missing."""
    text = (REPOSITORY / "bots" / "CMakeLists.txt").read_text(encoding="utf-8")
    names = []
    for line in _LINE.finditer(text):
        program, *its_versions = line["words"].split()
        names += [f"{program}-{version}" for version in its_versions]
    assert names, "bots/CMakeLists.txt names no program"
    return [name for name in names if not name.endswith("-locality") or EXTENSION.is_file()]


@cache
def described(program: Path) -> Answer:
    """Returns the answer to --describe."""
    answer: Answer = json.loads(
        subprocess.run([program, "--describe"], capture_output=True, check=True).stdout
    )
    return answer


def kinds(program: Path) -> Iterator[Kind]:
    """Yields every kind of tasks that a version offers."""
    offered = described(program)
    if offered["serial"]:
        yield Kind(None, None)
    for cutoff in offered["cutoffs"]:
        for tied in (True, False) if offered["untied"] else (None,):
            if (cutoff, tied) != ("if", False):  # aborts LLVM's runtime, so the programs refuse it
                yield Kind(cutoff, tied)


def run(
    program: Path,
    *options: str,
    threads: int,
    kind: Kind,
    input_class: str = "test",
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 120.0,
) -> Answer:
    """Runs a version and returns its answer. Raises AssertionError if it fails or does not verify."""
    words = ["--class", input_class, "--json", *kind.options(), *options]
    if kind.cutoff is not None:
        words += ["--threads", str(threads)]
    made = {**neutral_environment(), **ENVIRONMENT, **(environment or {})}
    ended = subprocess.run(
        [program, *words], env=made, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    context = f"{program.name} {' '.join(words)}: {ended.stdout}{ended.stderr}"
    assert ended.returncode == 0, f"{context} (ended with {ended.returncode})"
    answer: Answer = json.loads(ended.stdout)
    assert answer["verified"] is True, context
    asked = {"threads": threads if kind.cutoff is not None else 1, "cutoff": kind.cutoff, "tied": kind.tied}
    assert {name: answer[name] for name in asked} == asked, context
    return answer


def verify(
    program: Path,
    threads: Sequence[int],
    *options: str,
    input_class: str = "test",
    timeout_s: float = 170.0,
    environment: Mapping[str, str] | None = None,
) -> list[Answer]:
    """Runs a version with every kind of tasks at each number of threads; a serial version only once.

    Raises AssertionError if a run fails.
    """
    words = ["--class", input_class, "--json", *options]
    wanted: set[tuple[int, str | None, bool | None]] = {(1, None, None)}
    if not described(program)["serial"]:
        words += ["--verify", ",".join(map(str, threads))]
        wanted = {(n, kind.cutoff, kind.tied) for kind in kinds(program) for n in threads}
    ended = subprocess.run(
        [program, *words],
        env={**neutral_environment(), **ENVIRONMENT, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert ended.returncode == 0, f"{program.name} {' '.join(words)}: {ended.stdout[-500:]}{ended.stderr}"
    answers: list[Answer] = [json.loads(line) for line in ended.stdout.splitlines()]
    assert all(answer["verified"] is True for answer in answers)
    assert {(answer["threads"], answer["cutoff"], answer["tied"]) for answer in answers} == wanted
    assert len(answers) == len(wanted)
    return answers


@cache
def built_by_gcc(*programs: str) -> Path:
    """Builds all versions of these programs (default: all programs) with g++; returns their directory."""
    folder = COMPILED / "-".join(("bots-gcc", *programs))
    configure = ["cmake", "-G", "Ninja", "-S", str(REPOSITORY / "bots"), "-B", str(folder)]
    configure += ["-DCMAKE_CXX_COMPILER=g++", f"-DBOTS_PROGRAMS={';'.join(programs)}"]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "one-at-a-time.lock").open("w") as lock:  # tests run in several processes
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (configure, ["cmake", "--build", str(folder)]):
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    return folder

# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs as tests see them: which there must be, what each can be asked, and asking it.

Which there must be is read off bots/CMakeLists.txt, so that a program that was not built fails its tests.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from toolchains import BUILD, REPOSITORY, neutral_environment

_LINE = re.compile(r"^bots_program\((?P<words>[^)]*)\)", re.MULTILINE)
EXTENSION = BUILD / "lib" / "libomp_ext.so"

Answer = dict[str, Any]


class Kind(NamedTuple):
    """How tasks are made; None where a version knows no such choice."""

    cutoff: str | None
    tied: bool | None

    def options(self) -> list[str]:
        words = [] if self.cutoff is None else ["--cutoff", self.cutoff]
        return words if self.tied is None else [*words, "--tied" if self.tied else "--untied"]


def versions() -> list[str]:
    """The file names of all versions of all programs, without those of libraries that are not here."""
    text = (REPOSITORY / "bots" / "CMakeLists.txt").read_text(encoding="utf-8")
    names = []
    for line in _LINE.finditer(text):
        program, *its_versions = line["words"].split()
        names += [f"{program}-{version}" for version in its_versions]
    assert names, "bots/CMakeLists.txt names no program"
    return [name for name in names if not name.endswith("-locality") or EXTENSION.is_file()]


@cache
def described(program: Path) -> Answer:
    """What --describe says."""
    answer: Answer = json.loads(
        subprocess.run([program, "--describe"], capture_output=True, check=True).stdout
    )
    return answer


def kinds(program: Path) -> Iterator[Kind]:
    """Every kind of task that a version offers."""
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
    """Run a version and return its answer; AssertionError when it fails or does not verify."""
    words = ["--class", input_class, "--json", *kind.options(), *options]
    if kind.cutoff is not None:
        words += ["--threads", str(threads)]
    # Passive: these tests run more threads than there are processors.
    made = {**neutral_environment(), "OMP_WAIT_POLICY": "passive", **(environment or {})}
    ended = subprocess.run(
        [program, *words], env=made, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    said = f"{program.name} {' '.join(words)}: {ended.stdout}{ended.stderr}"
    assert ended.returncode == 0, f"{said} (ended with {ended.returncode})"
    answer: Answer = json.loads(ended.stdout)
    assert answer["verified"] is True, said
    asked = {"threads": threads if kind.cutoff is not None else 1, "cutoff": kind.cutoff, "tied": kind.tied}
    assert {name: answer[name] for name in asked} == asked, said
    return answer

# SPDX-License-Identifier: Apache-2.0
"""Plans the measurements of a suite: programs x versions x cut-offs x kinds x threads x runtimes.

Owns the possible combinations, with the command and environment of each, and their order. Starts nothing.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import platform
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ompass.errors import UsageError
from suite.programs import BuiltProgram

CLASSES = ("test", "small", "medium", "large")
CUTOFFS = ("none", "if", "final", "manual")
DEFAULT = "default"  # the program's preferred cut-off
BOTH = {"tied": (True,), "untied": (False,), "both": (True, False)}

# The policies of libomp_ext.so, with the environment that selects each.
EXTENSION_POLICIES: Mapping[str, Mapping[str, str]] = {
    "nearest": {"OMP_EXT_STEAL": "nearest"},
    "random": {"OMP_EXT_STEAL": "random"},
    "occupancy": {"OMP_EXT_STEAL": "occupancy"},
    "group": {"OMP_EXT_STEAL": "group"},
    "shared-lifo": {"OMP_EXT_QUEUE": "shared-lifo"},
}
RUNTIMES = ("libomp", "libgomp", *(f"ext:{policy}" for policy in EXTENSION_POLICIES), "tbb")

_PREFERRED = (
    "manual",
    "final",
    "if",
    "none",
)  # the default cut-off of a program is the first of these that it has
_STEERING = (
    "OMP_",
    "KMP_",
    "GOMP_",
    "LIBOMP_",
    "TBB_",
    "LD_",
)  # prefixes of the shell's variables that affect runtimes; recorded, not changed


@dataclass(frozen=True, slots=True)
class Selection:
    """The user's request; an empty tuple means all (for versions, all without marks)."""

    input_class: str = "small"
    threads: tuple[int, ...] = (1,)
    programs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    cutoffs: tuple[str, ...] = (DEFAULT,)
    kinds: str = "tied"  # a key of BOTH
    runtimes: tuple[str, ...] = ()
    rounds: int = 3


@dataclass(frozen=True, slots=True)
class Configuration:
    """A program version with its options and runtime, and the command and environment that start it."""

    program: str
    version: str
    input_class: str
    runtime: str
    threads: int
    cutoff: str | None  # None for serial versions
    tied: bool | None  # None if its tasks are neither tied nor untied
    path: Path = field(compare=False)
    variables: tuple[tuple[str, str], ...] = field(compare=False)  # added to the shell's environment

    @property
    def key(self) -> str:
        """The configuration's unique name."""
        kind = {True: "tied", False: "untied", None: "-"}[self.tied]
        return " ".join(
            (
                self.program,
                self.version,
                self.input_class,
                self.runtime,
                str(self.threads),
                self.cutoff or "-",
                kind,
            )
        )

    def identity(self) -> dict[str, Any]:
        """Returns the fields with which the program describes its run."""
        return {
            "program": self.program,
            "version": self.version,
            "class": self.input_class,
            "threads": self.threads,
            "cutoff": self.cutoff,
            "tied": self.tied,
        }

    def command(self) -> list[str]:
        """Returns the command line that measures the configuration once."""
        words = [str(self.path), "--class", self.input_class, "--json"]
        if self.cutoff is not None:
            words += ["--threads", str(self.threads), "--cutoff", self.cutoff]
        if self.tied is not None:
            words.append("--tied" if self.tied else "--untied")
        return words

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Returns the environment for the program: the shell's, with this configuration's variables."""
        made = dict(environ)
        for name, value in self.variables:
            before = made.get(name, "") if name == "LD_PRELOAD" else ""
            made[name] = f"{value}:{before}" if before else value
        return made


@dataclass(frozen=True, slots=True)
class Plan:
    """All configurations, each to be measured once per round."""

    configurations: tuple[Configuration, ...]
    rounds: int
    settings: Mapping[str, Any]  # request, machine and build, as JSON

    @property
    def n_measurements(self) -> int:
        return len(self.configurations) * self.rounds

    def in_order(self) -> Iterator[tuple[int, Configuration]]:
        """Yields (round, configuration), round by round, so that disturbances affect all configurations.

        Each round has its own order. Equal plans have equal orders.
        """
        for number in range(1, self.rounds + 1):
            shuffled = list(self.configurations)
            random.Random(number).shuffle(shuffled)
            yield from ((number, configuration) for configuration in shuffled)


def make_plan(
    selection: Selection,
    built: Mapping[str, Sequence[BuiltProgram]],
    extension: Path | None,
    environ: Mapping[str, str],
) -> Plan:
    """Returns the plan for a selection.

    `built`: the programs per compiler family, under "libomp" and "libgomp". `extension`: libomp_ext.so.
    Raises UsageError if the selection contains an unknown name, or matches no program.
    """
    available = [runtime for runtime in RUNTIMES if _is_available(runtime, built, extension)]
    _check_known("--runtimes", selection.runtimes, available, "valid here")
    everything = [one for programs in built.values() for one in programs]
    _check_known("--programs", selection.programs, sorted({one.program for one in everything}), "built")
    _check_known("--versions", selection.versions, sorted({one.version for one in everything}), "built")
    _check_known("--cutoffs", selection.cutoffs, (DEFAULT, *CUTOFFS))

    configurations: list[Configuration] = []
    used: dict[str, BuiltProgram] = {}
    for runtime in selection.runtimes or available:
        for one in built["libgomp" if runtime == "libgomp" else "libomp"]:
            if selection.programs and one.program not in selection.programs:
                continue
            if one.version not in selection.versions if selection.versions else one.is_marked:
                continue
            if not _runs_on(one, runtime):
                continue
            used[str(one.path)] = one
            configurations += _configurations(one, runtime, selection, _variables(runtime, extension))
    if not configurations:
        raise UsageError("nothing to measure", "no program offers this combination", "select less at once")
    settings = {
        "selection": json.loads(json.dumps(asdict(selection))),
        "machine": _machine(),
        "environment": {name: environ[name] for name in sorted(environ) if name.startswith(_STEERING)},
        "programs": {path: one.digest for path, one in sorted(used.items())},
        "extension": hashlib.sha256(extension.read_bytes()).hexdigest() if extension else None,
    }
    return Plan(tuple(dict.fromkeys(configurations)), selection.rounds, settings)


def _is_available(runtime: str, built: Mapping[str, Sequence[BuiltProgram]], extension: Path | None) -> bool:
    if runtime.startswith("ext:"):
        return extension is not None and bool(built["libomp"])
    if runtime == "tbb":
        return any(_runs_on(one, "tbb") for one in built["libomp"])
    return bool(built[runtime])


def _runs_on(one: BuiltProgram, runtime: str) -> bool:
    """True if the suite measures this version on the runtime.

    Serial versions run once per compiler, `tbb` only on oneTBB, and `locality` only on the extension.
    """
    base = one.version.removesuffix("-marked")
    if base == "tbb" or runtime == "tbb":
        return base == runtime
    if base == "locality" or runtime.startswith("ext:"):
        return runtime.startswith("ext:") and base != "serial"
    return True


def _configurations(
    one: BuiltProgram, runtime: str, selection: Selection, variables: tuple[tuple[str, str], ...]
) -> Iterator[Configuration]:
    if one.is_serial:
        yield Configuration(
            one.program, one.version, selection.input_class, runtime, 1, None, None, one.path, variables
        )
        return
    preferred = next(cutoff for cutoff in _PREFERRED if cutoff in one.cutoffs)
    cutoffs = dict.fromkeys(preferred if cutoff == DEFAULT else cutoff for cutoff in selection.cutoffs)
    kinds: tuple[bool | None, ...] = BOTH[selection.kinds] if one.has_untied else (None,)
    for threads, cutoff, tied in itertools.product(selection.threads, cutoffs, kinds):
        if cutoff not in one.cutoffs or (cutoff == "if" and tied is False):  # the programs refuse the latter
            continue
        yield Configuration(
            one.program,
            one.version,
            selection.input_class,
            runtime,
            threads,
            cutoff,
            tied,
            one.path,
            (*variables, ("OMP_NUM_THREADS", str(threads))),
        )


def _variables(runtime: str, extension: Path | None) -> tuple[tuple[str, str], ...]:
    if not runtime.startswith("ext:"):
        return ()
    policy = EXTENSION_POLICIES[runtime.removeprefix("ext:")]
    return (("LD_PRELOAD", str(extension)), ("OMP_EXT_SCHEDULE", "1"), *policy.items())


def _check_known(option: str, asked: Sequence[str], known: Sequence[str], which: str = "valid") -> None:
    for word in asked:
        if word not in known:
            raise UsageError(f"{option} {word}", "no such name", f"{which}: {', '.join(known)}")


def _machine() -> dict[str, Any]:
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {"host": platform.node(), "cpu": model, "n_cpus": len(os.sched_getaffinity(0))}

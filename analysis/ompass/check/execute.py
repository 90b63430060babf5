# SPDX-License-Identifier: Apache-2.0
"""Records both sides in rounds until the verdict is certain or a limit is reached.

Owns the order of runs. Each round runs both sides once, in random order. Thus, if the sides are equal, every
difference is as likely as its opposite, whatever else the machine does.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ompass.check.content import Evidence, Measured, evidence_of, measured, recorded_before
from ompass.check.verdict import looks
from ompass.launch.recorder import Recorder
from ompass.packed import is_packed, unpacked
from ompass.readers.run import is_run_directory, runs_in

TRACED_ROUNDS = 3
"""Rounds that record traces, for the span and the simulated time. The median excludes one disturbed run."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of rounds and time, the least difference that counts, and whether to trace."""

    repeats: int
    time_s: float
    minimum: float
    traced: bool


@dataclass(frozen=True, slots=True)
class Source:
    """A side of the check: a program to record, or the directories of recorded runs."""

    name: str
    recorder: Recorder | None
    directories: tuple[Path, ...] = ()


def is_recorded(path: Path) -> bool:
    """True if a side of the check names recorded runs: a directory, or a packed run."""
    return path.is_dir() or is_packed(path)


def recorded_directories(path: Path) -> tuple[Path, ...]:
    """Returns the directory of a run, which may be packed, or the directories of all runs in a directory."""
    if is_packed(path) or is_run_directory(path):
        return (unpacked(path),)
    return tuple(runs_in(path))


def gather(
    sources: Sequence[Source],
    limits: Limits,
    folder: Path,
    progress: Callable[[int, str], None] = lambda n, what: None,
    chance: random.Random | None = None,
    keep: bool = True,
) -> Evidence:
    """Returns the evidence of both sides (before, after).

    Recordings go to `folder`/before and /after, traces to the same directories below `folder`/traces.
    `keep`: False removes each recording after reading it. Hundreds of recordings may take gigabytes.
    """
    began_s = time.monotonic()
    chance = chance or random.Random()
    sides: tuple[list[Measured], list[Measured]] = ([], [])
    traced: tuple[list[Measured], list[Measured]] = ([], [])
    for source, runs in zip(sources, sides, strict=True):
        runs += recorded_before(source.directories)
    places = [folder / name for name in ("before", "after")]
    for source, place in zip(sources, places, strict=True):
        if source.recorder is not None:
            place.mkdir(parents=True)
            (folder / "traces" / place.name).mkdir(parents=True)
    live = [k for k, source in enumerate(sources) if source.recorder is not None]
    # The time of a process includes the loader and the end of the tool; the time of a recorded run does not.
    by_process = len(live) == 2

    def run_round(n: int, mode: str, into: Sequence[list[Measured]]) -> None:
        for k in chance.sample(live, len(live)):
            recorder = sources[k].recorder
            assert recorder is not None
            progress(n if mode == "profile" else 0, ("before", "after")[k])
            place = folder / "traces" / places[k].name if mode == "trace" else places[k]
            recorded = recorder.record(place / f"{n:03}.ompass", mode)
            into[k].append(measured(recorded, by_process))
            if not keep:
                for directory in recorded.directories:
                    shutil.rmtree(directory)

    planned = looks(limits.repeats)
    n_looks = len(planned) if live else 1
    judged_alone = any(len(runs) == 1 for runs in sides)  # `sides` has only earlier recordings so far
    if limits.traced and live:
        for n in range(1, TRACED_ROUNDS + 1):
            run_round(n, "trace", traced)
            if time.monotonic() - began_s > limits.time_s / 4:
                break
    longest_s = 0.0

    def looked() -> Evidence:
        repeatable = bool(live) and not judged_alone
        return evidence_of(sides, traced, limits.minimum, n_looks, by_process, repeatable)

    evidence = looked()
    for n in range(1, limits.repeats + 1 if live else 1):
        round_s = time.monotonic()
        run_round(n, "profile", sides)
        longest_s = max(longest_s, time.monotonic() - round_s)
        out_of_time = time.monotonic() - began_s + longest_s > limits.time_s
        if n in planned or out_of_time or judged_alone:
            evidence = looked()
            if evidence.is_certain or out_of_time or judged_alone:
                break
    return evidence

# SPDX-License-Identifier: Apache-2.0
"""Keeps the names of a run in its directory, so that reports stay the same without the program.

Owns the choice of names: all constructs and samples, and the source lines around them.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass import __version__
from ompass.errors import OmpassError
from ompass.model import Run
from ompass.readers.run import has_ended, open_run
from ompass.samples.content import collect_samples
from ompass.symbols.kept import packed_names, write_packed
from ompass.symbols.location import SourceFiles
from ompass.symbols.resolver import Location, Resolver, Resolvers, identity

_MOST_BYTES: Final = 1_000_000  # of the names file; a file that would be larger has no source lines
_LONGEST_LINE: Final = 240
_AROUND: Final = (((20, 60), (8, 8)), ((4, 44), (4, 4)))
"""Source lines before and after constructs, and before and after samples; fewer if the file is too large."""


def resolver_for(run: Run) -> Resolver:
    """Returns a resolver that uses the names kept in the run; if there are none, keeps all names first."""
    return _with_names(run, Resolver.of_run(run))


def _with_names(run: Run, resolver: Resolver) -> Resolver:
    """Returns the resolver; if no names of the run are kept, keeps all names first."""
    if not resolver.is_kept:
        n_problems = len(resolver.problems)
        with contextlib.suppress(OmpassError):  # damaged samples: the command that needs them reports this
            keep_all_names(run, resolver)
        del resolver.problems[n_problems:]
    return resolver


def keep_names_of(directories: Iterable[Path], limit_s: float = math.inf) -> None:
    """Keeps the names of these runs. Skips unreadable runs, and all runs left after the time limit.

    The first command that reads a skipped run keeps its names. Runs with the same modules, such as the ranks
    of a job, get equal names files, each with the names of all these runs.
    """
    end_s = time.monotonic() + limit_s
    resolvers = Resolvers()
    alike: dict[tuple[tuple[str, str], ...], _Alike] = {}
    try:
        for directory in directories:
            if time.monotonic() > end_s:
                return
            with contextlib.suppress(OmpassError):
                run = open_run(directory)
                resolver = resolvers.of_run(run)
                if resolver.is_kept:
                    continue
                group = alike.setdefault(tuple(map(identity, run.modules)), _Alike(run, resolver, []))
                resolver.answers = group.resolver.answers
                if _look_up_all(run, resolver):
                    group.directories.append(directory)
    finally:
        for group in alike.values():
            group.keep()


@dataclass(frozen=True, slots=True)
class _Alike:
    """Runs with the same modules. Their resolvers share all answers."""

    run: Run  # the first run
    resolver: Resolver
    directories: list[Path]  # of the runs whose names are complete

    def keep(self) -> None:
        packed = _packed_with_lines(self.run, self.resolver) if self.directories else b""
        for directory in self.directories:
            with contextlib.suppress(OSError):
                write_packed(directory, packed)


def keep_all_names(run: Run, resolver: Resolver) -> None:
    """Looks up all names of a run that has ended, and stores them. Raises DamagedRunError."""
    if _look_up_all(run, resolver):
        keep_names(run, resolver)


def _look_up_all(run: Run, resolver: Resolver) -> bool:
    """Looks up all names of a run. Returns False if they cannot be kept. Raises DamagedRunError."""
    if not _is_keepable(run, resolver):
        return False
    locations = {definition.id: resolver.locate(definition) for definition in run.definitions}
    if not _knows_program(run, resolver):
        return False
    for definition in run.definitions:
        if definition.kind == "wait":
            resolver.critical_name(definition)
        if definition.kind == "task":
            resolver.task_bytes(definition)
    collect_samples(run, locations, {}, resolver)
    return True


def keep_names(run: Run, resolver: Resolver) -> None:
    """Stores the resolver's answers if some are new, the run has ended, and its program is known.

    Does nothing if the directory is not writable.
    """
    if resolver.has_news and _is_keepable(run, resolver) and _knows_program(run, resolver):
        packed = _packed_with_lines(run, resolver)
        with contextlib.suppress(OSError):
            write_packed(run.path, packed)
            resolver.has_news = False


def _is_keepable(run: Run, resolver: Resolver) -> bool:
    return resolver.may_keep and has_ended(run) and os.access(run.path, os.W_OK)


def _knows_program(run: Run, resolver: Resolver) -> bool:
    return any(definition.module in resolver.answers.modules for definition in run.definitions)


def _packed_with_lines(run: Run, resolver: Resolver) -> bytes:
    """Returns the names file. Adds the source lines around the locations to the answers, if they fit."""
    answers = resolver.answers
    earlier = answers.lines
    files = SourceFiles()
    sampled = [location for locations in answers.code.values() for location in locations]
    for around in _AROUND:
        wanted: dict[str, set[int]] = defaultdict(set)
        for locations, (before, behind) in zip((answers.calls.values(), sampled), around, strict=True):
            for file, line in _places(locations):
                wanted[file].update(range(max(line - before, 1), line + behind + 1))
        found = {file: _lines_of(files, file, numbers, run) for file, numbers in wanted.items()}
        answers.lines = {file: lines for file, lines in ({**found, **earlier}).items() if lines}
        packed = packed_names(run.modules, answers, __version__)
        if len(packed) <= _MOST_BYTES:
            return packed
    answers.lines = earlier
    return packed_names(run.modules, answers, __version__)


def _places(locations: Iterable[Location]) -> set[tuple[str, int]]:
    return {(each.file, each.line) for each in locations if each.file and each.line}


def _lines_of(files: SourceFiles, file: str, numbers: set[int], run: Run) -> Mapping[int, str]:
    """Returns lines by number; none if the file was modified after the run had begun."""
    lines = files.lines(file, run.start_epoch_ns)
    return {number: lines[number - 1][:_LONGEST_LINE] for number in numbers if number <= len(lines)}

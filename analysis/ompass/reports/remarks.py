# SPDX-License-Identifier: Apache-2.0
"""Findings as remarks on source lines, for editors and other programs that show remarks next to the source.

Owns the choice of a remark's line: the line of the finding or its construct. A problem with neither gets the
line of the run's longest region or costliest task construct; a note with neither gets no line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from ompass.metrics.facts import Finding
from ompass.model import share
from ompass.reports.content import ReportContent
from ompass.reports.findings import Cause, causes
from ompass.symbols.resolver import UNKNOWN, Location

WARNING: Final = "warning"
NOTE: Final = "note"


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding with its line."""

    kind: str
    level: str  # WARNING or NOTE
    title: str
    because: str
    cure: str  # empty if there is none
    location: Location  # its line, function or both may be unknown
    of_whole: bool  # True if it concerns the whole program: its line only shows where the time is
    cost_ns: int
    share: float  # of the thread-time
    numbers: Mapping[str, float]
    source: str  # the run or sweep


def remarks_of(contents: Sequence[ReportContent]) -> tuple[Remark, ...]:
    """Returns the findings of runs, problems first, by share. Merges equal findings of several runs."""
    return merged(remark for content in contents for remark in _of_run(content))


def merged(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Returns the remark with the largest share for each kind and line; problems first, by share.

    For a remark without a line, the address of its construct replaces the line.
    """
    largest: dict[tuple[str, str, int, str], Remark] = {}
    for remark in remarks:
        location = remark.location
        key = (remark.kind, location.file, location.line, "" if location.line else location.place)
        known = largest.setdefault(key, remark)
        if _order(remark) < _order(known):
            largest[key] = remark
    return tuple(sorted(largest.values(), key=_order))


def _order(remark: Remark) -> tuple[bool, float]:
    return remark.level != WARNING, -remark.share


def _of_run(content: ReportContent) -> Iterable[Remark]:
    main = _main_place(content)
    cured_by = {id(cause.finding): cause for cause in causes(content) if cause.finding and cause.change}
    for finding in content.findings:
        is_problem = finding.severity == "problem"
        location = content.place_of(finding)
        of_whole = location == UNKNOWN
        if of_whole:
            location = main if is_problem else UNKNOWN
        yield Remark(
            finding.kind,
            WARNING if is_problem else NOTE,
            finding.title,
            finding.because,
            _cure(finding, cured_by.get(id(finding))),
            location,
            of_whole,
            finding.cost_ns,
            share(finding.cost_ns, content.breakdown.thread_time_ns),
            dict(finding.numbers),
            str(content.run.path),
        )


def _cure(finding: Finding, cause: Cause | None) -> str:
    """Returns the cure of a finding; if a simulated change cures it, the change's title, gain and cure."""
    if cause is None or cause.change is None:
        return finding.cure
    return f"{cause.gain_text}. {cause.change.cure[:1].upper()}{cause.change.cure[1:]}"


def _main_place(content: ReportContent) -> Location:
    """Returns the line of the region with the longest thread-time, else of the costliest task construct."""
    regions = sorted(content.regions, key=lambda region: -region.states.total_ns)
    constructs = [region.construct for region in regions] + [task.construct for task in content.tasks]
    places = (content.location(construct) for construct in constructs)
    return next((place for place in places if place.line), UNKNOWN)


class SourceTree:
    """The folder to which the paths of remarks are relative."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @classmethod
    def of_repository(cls, folder: Path) -> SourceTree:
        """Returns the Git repository around `folder`, or else `folder`."""
        folder = folder.resolve()
        return cls(next((up for up in (folder, *folder.parents) if (up / ".git").exists()), folder))

    def relative(self, file: str) -> PurePath:
        """Returns the path below the root; a file that lies elsewhere keeps its absolute path.

        If the file was compiled in another folder, uses the longest end of its path that is a file below
        the root.
        """
        path = Path(os.path.normpath(file))
        if not path.is_absolute():
            return path
        real = path.resolve()
        if real.is_relative_to(self.root):
            return real.relative_to(self.root)
        if path.exists():
            return path
        ends = (PurePath(*path.parts[k:]) for k in range(1, len(path.parts)))
        return next((end for end in ends if (self.root / end).is_file()), path)

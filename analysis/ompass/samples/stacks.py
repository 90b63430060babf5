# SPDX-License-Identifier: Apache-2.0
"""The sampled stacks of one run, or of two runs to compare, as a tree: owners, functions, lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from ompass.model import share
from ompass.samples.content import SampleContent

_LEAST: Final = 0.002
"""Share of the whole. The tree omits smaller parts, which would be narrower than two pixels."""
_DEEPEST: Final = 60

Stacks: TypeAlias = Mapping[tuple[str, ...], float]
"""Samples by stack: the owner, the functions from the outermost to the innermost, the innermost line."""


_Row: TypeAlias = tuple[tuple[str, ...], float, float]


@dataclass(frozen=True, slots=True)
class StackNode:
    """A function below its callers. `n` counts samples of the function and of the functions that it calls."""

    name: str
    n: float
    before: float  # the same number in the run to compare with
    parts: tuple[StackNode, ...] = ()


def stacks_of(content: SampleContent | None, *, with_lines: bool = True) -> Stacks:
    """Returns the samples of processor time by stack; none for samples of loads."""
    counts: Counter[tuple[str, ...]] = Counter()
    if content is None or content.loads:
        return counts
    for sample in content.samples:
        calls = [call.function or call.place for call in reversed(sample.calls)][-_DEEPEST:]
        line = [sample.calls[0].place] if with_lines and sample.calls and sample.calls[0].line else []
        stack = (content.label(sample.owner), *calls, *line)
        counts[stack] += sample.weight
    return counts


def sample_ms(content: SampleContent | None) -> float:
    """Returns the processor time that a sample represents, in ms; 1 if it is unknown."""
    return 1000 / content.frequency_hz if content and content.frequency_hz else 1.0


def mean_stacks(contents: Sequence[SampleContent | None], *, across_builds: bool = False) -> Stacks:
    """Returns the mean samples of several runs of one program.

    `across_builds`: returns ms, because rates of samples may differ, and omits lines, which edits move.
    """
    sums: dict[tuple[str, ...], float] = {}
    for content in contents:
        unit = sample_ms(content) if across_builds else 1.0
        for stack, n in stacks_of(content, with_lines=not across_builds).items():
            sums[stack] = sums.get(stack, 0.0) + n * unit / len(contents)
    return sums


def stack_tree(stacks: Stacks, before: Stacks | None = None) -> StackNode:
    """Returns all stacks as one tree, the largest parts first."""
    before = before or {}
    rows = [(stack, stacks.get(stack, 0.0), before.get(stack, 0.0)) for stack in {**stacks, **before}]
    whole = max(sum(n for _, n, _ in rows), sum(n for _, _, n in rows))
    return _node("all samples", rows, 0, whole)


def _node(
    name: str, rows: Sequence[tuple[tuple[str, ...], float, float]], at: int, whole: float
) -> StackNode:
    below: dict[str, list[tuple[tuple[str, ...], float, float]]] = {}
    for row in rows:
        if len(row[0]) > at:
            below.setdefault(row[0][at], []).append(row)
    parts = [
        _node(next_name, own, at + 1, whole)
        for next_name, own in below.items()
        if max(share(sum(row[1] for row in own), whole), share(sum(row[2] for row in own), whole)) >= _LEAST
    ]
    parts.sort(key=lambda part: (-max(part.n, part.before), part.name))
    return StackNode(name, sum(row[1] for row in rows), sum(row[2] for row in rows), tuple(parts))

# SPDX-License-Identifier: Apache-2.0
"""Finds in the source the OpenMP directive whose code calls the runtime.

Compilers give some of these calls the line of a neighbour: clang the end of a taskgroup, gcc the code before
the call, flang a declaration or the first statement. The name of the called function shows which directive to
seek.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ompass.symbols.location import SourceFiles
from ompass.symbols.lookup import Frame

_NEAR = 10
"""Most lines between a directive and the line of its call; in longer constructs the call keeps its line."""
_DIRECTIVE = re.compile(r"\s*(?:#\s*pragma\s+omp|!\$omp)\s+(?!end\b)(?P<text>\w.*)", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(\{?|#.*|//.*|!(?!\$).*|.*\\)\s*")
"""Lines between a directive and the first statement: braces, conditions, comments, continued directives."""
_FUNCTION_END = re.compile(r"\}|\s*end\s+(subroutine|function|program)\b|\s*contains\s*$", re.IGNORECASE)
_OTHERWISE = re.compile(r"\s*#\s*(else|elif)")
_CONDITION = re.compile(r"\s*#\s*(?P<word>if|endif)")

_LOOP = r"(?:\w+ )*(for|do)\b"
_KINDS = tuple(
    (re.compile(calls), re.compile(directive))
    for calls, directive in (
        (r"GOMP_parallel\w*|__kmpc_fork_call\w*", r"(?:\w+ )*parallel\b"),
        (r"GOMP_task|__kmpc_omp_task_alloc|__kmpc_omp_task(_with_deps)?", r"task\b"),
        (r"(GOMP|__kmpc)_taskloop\w*", r"(?:\w+ )*taskloop\b"),
        (r"GOMP_taskwait\w*|__kmpc_omp_taskwait\w*", r"taskwait\b"),
        (r"GOMP_taskgroup\w*|__kmpc_(end_)?taskgroup", r"taskgroup\b"),
        (r"GOMP_sections\w*", r"(?:\w+ )*sections\b"),
        (r"GOMP_single\w*|__kmpc_(end_)?single", r"single\b"),
        (r"GOMP_ordered\w*|__kmpc_(end_)?ordered", r"ordered\b"),
        (r"GOMP_critical\w*|__kmpc_(end_)?critical\w*", r"critical\b"),
        (r"GOMP_loop\w*|__kmpc_for_static_init\w*", _LOOP),
        (r"__kmpc_dispatch_init\w*", rf"{_LOOP}|(?:\w+ )*sections\b"),
        (r"GOMP_barrier", rf"(barrier|single|(?:\w+ )*(sections|workshare)|{_LOOP})(?!.*\bnowait\b)"),
    )
)
_AT_END = re.compile(r"GOMP_(taskgroup\w*|barrier)|__kmpc_end_taskgroup")
"""Calls at the end of a construct, after its body."""


def directive_of(called: str) -> re.Pattern[str] | None:
    """Returns a pattern of the text of the directives whose code calls this function; None if unknown."""
    return next((directive for calls, directive in _KINDS if calls.fullmatch(called)), None)


class Directives:
    """The directives in the source files of a program that was recorded at `recorded_ns`. Not thread-safe."""

    def __init__(self, recorded_ns: int) -> None:
        self._sources = SourceFiles()
        self._recorded_ns = recorded_ns

    def before(self, file: str, statement: int, called: str) -> int:
        """Returns the line of the directive at or just before the line of a statement; 0 if there is none."""
        return self._before(self._lines(file), statement, directive_of(called))

    def of_call(self, frames: Sequence[Frame], called: str) -> Sequence[Frame]:
        """Returns the frames from the first one near a directive of `called`; it gets the directive's line.

        Leaves out frames of code that is inlined in the construct. Returns all frames if the source shows no
        such directive.
        """
        kind = directive_of(called)
        if kind is None:
            return frames
        for k, frame in enumerate(frames):
            lines = self._lines(frame.file) if frame.line else ()
            line = self._before(lines, frame.line, kind)
            if not line and _AT_END.fullmatch(called):
                line = _first(lines, range(frame.line, frame.line - _NEAR, -1), kind)
            if not line and (called.startswith("GOMP_") or _is_fortran(frame.file)):
                line = _first(lines, range(frame.line, frame.line + _NEAR), kind)
            if line:
                return (replace(frame, line=line), *frames[k + 1 :])
        return frames

    def _lines(self, file: str) -> Sequence[str]:
        return self._sources.lines(file, self._recorded_ns)

    @staticmethod
    def _before(lines: Sequence[str], statement: int, kind: re.Pattern[str] | None) -> int:
        line = min(statement, len(lines))
        n_open = 0  # conditions whose #endif lies between the line and the statement
        while line > max(statement - _NEAR, 0):
            text = lines[line - 1]
            if found := _DIRECTIVE.match(text):
                if kind is None or kind.match(found["text"].lower()):
                    return line
            elif line < statement:
                if not _BETWEEN.fullmatch(text):
                    if not n_open:
                        break
                    line = _condition_of(lines, line)  # code of another alternative
                    n_open -= 1
                elif _OTHERWISE.match(text) and not n_open:
                    line = _condition_of(lines, line)
                elif condition := _CONDITION.match(text):
                    n_open = max(n_open + (1 if condition["word"] == "endif" else -1), 0)
            line -= 1
        return 0


def _condition_of(lines: Sequence[str], line: int) -> int:
    """Returns the line of the #if of an #else or #elif; 1 if there is none."""
    n_open = 1
    while line > 1 and n_open:
        line -= 1
        if condition := _CONDITION.match(lines[line - 1]):
            n_open += 1 if condition["word"] == "endif" else -1
    return line


def _first(lines: Sequence[str], candidates: Iterable[int], kind: re.Pattern[str]) -> int:
    """Returns the first of these lines with a directive of this kind; 0 if there is none in the function.

    A search towards the begin also ends at the directive of the parallel region.
    """
    previous = 0
    for line in candidates:
        if not 0 < line <= len(lines) or (previous and _FUNCTION_END.match(lines[line - 1])):
            break
        if found := _DIRECTIVE.match(lines[line - 1]):
            text = found["text"].lower()
            if kind.match(text):
                return line
            if line < previous and "parallel" in text.split("(")[0].split():
                break
        previous = line
    return 0


def _is_fortran(file: str) -> bool:
    return file.lower().rpartition(".")[2].startswith("f")

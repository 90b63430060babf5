# SPDX-License-Identifier: Apache-2.0
"""Chooses small wrong changes: a comparison, a sign, a constant, an `and` or an `or`.

Owns the choice of places to change: in Python, nodes of the syntax tree; in C++, tokens outside of comments,
strings, directives, templates and assertions.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a file: text[begin:end], in bytes, becomes `new`."""

    file: str  # relative to the repository
    line: int
    begin: int
    end: int
    old: str
    new: str

    def shown(self, text: bytes) -> str:
        """Returns the changed line, with the change in brackets.

        The text stays the same if other lines are edited.
        """
        begin, end = text.rfind(b"\n", 0, self.begin) + 1, text.find(b"\n", self.end)
        line = f"{text[begin : self.begin].decode()}[{self.old} -> {self.new}]{text[self.end : end].decode()}"
        return f"{self.file}: {line.strip()}"

    def apply(self, text: bytes) -> bytes:
        """Returns the changed text. Raises ValueError if `old` is not at its place in the text."""
        if text[self.begin : self.end] != self.old.encode():
            raise ValueError(f"{self.file} does not have {self.old} at byte {self.begin}")
        return text[: self.begin] + self.new.encode() + text[self.end :]


_HARMFUL: Final = re.compile(r"\bkill|\brmtree\b|\bunlink\b")
"""Wrong calls of these functions could end other processes or delete files."""


def all_changes(root: Path, files: Sequence[Path]) -> Iterator[tuple[str, Change]]:
    """Yields all possible changes of these files, each after its `shown` text. Skips harmful ones."""
    for file in sorted(files):
        text = file.read_bytes()
        name = str(file.relative_to(root))
        for change in python_changes(name, text) if file.suffix == ".py" else cpp_changes(name, text):
            shown = change.shown(text)
            if not _HARMFUL.search(shown):
                yield shown, change


def choose(changes: Mapping[str, Change], n: int, seed: int) -> dict[str, Change]:
    """Returns n random changes in random order.

    An edit of the sources does not affect the order of the changes in other lines.
    """

    def order(shown: str) -> bytes:
        return hashlib.sha1(f"{seed} {shown}".encode(), usedforsecurity=False).digest()

    return {shown: changes[shown] for shown in sorted(changes, key=order)[:n]}


_OPERATORS: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
    ast.Is: ("is", "is not"), ast.In: ("in", "not in"),
}  # fmt: skip


def python_changes(name: str, text: bytes) -> Iterator[Change]:
    """Yields all possible changes of a Python file."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column

    def between(left: ast.expr, right: ast.expr, kind: ast.AST) -> Iterator[Change]:
        if type(kind) not in _OPERATORS or left.end_lineno is None or left.end_col_offset is None:
            return
        old, new = _OPERATORS[type(kind)]
        begin, end = offset(left.end_lineno, left.end_col_offset), offset(right.lineno, right.col_offset)
        pattern = rf"\b{old}\b" if old.isalpha() else re.escape(old)
        places = list(re.finditer(pattern.encode(), text[begin:end]))
        if len(places) == 1:
            place = begin + places[0].start()
            yield Change(name, text[:place].count(b"\n") + 1, place, place + len(old), old, new)

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for k, kind in enumerate(node.ops):
                yield from between(operands[k], operands[k + 1], kind)
        elif isinstance(node, ast.BinOp) and not _has_text(node):
            yield from between(node.left, node.right, node.op)
        elif isinstance(node, ast.BoolOp):
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, node.op)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            begin = offset(node.lineno, node.col_offset)
            assert node.end_lineno is not None and node.end_col_offset is not None
            end = offset(node.end_lineno, node.end_col_offset)
            yield Change(name, node.lineno, begin, end, text[begin:end].decode(), _other(node.value))


_TIME: Final = 100
"""Integers of this size or more are times and sizes, which a change by one does not make wrong."""


def _other(value: object) -> str:
    """Returns another number in Python's notation.

    Adds 1 to a count. Multiplies a time, a size or a float by 1.5; 0.0 becomes 0.5.
    """
    if isinstance(value, int):
        return repr(value + max(1, value // 2 if value >= _TIME else 0))
    assert isinstance(value, float)
    return repr(value * 1.5 or 0.5)


def _has_text(node: ast.BinOp) -> bool:
    """True if the operation joins strings."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


_NO_CODE: Final = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*"
    rb"|^[ \t]*(?:static_assert|template|OMPASS_ASSERT)[^;{]*|\boperator[^\s(]+|<[\w:, *&]*>",
    re.DOTALL | re.MULTILINE,
)
_TOKENS: Final = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "&&": "||",
    "||": "&&", "+=": "-=", "-=": "+=",
}  # fmt: skip
_TOKEN: Final = re.compile(
    rb"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+-])(?= )|(?<![\w.'])\d+(?=u?\b)(?![\w.'])"
)


def _hints(code: bytes) -> Iterator[tuple[int, int]]:
    """Yields the places of the hints in __builtin_expect(condition, hint), which change only the speed."""
    for match in re.finditer(rb"__builtin_expect\(", code):
        depth, comma = 1, 0
        for place in range(match.end(), len(code)):
            letter = code[place : place + 1]
            depth += (letter == b"(") - (letter == b")")
            if letter == b"," and depth == 1:
                comma = place
            if depth == 0:
                yield comma, place
                break


def cpp_changes(name: str, text: bytes) -> Iterator[Change]:
    """Yields all possible changes of a C++ file."""
    code = _NO_CODE.sub(lambda match: re.sub(rb"[^\n]", b"\0", match[0]), text)
    for begin, end in _hints(code):
        code = code[:begin] + b"\0" * (end - begin) + code[end:]
    for match in _TOKEN.finditer(code):
        old = match[0].decode()
        new = str(int(old) + 1) if old.isdigit() else _TOKENS[old]
        line = text[: match.start()].count(b"\n") + 1
        yield Change(name, line, match.start(), match.end(), old, new)

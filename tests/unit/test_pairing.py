# SPDX-License-Identifier: Apache-2.0
"""Constructs of two builds are paired by function, order and source lines; others are new or gone."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

import pytest

from ompass.comparison.pairing import SourceLines, pairs_of
from ompass.scaling.content import Place

FIB = """\
long fib(int n) {
    long a, b;
    if (n < 2) return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
"""


NONE: SourceLines = MappingProxyType({})


def place(line: int, function: str = "fib", kind: str = "task", file: str = "/a/fib.c") -> Place:
    return Place(kind, function, file, line, "", 0)


def lines_of(text: str, file: str = "/a/fib.c") -> SourceLines:
    return {file: dict(enumerate(text.splitlines(), 1))}


def moved(
    before: Iterable[Place], after: Iterable[Place], old: SourceLines = NONE, new: SourceLines = NONE
) -> dict[Place, Place]:
    return {pair.before: pair.after for pair in pairs_of(before, after, old, new)}


def test_without_sources_constructs_of_a_function_are_paired_in_order() -> None:
    before, after = [place(10), place(20), place(5, "main")], [place(13), place(23), place(5, "main")]
    assert moved(before, after) == dict(zip(before, after, strict=True))
    assert moved([place(10)], [place(10, file="/b/fib.c")]) == {place(10): place(10, file="/b/fib.c")}


def test_without_sources_unclear_pairs_are_not_guessed() -> None:
    assert moved([place(10)], [place(11), place(12)]) == {}
    assert moved([place(10)], [place(10, kind="kernel")]) == {}
    assert moved([place(10)], [place(10), place(12)]) == {place(10): place(10)}


def test_without_sources_a_renamed_function_is_known_by_its_line() -> None:
    assert moved([place(10)], [place(10, "fibonacci")]) == {place(10): place(10, "fibonacci")}
    assert moved([place(10)], [place(11, "fibonacci")]) == {}


def test_equal_sources_pair_each_construct_with_itself() -> None:
    (pair,) = pairs_of([place(4)], [place(4)], lines_of(FIB), lines_of(FIB))
    assert (pair.has_moved, pair.similarity) == (False, 1.0)


def test_lines_show_that_another_construct_is_now_at_a_place() -> None:
    new = "//\n//\n" + FIB  # the first task is now at the line of the second one
    before, after = [place(4), place(6)], [place(6), place(8)]
    assert moved(before, after, lines_of(FIB), lines_of(new)) == {place(4): place(6), place(6): place(8)}


@pytest.mark.parametrize("added", [4, 6, 8])
def test_a_new_construct_among_others_has_no_partner(added: int) -> None:
    lines = FIB.splitlines()
    new = [*lines[: added - 1], "#pragma omp task", "    prefetch(table, n);", *lines[added - 1 :]]
    tasks = (number for number, line in enumerate(new, 1) if "omp task" in line and "wait" not in line)
    after = [place(number) for number in tasks]
    assert len(after) == 3
    found = moved([place(4), place(6)], after, lines_of(FIB), lines_of("\n".join(new)))
    assert list(found.values()) == [one for one in after if one.line != added]
    back = moved(after, [place(4), place(6)], lines_of("\n".join(new)), lines_of(FIB))
    assert {one: two for two, one in found.items()} == back, "the same edit backwards"


def test_a_construct_with_other_lines_in_the_same_function_is_new() -> None:
    calls, loop = "    x();\n" * 20, "#pragma omp parallel for\n    for (;;) y[k]++;\n"
    new = f"void g(void) {{\n{calls}{loop}}}\n"
    assert moved([place(4)], [place(22)], lines_of(FIB), lines_of(new)) == {}


def test_signatures_and_directories_do_not_matter() -> None:
    old, new = place(4, "fib(int)"), place(4, "fib(long)", file="/b/fib.c")
    assert moved([old], [new]) == {old: new}


def test_no_construct_has_two_partners() -> None:
    many = [place(4, f"f{k}", file=f"/a/{k}.c") for k in range(6)]
    lines = {one.file: dict(enumerate(FIB.splitlines(), 1)) for one in many}
    found = moved(many[:4], many[3:], lines, lines)
    assert len(set(found.values())) == len(found) == 3
    assert found[many[3]] == many[3]

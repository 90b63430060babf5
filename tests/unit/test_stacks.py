# SPDX-License-Identifier: Apache-2.0
"""Sampled stacks as a tree: owners, functions from the outermost to the innermost, lines."""

import html
import json
import re
from dataclasses import replace

from made_runs import MS, made_run, made_samples, team
from ompass.page.pictures import flame
from ompass.samples.stacks import StackNode, Stacks, mean_stacks, stack_tree, stacks_of

CONTENT = made_samples(made_run(regions=team(0, [{"work_ns": 60 * MS}])))


def as_text(node: StackNode, level: int = 0) -> list[str]:
    return [
        f"{'  ' * level}{node.name} {node.n:g}",
        *(t for part in node.parts for t in as_text(part, level + 1)),
    ]


def test_callers_are_above_the_functions_that_they_call() -> None:
    assert as_text(stack_tree(stacks_of(CONTENT))) == [
        "all samples 100",
        "  the serial part 60",
        "    main; x 60",
        "      inner 60",
        "        a.c:5 60",
        "  task 40",
        "    outer 40",
        "      inner 30",
        "        a.c:5 30",
        "      a.c:9 10",
    ]


def test_each_function_has_its_samples_and_those_of_its_parts() -> None:
    def check(node: StackNode) -> None:
        assert node.n >= sum(part.n for part in node.parts)
        for part in node.parts:
            check(part)

    check(stack_tree(stacks_of(CONTENT)))


def test_a_run_without_samples_can_be_compared() -> None:
    half = mean_stacks([CONTENT, None])
    tree = stack_tree(half, stacks_of(CONTENT))
    assert (tree.n, tree.before) == (50, 100)
    only_before = stack_tree({}, stacks_of(CONTENT))
    assert (only_before.n, only_before.parts[0].before, only_before.parts[0].n) == (0, 60, 0)


def test_only_the_tree_omits_parts_that_are_too_small_to_see() -> None:
    stacks: Stacks = {("task", "f"): 1000.0, ("task", "g"): 1.0}
    [task] = stack_tree(stacks).parts
    assert task.n == 1001
    assert [part.name for part in task.parts] == ["f"]


def test_samples_of_loads_are_not_stacks_of_time() -> None:
    loads = (object(),)
    assert not stacks_of(replace(CONTENT, loads=loads))  # type: ignore[arg-type]
    assert not stacks_of(None)


def test_owners_keep_their_names_on_the_page() -> None:
    long_name = f"f<{'x' * 80}>(int)"
    drawn = flame(stack_tree({("a.c:3 (g)", long_name): 1.0}))
    [text] = re.findall(r'data-flame="([^"]*)"', drawn)
    names = json.loads(html.unescape(text))["names"]
    assert names[:2] == ["all samples", "a.c:3 (g)"]
    assert 0 < len(names[2]) < len(long_name)

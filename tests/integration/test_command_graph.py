# SPDX-License-Identifier: Apache-2.0
"""`ompass graph` on recorded programs: work equals the replay's, span is at most work, exports are valid."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command import call, ompass
from ompass import _core
from recorded_run import OUTSIDE, warm_up_and_after
from toolchains import Record

# Parallelism of programs with a known graph, whose spins are equally long except for noise; None: above 1.5.
KNOWN = {"dependence_chain": 1.0, "serial_producer": 30 / 21, "balanced_tasks": None, "taskgroup": None}
KINDS = [
    "depend", "detach_late_task", "nested_in_task", "nested_parallel", "pthread_regions", "taskgroup",
    "taskloop_nogroup", "taskwait_depend", "taskyield", "tied", "undeferred", "untied_suspended",
    "cancel_taskgroup",
]  # fmt: skip


@pytest.mark.parametrize("preload", [False, True], ids=["without-wrappers", "with-wrappers"])
@pytest.mark.parametrize("program", KINDS)
def test_work_is_that_of_the_replay_and_the_span_is_not_longer(
    program: str, preload: bool, record: Record
) -> None:
    environment = {"OMP_CANCELLATION": "true"}
    recorded = record(f"kinds/{program}.c", mode="trace", preload=preload, threads=4, environment=environment)
    graph = _core.task_graph(str(recorded.run_dir))
    replay = _core.replay_trace(str(recorded.run_dir))
    assert graph.n_out_of_order == 0
    inside = [row for row in replay.regions if row.construct != OUTSIDE]
    if not preload and replay.create_estimated:
        expected = sum(row.work_ns + row.create_ns for row in inside)
    else:
        expected = sum(row.work_ns for row in inside)
    # The replay's work excludes the creation of undeferred tasks that were not timed individually.
    n_undeferred = sum(row.n_undeferred for row in replay.constructs)
    assert graph.work_ns == pytest.approx(expected, abs=1000) or n_undeferred
    assert graph.n_undeferred == n_undeferred
    region_span_ns = graph.span_ns - graph.span_outside_ns
    assert 0 < region_span_ns <= graph.work_ns
    assert graph.burdened_ns >= graph.span_ns
    assert sum(step.length_ns for step in graph.critical) == pytest.approx(graph.span_ns, abs=10_000)


@pytest.mark.parametrize("program", sorted(KNOWN))
def test_parallelism_of_known_graphs(program: str, record: Record) -> None:
    recorded = record(f"answers/{program}.c", opt_level="-O0", mode="trace", preload=True)
    graph = _core.task_graph(str(recorded.run_dir))
    warm_up, _ = warm_up_and_after(_core.replay_trace(str(recorded.run_dir)))
    span_ns = graph.span_ns - graph.span_outside_ns - sum(row.wall_ns for row in warm_up)
    parallelism = (graph.work_ns - sum(row.work_ns for row in warm_up)) / span_ns
    known = KNOWN[program]
    if known is None:
        assert parallelism > 1.5
    else:
        assert parallelism == pytest.approx(known, rel=0.1)


def test_every_form_of_the_graph_is_written(record: Record, tmp_path: Path) -> None:
    run_dir = record("answers/nested_waits.c", opt_level="-O0", mode="trace").run_dir

    def graph(*arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        return call({**os.environ, "COLUMNS": "120"}, tmp_path, "graph", run_dir, *arguments, status=status)

    report = json.loads(graph("--json").stdout)
    assert report["parallelism"] == pytest.approx(report["work_ns"] / report["span_ns"])
    page = graph().stdout
    assert f"{report['parallelism']:.2f}" in page
    assert "nested_waits.c" in page
    deepest = max(group["number"] for group in report["groups"])
    graph("--dot", "t.dot", "--graphml", "t.graphml", "--expand", deepest)
    dot = (tmp_path / "t.dot").read_text(encoding="utf-8")
    assert dot.startswith("digraph tasks {") and dot.endswith("}\n")
    root = ElementTree.parse(tmp_path / "t.graphml").getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    nodes = {node.attrib["id"] for node in root.iter(f"{space}node")}
    edges = [(edge.attrib["source"], edge.attrib["target"]) for edge in root.iter(f"{space}edge")]
    assert all(source in nodes and target in nodes for source, target in edges)
    n_tasks = report["groups"][deepest]["n_tasks"]
    assert sum(name.startswith("t") for name in nodes) == n_tasks
    assert len(nodes) == len(report["groups"]) - 1 + n_tasks
    assert "no group matches `nothing`" in graph("--expand", "nothing", status=5).stderr


def test_a_profile_is_refused_with_the_option_that_records_a_graph(record: Record) -> None:
    run_dir = record("answers/balanced.c", opt_level="-O0").run_dir
    assert "--mode trace" in ompass("graph", run_dir, status=5).stderr

# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass timeline` on recorded runs: a reader of each format reads the output back."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import ompass
from ompass import _core
from ompass.readers.timeline import fitting_windows
from ompass.units import parse_duration
from toolchains import Record, Recorded

# Tasks that wait for two children, one of which is undeferred. The children enter a critical section.
SOURCE = """\
static int sum;
static void leaf(void) {
#pragma omp critical
  sum++;
}
int main(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int i = 0; i < 50; i++) {
#pragma omp task
    {
#pragma omp task
      leaf();
#pragma omp task if(0)
      leaf();
#pragma omp taskwait
    }
  }
  return sum != 100;
}
"""
TASKS = 150


@pytest.fixture
def recorded(tmp_path: Path, record: Record) -> Recorded:
    path = tmp_path / "nested.c"
    path.write_text(SOURCE)
    return record(path, mode="trace", threads=2, preload=True)


def slices_of(run: Path) -> list[dict[str, int]]:
    slices = _core.slices_of_run(str(run), [])
    assert slices is not None
    columns = slices.as_dict()
    return [
        dict(zip(columns, row, strict=True))
        for row in zip(*(c.tolist() for c in columns.values()), strict=True)
    ]


def task_times(run: Path) -> Counter[tuple[int, int, int]]:
    """Counts the intervals of tasks by (thread, begin, end)."""
    return Counter((s["thread"], s["begin_ns"], s["end_ns"]) for s in slices_of(run) if s["kind"] == 2)


def test_slices_nest_and_count_every_task(recorded: Recorded) -> None:
    slices = slices_of(recorded.run_dir)
    assert sum(1 for s in slices if s["kind"] == 2 and not s["flags"] & 1) == TASKS
    assert sum(1 for s in slices if s["kind"] == 7) == sum(1 for s in slices if s["kind"] == 2 and s["task"])
    for thread in (0, 1):
        deeper: dict[int, list[dict[str, int]]] = {}
        for one in (s for s in slices if s["thread"] == thread):
            for part in deeper.pop(one["depth"] + 1, []):
                assert one["begin_ns"] <= part["begin_ns"] or part["kind"] == 5
                assert part["end_ns"] <= one["end_ns"]
            deeper.setdefault(one["depth"], []).append(one)
        assert set(deeper) <= {0}


def test_otf2_read_back_has_the_tasks_with_their_times(recorded: Recorded, tmp_path: Path) -> None:
    import otf2

    archive = tmp_path / "archive"
    ompass("timeline", str(recorded.run_dir), "--otf2", str(archive))
    open_regions: dict[str, list[tuple[str, int]]] = {}
    found: Counter[tuple[int, int, int]] = Counter()
    with otf2.reader.open(str(archive / "traces.otf2")) as trace:
        for location, event in trace.events:
            stack = open_regions.setdefault(location.name, [])
            if isinstance(event, otf2.events.Enter):
                stack.append((event.region.name, event.time))
            elif isinstance(event, otf2.events.Leave):
                name, begin = stack.pop()
                assert name == event.region.name
                if event.region.region_role == otf2.enums.RegionRole.TASK:
                    assert event.region.source_file.endswith("nested.c")
                    found[int(location.name.removeprefix("thread ")), begin, event.time] += 1
    assert not any(open_regions.values())
    assert found == task_times(recorded.run_dir)
    assert sum(found.values()) >= TASKS
    printer = shutil.which("otf2-print")
    if printer:
        output = subprocess.run(
            [printer, str(archive / "traces.otf2")], capture_output=True, text=True, check=True
        ).stdout
        assert output.count("ENTER") == output.count("LEAVE")


def test_perfetto_decodes_with_its_own_schema(recorded: Recorded, tmp_path: Path) -> None:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    path = tmp_path / "t.pftrace"
    ompass("timeline", str(recorded.run_dir), "--perfetto", str(path))
    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    names: dict[int, str] = {}
    tracks: dict[int, str] = {}
    stacks: dict[int, list[tuple[str, int]]] = {}
    flows: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    found: Counter[tuple[int, int, int]] = Counter()
    counters: dict[int, list[int]] = {}
    for packet in trace.packet:
        names |= {entry.iid: entry.name for entry in packet.interned_data.event_names}
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            tracks[descriptor.uuid] = descriptor.name or descriptor.thread.thread_name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        flows.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
        stack = stacks.setdefault(event.track_uuid, [])
        if event.type == event.TYPE_SLICE_BEGIN:
            stack.append((event.categories[0], packet.timestamp))
        elif event.type == event.TYPE_SLICE_END:
            category, begin = stack.pop()
            if category == "task":
                found[int(tracks[event.track_uuid].split()[1]), begin, packet.timestamp] += 1
        elif event.type == event.TYPE_COUNTER:
            counters.setdefault(event.track_uuid, []).append(event.counter_value)
    assert found == task_times(recorded.run_dir)
    assert flows == ended
    assert len(flows) == 100  # deferred tasks
    assert all(values[-1] == 0 and min(values) >= 0 for values in counters.values())
    assert any(name.startswith("task nested.c:") for name in names.values())


def test_figures_show_the_tasks(recorded: Recorded, tmp_path: Path) -> None:
    by_construct, by_home = tmp_path / "t.svg", tmp_path / "home.svg"
    run = str(recorded.run_dir)
    ompass("timeline", run, "--figure", str(by_construct))
    assert "nested.c" in by_construct.read_text()
    ompass("timeline", run, "--svg", str(by_home), "--colour", "home", "--thread", "0")
    assert "tasks of thread 0" in by_home.read_text()
    assert ".svg" in ompass("timeline", run, "--figure", str(tmp_path / "t.doc"), status=2).stderr
    assert "cannot be written" in ompass("timeline", run, "--figure", "/absent/t.svg", status=7).stderr


def test_windows_and_threads_restrict_the_export(recorded: Recorded, tmp_path: Path) -> None:
    run = str(recorded.run_dir)
    tasks = [s for s in slices_of(recorded.run_dir) if s["kind"] == 2]
    middle = sorted(s["begin_ns"] for s in tasks)[len(tasks) // 2]
    columns = _core.slices_of_run(run, [0], 0, middle)
    assert columns is not None
    assert set(columns.thread.tolist()) == {0}
    assert max(columns.end_ns.tolist()) <= middle
    inside = sum(1 for s in tasks if s["thread"] == 0 and s["begin_ns"] < middle)
    assert columns.kind.tolist().count(2) == inside
    path = str(tmp_path / "t.pftrace")
    assert "--limit" in ompass("timeline", run, "--perfetto", path, "--limit", "5", status=2).stderr
    for wrong in (["--thread", "9"], ["--from", "2s", "--to", "1s"], ["--from", "x"]):
        assert len(ompass("timeline", run, "--perfetto", path, *wrong, status=2).stderr.splitlines()) == 1
    assert "--perfetto" in ompass("timeline", run, status=2).stderr
    ompass("timeline", run, "--perfetto", path, "--from", "1000s", status=5)


def test_a_trace_that_is_too_large_is_refused_with_windows_that_fit(
    recorded: Recorded, tmp_path: Path
) -> None:
    run, path = recorded.run_dir, tmp_path / "t.pftrace"
    refusal = ompass("timeline", run, "--perfetto", path, "--limit", "200", status=2).stderr
    windows = re.findall(r"the (\w+) window that fits is --window (\S+):(\S+);", refusal)
    assert [name for name, _, _ in windows] == ["longest", "densest"]
    lengths = [parse_duration(end) - parse_duration(start) for _, start, end in windows]
    assert lengths[0] >= lengths[1]
    for _, start, end in windows:
        ompass("timeline", run, "--perfetto", path, "--limit", "200", "--window", f"{start}:{end}")


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(1, 200))
def test_windows_that_fit_hold_no_more_than_the_limit(counts: list[int], limit: int) -> None:
    windows = fitting_windows(counts, limit)
    assert bool(windows) == (min(counts) <= limit)
    lengths = [
        b - a for a in range(len(counts)) for b in range(a + 1, len(counts) + 1) if sum(counts[a:b]) <= limit
    ]
    for first, end in windows:
        assert first < end and sum(counts[first:end]) <= limit
    if windows:
        assert windows[0][1] - windows[0][0] == max(lengths)


def test_events_over_time_count_all_events(recorded: Recorded) -> None:
    run = str(recorded.run_dir)
    kinds = _core.event_kinds()
    kind: Any = _core.read_events(run).kind
    n_events = len(kind)
    for n_parts in (1, 7, 1000):
        counts: Any = _core.events_over_time(run, [], 1 << 40, n_parts)
        assert len(counts) == n_parts
        # The counts include records of codes and of task places, which `dump` does not list as events.
        assert n_events <= int(counts.sum()) <= 2 * n_events + len(kinds)
    of_thread: list[Any] = [_core.events_over_time(run, [n], 1 << 40, 1) for n in (0, 1)]
    assert sum(one.sum() for one in of_thread) == counts.sum()


def test_control_characters_in_file_names_do_not_break_exports(tmp_path: Path, record: Record) -> None:
    """A file name with control characters must not stop an export, and commands must not print them."""
    path = tmp_path / "a\x1b[31m[red]\u202e.c"
    path.write_text(SOURCE)
    run = record(path, mode="trace", threads=2).run_dir
    for option, name in (("--figure", "g.svg"), ("--perfetto", "t.pftrace")):
        ompass("timeline", run, option, tmp_path / name)
    ompass("timeline", run, "--otf2", tmp_path / "otf2")
    ElementTree.parse(tmp_path / "g.svg")
    assert "a␛[31m[red]" in (tmp_path / "g.svg").read_text()
    printed = ompass("query", run, "SELECT name, file FROM constructs", "--csv").stdout
    assert "[red]" in printed and not {"\x1b", "\u202e"} & set(printed)
    dumped = ompass("dump", run).stdout
    assert "a␛[31m[red]" in dumped and "\x1b" not in dumped

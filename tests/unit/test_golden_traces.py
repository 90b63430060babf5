# SPDX-License-Identifier: Apache-2.0
"""Each reader reads each golden trace: runs of all runtimes, compilers and loading methods, recorded once.

tests/golden holds the runs and, in known.json, the programs' own counts; tests/golden/record.py records them.
No test here depends on times.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from ompass import _core
from ompass.model import OPENMP_STATES
from ompass.page.timeline import Timeline
from ompass.readers.run import call_step_text, event_kinds, open_run, read_events
from ompass.readers.schedule import open_pyramid, read_schedule
from ompass.reports.content import collect
from readers_agree import (
    CREATED_MOMENT,
    TABLES,
    TASK_SLICE,
    creations_outside_their_intervals,
    rows_of,
    second_reading_differs,
    slices_of,
    span_differs,
    task_rows_of,
    task_times_differ,
    whole_graph,
)
from recorded_run import (
    OUTSIDE,
    STATES,
    are_apart,
    check_accounts_agree,
    check_constructs,
    check_facts,
    check_identity,
    counted,
)
from second_reading import Reading

FOLDER = Path(__file__).resolve().parent.parent / "golden"
KNOWN: dict[str, dict[str, Any]] = json.loads((FOLDER / "known.json").read_text(encoding="utf-8"))
NAMES = sorted(KNOWN)
TRACES = [name for name in NAMES if KNOWN[name]["mode"] == "trace"]
LATER_FIGURES = {"n_detached"}  # figures that the tool did not count when it recorded these traces
KILLED = {"killed", "killed-profile", "short-records-killed"}
PAUSED = {
    "paused",
    "paused-unbracketed",
    "ended-by-control",
}  # these traces lack the events during pauses
# No record names the tasks that `taskwait depend` waits for.
NO_SECOND_READING = PAUSED | KILLED | {"dependent-waits"}
WHOLE = [name for name in TRACES if name not in NO_SECOND_READING]
NEUTRAL = "/tmp/golden/"


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Unpacks the golden runs and returns their directories by name."""
    folder = tmp_path_factory.mktemp("golden")
    for name in NAMES:
        with tarfile.open(FOLDER / f"{name}.tar.xz") as archive:
            for entry in archive:
                contents = archive.extractfile(entry)
                assert contents is not None
                path = folder / entry.name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(contents.read())
    return {name: folder / f"{name}.ompass" for name in NAMES}


def states_of(profile: _core.Run) -> Counter[int]:
    """Returns the time of all threads in each state, by the state's number, inside and outside of regions."""
    spent: Counter[int] = Counter()
    for row in profile.regions:
        for number, state in enumerate(STATES):
            spent[number] += getattr(row, state)
    return spent


def test_each_archive_is_known_and_small() -> None:
    archives = list(FOLDER.glob("*.tar.xz"))
    assert sorted(path.name.removesuffix(".tar.xz") for path in archives) == NAMES
    assert max(path.stat().st_size for path in archives) < 20_000


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_run_names_no_machine(name: str, golden: dict[str, Path]) -> None:
    meta = json.loads((golden[name] / "meta.json").read_text(encoding="utf-8"))
    assert (meta["host"], meta["rank"]) == ("golden", None)
    assert (meta["working_directory"] + "/", meta["program"][: len(NEUTRAL)]) == (NEUTRAL, NEUTRAL)
    for module in _core.read_profile(str(golden[name])).modules:
        assert module.path.startswith((NEUTRAL, "/lib/", "/usr/lib/")), module.path


@pytest.mark.parametrize("name", NAMES)
def test_a_profile_has_the_counts_that_its_program_knows(name: str, golden: dict[str, Path]) -> None:
    assert _core.validate(str(golden[name])) == []
    profile = _core.read_profile(str(golden[name]))
    assert profile.mode == KNOWN[name]["mode"]
    assert profile.complete == (name not in KILLED), profile.incomplete_reasons
    check_identity(profile)
    check_constructs(profile)
    check_facts(KNOWN[name]["facts"], profile, ends_in_flight=name in KILLED)


@pytest.mark.parametrize("name", NAMES)
def test_earlier_versions_do_not_know_page_faults(name: str, golden: dict[str, Path]) -> None:
    profile = _core.read_profile(str(golden[name]))
    known = {row.n_minor_faults for row in profile.regions} | {row.n_minor_faults for row in profile.threads}
    assert known == {-1} or profile.format_version >= 4


def test_page_faults_belong_to_regions(golden: dict[str, Path]) -> None:
    profile = _core.read_profile(str(golden["page-faults"]))
    touching, touching_again = sorted({row.construct for row in profile.regions} - {OUTSIDE})
    faults: Counter[int] = Counter()
    for row in profile.regions:
        faults[row.construct] += row.n_minor_faults
    assert faults[touching] == pytest.approx(2000, rel=0.02)
    assert faults[OUTSIDE] == pytest.approx(2000, rel=0.02)
    assert faults[touching_again] < 20


@pytest.mark.parametrize("name", TRACES)
def test_replayed_events_agree_with_the_profile(name: str, golden: dict[str, Path]) -> None:
    profile = _core.read_profile(str(golden[name]))
    replay = _core.replay_trace(str(golden[name]))
    check_facts(KNOWN[name]["facts"], replay, ends_in_flight=name in KILLED)
    if name in PAUSED:  # regions that began or ended in a pause are only partly known
        assert {**counted(replay), "regions": 0} == {**counted(profile), "regions": 0}
    else:
        check_accounts_agree(profile, replay, except_for=LATER_FIGURES)


@pytest.mark.parametrize("name", TRACES)
def test_records_are_complete(name: str, golden: dict[str, Path]) -> None:
    events = _core.read_events(str(golden[name]))
    kinds = [kind for kind, _ in _core.event_kinds()]
    assert Counter(kinds[kind] for kind in events.kind.tolist()) == KNOWN[name]["records"]
    n_of_threads = {row.thread: row.n_events for row in _core.replay_trace(str(golden[name])).threads}
    last_ns: dict[int, int] = {}
    for thread, time_ns in zip(events.thread.tolist(), events.time_ns.tolist(), strict=True):
        assert time_ns >= last_ns.get(thread, 0), "time goes back"
        last_ns[thread] = time_ns
    assert last_ns.keys() == {thread for thread, n in n_of_threads.items() if n}
    assert max(last_ns.values()) <= _core.read_profile(str(golden[name])).wall_ns
    half = len(events) // 2
    assert len(_core.read_events(str(golden[name]), limit=half)) == half


@pytest.mark.parametrize("name", TRACES)
def test_the_graph_has_the_work_of_the_replay(name: str, golden: dict[str, Path]) -> None:
    graph = whole_graph(golden[name])
    replay = _core.replay_trace(str(golden[name]))
    states = ("work_ns", "create_ns") if replay.create_estimated else ("work_ns",)
    inside = [row for row in replay.regions if row.construct != OUTSIDE]
    work_ns = sum(getattr(row, state) for row in inside for state in (*states, "mpi_ns"))
    n_undeferred = sum(row.n_undeferred for row in replay.constructs)
    assert graph.n_undeferred == n_undeferred
    assert graph.n_deferred == KNOWN[name]["records"].get("create", 0)
    if name not in PAUSED:
        assert graph.n_out_of_order == 0
        # The replay estimates the creation of undeferred tasks if it was not measured.
        assert n_undeferred or not are_apart(graph.work_ns, work_ns)
    assert graph.span_ns <= graph.work_ns + graph.outside_ns + graph.n_steps
    assert graph.burdened_ns >= graph.span_ns > 0
    assert abs(sum(step.length_ns for step in graph.critical) - graph.span_ns) <= graph.n_steps
    assert abs(sum(group.critical_ns for group in graph.groups) - graph.span_ns) <= graph.n_steps


@pytest.mark.parametrize("name", TRACES)
def test_slices_are_nested_and_every_started_task_has_one(name: str, golden: dict[str, Path]) -> None:
    slices = slices_of(golden[name])
    records = KNOWN[name]["records"]
    of_kind = Counter(slices["kind"])
    assert of_kind[CREATED_MOMENT] == records.get("create", 0)
    begun = ("start", "start_ready", "inline_begin", "inline_begin_timed")
    assert of_kind[TASK_SLICE] >= sum(records.get(kind, 0) for kind in begun)
    open_ns: dict[int, list[tuple[int, int]]] = defaultdict(list)
    columns = (slices[field] for field in ("thread", "begin_ns", "end_ns", "depth"))
    for thread, begin_ns, end_ns, depth in reversed(list(zip(*columns, strict=True))):
        assert 0 <= begin_ns <= end_ns
        around = open_ns[thread]
        del around[depth:]  # an outer slice comes before the slices inside it
        if around and len(around) == depth:
            assert around[-1][0] <= begin_ns and end_ns <= around[-1][1]
        around += [(begin_ns, end_ns)] * (depth + 1 - len(around))


@pytest.mark.parametrize("name", TRACES)
def test_the_schedule_adds_up(name: str, golden: dict[str, Path]) -> None:
    schedule = read_schedule(golden[name], n_bins=7)
    records = KNOWN[name]["records"]
    n_started = records.get("start", 0) + records.get("start_ready", 0)
    assert sum(map(sum, schedule.ran)) == schedule.n_tasks == n_started
    spent = states_of(_core.replay_trace(str(golden[name])))
    assert not are_apart(int(schedule.bins.sum()), sum(spent.values()))


@pytest.mark.parametrize(("name", "others"), [("mpi-calls", ["mpi"]), ("waits", [])])
def test_the_timeline_of_a_page_numbers_the_states_of_its_runs(
    name: str, others: list[str], golden: dict[str, Path]
) -> None:
    content, pyramid = collect(open_run(golden[name])), open_pyramid(golden[name], keep=False)
    timeline = Timeline([(content, pyramid)])
    labels = [state["label"] for state in timeline.describe()["states"]]
    assert labels == [*OPENMP_STATES, *others]
    threads = list(range(len(pyramid.cpus)))
    tile = timeline.tile(0, "state", 40, 0, 1, [threads])
    intervals = timeline.intervals(0, threads, 0, pyramid.end_ns)
    assert intervals is not None
    spent = [0] * len(labels)
    columns = ("state", "begin_ns", "end_ns", "absent")
    for state, begin_ns, end_ns, absent in zip(*(intervals[name] for name in columns), strict=True):
        spent[state] += 0 if absent else end_ns - begin_ns
    assert tile[0, 0].tolist() == spent
    assert all(spent[labels.index(state)] > 0 for state in others)


@pytest.mark.parametrize("name", TRACES)
def test_every_table_has_the_rows_of_its_records(name: str, golden: dict[str, Path]) -> None:
    rows = {table: rows_of(golden[name], table) for table in TABLES}
    records = Counter(KNOWN[name]["records"])
    for table, of_table in rows.items():
        assert rows_of(golden[name], table, batch_rows=7) == of_table, table
    replay = _core.replay_trace(str(golden[name]))
    spent = states_of(replay)
    by_state: Counter[int] = Counter()
    for _, state, _, _, start_ns, end_ns, *_ in rows["stretches"]:
        assert start_ns <= end_ns
        by_state[state] += end_ns - start_ns
    # The table counts estimated creation as work, also for undeferred tasks.
    spent[0], by_state[0] = spent[0] + spent.pop(1), by_state[0] + by_state.pop(1, 0)
    for state, spent_ns in spent.items():
        slack_ns = len(rows["stretches"])
        assert abs(by_state[state] - spent_ns) <= slack_ns or not are_apart(by_state[state], spent_ns)
    assert len(rows["tasks"]) == counted(replay)["tasks"]
    n_waits = records["wait_begin"] + records["mutex_acquired"]
    assert len(rows["waits"]) == n_waits
    assert len(rows["kernels"]) == records["kernel_end"]
    assert len(rows["accesses"]) == records["read"] + records["write"]


@pytest.mark.parametrize("name", TRACES)
def test_waits_are_at_least_as_long_as_their_parts(name: str, golden: dict[str, Path]) -> None:
    for _, _, _, start_ns, end_ns, idle_ns, schedule_ns, sync_ns, _ in rows_of(golden[name], "waits"):
        assert end_ns - start_ns >= idle_ns + schedule_ns + sync_ns - 2  # each is rounded separately


@pytest.mark.parametrize("name", TRACES)
def test_intervals_outside_of_waits_have_no_wait_end(name: str, golden: dict[str, Path]) -> None:
    pyramid = _core.Pyramid(str(golden[name]), False)
    window = pyramid.read_intervals(range(len(pyramid.cpus)), 0, pyramid.end_ns, 1_000_000)
    assert window is not None
    in_no_wait = window.wait_kind == 0
    assert not window.wait_begin_ns[in_no_wait].any()
    assert not window.wait_end_ns[in_no_wait].any()
    assert not window.waited_for[in_no_wait].any()


@pytest.mark.parametrize("name", TRACES)
def test_an_interval_has_the_times_of_its_task_or_zeros(name: str, golden: dict[str, Path]) -> None:
    pyramid = _core.Pyramid(str(golden[name]), False)
    window = pyramid.read_intervals(range(len(pyramid.cpus)), 0, pyramid.end_ns, 1_000_000)
    assert window is not None
    known = {row.task: (row.ready_ns, row.start_ns) for row in task_rows_of(golden[name]).values()}
    found = zip(window.task.tolist(), window.ready_ns.tolist(), window.start_ns.tolist(), strict=True)
    wrong = [row for row in found if row[0] in known and row[1:] not in (known[row[0]], (0, 0))]
    assert wrong == []


@pytest.mark.parametrize("name", TRACES)
def test_intervals_of_a_thread_do_not_overlap(name: str, golden: dict[str, Path]) -> None:
    last_ns: dict[int, int] = {}
    overlaps = []
    for thread, state, _, _, start_ns, end_ns, *_ in rows_of(golden[name], "stretches"):
        if start_ns < last_ns.get(thread, 0):
            overlaps.append((thread, state, start_ns, last_ns[thread]))
        last_ns[thread] = end_ns
    assert overlaps == []


@pytest.mark.parametrize("name", TRACES)
def test_reuse_counts_every_byte_that_was_declared(name: str, golden: dict[str, Path]) -> None:
    bytes_of = TABLES["accesses"].index("bytes")
    declared = sum(row[bytes_of] for row in rows_of(golden[name], "accesses"))
    reuse = _core.reuse_of_run(str(golden[name]), [], [], [(1 << 20, 1 << 25)])
    (group,) = reuse.groups
    assert sum(kernel.bytes for kernel in group.kernels) == declared
    for kernel in group.kernels:
        classes = ("cold_bytes", "coherence_bytes", "close_bytes", "near_bytes", "far_bytes")
        assert sum(getattr(kernel, kind) for kind in classes) == kernel.bytes
    assert (declared > 0) == name.startswith(("kernels", "fortran"))


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(TRACES)))
def test_a_profile_is_refused_by_readers_of_traces_in_one_line(name: str, golden: dict[str, Path]) -> None:
    directory = str(golden[name])
    for read in (
        _core.replay_trace,
        _core.task_graph,
        lambda run: _core.Pyramid(run, keep=False),
        lambda run: _core.read_rows(run, "tasks", ["task"], 10, lambda batch: None),
    ):
        with pytest.raises(_core.LogError, match="has no trace") as refused:
            read(directory)
        assert "\n" not in str(refused.value)


def test_the_command_reports_all_golden_runs(golden: dict[str, Path]) -> None:
    report = json.loads(ompass("report", "--json", *golden.values()).stdout)
    assert len(report["runs"]) == len(NAMES)
    for name, run in zip(golden, report["runs"], strict=True):
        n_tasks = sum(row["tasks"] for row in run["constructs"])
        facts = KNOWN[name]["facts"]
        assert facts.get("tasks_min", n_tasks) <= n_tasks <= facts.get("tasks_max", n_tasks)
        assert n_tasks == facts.get("tasks", n_tasks)


MESSAGES = (
    "receives from any rank, any tag",
    "8 bytes",
    "sends synchronously to rank 0, tag 7",
    "8 bytes",
    "no message",
    "collective of 1 ranks, root rank 0",
    "32 bytes",
    "sends to rank 0, tag 10",
    "16 bytes",
    "receives from rank 0, tag 10",
    "8 bytes",
    "collective of 1 ranks",
    "12 bytes",
)
"""The messages of tests/golden/messages.c after MPI_Comm_dup, and their sizes."""


def test_messages_of_mpi_calls_are_read(golden: dict[str, Path]) -> None:
    events = read_events(golden["mpi-messages"])
    call = [name for name, _ in event_kinds()].index("call")
    texts = [call_step_text(value) for value in events.value[events.kind == call].tolist()]
    steps = [re.sub("^(enters|leaves)(: |$)", "", text).split(", communicator")[0] for text in texts]
    assert tuple(step for step in steps if re.search("rank|message|bytes", step))[1:] == MESSAGES
    new = [step.split()[-1] for step in steps if step.startswith("new request")]
    assert [step.split()[-1] for step in steps if step.startswith("completes request")] == new
    assert len(set(new)) == 3


# ---------------------------------------------------------------- agreement of readers


@pytest.mark.parametrize("name", WHOLE)
def test_a_task_has_the_same_times_in_sql_graph_and_timeline(name: str, golden: dict[str, Path]) -> None:
    reading = Reading(golden[name])
    assert task_times_differ(golden[name], {task.id for task in reading.deferred() if task.detached}) == []


@pytest.mark.parametrize("name", WHOLE)
def test_readers_agree_with_the_second_reading(name: str, golden: dict[str, Path]) -> None:
    reading = Reading(golden[name], _core.read_profile(str(golden[name])).wall_ns)
    assert second_reading_differs(golden[name], reading) == []
    assert span_differs(golden[name], reading) == []


@pytest.mark.parametrize("name", TRACES)
def test_a_creation_lies_in_the_interval_that_dump_gives(name: str, golden: dict[str, Path]) -> None:
    assert creations_outside_their_intervals(golden[name]) == []

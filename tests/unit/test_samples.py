# SPDX-License-Identifier: Apache-2.0
"""Samples: the records in files, the unwinding of stacks, the owners, and the exports to other viewers.

Repeats the byte layout of samples.h, so that a change of the layout fails a test.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_runs import made_run, made_samples, thread
from made_traces import Schedule, Spawn, Wait, Work, write_trace
from ompass import _core
from ompass.errors import DamagedRunError
from ompass.model import STATES
from ompass.readers.run import STACK_WORD, Sample, find_problems, open_run
from ompass.reports.model import Table, plain
from ompass.sampled import IO, MEMORY, MPI, MUTEX, OWN, RUNTIME, TOOL
from ompass.samples.content import SampleContent, with_callers
from ompass.samples.exports import folded_stacks, parse_pprof, pprof_profile, speedscope_profile
from ompass.samples.metrics import (
    Line,
    LocatedSample,
    Owner,
    hot_calls,
    hot_libraries,
    hot_lines,
    samples_by_line,
    shown_lines,
)
from ompass.samples.report import sample_fields, sample_parts
from ompass.symbols.libraries import group_of, group_of_calls, may_create_tasks
from ompass.symbols.operands import NO_VALUE
from ompass.symbols.unwinder import FrameTable, Unwinder
from sampled_run import sampled_threads

OUTSIDE_STATES = 255
N_REGISTERS, STACK_BYTES = 8, 1024


def code(module: int, address: int) -> int:
    return (module + 1) << 48 | address


def on_stack(distance: int) -> int:
    return STACK_WORD << 48 | distance


def number_of(state: str) -> int:
    return OUTSIDE_STATES if state == "outside" else STATES.index(state)


def record(
    chain: list[int],
    registers: list[int],
    stack: dict[int, int],
    *,
    state: str = "work",
    flags: int = 0,
    time: int = 1500,
    region: int = 1,
    construct: int = 2,
    kernel: int = 0,
    weight: int = 1,
    load: tuple[int, int, int] | None = None,
    values: Sequence[int] = (),
) -> bytes:
    bits = [0] * (STACK_BYTES // 512)
    for place in stack:
        bits[place // 512] |= 1 << (place // 8 % 64)
    words = [*(load or ()), *chain, *registers, *values, *bits, *(stack[place] for place in sorted(stack))]
    head = struct.pack(
        "<HHBBHQ4I", 4 + len(words), len(chain), number_of(state), flags, 0, time,
        region, construct, kernel, weight,
    )  # fmt: skip
    return head + struct.pack(f"<{len(words)}Q", *words)


def sample_file(
    records: bytes,
    *,
    index: int = 0,
    event: int = 1,
    n_lost: int = 0,
    version: int = 4,
    period: int = 0,
    n_values: int = 0,
) -> bytes:
    header = struct.pack(
        "<8s8I4Q",
        *(b"OMPASSSA", version, 4096, index, 100, event, 100, 1, STACK_BYTES, n_lost, 0, period, n_values),
    )
    n_bytes = -(-(64 + len(records) + 8) // 4096) * 4096
    extent = struct.pack("<2I7Q", 0x58504D4F, 5, n_bytes, 0, *[0] * 5) + records
    return header.ljust(4096, b"\0") + extent.ljust(n_bytes, b"\0")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "t.ompass", Schedule((Spawn((Work(1000),)), Wait())))


REGISTERS = [0, on_stack(16), on_stack(0), code(0, 0x1000), 0, 0, 0, 0]


def test_records_are_read_as_they_were_written(run_dir: Path) -> None:
    first = record([code(0, 0x1000)], REGISTERS, {8: code(0, 0x2000), 1016: on_stack(24)}, kernel=3, weight=4)
    second = record([code(1, 0x30)], REGISTERS, {}, state="idle", construct=0, region=0, flags=1, time=1700)
    (run_dir / "thread-00001.samples").write_bytes(sample_file(first + second, index=1, n_lost=7))
    (thread,) = sampled_threads(run_dir)
    assert (thread.thread, thread.event, thread.frequency_hz, thread.n_lost) == (1, "task clock", 100, 7)
    assert (thread.machine, thread.stack_bytes) == ("x86_64", STACK_BYTES)
    assert thread.samples == (
        Sample(
            time_ns=500, state="work", region=1, construct=2, kernel=3, is_shared=False, weight=4,
            address=0, cycles=0, source="unknown", was_modified=False,
            stack_id=1, chain=(code(0, 0x1000),), registers=tuple(REGISTERS), values=b"",
            stack={8: code(0, 0x2000), 1016: on_stack(24)},
        ),
        Sample(
            time_ns=700, state="idle", region=-1, construct=-1, kernel=-1, is_shared=True, weight=1,
            address=0, cycles=0, source="unknown", was_modified=False,
            stack_id=2, chain=(code(1, 0x30),), registers=tuple(REGISTERS), values=b"", stack={},
        ),
    )  # fmt: skip


def test_samples_with_equal_stacks_have_the_same_stack_id(run_dir: Path) -> None:
    stacks = [{8: code(0, 0x2000)}, {8: code(0, 0x2001)}, {8: code(0, 0x2000)}]
    written = b"".join(
        record([code(0, 0x1000)], REGISTERS, stack, time=500 + n) for n, stack in enumerate(stacks)
    )
    other_chain = record([code(0, 0x1001)], REGISTERS, stacks[0], time=600)
    (run_dir / "thread-00001.samples").write_bytes(sample_file(written + other_chain, index=1))
    (thread,) = sampled_threads(run_dir)
    assert [sample.stack_id for sample in thread.samples] == [1, 2, 1, 3]
    assert [sample.stack for sample in thread.samples] == [*stacks, stacks[0]]


def test_values_of_registers_are_read(run_dir: Path) -> None:
    assert NO_VALUE == _core.NO_VALUE
    values = (*range(0x1000, 0x1000 + 15), NO_VALUE)
    records = record([code(0, 0x1000)], REGISTERS, {8: code(0, 0x2000)}, values=values)
    (run_dir / "thread-00000.samples").write_bytes(sample_file(records, n_values=16))
    (thread,) = sampled_threads(run_dir)
    (sample,) = thread.samples
    assert (sample.values, sample.stack) == (struct.pack("<16Q", *values), {8: code(0, 0x2000)})


def test_samples_before_version_4_have_no_values(run_dir: Path) -> None:
    records = record([code(0, 0x1000)], REGISTERS, {})
    (run_dir / "thread-00000.samples").write_bytes(sample_file(records, version=3, n_values=16))
    (thread,) = sampled_threads(run_dir)
    assert thread.samples[0].values == b""


def test_samples_outside_of_states_had_the_number_of_mpi_before_version_3(run_dir: Path) -> None:
    records = record([code(0, 0x1000)], REGISTERS, {}, state="mpi")
    for index, version in enumerate((2, 3)):
        path = run_dir / f"thread-{index:05}.samples"
        path.write_bytes(sample_file(records, index=index, version=version))
    older, newer = sampled_threads(run_dir)
    assert [sample.state for sample in (*older.samples, *newer.samples)] == ["outside", "mpi"]


def test_files_of_version_1_are_read(run_dir: Path) -> None:
    good = record([code(0, 0x1000)], REGISTERS, {})
    (run_dir / "thread-00000.samples").write_bytes(sample_file(good, version=1))
    (thread,) = sampled_threads(run_dir)
    assert (thread.period, [sample.chain for sample in thread.samples]) == (0, [(code(0, 0x1000),)])


def test_a_run_without_samples_has_none(run_dir: Path) -> None:
    assert sampled_threads(run_dir) == ()


def test_a_truncated_file_is_read_up_to_its_end(run_dir: Path) -> None:
    whole = sample_file(record([code(0, 1)], REGISTERS, {}))
    path = run_dir / "thread-00000.samples"
    for n_bytes, n_samples in ((0, 0), (100, 0), (4096, 0), (4096 + 64, 0), (len(whole) - 512, 1)):
        path.write_bytes(whole[:n_bytes])
        assert sum(len(thread.samples) for thread in sampled_threads(run_dir)) == n_samples


def test_an_extent_whose_end_overflows_is_read_up_to_the_end_of_the_file(run_dir: Path) -> None:
    """The sum of its offset and its length exceeds 64 bits."""
    content = bytearray(sample_file(record([code(0, 1)], REGISTERS, {})) * 2)
    second = 4096 + int.from_bytes(content[4104:4112], "little")
    content[second:] = content[4096:second]
    content[second + 8 : second + 16] = (2**64 + 4096 - second).to_bytes(8, "little")
    (run_dir / "thread-00000.samples").write_bytes(content)
    (thread,) = sampled_threads(run_dir)
    assert len(thread.samples) == 2


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda good: sample_file(good, version=5), "a samples format version that"),
        (lambda good: b"X" + sample_file(good)[1:], "not an Ompass samples file"),
        (lambda good: sample_file(good, index=1), "inconsistent header"),
        (lambda good: sample_file(good, n_values=15), "impossible number of values"),
        (lambda good: sample_file(good, n_values=2**60), "impossible number of values"),
        (lambda good: sample_file(good, n_values=16), "incomplete sample"),
        (lambda good: sample_file(b"\x05" + good[1:]), "incomplete sample"),
        (lambda good: sample_file(b"\x02" + good[1:]), "impossible length"),
        (lambda good: sample_file(b"\xff\xff" + good[2:]), "impossible length"),
        (lambda good: sample_file(good[:4] + b"\x09" + good[5:]), "incomplete sample"),
        (lambda good: sample_file(good).replace(b"OMPX", b"OMPY"), "no extent"),
    ],
)
def test_damage_is_reported_with_its_offset(run_dir: Path, damage: object, says: str) -> None:
    assert callable(damage)
    good = record([code(0, 1)], REGISTERS, {0: code(0, 5)})
    (run_dir / "thread-00000.samples").write_bytes(damage(good))
    expected = rf"thread-00000\.samples.*{says}.*at byte \d+"
    with pytest.raises(DamagedRunError, match=expected):
        sampled_threads(run_dir)
    assert any(re.search(expected, problem) for problem in find_problems(run_dir))


TABLE = """\
STACK CFI INIT 1000 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^
STACK CFI 1004 .cfa: $rbp 16 +
STACK CFI 10f0 .cfa: $rsp 8 +
STACK CFI INIT 2000 100 .cfa: $rsp 32 + .ra: .cfa -8 + ^
STACK CFI INIT 3000 100 .cfa: $rbp 16 + .ra: .cfa -8 + ^
"""


@pytest.fixture
def unwinder() -> Unwinder:
    tables = {0: FrameTable(TABLE)}
    return Unwinder("x86_64", lambda module, at: tables.get(module, FrameTable("")).rules_at(at))


def registers_at(address: int, rbp: int = 0) -> list[int]:
    return [0, rbp, on_stack(0), code(0, address), 0, 0, 0, 0]


def test_callers_are_found_by_the_unwind_tables(unwinder: Unwinder) -> None:
    # 0x1000 has pushed nothing yet; 0x2010 has a frame of 24 bytes; 0x3010 uses its frame pointer
    stack = {0: code(0, 0x2010), 32: code(0, 0x3010), 48: code(1, 0x77)}
    found = unwinder.frames([code(0, 0x1000)], registers_at(0x1000, rbp=on_stack(40)), stack)
    assert found == ((0, 0x1000), (0, 0x2010), (0, 0x3010), (1, 0x77))


def test_a_saved_frame_pointer_is_followed(unwinder: Unwinder) -> None:
    # 0x1010 is after its prologue: its frame pointer leads to the caller's
    stack = {8: on_stack(56), 16: code(0, 0x3010), 64: code(1, 0x77)}
    found = unwinder.frames([code(0, 0x1010)], registers_at(0x1010, rbp=on_stack(8)), stack)
    assert found == ((0, 0x1010), (0, 0x3010), (1, 0x77))


def test_a_call_at_the_end_of_a_function_belongs_to_it(unwinder: Unwinder) -> None:
    # the call returns to 0x2100, where another function begins
    stack = {0: code(0, 0x2100), 32: code(1, 0x77)}
    found = unwinder.frames([code(0, 0x1000)], registers_at(0x1000), stack)
    assert found == ((0, 0x1000), (0, 0x2100), (1, 0x77))


def test_frame_pointers_complete_a_truncated_stack(unwinder: Unwinder) -> None:
    chain = [code(0, 0x1000), code(0, 0x2010), code(1, 0x9), code(1, 0xA)]
    stack = {0: code(0, 0x2010)}
    assert unwinder.frames(chain, registers_at(0x1000), stack) == ((0, 0x1000), (0, 0x2010), (1, 9), (1, 10))
    unknown = [code(1, 0x5), code(1, 0x6)]
    assert unwinder.frames(unknown, registers_at(0x5000), {}) == ((1, 5), (1, 6))


def test_tables_of_this_machine_are_read() -> None:
    lines = Path("/proc/self/maps").read_text().splitlines()
    libc = next(line.split()[-1] for line in lines if "/libc.so.6" in line)
    assert FrameTable.of_file(Path(libc))._begins


@pytest.mark.parametrize(
    ("module", "function", "group"),
    [
        ("/usr/lib/libomp.so.5", "__kmp_fork_call", RUNTIME),
        ("/lib/x86_64-linux-gnu/libc.so.6", "malloc", MEMORY),
        ("/lib/x86_64-linux-gnu/libc.so.6", "_int_free_merge_chunk", MEMORY),
        ("/lib/libstdc++.so.6", "operator new(unsigned long)", MEMORY),
        ("/lib/x86_64-linux-gnu/libc.so.6", "pthread_mutex_lock", MUTEX),
        ("/lib/x86_64-linux-gnu/libc.so.6", "lll_mutex_unlock_optimized", MUTEX),
        ("/lib/x86_64-linux-gnu/libc.so.6", "__GI___lll_lock_wake", MUTEX),
        ("/lib/x86_64-linux-gnu/libc.so.6", "__lll_lock_wait_private", "libc"),
        ("/lib/x86_64-linux-gnu/libc.so.6", "pthread_cond_wait", "libc"),
        ("/lib/x86_64-linux-gnu/libc.so.6", "__libc_write", IO),
        ("/lib/x86_64-linux-gnu/libc.so.6", "memcpy", "libc"),
        ("/lib/x86_64-linux-gnu/libm.so.6", "sin", "libm"),
        ("/opt/openmpi/lib/libmpi.so.40", "PMPI_Barrier", MPI),
        ("/opt/ompass/lib/libompass_mpi.so", "forward_call", MPI),
        ("/home/me/solver", "malloc", OWN),
        ("/home/me/libmine.so", "f", OWN),
    ],
)
def test_libraries_are_classified_by_their_purpose(module: str, function: str, group: str) -> None:
    assert group_of(module, function) == group


@pytest.mark.parametrize(
    ("groups", "group"),
    [
        ([OWN, RUNTIME], OWN),
        (["libc", MPI, OWN], MPI),
        (["libc", MEMORY, "libstdc++", OWN, MPI], MEMORY),
        (["libc", RUNTIME, OWN], RUNTIME),
        (["libm", OWN], "libm"),
        (["libc", OWN], "libc"),
    ],
)
def test_a_call_chain_belongs_to_the_called_library(groups: list[str], group: str) -> None:
    assert group_of_calls(groups) == group


def test_programs_and_their_libraries_may_create_tasks() -> None:
    assert all(map(may_create_tasks, ("/home/me/fib", "/opt/libsolver.so.2", "/usr/lib/libopenblas.so.0")))
    system = ("/lib/libc.so.6", "/lib/ld-linux-x86-64.so.2", "/lib/libm.so.6", "/usr/lib/libgomp.so.1")
    assert not any(map(may_create_tasks, (*system, "/opt/libompass.so")))


@pytest.fixture
def content(run_dir: Path) -> SampleContent:
    return made_samples(open_run(run_dir))


TASK, OTHER = Owner("task", 2), Owner("serial", -1)


def test_shares_refer_to_the_owner_and_to_all_samples(content: SampleContent) -> None:
    located = content.samples
    inner, outer = located[0].calls
    found = {(hot.owner, hot.what): (hot.n, hot.share, hot.share_of_all) for hot in hot_lines(located)}
    assert found == {
        (OTHER, inner): (60, 1.0, 0.6),
        (TASK, inner): (30, 0.75, 0.3),
        (TASK, outer): (10, 0.25, 0.1),
    }
    calls = next(hot for hot in hot_calls(located) if hot.what == ("outer", "prog"))
    assert (calls.n, calls.share) == (40, 1.0)
    assert {(hot.owner, hot.what): hot.n for hot in hot_libraries(located)} == {
        (TASK, ""): 40,
        (OTHER, "libm"): 60,
    }
    assert next(hot for hot in hot_lines(located) if hot.n == 30).error == pytest.approx(
        (0.75 * 0.25 / 40) ** 0.5
    )


def test_people_see_lines_of_the_program_instead_of_lines_of_libraries() -> None:
    own = Line("f", "/src/a.c", 5, "prog", "a.c:5")
    tool = Line("create", "/ompass/tasks.cpp", 9, "libompass.so", "tasks.cpp:9", "", TOOL)
    sine = Line("do_sin", "/glibc/s_sin.c", 129, "libm.so.6", "s_sin.c:129", "", "libm")
    samples = (
        LocatedSample(0, TASK, (own,), "", 1),
        LocatedSample(0, TASK, (tool, own), TOOL, 2),
        LocatedSample(0, TASK, (sine, own), "libm", 4),
        LocatedSample(0, TASK, (tool,), TOOL, 8),
        LocatedSample(0, TASK, (sine,), "libm", 16),
        LocatedSample(0, TASK, (), "", 32),
    )
    assert {hot.what.place: hot.n for hot in shown_lines(samples)} == {"a.c:5": 7, "recording": 8, "libm": 16}
    assert hot_lines(samples)[0].what == sine
    assert samples_by_line(samples) == {("/src/a.c", 5): 7}


def test_people_see_their_line_instead_of_a_template_of_a_system_header() -> None:
    own = Line("f", "/src/a.cpp", 5, "prog", "a.cpp:5")
    template = Line("copy", "/usr/include/c++/12/bits/stl_algobase.h", 431, "prog", "stl_algobase.h:431")
    sine = Line("do_sin", "/glibc/s_sin.c", 129, "libm.so.6", "s_sin.c:129", "", "libm")
    samples = (
        LocatedSample(0, TASK, (template, own), "", 1),
        LocatedSample(0, TASK, (sine, template, own), "libm", 2),
        LocatedSample(0, TASK, (template,), "", 4),
    )
    assert {hot.what.place: hot.n for hot in shown_lines(samples)} == {"a.cpp:5": 3, "stl_algobase.h:431": 4}
    assert [sample.own_line for sample in samples] == [own, own, template]


def test_people_see_one_row_for_each_state_without_work(content: SampleContent) -> None:
    own = Line("f", "a.c", 5, "/bin/prog", "a.c:5")
    creating = tuple(LocatedSample(0, Owner("create", task), (own,), "", 1) for task in (1, 2))
    changed = replace(content, samples=(*content.samples, *creating))
    shown = next(part for part in sample_parts(changed, whole=True) if isinstance(part, Table))
    assert [row["samples"] for row in plain(shown) if row["owner"] == "create"] == [2]
    exact = plain(sample_fields(changed))["owners"]
    assert [row["samples"] for row in exact if row["owner"] == "create"] == [1, 1]


def test_a_function_that_calls_itself_counts_once(content: SampleContent) -> None:
    inner, outer = content.samples[0].calls
    recursive = (LocatedSample(0, TASK, (inner, inner, outer), "", 5),)
    assert {hot.what[0]: hot.n for hot in hot_calls(recursive)} == {"inner": 5, "outer": 5}


def test_folded_stacks_begin_with_the_construct(content: SampleContent) -> None:
    assert folded_stacks(content).splitlines() == [
        "task;outer 10",
        "task;outer;inner 30",
        "the serial part;main, x;inner 60",
    ]


def test_speedscope_has_a_profile_for_each_thread(content: SampleContent) -> None:
    profile = json.loads(speedscope_profile(content))
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    first, second = profile["profiles"]
    assert [[frames[k] for k in stack] for stack in first["samples"]] == [
        ["task", "outer", "inner"],
        ["the serial part", "main; x", "inner"],
    ]
    assert (first["weights"], second["weights"]) == ([300.0, 600.0], [100.0])
    assert (first["endValue"], second["endValue"]) == (900.0, 100.0)
    assert profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"


def test_pprof_has_lines_counts_and_labels(content: SampleContent) -> None:
    profile = parse_pprof(pprof_profile(content))
    text = list(profile.string_table)
    assert text[0] == ""
    assert [(text[kind.type], text[kind.unit]) for kind in profile.sample_type] == [
        ("samples", "count"), ("cpu", "nanoseconds"),
    ]  # fmt: skip
    functions = {function.id: text[function.name] for function in profile.function}
    places = {
        location.id: [(functions[part.function_id], part.line) for part in location.line]
        for location in profile.location
    }
    first = profile.sample[0]
    assert [places[number] for number in first.location_id] == [[("inner", 5)], [("outer", 9)]]
    assert list(first.value) == [30, 300_000_000]
    assert {text[label.key]: text[label.str] or label.num for label in first.label} == {
        "construct": "task", "thread": 0,
    }  # fmt: skip


def watched_by_clock(*parts: int, **fields: Any) -> SampleContent:
    """Makes samples of a run whose threads take 100 ns each, of which `parts` have no samples."""
    rows = [thread(number, last_ns=100, by_clock_ns=ns) for number, ns in enumerate(parts)]
    return replace(made_samples(made_run(threads=rows)), **fields)


def text_of(content: SampleContent) -> str:
    return " ".join(part for part in sample_parts(content) if isinstance(part, str))


def test_time_without_samples_is_reported() -> None:
    content = watched_by_clock(0, 60, 20, 0)
    assert (
        "20.0% of the time of all threads has no samples: 2 threads switched so often that only "
        "clocks were read, thread 1 for 60.0% of its time. Shares exclude this time." in text_of(content)
    )
    fields = sample_fields(content)
    assert fields is not None
    assert fields["unsampled"] == [
        {"thread": 1, "unsampled_ns": 60, "share": 0.6}, {"thread": 2, "unsampled_ns": 20, "share": 0.2},
    ]  # fmt: skip
    assert "1 thread switched so often that only clocks" in text_of(watched_by_clock(90, samples=()))


def test_samples_in_windows_represent_the_time_of_frequent_switches() -> None:
    content = watched_by_clock(0, 60, 20, 0, window_ns={1: 50, 2: 30})
    assert [(thread.thread, thread.by_clock_ns) for thread in content.unsampled] == [(1, 10)]
    assert content.unsampled_share == 10 / 400


def test_little_time_without_samples_is_not_reported() -> None:
    for content in (watched_by_clock(1, 0), watched_by_clock(0, 0), watched_by_clock(90, frequency_hz=0)):
        assert "no samples" not in text_of(content)


def test_refused_samples_are_explained_in_one_sentence(run_dir: Path) -> None:
    content = SampleContent(open_run(run_dir), (), {}, 100, (), 0, 0, 0, 4, 13)
    fields = sample_fields(content)
    assert fields is not None
    assert fields["refusal"] == (
        "No thread was sampled: perf_event_open failed: Permission denied; "
        "it needs kernel.perf_event_paranoid of 2 or less, and a container that allows the call."
    )
    assert fields["samples"] == 0


LIBC, LIBOMP, PROGRAM = "/lib/libc.so.6", "/lib/libomp.so.5", "/home/a"
CALLER = Line("loop", "a.c", 7, PROGRAM, "a.c:7")
DISPATCH = Line("__kmpc_dispatch_next_4", "", 0, LIBOMP, "libomp.so.5+0x1")


def called(library: str, *calls: Line, weight: int = 1, region: int = 0) -> LocatedSample:
    return LocatedSample(0, Owner("implicit", region), calls, library, weight)


def test_calls_whose_callers_were_cut_off_get_the_usual_caller_of_their_library() -> None:
    printing = Line("vsnprintf", "", 0, LIBC, "libc.so.6+0x1")
    complete = called(RUNTIME, Line("free", "", 0, LIBC, "libc.so.6+0x2"), DISPATCH, CALLER, weight=9)
    cut_off, elsewhere = called("libc", printing, weight=40), called("libc", printing, region=1)
    found = with_callers([complete, cut_off, elsewhere])
    assert found[0] == complete
    assert (found[1].library, found[1].calls, found[1].weight) == (RUNTIME, (printing, CALLER), 40)
    assert found[2] == elsewhere, "nothing is known of another region"


def test_calls_whose_callers_were_cut_off_stay_if_several_callers_are_likely() -> None:
    printing = Line("vsnprintf", "", 0, LIBC, "libc.so.6+0x1")
    some = [
        called(RUNTIME, printing, DISPATCH, CALLER, weight=5),
        called("libc", printing, CALLER, weight=5),
        called("libc", printing),
    ]
    assert with_callers(some) == tuple(some)

# SPDX-License-Identifier: Apache-2.0
"""Tests runs that keep only the last part of their trace: its size, readers, statistics and dumps."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from command import call, ompass
from harsh_run import tool_lines
from ompass import _core
from ompass.errors import NothingToShowError, UsageError
from ompass.launch.produced import dumps_of
from ompass.page.timeline import Timeline
from ompass.readers.run import open_run
from ompass.readers.schedule import open_pyramid
from ompass.reports.content import collect
from readers_agree import rows_of
from recorded_run import check_facts, check_identity, counted, facts_in
from toolchains import CompileProgram, Record, Recorded, Toolchain

EVENTS_HEAD = struct.pack("<4sI", b"OMPX", 4)  # the first bytes of an extent of events
LAST_TASKS = 500  # tasks in the last round of long_run.c
TASKS, INTERVALS = "tasks", "stretches"


def log_bytes(run_dir: Path) -> int:
    return sum(path.stat().st_size for path in run_dir.glob("*.log"))


def kept(recorded: Recorded) -> _core.Run:
    """Checks that a run is sound and its trace begins late; returns the profile of the whole run."""
    assert _core.validate(str(recorded.run_dir)) == []
    profile = _core.read_profile(str(recorded.run_dir))
    assert profile.complete, profile.incomplete_reasons
    check_identity(profile)
    check_facts(facts_in(recorded.process.stdout), profile)
    assert 0 < profile.trace_begin_ns < profile.wall_ns
    return profile


def last_ns_of_first(run: _core.Run) -> int:
    """Returns the time up to which the first thread's states are known."""
    return next(thread.last_ns for thread in run.threads if thread.thread == 0)


def last_round(run: _core.Run) -> _core.ConstructRow:
    """Returns the row, summed over threads, of the construct that creates the tasks of the last round."""
    sums: dict[int, _core.ConstructRow] = {}
    for row in run.constructs:
        sums[row.construct] = sums[row.construct] + row if row.construct in sums else row
    (found,) = [row for row in sums.values() if row.n_created == LAST_TASKS]
    return found


@pytest.fixture(scope="module", params=["1M", "3M"])
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_trace_takes_no_more_than_the_requested_space(record: Record, size: str) -> None:
    recorded = record(
        "survival/long_run.c", "3000", mode="trace", environment={"OMPASS_KEEP_LAST": size}, threads=2
    )
    profile = kept(recorded)
    requested_bytes = int(size[:-1]) << 20
    assert requested_bytes * 0.8 < log_bytes(recorded.run_dir) <= requested_bytes
    assert profile.log_bytes <= requested_bytes


def test_window_has_the_last_events_and_their_statistics(record: Record) -> None:
    """The replay and the tables begin with the window and contain all later events."""
    recorded = record(
        "survival/long_run.c", "2000", mode="trace", environment={"OMPASS_KEEP_LAST": "2M"}, threads=2
    )
    profile = kept(recorded)
    window = _core.replay_trace(str(recorded.run_dir))
    assert not window.complete and window.trace_begin_ns == profile.trace_begin_ns
    assert last_round(window).n_completed == last_round(profile).n_completed == LAST_TASKS
    check_identity(window)
    assert window.wall_ns == profile.wall_ns - profile.trace_begin_ns
    total_ns = sum(row.total_ns for row in window.regions)
    assert total_ns <= 2 * window.wall_ns
    # Until the runtime ends, the rows of the initial thread cover all its time, in regions and outside.
    of_first_ns = sum(row.total_ns for row in window.regions if row.thread == 0)
    assert of_first_ns == pytest.approx(last_ns_of_first(profile) - profile.trace_begin_ns, rel=0.01)
    intervals = rows_of(recorded.run_dir, INTERVALS)
    assert sum(1 for row in intervals if row[0] == 0) > 100
    tasks = rows_of(recorded.run_dir, TASKS)
    assert len(tasks) > LAST_TASKS
    assert min(row[7] for row in tasks if row[3]) > 0, "no task was created before the window of its thread"


def test_intervals_of_the_window_have_no_gap(record: Record) -> None:
    recorded = record(
        "survival/long_run.c", "2000", mode="trace", environment={"OMPASS_KEEP_LAST": "1M"}, threads=2
    )
    profile = kept(recorded)
    mine = sorted((row[4], row[5]) for row in rows_of(recorded.run_dir, INTERVALS) if row[0] == 0)
    assert mine[0][0] <= profile.trace_begin_ns
    gaps_ns = [later[0] - earlier[1] for earlier, later in itertools.pairwise(mine)]
    assert max(gaps_ns) < 1_000
    assert mine[-1][1] == pytest.approx(last_ns_of_first(profile), rel=0.001)


def test_period_is_kept_at_any_size(record: Record) -> None:
    recorded = record(
        "survival/long_run.c", "6000", mode="trace", environment={"OMPASS_KEEP_LAST": "100ms"}, threads=2
    )
    profile = _core.read_profile(str(recorded.run_dir))
    assert _core.validate(str(recorded.run_dir)) == []
    assert profile.wall_ns > 300_000_000, "the program is too short for this test"
    length_ns = profile.wall_ns - profile.trace_begin_ns
    assert 100_000_000 <= length_ns < profile.wall_ns / 2
    whole = record("survival/long_run.c", "6000", mode="trace", threads=2)
    assert log_bytes(recorded.run_dir) < log_bytes(whole.run_dir) / 2


def test_short_run_keeps_everything(record: Record) -> None:
    recorded = record("kinds/tied.c", mode="trace", environment={"OMPASS_KEEP_LAST": "60m"})
    assert recorded.process.stderr == ""
    assert _core.validate(str(recorded.run_dir)) == []
    profile = _core.read_profile(str(recorded.run_dir))
    assert profile.trace_begin_ns == 0
    replay = _core.replay_trace(str(recorded.run_dir))
    assert replay.complete
    check_facts(facts_in(recorded.process.stdout), replay)


def test_many_threads_stay_within_the_space(record: Record) -> None:
    recorded = record(
        "survival/long_run.c", "60", mode="trace", environment={"OMPASS_KEEP_LAST": "8M"}, threads=100
    )
    assert tool_lines(recorded.process.stderr) == []
    assert log_bytes(recorded.run_dir) <= 8 << 20
    assert _core.validate(str(recorded.run_dir)) == []
    profile = _core.read_profile(str(recorded.run_dir))
    check_facts(facts_in(recorded.process.stdout), profile)
    assert len(profile.threads) == 100


def test_space_smaller_than_the_profile_loses_the_trace_and_reports_it(record: Record) -> None:
    recorded = record(
        "survival/long_run.c", "10", mode="trace", environment={"OMPASS_KEEP_LAST": "500k"}, threads=32
    )
    profile = _core.read_profile(str(recorded.run_dir))
    check_facts(facts_in(recorded.process.stdout), profile)
    assert _core.validate(str(recorded.run_dir)) == []
    assert sum(thread.n_dropped for thread in profile.threads) > 0
    assert "OMPASS_KEEP_LAST" in profile.trace_end and "--keep-last" in profile.trace_end_cure


@pytest.mark.parametrize("name", ["OMPASS_KEEP_LAST", "OMPASS_DUMP_ON", "OMPASS_DUMP_IF_LONGER"])
def test_invalid_value_is_reported(name: str, record: Record) -> None:
    environment = {"OMPASS_KEEP_LAST": "10s", name: "much"}
    recorded = record("kinds/tied.c", mode="trace", environment=environment)
    (line,) = tool_lines(recorded.process.stderr)
    assert f"{name}=much" in line and "valid values" in line
    check_facts(facts_in(recorded.process.stdout), _core.read_profile(str(recorded.run_dir)))


@pytest.mark.parametrize("size_text", ["1M", "60s"])
def test_killed_program_leaves_its_last_events(
    size_text: str,
    compile_program: CompileProgram,
    default_toolchain: Toolchain,
    libompass: Path,
    tmp_path: Path,
) -> None:
    """Programs that hang are the main use of --keep-last."""
    program = compile_program("survival/long_run.c")
    run_dir = tmp_path / "run.ompass"
    with subprocess.Popen(
        [program, "1500", "-1"],
        stdout=subprocess.PIPE,
        text=True,
        env={
            **default_toolchain.run_environment(),
            "OMP_TOOL_LIBRARIES": str(libompass),
            "LD_PRELOAD": str(libompass),
            "OMP_NUM_THREADS": "2",
            "OMPASS_DIR": str(run_dir),
            "OMPASS_KEEP_LAST": size_text,
        },
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        running = _core.replay_trace(str(run_dir))  # works while the program runs
        assert running.trace_begin_ns > 0 or size_text == "60s"
        process.kill()
    assert _core.validate(str(run_dir)) == []
    window = _core.replay_trace(str(run_dir))
    assert sum(row.n_tasks for row in window.regions) > 100
    assert (window.trace_begin_ns > 0) == (size_text == "1M")


def begins_late(run_dir: Path) -> bool:
    """True if the trace of a running program has lost its beginning."""
    return (run_dir / "kept.log").exists() and _core.read_profile(str(run_dir)).trace_begin_ns > 0


def wait_for(condition: Callable[[], object], failure: str) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(failure)


def has_tasks(run_dir: Path) -> bool:
    """True if the profile of a running program has more than 20 tasks."""
    return run_dir.exists() and sum(row.n_tasks for row in _core.read_profile(str(run_dir)).regions) > 20


@dataclass
class Dumping:
    """Runs programs, and sends each the signal for a dump as soon as `is_ready(run directory)`."""

    compile_program: CompileProgram
    toolchain: Toolchain
    library: Path
    run_dir: Path

    def run(self, program: str, argument: str, threads: int, is_ready: Callable[[Path], bool]) -> str:
        """Returns the program's output."""
        with subprocess.Popen(
            [self.compile_program(program), argument],
            stdout=subprocess.PIPE,
            text=True,
            env={
                **self.toolchain.run_environment(),
                "OMP_TOOL_LIBRARIES": str(self.library),
                "LD_PRELOAD": str(self.library),
                "OMP_NUM_THREADS": str(threads),
                "OMPASS_DIR": str(self.run_dir),
                "OMPASS_KEEP_LAST": "1M",
                "OMPASS_DUMP_ON": "SIGUSR1",
            },
        ) as process:
            wait_for(lambda: is_ready(self.run_dir), "no trace")
            process.send_signal(signal.SIGUSR1)
            wait_for(lambda: dumps_of(self.run_dir), "no dump")
            output, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return output


@pytest.fixture
def dumping(
    compile_program: CompileProgram, default_toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> Dumping:
    return Dumping(compile_program, default_toolchain, libompass, tmp_path / "run.ompass")


def test_signal_makes_a_dump_and_the_program_continues(dumping: Dumping) -> None:
    output = dumping.run("survival/long_run.c", "8000", 2, begins_late)
    run_dir = dumping.run_dir
    (dump,) = dumps_of(run_dir)
    of_dump, of_run = (_core.read_profile(str(path)) for path in (dump, run_dir))
    assert of_dump.end_reason == "dumped" and not of_dump.complete
    assert 0 < of_dump.trace_begin_ns < of_dump.wall_ns < of_run.wall_ns
    assert _core.validate(str(dump)) == [] and _core.validate(str(run_dir)) == []
    window = _core.replay_trace(str(dump))
    assert sum(row.n_tasks for row in window.regions) > 100
    check_facts(facts_in(output), of_run)
    assert log_bytes(run_dir) <= 1 << 20


def test_signal_before_a_creation_makes_a_dump(dumping: Dumping) -> None:
    n_tasks = 3000  # one each millisecond
    output = dumping.run("survival/creates_slowly.c", str(n_tasks), 1, has_tasks)
    (dump,) = dumps_of(dumping.run_dir)
    assert _core.validate(str(dump)) == [] and _core.validate(str(dumping.run_dir)) == []
    assert sum(row.n_tasks for row in _core.read_profile(str(dump)).regions) < n_tasks
    check_facts(facts_in(output), _core.read_profile(str(dumping.run_dir)))


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("600", "80"), {"OMPASS_DUMP_IF_LONGER": "60ms"}),
        (("600", "1", "64"), {}),
    ],
    ids=["long-region", "omp_control_tool"],
)
def test_dump_holds_the_events_before_it(
    arguments: tuple[str, ...], environment: dict[str, str], record: Record
) -> None:
    recorded = record(
        "survival/long_run.c",
        *arguments,
        mode="trace",
        environment={"OMPASS_KEEP_LAST": "4M", **environment},
        threads=2,
    )
    dumps = dumps_of(recorded.run_dir)
    assert dumps, "no dump"
    assert not any(_core.validate(str(path)) for path in (*dumps, recorded.run_dir))
    # On a busy machine, other regions may also be long and cause dumps.
    n_rounds = [
        sum(row.n_primary for row in _core.read_profile(str(dump)).regions if row.construct >= 0)
        for dump in dumps
    ]
    assert any(300 <= n <= 305 for n in n_rounds), f"dumps end after {n_rounds} rounds, not 300"
    check_facts(facts_in(recorded.process.stdout), _core.read_profile(str(recorded.run_dir)))


def test_commands_read_or_refuse_a_kept_part(record: Record, tmp_path: Path) -> None:
    recorded = record(
        "survival/long_run.c", "2000", mode="trace", environment={"OMPASS_KEEP_LAST": "1M"}, threads=2
    )
    run_dir = recorded.run_dir
    profile = kept(recorded)
    assert "only its last part was kept" in ompass("info", run_dir).stdout
    assert "sound" in ompass("validate", run_dir).stdout
    for command in ("graph", "simulate"):
        refused = ompass(command, run_dir, status=NothingToShowError.exit_code)
        assert "--keep-last" in refused.stderr and "whole trace" in refused.stderr
    timeline = Timeline([(collect(open_run(run_dir)), open_pyramid(run_dir))])
    assert timeline.describe()["begin"] == profile.trace_begin_ns
    page = tmp_path / "page.html"
    ompass("report", run_dir, "--html", page)
    assert page.stat().st_size > 100_000
    perfetto = tmp_path / "run.pftrace"
    ompass("timeline", run_dir, "--perfetto", perfetto)
    assert perfetto.stat().st_size > 10_000
    packed = tmp_path / "run.ompass.zst"
    ompass("pack", run_dir, "-o", packed)
    assert json.loads(ompass("info", packed, "--json").stdout)["trace_begin_ns"] == profile.trace_begin_ns


def change_windows(run_dir: Path, thread: int, change: Callable[[bytearray, int], None]) -> None:
    """Calls change(bytes of the log, place) for each window of a thread, in kept.log and in its own log."""
    for name in ("kept.log", f"thread-{thread:05d}.log"):
        log = run_dir / name
        content = bytearray(log.read_bytes())
        for place in range(4096, len(content), 4096):
            (of_thread,) = struct.unpack_from("<I", content, place + 32)
            if content.startswith(EVENTS_HEAD, place) and (name != "kept.log" or of_thread == thread):
                change(content, place)
        log.write_bytes(content)


def remove_checkpoint(content: bytearray, place: int) -> None:
    content[place + 36 : place + 56] = bytes(20)


def raise_number_of_ids(content: bytearray, place: int) -> None:
    """Gives the checkpoint that begins in a window so many ids that the next id is another thread's."""
    n_words, first_word = struct.unpack_from("<IQ", content, place + 36)
    if n_words and first_word == 0:
        struct.pack_into("<Q", content, place + 64 + 8, 2**40 - 1)


def test_thread_without_a_checkpoint_is_stated(record: Record) -> None:
    """Too little space, or an early end, may leave a thread's later events without the state before them."""
    recorded = record(
        "survival/long_run.c", "2000", mode="trace", environment={"OMPASS_KEEP_LAST": "1M"}, threads=2
    )
    run_dir = recorded.run_dir
    before = kept(recorded)
    change_windows(run_dir, 1, remove_checkpoint)
    assert _core.validate(str(run_dir)) == []
    profile = _core.read_profile(str(run_dir))
    assert profile.complete and counted(profile) == counted(before)
    window = _core.replay_trace(str(run_dir))
    assert window.trace_begin_ns > 0
    assert any("too small for the events of thread 1" in reason for reason in window.incomplete_reasons)
    assert {row[0] for row in rows_of(run_dir, INTERVALS)} == {0}


def test_checkpoint_with_too_many_ids_is_not_used(record: Record) -> None:
    recorded = record(
        "survival/long_run.c", "2000", mode="trace", environment={"OMPASS_KEEP_LAST": "1M"}, threads=2
    )
    kept(recorded)
    change_windows(recorded.run_dir, 1, raise_number_of_ids)
    window = _core.replay_trace(str(recorded.run_dir))
    assert any("the events of thread 1" in reason for reason in window.incomplete_reasons)
    assert {row[0] for row in rows_of(recorded.run_dir, INTERVALS)} == {0}
    assert rows_of(recorded.run_dir, TASKS)


def test_damaged_kept_log_is_refused_or_partly_read(record: Record) -> None:
    """Whatever bytes the file holds, readers do not crash, and the profile stays readable."""
    recorded = record(
        "survival/long_run.c", "1500", mode="trace", environment={"OMPASS_KEEP_LAST": "1M"}, threads=2
    )
    kept(recorded)
    log = recorded.run_dir / "kept.log"
    whole = log.read_bytes()
    chance = random.Random(7)
    for _ in range(40):
        damaged = bytearray(whole)
        if chance.random() < 0.3:
            del damaged[chance.randrange(len(damaged)) :]
        for _ in range(chance.randrange(8)):
            extent = 4096 + chance.randrange((len(whole) - 4096) // 4096) * 4096
            place = extent + chance.randrange(512)
            if place < len(damaged):
                damaged[place] = chance.randrange(256)
        log.write_bytes(damaged)
        assert _core.read_profile(str(recorded.run_dir)).n_unlogged == 0
        for read in (_core.replay_trace, _core.validate):
            with contextlib.suppress(_core.LogError):
                read(str(recorded.run_dir))
        with contextlib.suppress(_core.LogError):
            rows_of(recorded.run_dir, INTERVALS)
    log.unlink()
    assert _core.validate(str(recorded.run_dir)), "the events of kept.log are missing"


def test_run_command_records_a_part_and_names_its_dumps(
    compile_program: CompileProgram, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_program("survival/long_run.c")
    environment = default_toolchain.run_environment()
    options = ("--keep-last", "4M", "--dump-if-longer", "60ms", "--threads", "2", "-o", tmp_path / "r.ompass")
    ended = call(environment, tmp_path, "run", *options, "--", program, "600", "80")
    assert "dumped the kept part of the trace, in r-dump-1.ompass" in ended.stderr
    assert "child process" not in ended.stderr
    assert _core.read_profile(str(tmp_path / "r.ompass")).mode == "trace"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--keep-last", "much"), "neither a time nor a size"),
        (("--keep-last", "30s", "--mode", "profile"), "a part of a trace"),
        (("--keep-last", "30s", "--dump-on", "SIGKILL"), "not a signal for dumps"),
        (("--dump-on", "SIGUSR1"), "--keep-last"),
        (("--dump-if-longer", "50ms"), "--keep-last"),
    ],
)
def test_wrong_options_are_refused(options: tuple[str, ...], reason: str) -> None:
    refused = ompass("run", *options, "--", "/bin/true", status=UsageError.exit_code)
    assert reason in refused.stderr

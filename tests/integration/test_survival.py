# SPDX-License-Identifier: Apache-2.0
"""Recordings survive every end of a program and every lack of resources; the tool never harms its host.

Covers SIGKILL at random moments, other ends of a process, full disks, limits, and closed streams.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harsh_run import SILENT, RunIn, tool_lines
from ompass import _core
from recorded_run import (
    check_constructs,
    check_facts,
    check_identity,
    check_sound,
    counted,
    facts_in,
    run_directories,
)
from toolchains import CompileProgram, Record, RunRecorded, Toolchain

N_THREADS = 3
SLOT = struct.Struct("=q120x")  # struct slot of endless_tasks.c
UNPUBLISHED = 2  # a thread may have recorded this many tasks but not yet published them; see endless_tasks.c


def published(path: Path) -> list[int]:
    """Returns the number of tasks of each thread that the tool must have recorded."""
    return [number for (number,) in SLOT.iter_unpack(path.read_bytes())]


def kill_at_random_moment(
    program: Path, toolchain: Toolchain, workspace: Path, tool: Path, mode: str, seed: int
) -> Path:
    """Starts endless_tasks and kills it up to 0.2 s after its first tasks. Returns its run directory."""
    progress = workspace / "progress"
    run_dir = workspace / "run.ompass"
    settings = {
        "OMP_TOOL_LIBRARIES": str(tool),
        "OMP_NUM_THREADS": str(N_THREADS),
        "OMPASS_DIR": str(run_dir),
        "OMPASS_MODE": mode,
    }
    process = subprocess.Popen(
        [str(program), str(progress)], env=toolchain.run_environment(settings), stdout=subprocess.DEVNULL
    )
    try:
        give_up_s = time.monotonic() + 30
        while not progress.exists() or sum(published(progress)) == 0:
            assert process.poll() is None and time.monotonic() < give_up_s, "the program ran no task"
            time.sleep(0.001)
        time.sleep(random.Random(seed).uniform(0, 0.2))
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    return run_dir


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize(
    "n_kills", [pytest.param(5, id="5-times"), pytest.param(50, id="50-times", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(600)
def test_killed_program_leaves_every_task_that_it_recorded(
    n_kills: int,
    mode: str,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    libompass: Path,
    tmp_path: Path,
) -> None:
    program = compile_program("survival/endless_tasks.c", default_toolchain)
    for seed in range(n_kills):
        workspace = tmp_path / str(seed)
        workspace.mkdir()
        run_dir = kill_at_random_moment(program, default_toolchain, workspace, libompass, mode, seed)
        problems = _core.validate(str(run_dir))
        assert not problems, f"seed {seed}: {problems}"
        accounts = [_core.read_profile(str(run_dir))]
        if mode == "trace":
            accounts.append(_core.replay_trace(str(run_dir)))
        certain = sum(published(workspace / "progress"))
        for account in accounts:
            assert not account.complete and account.incomplete_reasons, f"seed {seed}"
            assert account.end_reason == "running-or-killed"
            n_tasks = counted(account)["tasks"]
            assert certain <= n_tasks <= certain + UNPUBLISHED * N_THREADS, f"seed {seed}, {account.source}"
            check_identity(account)


def test_program_killed_while_it_starts_leaves_no_damaged_log(
    default_toolchain: Toolchain, compile_program: CompileProgram, libompass: Path, tmp_path: Path
) -> None:
    program = compile_program("survival/endless_tasks.c", default_toolchain)
    n_recorded = 0
    for step in range(30):
        run_dir = tmp_path / f"{step}.ompass"
        settings = {
            "OMP_TOOL_LIBRARIES": str(libompass),
            "OMP_NUM_THREADS": str(N_THREADS),
            "OMPASS_DIR": str(run_dir),
            "OMPASS_MODE": "trace",
        }
        environment = default_toolchain.run_environment(settings)
        process = subprocess.Popen([str(program), str(tmp_path / "progress")], env=environment)
        time.sleep(step * 0.0005)
        process.kill()
        process.wait()
        if (run_dir / "process.log").exists():
            problems = _core.validate(str(run_dir))
            assert not problems, f"killed after {step / 2} ms: {problems}"
            n_recorded += not _core.read_profile(str(run_dir)).complete
    assert n_recorded > 0, "every kill came too early"


def test_report_states_that_a_killed_run_was_cut_short(
    default_toolchain: Toolchain, compile_program: CompileProgram, libompass: Path, tmp_path: Path
) -> None:
    program = compile_program("survival/endless_tasks.c", default_toolchain)
    run_dir = kill_at_random_moment(program, default_toolchain, tmp_path, libompass, "profile", seed=1)
    command = [sys.executable, "-m", "ompass", "report", str(run_dir)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "cut short" in shown.stdout
    exported = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(exported.stdout)["complete"] is False


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize(
    ("way", "status", "complete"),
    [
        ("exit", 0, True),
        ("quick_exit", 0, False),
        ("_exit", 0, False),
        ("abort", -signal.SIGABRT, False),
        ("fault", -signal.SIGSEGV, False),
    ],
)
def test_a_process_keeps_its_status_and_its_recording_however_it_ends(
    way: str, status: int, complete: bool, mode: str, record: Record
) -> None:
    recorded = record("kinds/exit_in_region.c", way, mode=mode, check=False)
    assert recorded.process.returncode == status
    assert f"ending by {way}" in recorded.process.stdout
    problems = _core.validate(str(recorded.run_dir))
    assert not problems, problems
    profile = _core.read_profile(str(recorded.run_dir))
    assert profile.complete == complete
    assert (profile.incomplete_reasons == ()) == complete
    check_facts(facts_in(recorded.process.stdout), profile)
    if mode == "trace":
        assert counted(_core.replay_trace(str(recorded.run_dir))) == counted(profile)


def run_while_read(command: list[str], environment: dict[str, str], run_dir: Path) -> int:
    """Runs a program without output, and reads its run directory meanwhile. Returns its exit status."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        give_up_s = time.monotonic() + 60
        while process.poll() is None:
            assert time.monotonic() < give_up_s, "the program does not end"
            if (run_dir / "process.log").exists():
                problems = _core.validate(str(run_dir))
                assert not problems, f"read while it was written: {problems}"
                _core.read_profile(str(run_dir))
            time.sleep(0.001)
        assert process.stderr is not None
        assert process.stderr.read() == b""
    finally:
        process.kill()
        process.communicate()
    return process.returncode


LOADINGS = ["OMP_TOOL_LIBRARIES", "LD_PRELOAD", "linked"]


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", LOADINGS)
@pytest.mark.parametrize(
    ("way", "status"),
    [("end", 0), ("switch", 0), ("exit", 7), ("exits", 7), ("kill", -9), ("exec", 7), ("fork", 0)],
)
@pytest.mark.parametrize(
    "n_seeds", [pytest.param(2, id="2-seeds"), pytest.param(50, id="50-seeds", marks=pytest.mark.slow)]
)
@pytest.mark.timeout(600)
def test_recording_is_sound_whenever_the_program_ends(
    n_seeds: int,
    way: str,
    status: int,
    loading: str,
    mode: str,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    libompass: Path,
    tmp_path: Path,
) -> None:
    """While the recording ends, tasks run, wrappers are open, and a reader reads the run directory."""
    flags = [str(libompass), f"-Wl,-rpath,{libompass.parent}"] if loading == "linked" else []
    program = compile_program("survival/ends_anyhow.c", default_toolchain, flags=flags)
    for seed in range(n_seeds):
        run_dir = tmp_path / f"{seed}.ompass"
        settings = SILENT | {
            "OMPASS_DIR": str(run_dir),
            "OMPASS_MODE": mode,
            "OMP_NUM_THREADS": str(N_THREADS),
        }
        if loading != "linked":
            settings[loading] = str(libompass)
        environment = default_toolchain.run_environment(settings)
        ended = run_while_read([str(program), str(seed), way], environment, run_dir)
        assert ended == status, f"seed {seed}"
        problems = _core.validate(str(run_dir))
        assert not problems, f"seed {seed}: {problems}"
        profile = _core.read_profile(str(run_dir))
        check_identity(profile)
        assert profile.complete == (not profile.incomplete_reasons)
        if way == "end":
            assert profile.end_reason == "ended-by-control"
        if way in ("kill", "exec"):
            assert not profile.complete, "the program was cut off"


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(("way", "status"), [("exit", 7), ("kill", -signal.SIGKILL)])
def test_end_inside_an_undeferred_task_leaves_a_sound_trace(
    way: str, status: int, seed: int, record: Record
) -> None:
    """libomp reports such an exit as the end of an initial task, with the data of the undeferred task."""
    recorded = record("survival/ends_anyhow.c", str(seed), way, mode="trace", threads=1, check=False)
    assert recorded.process.returncode == status
    assert _core.validate(str(recorded.run_dir)) == []
    profile = _core.read_profile(str(recorded.run_dir))
    check_constructs(profile)
    assert counted(_core.replay_trace(str(recorded.run_dir))) == counted(profile)


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_an_exit_by_a_foreign_thread_ends_the_recording_before_the_runtime(mode: str, record: Record) -> None:
    recorded = record("survival/exits_from_outside.c", mode=mode, check=False)
    assert recorded.process.returncode == 7
    profile = _core.read_profile(str(recorded.run_dir))
    assert (profile.end_reason, profile.complete) == ("exit", True)
    assert sum(task.n_created for task in profile.constructs) > 100


def test_regions_that_the_main_thread_awaits_while_it_exits_are_recorded(record: Record) -> None:
    recorded = record("survival/exits_from_outside.c", "joined", check=False)
    assert recorded.process.returncode == 7
    profile = _core.read_profile(str(recorded.run_dir))
    assert profile.end_reason == "finalized"
    assert sum(task.n_completed for task in profile.constructs) == 1000


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_recording_that_ends_while_threads_begin_leaves_the_program_alone(mode: str, record: Record) -> None:
    recorded = record("survival/ends_while_threads_begin.c", mode=mode)
    assert _core.validate(str(recorded.run_dir)) == []
    assert _core.read_profile(str(recorded.run_dir)).end_reason == "ended-by-control"


def test_process_that_becomes_another_program_leaves_two_runs(record: Record) -> None:
    recorded = record("survival/exec_itself.c", mode="trace")
    first, *others = run_directories(recorded.run_dir.parent)
    runs = [recorded.run_dir, *(path for path in (first, *others) if path != recorded.run_dir)]
    assert len(runs) == 2
    before, after = (_core.read_profile(str(path)) for path in runs)
    assert [_core.validate(str(path)) for path in runs] == [[], []]
    assert (counted(before)["tasks"], before.complete) == (100, False)
    assert (counted(after)["tasks"], after.complete) == (50, True)
    assert before.pid == after.pid


@contextlib.contextmanager
def small_disk(directory: Path, size: str) -> Iterator[None]:
    """Mounts a small file system on `directory`. Skips the test unless it runs as root."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system; the file size limit is tested anyway")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "ompass-test", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no mounting here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def check_unharmed(harsh: subprocess.CompletedProcess[str], plain: subprocess.CompletedProcess[str]) -> None:
    assert plain.returncode == 0
    assert harsh.returncode == 0, harsh.stderr
    assert harsh.stdout == plain.stdout


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("size", ["4k", "64k", "100k", "120k", "140k", "160k", "256k", "2m"])
def test_full_disk_only_ends_the_recording(
    size: str, mode: str, compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("kinds/million_tasks.c")
    plain = run_in(program, tool=None)
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk, size):
        run_dir = disk / "run.ompass"
        settings = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode}
        harsh = run_in(program, environment=settings)
        check_unharmed(harsh, plain)
        check_reported_once_and_readable(harsh, run_dir, mode, too_small_for_a_trace=True)
        assert all("the disk is full" in line or "No space left" in line for line in tool_lines(harsh.stderr))


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("limit_kb", [2, 4, 20, 100, 1000])
def test_limit_on_file_size_only_ends_the_recording(
    limit_kb: int, mode: str, compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    """A write beyond the limit raises SIGXFSZ, which ends a process without a handler."""

    def limit_file_size() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_kb * 1024, limit_kb * 1024))

    program = compile_program("kinds/million_tasks.c")
    plain = run_in(program, tool=None, prepare=limit_file_size)
    run_dir = tmp_path / "run.ompass"
    harsh = run_in(
        program, environment={"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode}, prepare=limit_file_size
    )
    check_unharmed(harsh, plain)
    check_reported_once_and_readable(harsh, run_dir, mode, too_small_for_a_trace=True)
    assert all("the limit on the size of files is reached" in line for line in tool_lines(harsh.stderr))


def check_reported_once_and_readable(
    harsh: subprocess.CompletedProcess[str], run_dir: Path, mode: str, *, too_small_for_a_trace: bool
) -> None:
    """Checks that the tool reported its loss in one line, and that the run directory records it too."""
    lines = tool_lines(harsh.stderr)
    assert len(lines) <= 1, f"reported more than once: {lines}"
    if not run_dir.exists() or not any(path.stat().st_size for path in run_dir.glob("process.log")):
        assert lines, "nothing was recorded, and no line reports it"
        return
    problems = _core.validate(str(run_dir))
    assert not problems, problems
    profile = _core.read_profile(str(run_dir))
    check_identity(profile)
    if profile.complete:
        check_facts(facts_in(harsh.stdout), profile)
    else:
        assert profile.incomplete_reasons and lines, "tasks are missing, and no line reports it"
    if mode == "trace" and too_small_for_a_trace:
        assert lines, "the trace does not fit, and no line reports it"
        assert profile.mode == "trace", "the requested mode"
        with contextlib.suppress(_core.LogError):  # there may be no room for a single event
            replay = _core.replay_trace(str(run_dir))
            assert not replay.complete and replay.incomplete_reasons


def test_size_limit_falls_back_to_the_profile_and_is_reported(record: Record) -> None:
    recorded = record("kinds/million_tasks.c", mode="trace", environment={"OMPASS_LIMIT_MB": "3"})
    (line,) = tool_lines(recorded.process.stderr)
    assert "OMPASS_LIMIT_MB" in line and "profile" in line
    size_bytes = sum(path.stat().st_size for path in recorded.run_dir.iterdir())
    assert 1_000_000 < size_bytes <= 3 * 1024 * 1024, "the limit is used, and kept"
    profile = check_sound(recorded.run_dir)
    check_facts(facts_in(recorded.process.stdout), profile)
    assert sum(thread.n_dropped for thread in profile.threads) > 0
    replay = _core.replay_trace(str(recorded.run_dir))
    assert not replay.complete and replay.incomplete_reasons
    assert 0 < counted(replay)["tasks"] < 1_000_000


def test_limit_that_is_not_reached_changes_nothing(record: Record) -> None:
    recorded = record("kinds/tied.c", mode="trace", environment={"OMPASS_LIMIT_MB": "1000"})
    assert recorded.process.stderr == ""
    check_facts(facts_in(recorded.process.stdout), check_sound(recorded.run_dir))
    assert _core.replay_trace(str(recorded.run_dir)).complete


def close_streams() -> None:
    for descriptor in (0, 1, 2):
        os.close(descriptor)


def allow_few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))


def allow_little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize(
    "prepare", [allow_few_files, allow_little_memory], ids=lambda function: function.__name__
)
def test_program_under_tight_limits_continues(
    prepare: Callable[[], None], mode: str, compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("kinds/tied.c")
    plain = run_in(program, tool=None, prepare=prepare)
    run_dir = tmp_path / "run.ompass"
    harsh = run_in(program, environment={"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode}, prepare=prepare)
    check_unharmed(harsh, plain)
    check_reported_once_and_readable(harsh, run_dir, mode, too_small_for_a_trace=False)


def test_log_never_gets_the_descriptor_of_a_closed_stream(
    compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    """If a stream is closed, a file of the tool could get its number, and then the program's output."""
    program = compile_program("kinds/tied.c")
    run_dir = tmp_path / "run.ompass"
    settings = {
        "OMPASS_DIR": str(run_dir),
        "OMPASS_MODE": "trace",
        "OMPASS_SUMMARY": "on",
        "OMPASS_LIMIT_MB": "1",
    }
    harsh = run_in(program, environment=settings, prepare=close_streams)
    assert harsh.returncode == 0
    profile = check_sound(run_dir)
    assert counted(profile)["tasks"] == 3192
    assert not any(b"FACTS" in path.read_bytes() for path in run_dir.iterdir())


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_files_of_the_program_are_its_own(
    mode: str, compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("survival/takes_descriptors.c")
    plain = run_in(program, tool=None)
    run_dir = tmp_path / "run.ompass"
    settings = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode}
    harsh = run_in(program, environment=settings)
    check_unharmed(harsh, plain)
    check_reported_once_and_readable(harsh, run_dir, mode, too_small_for_a_trace=False)


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", LOADINGS)
def test_messages_never_go_to_a_file_with_the_number_of_stderr(
    loading: str, mode: str, compile_program: CompileProgram, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    flags = [str(libompass), f"-Wl,-rpath,{libompass.parent}"] if loading == "linked" else []
    program = compile_program("survival/reuses_stderr.c", flags=flags)
    run_dir = tmp_path / "run.ompass"
    settings = {"OMPASS_DIR": str(run_dir), "OMPASS_MODE": mode, "OMPASS_SUMMARY": "on"}
    if loading != "linked":
        settings[loading] = str(libompass)
    finished = run_in(program, "data", tool=None, environment=settings)
    assert finished.returncode == 0
    assert (tmp_path / "data").read_text() == "data of the program\n"
    check_facts(facts_in(finished.stdout), check_sound(run_dir))


def test_set_uid_program_records_nothing(
    default_toolchain: Toolchain, compile_program: CompileProgram, libompass: Path
) -> None:
    """A user's environment must not create files with another user's rights."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a program to another user")
    nobody = 65534
    with tempfile.TemporaryDirectory() as name:
        shared = Path(name)
        if os.statvfs(shared).f_flag & os.ST_NOSUID:
            pytest.skip(f"programs in {shared} do not get the rights of their owner")
        shared.chmod(0o777)
        library = Path(shutil.copy(libompass, shared / "libompass.so"))
        runtime = shutil.copy(default_toolchain.runtime_library, shared)
        flags = [str(libompass), f"-Wl,-rpath,{shared}"]
        program = Path(shutil.copy(compile_program("kinds/tied.c", default_toolchain, flags=flags), shared))
        for path in (library, Path(runtime), program):
            path.chmod(0o755)
        for is_set_uid in (False, True):
            if is_set_uid:
                program.chmod(0o4755)
            run_dir = shared / f"{is_set_uid}.ompass"
            finished = subprocess.run(
                [str(program)],
                env={"OMPASS_DIR": str(run_dir), "OMP_NUM_THREADS": "2"},
                user=nobody,
                group=nobody,
                extra_groups=[],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert finished.returncode == 0, finished.stderr
            assert facts_in(finished.stdout)["tasks"] == 3192
            assert run_dir.exists() != is_set_uid
        assert finished.stderr == ""


def test_program_may_leave_its_directory(
    compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("survival/changes_directory.c")
    harsh = run_in(program, environment={"OMPASS_DIR": "below/run.ompass"})
    assert harsh.returncode == 0, harsh.stderr
    check_facts(facts_in(harsh.stdout), check_sound(tmp_path / "below" / "run.ompass"))


@pytest.mark.parametrize("preload", [False, True], ids=["tool-libraries", "preload"])
def test_the_program_keeps_its_signals(
    preload: bool, compile_program: CompileProgram, run_recorded: RunRecorded, run_in: RunIn
) -> None:
    program = compile_program("survival/shows_signals.c")
    plain = run_in(program, tool=None)
    recorded = run_recorded(program, mode="trace", preload=preload)
    check_unharmed(recorded.process, plain)


@pytest.mark.parametrize("place", ["below-a-file", "read-only", "missing-and-forbidden"])
def test_directory_that_cannot_be_created_is_reported_and_harms_nothing(
    place: str, compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    if place == "below-a-file":
        (tmp_path / "file").write_text("")
        run_dir = tmp_path / "file" / "run.ompass"
    elif place == "read-only":
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        run_dir = closed / "run.ompass"
        if os.access(closed, os.W_OK):  # as root, except on some file systems
            run_dir = Path("/sys/run.ompass")
    else:
        run_dir = Path("/proc/none/run.ompass")
    program = compile_program("kinds/tied.c")
    plain = run_in(program, tool=None)
    harsh = run_in(program, environment={"OMPASS_DIR": str(run_dir)})
    check_unharmed(harsh, plain)
    (line,) = tool_lines(harsh.stderr)
    assert str(run_dir) in line
    assert run_directories(tmp_path) == []

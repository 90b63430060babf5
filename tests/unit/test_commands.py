# SPDX-License-Identifier: Apache-2.0
"""Commands: their output and exit codes. Errors are one line: what, why, what to do."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from made_runs import MS, construct, made_run, team, thread
from ompass.commands import streams as progress
from ompass.commands.main import COMMANDS, application
from ompass.commands.run import _most_bytes
from ompass.errors import OmpassError
from ompass.launch.second_run import MOST_BYTES
from ompass.model import Run
from ompass.topology import recorded_topology
from ompass.units import task_name
from unit.conftest import FakeCore

GOLDEN = Path(__file__).parents[1] / "golden" / "clang-16-preloaded-trace.tar.xz"
MakeCore = Callable[..., FakeCore]
MakeDirectory = Callable[[str], Path]


def call(*arguments: object) -> Result:
    return CliRunner().invoke(application(), [str(a) for a in arguments])


def error_of(result: Result) -> OmpassError:
    assert isinstance(result.exception, OmpassError), result.output
    return result.exception


def some_profile(**fields: Any) -> Run:
    rows = team(
        0, [{"work_ns": 80 * MS, "sync_ns": 20 * MS, "n_tasks": 2}, {"work_ns": 100 * MS, "n_tasks": 2}]
    )
    return made_run(rows, [construct(1, k, [40 * MS] * 2) for k in range(2)], **fields)


def trace_profile() -> Run:
    return some_profile(
        mode="trace", threads=[thread(0, n_events=3, last_ns=900), thread(1, n_events=2, last_ns=950)]
    )


EVENTS = [
    # time, thread, kind, construct, task, value, exact
    (100, 0, 1, 1, 1, 0, True),
    (900, 0, 3, 1, 2, 0, True),
    (900, 0, 2, 1, 3, 0, False),
    (200, 1, 2, 1, 1, 7, True),
    (950, 1, 3, 0, (1 << 40) + 5, 0, True),
]


def test_report_prints_the_breakdown(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=some_profile())
    result = call("report", run_directory("a"))
    assert result.exit_code == 0
    assert "Where the thread-time went" in result.stdout


def test_report_json_goes_to_stdout_or_a_file(
    fake_core: MakeCore, run_directory: MakeDirectory, tmp_path: Path
) -> None:
    fake_core(a=some_profile())
    directory = run_directory("a")
    printed = call("report", directory, "--json").stdout
    assert json.loads(printed)["tasks"] == 4
    assert call("report", directory, "--json", "-o", tmp_path / "out.json").stdout == ""
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == printed


def test_report_of_several_runs_is_a_list(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=some_profile(), b=some_profile(pid=5))
    values = json.loads(call("report", run_directory("a"), run_directory("b"), "--json").stdout)
    assert [run["pid"] for run in values["runs"]] == [4711, 5]


def test_report_csv_has_the_requested_table(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=some_profile())
    lines = call("report", run_directory("a"), "--csv", "--table", "threads").stdout.splitlines()
    assert lines[0].startswith("directory,thread,kind,thread_time_ns")
    assert len(lines) == 3


def test_report_can_recompute_from_events(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    core = fake_core(a=some_profile())
    directory = run_directory("a")
    core.replayed["a.ompass"] = some_profile(source="events")
    assert json.loads(call("report", directory, "--from", "events", "--json").stdout)["source"] == "events"


@pytest.mark.parametrize(
    "arguments", [("--json", "--csv"), ("-o", "x"), ("--region", "main", "--scope", "program")]
)
def test_contradicting_options_are_refused(
    fake_core: MakeCore, run_directory: MakeDirectory, arguments: tuple[str, ...]
) -> None:
    fake_core(a=some_profile())
    assert error_of(call("report", run_directory("a"), *arguments)).exit_code == 2


def test_file_that_cannot_be_written_has_an_exit_code(
    fake_core: MakeCore, run_directory: MakeDirectory, tmp_path: Path
) -> None:
    fake_core(a=some_profile())
    error = error_of(call("report", run_directory("a"), "--svg", tmp_path / "no" / "x.svg"))
    assert error.exit_code == 7


@pytest.mark.parametrize("command", ["report", "info", "dump", "validate"])
def test_missing_and_foreign_directories_have_different_errors(
    fake_core: MakeCore, tmp_path: Path, command: str
) -> None:
    fake_core()
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "killed.ompass").mkdir()
    (tmp_path / "killed.ompass" / "meta.json").write_text("{}", encoding="utf-8")
    for name, why in (
        ("killed.ompass", "it has no process.log"),
        ("none", "no such directory"),
        ("file", "not a directory"),
        (".", "it is not a run directory"),
    ):
        error = error_of(call(command, tmp_path / name))
        assert error.exit_code == 3
        assert why in error.why


def test_damaged_log_is_reported_with_its_offset(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core()
    error = error_of(call("report", run_directory("broken")))
    assert error.exit_code == 4
    assert "offset 0" in error.why
    assert "ompass validate" in error.cure


def test_info_lists_program_threads_and_variables(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=some_profile())
    directory = run_directory("a")
    meta = {"pid": 4711, "command": ["./fib", "a b"], "host": "node", "environment": {"OMP_NUM_THREADS": "2"}}
    (directory / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    text = call("info", directory).stdout
    for part in (
        "./fib 'a b'",
        "node",
        "OMP_NUM_THREADS=2",
        "100 ms, complete",
        "1 worker",
        "1 parallel, 1 task",
    ):
        assert part in text
    assert json.loads(call("info", directory, "--json").stdout)["wall_ns"] == 100 * MS


def test_dump_sorts_by_time_and_keeps_the_order_of_equal_times(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    rows = [json.loads(line) for line in call("dump", run_directory("a"), "--json").stdout.splitlines()]
    assert [row["time_ns"] for row in rows] == [100, 200, 900, 900, 950]
    assert [row["kind"] for row in rows][2:4] == ["complete", "start"]
    assert rows[-1]["task"] == "1.5"


@pytest.mark.parametrize(
    ("arguments", "times"),
    [
        (("--thread", 1), [200, 950]),
        (("--from", "200ns", "--to", "0.9us"), [200]),
        (("--kind", "start"), [200, 900]),
        (("--kind", "start", "--kind", "create"), [100, 200, 900]),
        (("--construct", 0), [950]),
        (("--limit", 2), [100, 200]),
        (("--limit", 0), []),
        (("--kind", "complete", "--limit", 1), [900]),
    ],
)
def test_dump_shows_only_the_selected_events(
    fake_core: MakeCore, run_directory: MakeDirectory, arguments: tuple[object, ...], times: list[int]
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    lines = call("dump", run_directory("a"), "--json", *arguments).stdout.splitlines()
    assert [json.loads(line)["time_ns"] for line in lines] == times


def test_dump_reads_long_traces_in_pieces(
    fake_core: MakeCore, run_directory: MakeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    directory = run_directory("a")
    whole = call("dump", directory).stdout
    monkeypatch.setattr("ompass.commands.dump._SLICE_EVENTS", 2)
    assert call("dump", directory).stdout == whole
    assert len(whole.splitlines()) == len(EVENTS)


def test_dump_marks_times_that_are_not_exact(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    lines = call("dump", run_directory("a")).stdout.splitlines()
    assert [line[0] for line in lines] == [" ", " ", " ", "~", " "]


def test_dump_of_a_profile_shows_how_to_record_events(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=some_profile())
    error = error_of(call("dump", run_directory("a")))
    assert error.exit_code == 5
    assert "--mode trace" in error.cure


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (("--kind", "begin"), 2, "create"),
        (("--thread", 7), 2, "threads 0 to 1"),
        (("--from", "soon"), 2, "1.5ms"),
        (("--construct", "nowhere"), 5, "0: ?"),
    ],
)
def test_dump_answers_wrong_filters_with_the_valid_ones(
    fake_core: MakeCore, run_directory: MakeDirectory, arguments: tuple[object, ...], code: int, names: str
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    error = error_of(call("dump", run_directory("a"), *arguments))
    assert error.exit_code == code
    assert names in error.one_line()


@pytest.mark.parametrize(
    ("figure", "option"),
    [
        ("breakdown", ("--window", "1ms:2ms")),
        ("speedup", ("--colour", "home")),
        ("schedule", ("--scope", "program")),
        ("over-time", ("--colour", "home")),
        ("reuse", ("--window", "1ms:2ms")),
    ],
)
def test_plot_refuses_options_that_the_figure_ignores(
    tmp_path: Path, figure: str, option: tuple[str, str]
) -> None:
    error = error_of(call("plot", figure, tmp_path, *option, "-o", tmp_path / "x.svg"))
    assert (error.exit_code, error.what) == (2, option[0])
    assert error.why == f"the figure {figure} does not depend on it"


def test_unreadable_values_of_options_of_run_cause_no_traceback() -> None:
    assert _most_bytes("much") == _most_bytes("") == MOST_BYTES
    assert error_of(call("run", "--keep-last", " ", "--", "true")).why == "neither a time nor a size"


def test_task_names_are_thread_and_number() -> None:
    assert (task_name(0), task_name(1), task_name((3 << 40) + 17)) == ("-", "0.1", "3.17")


def test_validate_prints_every_problem_and_fails(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    core = fake_core(a=some_profile())
    directory = run_directory("a")
    assert call("validate", directory).exit_code == 0
    core.problems = ["thread-00001.log: offset 64: a record without an end"]
    result = call("validate", directory)
    assert result.exit_code == 4
    assert "offset 64" in result.stdout
    assert json.loads(call("validate", directory, "--json").stdout)[0]["problems"] == core.problems


def test_validate_reports_incomplete_runs(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    """The exit code is 4 for a damaged run, 10 for an incomplete one."""
    core = fake_core(a=some_profile(missing=("the trace lacks 487760 records: the disk is full.",)))
    directory = run_directory("a")
    result = call("validate", directory)
    assert result.exit_code == 10
    assert "incomplete: the trace lacks 487760 records: the disk is full." in result.stdout
    assert "sound" not in result.stdout
    (value,) = json.loads(call("validate", directory, "--json").stdout)
    assert (value["sound"], value["problems"], len(value["missing"])) == (False, [], 1)
    core.problems = ["thread-00001.log: offset 64: a record without an end"]
    assert call("validate", directory).exit_code == 4


def test_validate_checks_meta_json_too(fake_core: MakeCore, run_directory: MakeDirectory) -> None:
    fake_core(a=some_profile())
    directory = run_directory("a")
    for content, complaint in (("[" * 200_000, "nested too deeply"), ("[]", "an object"), ("{", "Expecting")):
        (directory / "meta.json").write_text(content, encoding="utf-8")
        result = call("validate", directory)
        assert result.exit_code == 4
        assert complaint in result.stdout
        assert call("info", directory).exit_code == 0, "the logs are valid without it"


@pytest.mark.timeout(20)
def test_special_files_in_a_run_directory_are_not_read(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=some_profile())
    directory = run_directory("a")
    (directory / "meta.json").unlink()
    os.mkfifo(directory / "meta.json")
    os.mkfifo(directory / "topology.xml")
    assert call("info", directory).exit_code == 0
    assert "is not a regular file" in call("validate", directory).stdout
    assert recorded_topology(directory).description.startswith("not recorded")
    (directory / "topology.xml").unlink()
    (directory / "topology.xml").symlink_to("/dev/zero")
    assert recorded_topology(directory).description.startswith("not recorded")


def test_a_topology_nested_too_deeply_or_with_absurd_cpus_is_ignored(tmp_path: Path) -> None:
    for text in (
        "<topology>" + "<object type='Group'>" * 5000 + "</object>" * 5000 + "</topology>",
        "<topology><object type='PU' os_index='99999999999'/></topology>",
    ):
        (tmp_path / "topology.xml").write_text(text)
        assert recorded_topology(tmp_path).description.startswith("not recorded")


def test_threads_of_a_run_without_topology_share_one_cache_group(tmp_path: Path) -> None:
    machine = recorded_topology(tmp_path)
    assert [machine.group_of_thread(3, place) for place in ("compact", "scatter")] == [[0, 0, 0]] * 2


def test_long_work_shows_how_long_it_has_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.01)
    monkeypatch.setattr(progress, "_BETWEEN_S", 0.01)
    with progress.waiting("checking big.ompass"):
        time.sleep(0.2)
    text = shown.getvalue()
    assert "checking big.ompass ... 0 s" in text
    assert text.endswith("\r\x1b[2K"), "the line is erased"


def test_short_work_and_pipes_show_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.waiting("checking"):
        time.sleep(0.01)
    assert capsys.readouterr().err == ""
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    with progress.waiting("checking"):
        pass
    assert shown.getvalue() == ""


def test_no_color_leaves_no_escape_sequence(
    fake_core: MakeCore, run_directory: MakeDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_core(a=some_profile())
    directory = run_directory("a")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    assert "\x1b[" in call("report", directory).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in call("report", directory).stdout


def test_the_ranks_of_a_job_are_reported_one_by_one_only_on_request(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=some_profile(), b=some_profile())
    ranks = [run_directory("a"), run_directory("b")]
    for number, path in enumerate(ranks):
        (path / "meta.json").write_text(json.dumps({"rank": number}), encoding="utf-8")
    overview = call("report", *ranks).output
    assert "job of 2 ranks" in overview and "--each" in overview
    assert "Where the thread-time went" not in overview
    each = call("report", *ranks, "--each").stdout
    assert each.count("Where the thread-time went") == 2


def ompass(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ompass", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environ},
    )


def test_error_is_one_line_on_stderr_without_a_traceback() -> None:
    done = ompass("report", "/no/such/run.ompass")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("ompass: error: /no/such/run.ompass: no such directory; ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("dump", "RUN", "--kinds"), 0),
        (("report", "RUN"), 0),
        (("check", "RUN", "--", "RUN"), 2),
    ],
)
def test_closed_pipe_is_not_an_error(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    with tarfile.open(GOLDEN) as archive:
        archive.extractall(tmp_path, filter="data")
    (log,) = tmp_path.rglob("process.log")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ompass", *[word.replace("RUN", str(log.parent)) for word in arguments]],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, "")


def test_version_is_printed() -> None:
    assert call("--version").stdout.startswith("ompass ")


def test_characters_that_the_terminal_lacks_cause_no_traceback() -> None:
    done = ompass("dump", "/µ/·", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def run_with_any_library(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `ompass run` with a library that records nothing, to test `run` itself."""
    return ompass("run", *arguments, OMPASS_LIBRARY=sys.executable)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--", "/no/such/program"), 127, "no such file"),
        (("--", "/"), 126, "is a directory"),
        (("--threads", "many", "--", "true"), 2, "not a number of threads"),
        (("--json", "/no/dir/x.json", "--", "true"), 125, "its directory does not exist"),
        (("--libomp", "/no/libomp.so", "--", "true"), 125, "--libomp"),
        (("--no-wrappers", "--", "true"), 0, "nothing was recorded"),
        (("--no-brackets", "--", "true"), 0, "nothing was recorded"),  # former name of --no-wrappers
        (("--no-wrappers", "--", "sh", "-c", "exit 9"), 9, "nothing was recorded"),
        (("--strict", "--no-wrappers", "--", "true"), 125, "nothing was recorded"),
        (("--strict", "--no-wrappers", "--", "sh", "-c", "exit 9"), 125, "nothing was recorded"),
        (("--force", "-o", "/", "--", "true"), 2, "/ is not a run directory"),
        (("--force", "-o", "%p.ompass", "--", "true"), 2, "several processes"),
    ],
)
def test_run_ends_with_the_exit_codes_of_a_shell(arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run_with_any_library(*arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_options_after_the_program_belong_to_the_program() -> None:
    assert run_with_any_library("--no-wrappers", "echo", "--quiet", "-o", "x").stdout == "--quiet -o x\n"


def test_program_sees_the_variables_of_its_recording() -> None:
    done = run_with_any_library("--no-wrappers", "-t", "3", "--mode", "trace", "-o", "here", "--", "env")
    lines = done.stdout.splitlines()
    assert "OMP_NUM_THREADS=3" in lines
    assert "OMPASS_MODE=trace" in lines
    assert f"OMPASS_DIR={Path.cwd()}/here" in lines
    assert f"OMP_TOOL_LIBRARIES={sys.executable}" in lines


def test_missing_tool_library_is_reported_with_advice() -> None:
    done = ompass("run", "--", "true", OMPASS_LIBRARY="/no/libompass.so")
    assert done.returncode == 125
    assert "OMPASS_LIBRARY=/no/libompass.so: no such file" in done.stderr


def test_a_missing_core_is_reported_in_one_line() -> None:
    without = "import sys; sys.modules['ompass._core'] = None; from ompass.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", without, "info", "x"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (8, "", 1)
    assert "pip install" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_in_the_module_of_its_name(name: str) -> None:
    """`ompass NAME` loads only that module."""
    assert name in vars(typer.main.get_command(application((name,))))["commands"]

# SPDX-License-Identifier: Apache-2.0
"""The OMPASS_* variables, the names of run directories, other tools in the process, and omp_control_tool.

docs/usage.md lists the variables. The tests in test_command_*.py check that the command sets them.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
from pathlib import Path

import pytest

from harsh_run import RunIn, tool_lines
from ompass import _core
from recorded_run import (
    check_accounts_agree,
    check_facts,
    check_sound,
    counted,
    facts_in,
    run_directories,
    task_rows,
)
from toolchains import CompileProgram, Record, RunRecorded, Toolchain, compile_source

SWITCH = ["on", "off"]
BAD_VALUES = [
    ("OMPASS_MODE", "fast", ["profile", "trace"]),
    ("OMPASS_SUMMARY", "perhaps", SWITCH),
    ("OMPASS_WRAPPERS", "perhaps", SWITCH),
    ("OMPASS_ENABLED", "perhaps", SWITCH),
    ("OMPASS_VERBOSE", "2", SWITCH),
    ("OMPASS_SAMPLE", "often", ["10000", "off", "Using 100"]),
    ("OMPASS_SAMPLE", "-5", ["10000", "off"]),
    ("OMPASS_SAMPLE", "10001", ["10000", "off"]),
    ("OMPASS_SAMPLE", "loads:0", ["10000", "loads:10000"]),
    ("OMPASS_SAMPLE", "loads100", ["loads:10000", "Using 100"]),
    ("OMPASS_LIMIT_MB", "much", ["number"]),
    ("OMPASS_LIMIT_MB", "-1", ["number"]),
    ("OMPASS_LIMIT_MB", "12kg", ["number"]),
    ("OMPASS_LIMIT_MB", "0G", ["500M"]),
    ("OMPASS_LIMIT_MB", "1.", ["500M"]),
    ("OMPASS_LIMIT_MB", "1e3", ["500M"]),
    ("OMPASS_LIMIT_MB", "G", ["500M"]),
    ("OMPASS_LIMIT_MB", "1P", ["500M"]),
    ("OMPASS_LIMIT_MB", "99999999999999999999999", ["number"]),
]


@pytest.fixture
def tied(default_toolchain: Toolchain) -> Path:
    """Returns a small program with 3192 tasks in one region."""
    return compile_source("kinds/tied.c", default_toolchain)


@pytest.mark.parametrize(("variable", "value", "valid"), BAD_VALUES)
def test_bad_value_is_reported_with_the_valid_ones_and_the_run_continues(
    variable: str, value: str, valid: list[str], tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {"OMPASS_DIR": "run.ompass", variable: value}
    if variable == "OMPASS_SUMMARY":
        settings["OMPASS_MODE"] = "profile"
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    lines = [line for line in tool_lines(finished.stderr) if variable in line]
    assert len(lines) == 1, finished.stderr
    assert value in lines[0]
    for word in valid:
        assert word in lines[0]
    check_facts(facts_in(finished.stdout), check_sound(tmp_path / "run.ompass"))


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("1G", 1024),
        ("1.5g", 1536),
        ("64k", 1),
        ("2 MiB", 2),
        ("3mb", 3),
        (" 7 ", 7),
        ("1T", 1 << 20),
        ("500", 500),
    ],
)
def test_limit_of_the_trace_takes_units(
    text: str, megabytes: int, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {"OMPASS_DIR": "run.ompass", "OMPASS_LIMIT_MB": text}
    finished = run_in(tied, environment=settings)
    assert "OMPASS_LIMIT_MB" not in finished.stderr
    meta = json.loads((tmp_path / "run.ompass/meta.json").read_text(encoding="utf-8"))
    assert meta["limit_mb"] == megabytes


def test_unknown_counter_is_answered_with_the_available_ones(
    tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {"OMPASS_DIR": "run.ompass", "OMPASS_COUNTERS": "NO_SUCH_COUNTER,perf::PAGE-FAULTS"}
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    lines = tool_lines(finished.stderr)
    if "available: none" in lines[0]:  # libpapi has no counters on this machine, so the tool refuses both
        assert [line.split()[2] for line in lines] == ["NO_SUCH_COUNTER", "perf::PAGE-FAULTS"]
        assert all("perf_event_paranoid" in line for line in lines)
        return
    (line,) = lines
    assert "NO_SUCH_COUNTER" in line and "perf::" in line
    check_facts(facts_in(finished.stdout), check_sound(tmp_path / "run.ompass"))


@pytest.fixture
def papi_of_a_user(default_toolchain: Toolchain, tmp_path: Path) -> str:
    """Returns an LD_LIBRARY_PATH with a fake libpapi, which accepts scheduler events but never counts them.

    It counts at most three events at a time. Reading them is slow, except through the kernel.
    """
    built = compile_source(
        "survival/papi_of_a_user.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    directory = tmp_path / "papi"
    directory.mkdir()
    (directory / "libpapi.so.7.0").symlink_to(built)
    return f"{directory}:{default_toolchain.runtime_dir}"


def test_counter_that_stays_zero_is_refused_and_not_offered(
    papi_of_a_user: str, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {
        "OMPASS_DIR": "run.ompass",
        "OMPASS_COUNTERS": "perf::CONTEXT-SWITCHES,perf::PAGE-FAULTS",
        "LD_LIBRARY_PATH": papi_of_a_user,
    }
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    (line,) = tool_lines(finished.stderr)
    refused, available = line.split("available:")
    assert "perf::CONTEXT-SWITCHES" in refused and "kernel" in refused
    assert "perf::TASK-CLOCK" in available
    assert "SWITCHES" not in available and "MIGRATIONS" not in available
    assert check_sound(tmp_path / "run.ompass").counters == ("perf::PAGE-FAULTS",)


FITTING = ("perf::TASK-CLOCK", "perf::PAGE-FAULTS", "perf::MINOR-FAULTS")


@pytest.mark.parametrize("last", ["perf::MAJOR-FAULTS", "perf::PAGE-FAULTS"])
def test_incompatible_counters_are_left_out_and_the_others_counted(
    last: str, papi_of_a_user: str, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {
        "OMPASS_DIR": "run.ompass",
        "OMPASS_COUNTERS": ",".join([*FITTING, last]),
        "LD_LIBRARY_PATH": papi_of_a_user,
    }
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    lines = tool_lines(finished.stderr)
    if last in FITTING:  # the same counter twice
        assert lines == []
    else:
        (line,) = lines
        assert f"{last} cannot be counted together with {', '.join(FITTING)}" in line
    profile = check_sound(tmp_path / "run.ompass")
    assert profile.counters == FITTING
    rows = [row for row in task_rows(profile) if row.n_completed]  # threads that ran tasks
    assert rows
    for row in rows:
        assert all(count > 0 for count in row.counters), row.counters


def test_counters_are_read_in_the_cheaper_way(
    papi_of_a_user: str, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    settings = {
        "OMPASS_DIR": "run.ompass",
        "OMPASS_COUNTERS": FITTING[0],
        "LD_LIBRARY_PATH": papi_of_a_user,
    }
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    (readings,) = [line for line in finished.stderr.splitlines() if line.startswith("READINGS ")]
    slow, quick = (int(word.split("=")[1]) for word in readings.split()[1:])
    assert slow < 50 and quick > 3192  # one reading per task
    # This libpapi takes half a second to start, which must not count as the program's time.
    assert check_sound(tmp_path / "run.ompass").earlier_cpu_ns < 400_000_000


@pytest.mark.parametrize("long", ["run-directory", "program"])
def test_counters_do_no_harm_where_paths_are_long(
    long: str, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    """libpapi ends the process if the path of a mapped file has more than 1023 characters."""
    deep = tmp_path.joinpath(*["d" * 200] * 6)
    deep.mkdir(parents=True)
    run_dir = (deep if long == "run-directory" else tmp_path) / "run.ompass"
    program = Path(shutil.copy2(tied, deep / "tied")) if long == "program" else tied
    settings = {"OMPASS_DIR": str(run_dir), "OMPASS_COUNTERS": "foo"}
    finished = run_in(program, environment=settings)
    assert finished.returncode == 0, finished.stderr
    (line,) = tool_lines(finished.stderr)
    assert "OMPASS_COUNTERS" in line
    check_facts(facts_in(finished.stdout), check_sound(run_dir))


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no", "false"])
def test_switched_off_tool_leaves_no_trace(
    value: str, tied: Path, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    for loading in ("OMP_TOOL_LIBRARIES", "LD_PRELOAD"):
        settings = {"OMPASS_ENABLED": value, "OMPASS_SUMMARY": "on", loading: str(libompass)}
        finished = run_in(tied, tool=None, environment=settings)
        assert finished.returncode == 0
        assert finished.stderr == ""
        assert facts_in(finished.stdout)["tasks"] == 3192
    assert list(tmp_path.iterdir()) == []


def test_summary_is_one_screen_on_stderr_and_can_be_silenced(tied: Path, run_in: RunIn) -> None:
    plain = run_in(tied, tool=None)
    shown = run_in(tied, environment={"OMPASS_SUMMARY": "on"})
    silent = run_in(tied, environment={"OMPASS_SUMMARY": "off"})
    assert shown.stdout == silent.stdout == plain.stdout
    assert silent.stderr == ""
    assert 5 <= len(shown.stderr.splitlines()) <= 24
    assert max(len(line) for line in shown.stderr.splitlines() if "/" not in line) <= 100
    for word in ("3192 tasks", "work", "create", "schedule", "sync", "idle"):
        assert word in shown.stderr


def test_default_directory_is_named_after_program_and_process(
    tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    finished = run_in(tied)
    assert finished.returncode == 0
    (run_dir,) = run_directories(tmp_path)
    assert run_dir.name == f"{tied.name}-{check_sound(run_dir).pid}.ompass"


@pytest.mark.parametrize(
    "variable",
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"],
)
def test_the_name_of_the_directory_contains_the_rank(
    variable: str, tied: Path, tmp_path: Path, run_in: RunIn
) -> None:
    finished = run_in(tied, environment={variable: "7"})
    assert finished.returncode == 0
    (run_dir,) = run_directories(tmp_path)
    assert run_dir.name == f"{tied.name}-r7-{check_sound(run_dir).pid}.ompass"


def test_rank_with_leading_zeros_is_a_json_number(tied: Path, tmp_path: Path, run_in: RunIn) -> None:
    for text, number in (("007", 7), ("000", 0)):
        settings = {"OMPASS_DIR": f"{text}.ompass", "SLURM_PROCID": text}
        run_in(tied, environment=settings)
        assert json.loads((tmp_path / f"{text}.ompass" / "meta.json").read_text())["rank"] == number


@pytest.mark.parametrize("loading", ["LD_PRELOAD", "linked"])
def test_command_line_is_recorded_as_the_program_was_started(
    loading: str, compile_program: CompileProgram, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    flags = [str(libompass), f"-Wl,-rpath,{libompass.parent}"] if loading == "linked" else []
    program = compile_program("survival/overwrites_arguments.c", flags=flags)
    settings = {"OMPASS_DIR": "run.ompass"} | ({} if loading == "linked" else {loading: str(libompass)})
    run_in(program, "--size", "a b", tool=None, environment=settings)
    meta = json.loads((tmp_path / "run.ompass" / "meta.json").read_text())
    assert meta["command"] == [str(program), "--size", "a b"]


def test_pattern_of_the_directory_is_filled_in(tied: Path, tmp_path: Path, run_in: RunIn) -> None:
    settings = {"OMPASS_DIR": "made/of/%e_%p_%r_%h_100%%", "SLURM_PROCID": "12"}
    finished = run_in(tied, environment=settings)
    assert finished.returncode == 0
    (run_dir,) = (tmp_path / "made" / "of").iterdir()
    pid = check_sound(run_dir).pid
    assert run_dir.name == f"{tied.name}_{pid}_12_{socket.gethostname()}_100%"


def digest_of(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def test_existing_run_is_never_overwritten(tied: Path, tmp_path: Path, run_in: RunIn) -> None:
    settings = {"OMPASS_DIR": "run.ompass"}
    seen: dict[str, dict[str, str]] = {}
    for expected in ("run.ompass", "run-2.ompass", "run-3.ompass"):
        finished = run_in(tied, environment=settings)
        assert finished.returncode == 0
        assert {path.name for path in tmp_path.iterdir()} == {*seen, expected}
        for name, digest in seen.items():
            assert digest_of(tmp_path / name) == digest
        check_sound(tmp_path / expected)
        seen[expected] = digest_of(tmp_path / expected)


def test_file_with_the_name_of_the_directory_is_kept(tied: Path, tmp_path: Path, run_in: RunIn) -> None:
    (tmp_path / "run.ompass").write_text("somebody's file")
    settings = {"OMPASS_DIR": "run.ompass"}
    assert run_in(tied, environment=settings).returncode == 0
    assert (tmp_path / "run.ompass").read_text() == "somebody's file"
    check_sound(tmp_path / "run-2.ompass")


def test_many_processes_at_once_get_a_directory_each(tied: Path, tmp_path: Path, run_in: RunIn) -> None:
    script = 'for i in 1 2 3 4 5 6 7 8; do "$0" >/dev/null & done; wait'
    finished = run_in(Path("/bin/sh"), "-c", script, str(tied), environment={"OMPASS_DIR": "run.ompass"})
    assert finished.returncode == 0
    run_dirs = run_directories(tmp_path)
    assert len(run_dirs) == 8
    assert len({check_sound(run_dir).pid for run_dir in run_dirs}) == 8
    assert [counted(check_sound(run_dir))["tasks"] for run_dir in run_dirs] == [3192] * 8


@pytest.fixture(params=["accepts", "declines"])
def other_tool(request: pytest.FixtureRequest, default_toolchain: Toolchain) -> tuple[Path, bool]:
    """Returns another OMPT tool, and True if it agrees to be the tool of the process."""
    flags = ["-shared", "-fPIC", *(["-DDECLINES"] if request.param == "declines" else [])]
    return compile_source("survival/other_tool.c", default_toolchain, flags=flags), request.param == "accepts"


def test_another_tool_that_is_loaded_first_is_active(
    other_tool: tuple[Path, bool], tied: Path, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    other, accepts = other_tool
    settings = {
        "OMP_TOOL_LIBRARIES": f"{other}:{libompass}",
        "OMPASS_DIR": "run.ompass",
        "OTHER_TOOL_NOTE": str(tmp_path / "note"),
    }
    finished = run_in(tied, tool=None, environment=settings)
    assert finished.returncode == 0
    assert facts_in(finished.stdout)["tasks"] == 3192
    assert (tmp_path / "note").read_text().startswith("asked by OpenMP")
    if accepts:
        assert run_directories(tmp_path) == [], "only the other tool is active"
    else:
        check_facts(facts_in(finished.stdout), check_sound(tmp_path / "run.ompass"))


def test_wrappers_of_an_inactive_tool_do_no_harm(
    tied: Path, default_toolchain: Toolchain, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    """If another tool is preloaded first, libompass.so wraps the runtime's functions but never starts."""
    other = compile_source("survival/other_tool.c", default_toolchain, flags=["-shared", "-fPIC"])
    settings = {"LD_PRELOAD": f"{other} {libompass}", "OMPASS_DIR": "run.ompass", "OMPASS_MODE": "trace"}
    finished = run_in(tied, tool=None, environment=settings)
    assert finished.returncode == 0
    assert facts_in(finished.stdout)["tasks"] == 3192
    for run_dir in run_directories(tmp_path):
        assert counted(check_sound(run_dir))["tasks"] == 0


def test_preload_into_programs_without_openmp_does_nothing(
    libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    """The loader also loads a preloaded library into shells and the programs that they start."""
    settings = {"LD_PRELOAD": str(libompass), "OMPASS_SUMMARY": "on"}
    arguments = ("-c", "ls / >/dev/null; echo done | cat; exit 3")
    finished = run_in(Path("/bin/sh"), *arguments, tool=None, environment=settings)
    assert (finished.returncode, finished.stdout, finished.stderr) == (3, "done\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"OMPASS_WRAPPERS": "on"},
        {"OMPASS_WRAPPERS": "off"},
        {"OMPASS_BRACKETS": "off"},  # the former name of OMPASS_WRAPPERS
        {"OMPASS_WRAPPERS": "on", "OMPASS_BRACKETS": "off"},
    ],
)
def test_wrappers_are_measured_only_when_switched_on(
    settings: dict[str, str], tied: Path, run_recorded: RunRecorded
) -> None:
    recorded = run_recorded(tied, preload=True, environment=settings)
    wrappers = next(iter(settings.values()))
    profile = check_sound(recorded.run_dir)
    assert profile.create_estimated == (wrappers == "off")
    assert (profile.create_estimate_ns == 0) == (wrappers == "on")
    assert sum(row.create_ns for row in profile.regions) > 0


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_control_tool_starts_pauses_and_ends_the_record(mode: str, record: Record) -> None:
    recorded = record("survival/controlled.c", mode=mode)
    assert recorded.process.stdout.startswith("there is a tool")
    profile = check_sound(recorded.run_dir)
    assert profile.end_reason == "ended-by-control"
    check_facts(facts_in(recorded.process.stdout), profile)
    if mode == "trace":
        replay = _core.replay_trace(str(recorded.run_dir))
        assert counted(replay)["tasks"] == counted(profile)["tasks"]


def test_control_tool_has_no_effect_without_the_tool(
    compile_program: CompileProgram, tmp_path: Path, run_in: RunIn
) -> None:
    program = compile_program("survival/controlled.c")
    finished = run_in(program, tool=None)
    assert finished.stdout.startswith("there is no tool")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("loading", ["OMP_TOOL_LIBRARIES", "LD_PRELOAD", "linked"])
def test_every_way_of_loading_records_the_same(
    loading: str, compile_program: CompileProgram, libompass: Path, tmp_path: Path, run_in: RunIn
) -> None:
    flags = [str(libompass), f"-Wl,-rpath,{libompass.parent}"] if loading == "linked" else []
    program = compile_program("kinds/taskgroup.c", flags=flags)
    settings = {"OMPASS_DIR": "run.ompass", "OMPASS_MODE": "trace"}
    if loading != "linked":
        settings[loading] = str(libompass)
    finished = run_in(program, tool=None, environment=settings)
    assert finished.returncode == 0, finished.stderr
    profile = check_sound(tmp_path / "run.ompass")
    check_facts(facts_in(finished.stdout), profile)
    check_accounts_agree(profile, _core.replay_trace(str(tmp_path / "run.ompass")))
    assert profile.create_estimated == (loading == "OMP_TOOL_LIBRARIES"), "wrappers need a preload or a link"

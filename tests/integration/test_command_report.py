# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass report`, info, dump, validate and doctor on recorded runs of a few small programs."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from needs import require_commands
from toolchains import CompileProgram, RunRecorded, Toolchain, neutral_environment

SOURCE = """\
#include <cstdio>
namespace area {
template <class T> struct Work {
  static inline __attribute__((always_inline)) void spawn(T n) {
#pragma omp task firstprivate(n)
    { volatile T sum = 0; for (T i = 0; i < n; i++) sum = sum + i; }
  }
};
}
int main() {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < 100; i++) area::Work<long>::spawn(1000);
#pragma omp parallel num_threads(1)
  {
#pragma omp task
    std::printf("one\\n");
#pragma omp taskwait
  }
  return 0;
}
"""
N_SPAWNED = 100


def ompass(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ompass", *map(str, arguments)],
        env={**neutral_environment(), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def json_of(*arguments: str | Path) -> Any:
    done = ompass(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def program(tmp_path: Path, compile_program: CompileProgram) -> Path:
    source = tmp_path / "spawn.cpp"
    source.write_text(SOURCE, encoding="utf-8")
    built = compile_program(source)
    # Makes a copy for tests that change the program.
    return Path(shutil.copy(built, tmp_path / "spawn"))


@pytest.fixture
def trace(program: Path, run_recorded: RunRecorded) -> Path:
    return run_recorded(program, mode="trace").run_dir


def test_tool_loaded_by_hand_leaves_a_run_that_is_reported(trace: Path) -> None:
    text = ompass("report", trace, "--full").stdout
    for part in ("Where the thread-time went", "spawn.cpp:5", "spawn.cpp:11", "Findings", "101"):
        assert part in text


def test_inlined_construct_is_located_where_it_is_written(trace: Path) -> None:
    spawned = next(c for c in json_of("report", trace)["constructs"] if c["line"] == 5)
    assert spawned["function"] == "area::Work<long>::spawn(long)"
    assert spawned["inlined_into"] == ["main"]
    assert spawned["tasks"] == N_SPAWNED


def test_task_within_a_region_is_located_in_its_function(trace: Path) -> None:
    inner = next(c for c in json_of("report", trace)["constructs"] if c["line"] == 16)
    assert inner["function"] == "main"


def test_construct_whose_call_was_a_jump_is_not_attributed_to_the_runtime(
    tmp_path: Path, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    source = tmp_path / "jump.c"
    source.write_text(
        "#include <stdio.h>\nint main(void) {\n#pragma omp parallel num_threads(1)\n#pragma omp task\n"
        '  puts("x");\n  return 0;\n}\n',
        encoding="utf-8",
    )
    report = json_of("report", run_recorded(compile_program(source)).run_dir)
    (construct,) = report["constructs"]
    if construct["line"] != 4:
        assert construct["line"] == 3, "the enclosing region"
        assert any("-fno-optimize-sibling-calls" in problem for problem in report["problems"])


def test_figures_of_events_and_profile_have_the_same_counts(trace: Path) -> None:
    kept, recomputed = json_of("report", trace), json_of("report", trace, "--from", "events")
    assert (kept["source"], recomputed["source"]) == ("profile", "events")
    assert kept["tasks"] == recomputed["tasks"] == N_SPAWNED + 1
    assert ompass("validate", trace).returncode == 0


def test_states_add_up_to_thread_time_in_every_scope(trace: Path) -> None:
    states = ("work_ns", "create_ns", "schedule_ns", "sync_ns", "idle_ns")
    program = json_of("report", trace, "--scope", "program")
    assert program["thread_time_ns"] == program["threads"] * program["wall_ns"]
    assert program["wall_ns"] == program["program_wall_ns"]
    regions = json_of("report", trace)
    first = json_of("report", trace, "--region", "spawn.cpp:11")
    second = json_of("report", trace, "--region", "spawn.cpp:14")
    for report in (program, regions, first, second):
        assert report["thread_time_ns"] == sum(report[state] for state in states)
    assert regions["thread_time_ns"] == first["thread_time_ns"] + second["thread_time_ns"]
    assert first["thread_time_ns"] == 2 * first["wall_ns"]


def test_csv_and_svg_are_written(trace: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(ompass("report", trace, "--csv").stdout)))
    assert sorted(row["tasks"] for row in rows) == ["1", str(N_SPAWNED)]
    assert ompass("report", trace, "--svg", tmp_path / "r.svg").returncode == 0
    assert (tmp_path / "r.svg").read_text(encoding="utf-8").startswith("<svg")


def test_dump_has_the_life_of_every_task(trace: Path) -> None:
    events = [json.loads(line) for line in ompass("dump", trace, "--json").stdout.splitlines()]
    kinds = Counter(event["kind"] for event in events if event["line"] == 5)
    assert kinds["create"] == N_SPAWNED
    assert kinds["start"] == N_SPAWNED
    times: dict[int, list[int]] = {}
    for event in events:
        times.setdefault(event["thread"], []).append(event["time_ns"])
    assert all(per_thread == sorted(per_thread) for per_thread in times.values())
    only = ompass("dump", trace, "--kind", "create", "--construct", "spawn.cpp:5").stdout.splitlines()
    assert len(only) == N_SPAWNED


def test_info_shows_program_mode_and_threads(trace: Path, program: Path) -> None:
    value = json_of("info", trace)
    assert value["program"] == str(program)
    assert value["mode"] == "trace"
    assert [t["kind"] for t in value["threads"]] == ["initial", "worker"]
    assert value["definitions"]["task"] == 2
    assert str(program) in ompass("info", trace).stdout


@pytest.mark.parametrize(
    ("name", "first", "complaint"),
    [("process.log", 0, "not an Ompass log"), ("thread-00000.log", 5000, "damaged: statistics out of place")],
)
def test_report_refuses_and_validate_reports_a_damaged_log(
    trace: Path, name: str, first: int, complaint: str
) -> None:
    log = bytearray((trace / name).read_bytes())
    log[first : first + 1000] = b"\xff" * 1000
    (trace / name).write_bytes(log)
    done = ompass("report", trace)
    assert done.returncode == 4
    assert name in done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert ompass("validate", trace).returncode == 4


def test_a_program_that_was_rebuilt_since_the_run_is_reported(
    trace: Path, program: Path, default_toolchain: Toolchain
) -> None:
    source = program.with_suffix(".cpp")
    source.write_text("\n\n" + SOURCE, encoding="utf-8")
    subprocess.run(
        [
            default_toolchain.cxx,
            "-g",
            *default_toolchain.compile_flags,
            "-o",
            program,
            source,
            *default_toolchain.link_flags,
        ],
        check=True,
    )
    report = json_of("report", trace)
    assert any("has changed since the run" in problem for problem in report["problems"])
    assert [c["line"] for c in report["constructs"]] == [None, None]


def test_program_without_debug_information_still_has_functions(
    trace: Path, program: Path, default_toolchain: Toolchain
) -> None:
    require_commands("strip")
    # The build id stays, so Ompass still recognises the file as the recorded program.
    subprocess.run(["strip", "--strip-debug", program], check=True)
    report = json_of("report", trace)
    assert any("compile with -g" in problem for problem in report["problems"])
    assert {r["function"] for r in report["regions"]} == {"main"}
    assert {r["line"] for r in report["regions"]} == {None}


def test_debug_information_in_a_separate_file_is_found(trace: Path, program: Path) -> None:
    require_commands("objcopy")
    debug = program.with_name("spawn.debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program], check=True)
    assert {r["line"] for r in json_of("report", trace)["regions"]} == {11, 14}


def test_doctor_finds_this_machine_fit(libompass: Path, default_toolchain: Toolchain) -> None:
    done = ompass(
        "doctor", "--json", OMPASS_LIBRARY=str(libompass), LD_LIBRARY_PATH=str(default_toolchain.runtime_dir)
    )
    assert done.returncode == 0, done.stdout
    verdicts = {check["name"]: check["verdict"] for check in json.loads(done.stdout)}
    assert (verdicts["tool"], verdicts["reader"]) == ("ok", "ok")


def test_doctor_of_a_program_names_its_runtime(
    program: Path, libompass: Path, default_toolchain: Toolchain
) -> None:
    environment = default_toolchain.run_environment({"OMPASS_LIBRARY": str(libompass)})
    done = subprocess.run(
        [sys.executable, "-m", "ompass", "doctor", program, "--json"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    value = json.loads(done.stdout)
    assert value["recordable"]
    assert value["debug_information"]
    assert [Path(r["path"]).resolve() for r in value["runtimes"]] == [
        default_toolchain.runtime_library.resolve()
    ]

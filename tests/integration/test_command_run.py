# SPDX-License-Identifier: Apache-2.0
"""`ompass run` records real programs on every runtime and does not change their behaviour."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from needs import require_commands, require_toolchain
from toolchains import CompileProgram, Toolchain, neutral_environment, toolchain_named

# A program with a known number of recursive tasks: fib(n) creates two tasks for each call with n >= 2.
FIB = """\
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t interrupted;
static void interrupt(int number) { interrupted = number; }
static long fib(int n) {
  long a, b;
  if (n < 2) return n;
#pragma omp task shared(a)
  a = fib(n - 1);
#pragma omp task shared(b)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}
int main(int argc, char **argv) {
  const int n = atoi(argv[1]);
  const char *ending = argc > 2 ? argv[2] : "";
  long result = 0;
  if (strcmp(ending, "elsewhere") == 0 && chdir("/") != 0) return 1;
  if (strcmp(ending, "wait") == 0) signal(SIGINT, interrupt);
#pragma omp parallel
#pragma omp single
  result = fib(n);
  printf("fib(%d) = %ld\\n", n, result);
  fflush(stdout);
  fprintf(stderr, "to stderr\\n");
  if (strcmp(ending, "wait") == 0)
    while (!interrupted) usleep(1000);
  if (strcmp(ending, "abort") == 0) abort();
  if (strcmp(ending, "hang") == 0) sleep(60);
  return argc > 3 ? atoi(argv[3]) : 0;
}
"""
LINES_OF_TASKS = (11, 13)
N = 15
N_TASKS = 1972  # two for each call fib(k) with k >= 2


def tasks_of(n: int) -> int:
    return 0 if n < 2 else 2 + tasks_of(n - 1) + tasks_of(n - 2)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fib") / "fib.c"
    path.write_text(FIB, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def fib(source: Path, compile_program: CompileProgram) -> Path:
    return compile_program(source)


class Launcher:
    """Runs the command `ompass` in a given directory."""

    def __init__(self, directory: Path, library: Path, toolchain: Toolchain) -> None:
        self.directory = directory
        self.environment = toolchain.run_environment({"OMPASS_LIBRARY": str(library)})

    def command(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "ompass", *map(str, arguments)]

    def __call__(
        self, *arguments: str | Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            env={**self.environment, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def recorded(self, *arguments: str | Path, **environment: str) -> dict[str, Any]:
        """Runs `ompass run` with these arguments; returns the JSON report."""
        done = self("run", "-q", "--json", "report.json", *arguments, environment=environment)
        assert done.returncode == 0, done.stderr
        return dict(json.loads((self.directory / "report.json").read_text(encoding="utf-8")))

    def run_directories(self) -> list[str]:
        return sorted(path.name for path in self.directory.glob("*.ompass"))


@pytest.fixture
def ompass(tmp_path: Path, libompass: Path, default_toolchain: Toolchain) -> Launcher:
    return Launcher(tmp_path, libompass, default_toolchain)


def test_known_number_of_tasks_is_right() -> None:
    assert tasks_of(N) == N_TASKS


def test_the_program_keeps_stdout_and_the_report_goes_to_stderr(ompass: Launcher, fib: Path) -> None:
    done = ompass("run", "-t", "2", "--", fib, str(N))
    assert done.returncode == 0
    assert done.stdout == f"fib({N}) = 610\n"
    assert done.stderr.startswith("to stderr\n")
    assert f"{N_TASKS:,}" in done.stderr
    assert "Where the thread-time went" in done.stderr
    assert len(ompass.run_directories()) == 1


def test_force_replaces_a_run_and_nothing_else(ompass: Launcher, fib: Path) -> None:
    for size in (N, 5):
        done = ompass("run", "-q", "--strict", "--force", "-o", "a.ompass", "--", fib, str(size))
        assert done.returncode == 0, done.stderr
    assert ompass.run_directories() == ["a.ompass"]
    assert f"{fib.name} 5\n" in ompass("info", "a.ompass").stdout
    (ompass.directory / "notes").mkdir()
    (ompass.directory / "notes" / "file").touch()
    assert ompass("run", "--force", "-o", "notes", "--", fib, "5").returncode == 2
    assert (ompass.directory / "notes" / "file").exists()
    (ompass.directory / "link").symlink_to("a.ompass")
    assert ompass("run", "--force", "-o", "link", "--", fib, "5").returncode == 2


def test_a_program_in_place_of_a_command_is_recorded(ompass: Launcher, fib: Path) -> None:
    done = ompass(fib, str(N))
    assert (done.returncode, done.stdout) == (0, f"fib({N}) = 610\n"), done.stderr
    assert f"{N_TASKS:,}" in done.stderr
    done = ompass("-t", "1", "-o", "one.ompass", fib, str(N))  # options of `ompass run`
    assert done.returncode == 0, done.stderr
    assert len(ompass.run_directories()) == 2
    assert "one.ompass" in ompass.run_directories()


def test_a_first_word_that_is_neither_command_nor_program_is_explained(ompass: Launcher, fib: Path) -> None:
    (ompass.directory / "fib").symlink_to(fib)
    ompass("run", "-q", "-o", "a.ompass", "--", fib, str(N))
    for word, status, explanation in (
        ("reprot", 2, "did you mean `ompass report`?"),
        ("fob", 2, "`ompass --help` lists the commands"),
        ("a.ompass", 2, "`ompass report a.ompass` shows it"),
        ("fib", 127, "write ./fib if it is in this directory"),
        ("./fob", 127, "no such file"),
    ):
        done = ompass(word)
        assert done.returncode == status, done.stderr
        assert explanation in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("wrappers", ["--wrappers", "--no-wrappers"])
def test_report_counts_and_locates_every_task(
    ompass: Launcher, fib: Path, source: Path, mode: str, wrappers: str
) -> None:
    report = ompass.recorded("--mode", mode, wrappers, "-t", "2", "--", fib, str(N))
    assert report["schema_version"] == 1
    assert report["complete"] is True
    assert report["mode"] == mode
    assert report["tasks"] == N_TASKS
    assert report["create_estimated"] is (wrappers == "--no-wrappers")
    states = ("work_ns", "create_ns", "schedule_ns", "sync_ns", "idle_ns")
    assert report["thread_time_ns"] == sum(report[state] for state in states) == 2 * report["wall_ns"]
    assert sorted(c["line"] for c in report["constructs"]) == list(LINES_OF_TASKS)
    assert {(c["function"], c["file"]) for c in report["constructs"]} == {("fib", str(source))}
    assert [c["tasks"] for c in report["constructs"]] == [N_TASKS // 2] * 2
    assert [r["function"] for r in report["regions"]] == ["main"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file", "it is a file"),
        ("file/a.ompass", "is a file"),
        ("/proc/a.ompass", "no directory can be made in /proc"),
        ("n" * 300, "too long"),
    ],
)
def test_place_that_cannot_be_written_is_refused_before_the_program_starts(
    ompass: Launcher, fib: Path, tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    wanted = tmp_path / place
    done = ompass("run", "-o", wanted, "--", fib, str(N))
    assert (done.returncode, done.stdout) == (125, "")
    (line,) = done.stderr.splitlines()
    assert f"-o {wanted}" in line
    assert why in line


@pytest.mark.parametrize("size", ["1G", "500", "1.5 GiB"])
def test_limit_takes_units(ompass: Launcher, fib: Path, size: str) -> None:
    done = ompass("run", "-q", "--limit", size, "--", fib, str(N))
    assert (done.returncode, done.stderr) == (0, "to stderr\n")


def test_limit_that_is_not_a_size_is_refused(ompass: Launcher, fib: Path) -> None:
    done = ompass("run", "--limit-mb", "12kg", "--", fib, str(N))
    assert done.returncode == 2
    assert "--limit 12kg" in done.stderr
    assert "1.5G" in done.stderr


def test_ranks_that_share_a_pattern_are_not_reported_as_children(ompass: Launcher, fib: Path) -> None:
    """All ranks record at the same time, as under mpiexec. Only the first one reports, for all ranks."""
    job = 'i=0; while [ $i -lt 5 ]; do SLURM_PROCID=$i "$@" & i=$((i + 1)); done; wait'
    words = ompass.command("run", "--no-report", "-o", "q-%r", "--", fib, str(N))
    done = subprocess.run(
        ["sh", "-c", job, "sh", *words],
        env={**ompass.environment, "SLURM_STEP_NUM_TASKS": "5"},
        cwd=ompass.directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert sorted(path.name for path in ompass.directory.glob("q-*")) == [f"q-{k}" for k in range(5)]
    assert "also recorded" not in done.stderr
    assert done.stderr.count("recorded 5 ranks in q-0 to q-4") == 1


def test_children_of_the_program_are_reported_and_many_share_one_line(ompass: Launcher, fib: Path) -> None:
    def children(n: int) -> list[str]:
        loop = f'i=0; while [ $i -le {n} ]; do "{fib}" {N} > /dev/null; i=$((i + 1)); done'
        done = ompass("run", "--no-report", "-o", f"c{n}", "--", "sh", "-c", loop)
        return [line for line in done.stderr.splitlines() if "also recorded, in" in line]

    assert len(children(2)) == 2
    (line,) = children(7)
    assert "7 child processes" in line


def test_threads_option_reaches_the_runtime(ompass: Launcher, fib: Path) -> None:
    assert ompass.recorded("--threads", "3", "--", fib, str(N))["threads"] == 3


@pytest.mark.parametrize("wrappers", ["--wrappers", "--no-wrappers"])
def test_gcc_program_is_recorded_on_libomp(
    ompass: Launcher, source: Path, compile_program: CompileProgram, wrappers: str
) -> None:
    gcc = require_toolchain(toolchain_named("gcc-12-libomp-19"))
    program = compile_program(source, gcc)
    # The command must find libomp itself: no variable points to a libomp that has libgomp's file name.
    del ompass.environment["LD_LIBRARY_PATH"]
    doctor = ompass("doctor", program)
    assert "in place of gcc's libgomp" in doctor.stdout
    report = ompass.recorded(wrappers, "-t", "2", "--", program, str(N))
    assert report["tasks"] == N_TASKS
    assert report["complete"] is True
    assert sorted(c["line"] for c in report["constructs"]) == list(LINES_OF_TASKS)


def test_static_program_is_refused_with_the_reason(ompass: Launcher, tmp_path: Path) -> None:
    require_commands("gcc")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    subprocess.run(["gcc", "-static", "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    done = ompass("run", "--", tmp_path / "a")
    assert done.returncode == 125
    assert "statically linked" in done.stderr
    assert ompass("doctor", tmp_path / "a").returncode == 6


def test_exit_code_is_that_of_the_program(ompass: Launcher, fib: Path) -> None:
    done = ompass("run", "--", fib, str(N), "-", "7")
    assert done.returncode == 7
    assert "the program exited with 7" in done.stderr


def test_abort_is_passed_on_and_reported_as_cut_short(ompass: Launcher, fib: Path) -> None:
    done = ompass("run", "-t", "2", "--json", "report.json", "--", fib, str(N), "abort")
    assert done.returncode == -signal.SIGABRT
    assert "cut short" in done.stderr
    report = json.loads((ompass.directory / "report.json").read_text(encoding="utf-8"))
    assert report["complete"] is False
    assert report["tasks"] == N_TASKS, "tasks that completed before are recorded"


def _started(ompass: Launcher, *arguments: str | Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        ompass.command("run", "-t", "2", "--json", "report.json", "--", *arguments),
        cwd=ompass.directory,
        env=ompass.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline().startswith("fib(")
    return child


def test_program_that_handles_an_interrupt_ends_in_its_own_way(ompass: Launcher, fib: Path) -> None:
    with _started(ompass, fib, str(N), "wait") as child:
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 0
    report = json.loads((ompass.directory / "report.json").read_text(encoding="utf-8"))
    assert (report["complete"], report["tasks"]) == (True, N_TASKS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_that_ends_the_program_ends_the_command_the_same_way(
    ompass: Launcher, fib: Path, number: signal.Signals
) -> None:
    with _started(ompass, fib, str(N), "hang") as child:
        child.send_signal(number)
        assert child.wait(60) == -number
    report = json.loads((ompass.directory / "report.json").read_text(encoding="utf-8"))
    assert report["complete"] is False


@pytest.mark.parametrize(("number", "has_advice"), [(signal.SIGKILL, False), (signal.SIGSEGV, True)])
def test_killed_program_leaves_a_report(
    ompass: Launcher, fib: Path, number: signal.Signals, has_advice: bool
) -> None:
    with _started(ompass, fib, str(N), "hang") as child:
        (pid,) = (int(p) for p in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())
        os.kill(pid, number)
        assert child.wait(60) == -number
        assert child.stderr is not None
        assert ("try a larger stack" in child.stderr.read()) == has_advice
    report = json.loads((ompass.directory / "report.json").read_text(encoding="utf-8"))
    assert report["end_reason"] == "running-or-killed"
    assert report["tasks"] == N_TASKS


def test_run_directory_is_not_overwritten_without_force(ompass: Launcher, fib: Path) -> None:
    for _ in range(3):
        assert ompass("run", "-q", "-o", "mine.ompass", "--", fib, "5").returncode == 0
    assert ompass.run_directories() == ["mine-2.ompass", "mine-3.ompass", "mine.ompass"]


def test_program_that_changes_its_directory_is_found(ompass: Launcher, fib: Path) -> None:
    done = ompass("run", "--", fib, "5", "elsewhere")
    assert done.returncode == 0
    assert "recorded in" in done.stderr
    assert len(ompass.run_directories()) == 1


def test_tool_in_a_directory_with_a_space_in_its_name_is_loaded(
    ompass: Launcher, fib: Path, libompass: Path
) -> None:
    odd = ompass.directory / "a clone" / "libompass.so"
    odd.parent.mkdir()
    odd.symlink_to(libompass)
    report = ompass.recorded("--wrappers", "--", fib, str(N), OMPASS_LIBRARY=str(odd))
    assert (report["tasks"], report["create_estimated"]) == (N_TASKS, False)


def test_all_programs_that_a_script_starts_are_recorded(ompass: Launcher, fib: Path) -> None:
    script = ompass.directory / "script"
    script.write_text(f"#!/bin/sh\n{fib} 5\n{fib} {N}\n", encoding="utf-8")
    script.chmod(0o755)
    done = ompass("run", "--", script)
    assert done.returncode == 0
    assert len(ompass.run_directories()) == 2
    assert done.stderr.count("a child process was also recorded") == 1


def test_program_without_openmp_is_run_and_explained(ompass: Launcher) -> None:
    done = ompass("run", "--", "sh", "-c", "echo out; exit 5")
    assert (done.returncode, done.stdout) == (5, "out\n")
    assert "nothing was recorded" in done.stderr
    assert ompass.run_directories() == []


def test_summary_of_the_tool_is_replaced_by_the_report(ompass: Launcher, fib: Path) -> None:
    quiet = ompass("run", "-q", "--", fib, "5")
    assert quiet.stderr == "to stderr\n"
    noisy = ompass("run", "-q", "--", fib, "5", environment={"OMPASS_SUMMARY": "on"})
    assert len(noisy.stderr) > len(quiet.stderr)


def test_command_costs_little_time_of_its_own(ompass: Launcher) -> None:
    start = time.monotonic()
    ompass("run", "-q", "--no-report", "--", "true")
    assert time.monotonic() - start < 20, "it examines the program, not the whole machine"


def test_environment_of_the_tests_is_neutral() -> None:
    assert not [name for name in neutral_environment() if name.startswith(("OMPASS_", "OMP_"))]

# SPDX-License-Identifier: Apache-2.0
"""One command records all ranks of an MPI job: `ompass run` starts the launcher, or is started by it."""

from __future__ import annotations

import json
import resource
import shlex
from pathlib import Path

import pytest

from command import command_line
from mpi_jobs import compiler_flags, job_environment, run_words
from needs import require_commands
from toolchains import CompileProgram, Toolchain


@pytest.fixture(scope="module")
def program(compile_program: CompileProgram) -> Path:
    require_commands("mpirun", "mpicc")
    return compile_program("ranks/jobs.c", flags=compiler_flags())


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    return job_environment(libompass, default_toolchain)


def test_one_launch_names_the_ranks_and_prints_the_report_on_the_job(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = run_words(
        environment, tmp_path, *command_line("run", "--"), "mpirun", "-n", 3, program, "imbalanced", 2
    )
    names = sorted(path.name for path in tmp_path.glob("*.ompass"))
    assert [name.rpartition("-")[0] for name in names] == [f"{program.name}-r{k}" for k in range(3)]
    assert f"recorded 3 ranks in {program.name}-r0" in done.stderr
    assert "job of 3 ranks" in done.stderr
    assert "EXPECT" in done.stdout


def test_ranks_that_start_ompass_report_together_and_keep_their_names(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = run_words(
        environment, tmp_path, "mpirun", "-n", 4, *command_line("run", "--", program, "imbalanced", 2)
    )
    runs = sorted(tmp_path.glob("*.ompass"))
    assert [run.name.split("-")[-2] for run in runs] == ["r0", "r1", "r2", "r3"]
    assert len({run.name.split("-")[-1] for run in runs}) == 1, "the ranks share the number of their leader"
    assert done.stderr.count("recorded 4 ranks") == 1
    assert "job of 4 ranks" in done.stderr
    assert all((run / "names.json.gz").is_file() for run in runs)


def test_the_status_of_the_program_is_that_of_the_rank(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    run_words(
        environment,
        tmp_path,
        *("mpirun", "-n", 2, *command_line("run", "-q", "--", "sh", "-c", "exit 7")),
        status=7,
    )


def test_a_missing_program_is_reported_once(environment: dict[str, str], tmp_path: Path) -> None:
    require_commands("mpirun")
    words = ("mpirun", "-n", 4, *command_line("run", "--", "./no-such-program"))
    done = run_words(environment, tmp_path, *words, status=127)
    assert done.stderr.count("no such file") == 1


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow  # a timed test
def test_a_further_rank_costs_little_processor_time(environment: dict[str, str], tmp_path: Path) -> None:
    """Only one rank plans the job. If the others loaded the whole package, each would take half a second."""
    require_commands("mpirun")
    costs = []
    for n_ranks in (2, 18):
        before = cpu_s()
        words = ("mpirun", "-n", n_ranks, *command_line("run", "-q", "--no-report", "--", "true"))
        run_words(environment, tmp_path, *words)
        costs.append(cpu_s() - before)
    assert (costs[1] - costs[0]) / 16 < 0.15


def test_a_check_compares_jobs_with_the_counts_of_all_ranks(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    job = ["mpirun", "-n", 2, program, "imbalanced", 2]
    words = command_line(
        "check", "--json", "--no-traces", "--time-limit", "1ms", "-o", "runs", shlex.join(map(str, job))
    )
    done = run_words(environment, tmp_path, *words, "--", *job, status=2)  # no verdict after one round
    counts = {count["figure"]: count for count in json.loads(done.stdout)["counts"]}
    assert counts["ranks"]["values_before"] == counts["ranks"]["values_after"] == [2]
    assert counts["regions"]["values_before"] == counts["regions"]["values_after"] == [4]
    names = sorted(path.name for path in (tmp_path / "runs" / "after").glob("*.ompass"))
    assert names == ["001-r0.ompass", "001-r1.ompass"]

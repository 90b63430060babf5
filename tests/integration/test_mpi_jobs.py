# SPDX-License-Identifier: Apache-2.0
"""MPI jobs of known shape: one launch records all ranks; the first finding on the job is the right one.

tests/slow/test_mpi_efficiencies.py compares the efficiencies with the known values of the programs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import call, command_line
from marked_programs import in_a_calm_moment
from mpi_jobs import compiler_flags, job_environment, record_job, run_words
from needs import require_commands
from toolchains import CompileProgram, Toolchain

N_ROUNDS = 8


@pytest.fixture(scope="module")
def program(compile_program: CompileProgram) -> Path:
    require_commands("mpirun", "mpicc")
    return compile_program("ranks/jobs.c", flags=compiler_flags())


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    return job_environment(libompass, default_toolchain)


ATTEMPTS = 3


def first_finding(
    environment: dict[str, str], folder: Path, program: Path, kind: str, found: str
) -> dict[str, Any] | None:
    """Returns the expected first finding on a job; None if other programs disturb every attempt."""
    for attempt in range(ATTEMPTS):
        place = folder / str(attempt)
        place.mkdir()
        report, _ = record_job(environment, place, 2, program, kind, N_ROUNDS)
        assert [rank["rank"] for rank in report["job"]["ranks"]] == [0, 1]
        findings: list[dict[str, Any]] = report["job"]["findings"]
        if findings and findings[0]["kind"] == found:
            return findings[0]
        of_runs = [finding for run in report["runs"] for finding in run["findings"]]
        assert {"disturbed", "oversubscribed"} & {one["kind"] for one in [*findings, *of_runs]}, findings
    return None


@pytest.mark.parametrize(
    ("kind", "found", "function"),
    [
        ("imbalanced", "rank_imbalance", "MPI_Allreduce, where rank 1 arrives last"),
        ("communication", "communication", "MPI_"),
        ("serialised", "ranks_in_turn", "MPI_"),
    ],
)
def test_the_first_finding_on_a_job_is_the_right_one(
    kind: str, found: str, function: str, program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    first = first_finding(environment, tmp_path, program, kind, found)
    if first is not None:
        assert function in first["because"]
        assert first["file"].endswith("jobs.c")


@pytest.mark.parametrize("kind", ["imbalanced", "communication", "serialised", "in_task", "even"])
def test_efficiencies_are_those_that_the_ranks_measure(
    kind: str, program: Path, libompass: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    """Tool and program measure the same run at slightly different moments, so this test allows 5 points."""
    environment = job_environment(libompass, default_toolchain, 2 if kind == "in_task" else 1)

    def record() -> tuple[dict[str, float], dict[str, float]]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        report, stdout = record_job(environment, folder, 2, program, kind, N_ROUNDS)
        line = next(line for line in stdout.splitlines() if line.startswith("MEASURED "))
        measured = {
            name: float(value) / 100 for name, value in (pair.split("=") for pair in line.split()[1:])
        }
        found = report["job"]["efficiencies"]["multiplicative"]
        return {name: found[name] for name in measured}, measured

    def check(both: tuple[dict[str, float], dict[str, float]]) -> None:
        found, measured = both
        assert found == pytest.approx(measured, abs=0.05)

    in_a_calm_moment(record, check)


def test_tasks_that_wait_in_mpi_are_found(
    program: Path, libompass: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    environment = job_environment(libompass, default_toolchain, 2)
    report, _ = record_job(environment, tmp_path, 2, program, "in_task", N_ROUNDS)
    kinds = [finding["kind"] for finding in report["job"]["findings"]]
    assert "mpi_in_regions" in kinds, report["job"]["findings"]
    assert all(rank["mpi_ns"] > 0 for rank in report["job"]["ranks"])


def test_an_even_job_has_no_finding_on_the_distribution_of_work(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    def record() -> dict[str, Any]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        job: dict[str, Any] = record_job(environment, folder, 2, program, "even", N_ROUNDS)[0]["job"]
        return job

    def check(job: dict[str, Any]) -> None:
        assert "rank_imbalance" not in {finding["kind"] for finding in job["findings"]}
        assert job["imbalance"] == pytest.approx(1, abs=0.1)

    in_a_calm_moment(record, check)


def test_a_sweep_of_a_job_reads_all_ranks(program: Path, environment: dict[str, str], tmp_path: Path) -> None:
    command = ("mpirun", "-n", "{ranks}", program, "imbalanced", 3)
    options = ("-q", "-t", "1", "--ranks", "1,2", "-r", 2, "-o", "s.sweep", "--json")
    report = json.loads(call(environment, tmp_path, "scale", *options, "--", *command).stdout)
    points = [(point["ranks"], point["threads"], point["jobs"]) for point in report["points"]]
    assert points == [(1, 1, 2), (2, 1, 2)]
    assert 0 < report["points"][1]["efficiencies"]["mpi_load_balance"] <= 1
    again = json.loads(call(environment, tmp_path, "scale", "-o", "s.sweep", "--json").stdout)
    assert again == report
    runs = sorted((tmp_path / "s.sweep" / "runs").glob("*.ompass"))
    alone = json.loads(call(environment, tmp_path, "scale", "--json", "--from", *runs).stdout)
    assert alone["points"] == report["points"]


def test_jobs_in_two_folders_are_compared(program: Path, environment: dict[str, str], tmp_path: Path) -> None:
    for side, rounds in (("before", 2), ("after", 4)):
        (tmp_path / side).mkdir()
        run_words(
            environment,
            tmp_path / side,
            *command_line("run", "-q", "--", "mpirun", "-n", 2, program, "even", rounds),
        )
    assert "ompass report after/*.ompass" in call(environment, tmp_path, "compare", "before", "after").stdout
    done = call(environment, tmp_path, "compare", "before", "after", "--json")
    (compared,) = json.loads(done.stdout)["compared"]
    assert compared["threads_before"] == compared["threads_after"] == 2
    counts = {
        count["figure"]: (count["values_before"], count["values_after"]) for count in compared["counts"]
    }
    assert counts["regions"] == ([4], [8])

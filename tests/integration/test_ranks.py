# SPDX-License-Identifier: Apache-2.0
"""The ranks of an MPI job: one command records them all, and one analyses them, here or on a Dask cluster."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from command import call, command_line
from needs import require_commands
from toolchains import CompileProgram, Toolchain, neutral_environment

N_RANKS = 2
PATIENCE_S = 60
TASKS_PER_RANK = (20, 40)


@pytest.fixture(scope="module")
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
        "OMP_NUM_THREADS": "2",
        # allows root, and fewer cores than threads
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
    }


@pytest.fixture(scope="module")
def program(compile_program: CompileProgram) -> Path:
    require_commands("mpirun.openmpi", "mpicc.openmpi")
    shown = subprocess.run(["mpicc.openmpi", "--showme"], capture_output=True, text=True, check=True).stdout
    return compile_program("ranks/uneven.c", flags=shown.split()[1:])


def run_job(environment: Mapping[str, str], cwd: Path, *command: object) -> list[str]:
    """Runs a job of two ranks in `cwd`. Returns the names of its run directories, by rank."""
    done = subprocess.run(
        ["mpirun.openmpi", "-n", str(N_RANKS), *(str(word) for word in command)],
        cwd=cwd, env=dict(environment), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = sorted(path.name for path in cwd.glob("*.ompass"))
    assert [name.split("-r")[1].split("-")[0] for name in found] == ["0", "1"]
    return found


@pytest.fixture(scope="module")
def job(program: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory with the run directories of a traced job."""
    folder = tmp_path_factory.mktemp("job")
    run_job(environment, folder, *command_line("run", "-q", "--mode", "trace", "--", program))
    return folder


@pytest.fixture(scope="module")
def cluster(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields the address of a Dask scheduler with two workers, all local processes."""
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    place = ["--scheduler-file", str(file), "--no-dashboard"]
    commands = (
        ["scheduler", *place, "--host", "127.0.0.1", "--port", "0"],
        ["worker", *place, "--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder)],
    )
    started = []
    try:
        with (folder / "log").open("w") as log:
            for command in commands:
                started.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "dask", *command],
                        cwd=folder,
                        env=environment,
                        stdout=log,
                        stderr=log,
                    )
                )
        give_up_s = time.monotonic() + PATIENCE_S
        while (folder / "log").read_text().count("Register worker") < 2:
            assert time.monotonic() < give_up_s, (folder / "log").read_text()
            time.sleep(0.1)
        yield str(json.loads(file.read_text())["address"])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            process.wait(PATIENCE_S)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.ompass"))


def json_of(environment: Mapping[str, str], folder: Path, *arguments: object) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(call(environment, folder, *arguments, "--json").stdout)
    return values


@pytest.mark.parametrize("command", ["report", "graph", "krd"])
def test_results_do_not_depend_on_where_they_are_computed(
    command: str, job: Path, cluster: str, environment: dict[str, str]
) -> None:
    one_by_one = json_of(environment, job, command, *names(job))
    assert len(one_by_one["runs"]) == N_RANKS
    assert json_of(environment, job, command, *names(job), "--dask", cluster) == one_by_one
    if command == "report":  # other commands share the code
        assert json_of(environment, job, command, *names(job), "--processes", 2) == one_by_one


def test_the_page_shows_every_rank(job: Path, environment: dict[str, str]) -> None:
    call(environment, job, "report", *names(job), "--html", "job.html")
    page = (job / "job.html").read_text()
    assert "The job: 2 ranks" in page
    assert "a bar per rank" in page
    assert '"rank 1 (2)"' in page


def test_imbalance_over_ranks_is_shown(job: Path, environment: dict[str, str]) -> None:
    report = json_of(environment, job, "report", *names(job))
    found = report["job"]
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]
    assert tuple(rank["tasks"] for rank in found["ranks"]) == TASKS_PER_RANK
    work = [rank["work_ns"] for rank in found["ranks"]]
    assert work == [run["work_ns"] for run in report["runs"]]
    assert work[1] > work[0]
    useful = [rank["useful_ns"] for rank in found["ranks"]]
    assert useful == [rank["work_ns"] - rank["preempted_ns"] for rank in found["ranks"]]
    assert found["imbalance"] == pytest.approx(2 * max(useful) / sum(useful))
    wall = [rank["wall_ns"] for rank in found["ranks"]]
    lost = sum(rank["threads"] * (max(wall) - rank["wall_ns"]) for rank in found["ranks"])
    assert found["lost_ns"] == lost
    page = call(environment, job, "report", "--full", *names(job)).stdout
    assert "job of 2 ranks" in page
    assert f"Rank 1 has most work, {found['imbalance']:.2f} times the mean" in page


def test_a_job_is_recorded_by_the_environment_alone(
    program: Path, environment: dict[str, str], libompass: Path, tmp_path: Path
) -> None:
    tool = {"OMP_TOOL_LIBRARIES": str(libompass), "OMPASS_SUMMARY": "off"}
    directories = run_job({**environment, **tool}, tmp_path, program)
    report = json_of(environment, tmp_path, "report", *directories)
    assert report["runs"][0]["create_estimated"]
    assert tuple(rank["tasks"] for rank in report["job"]["ranks"]) == TASKS_PER_RANK


def test_a_damaged_rank_is_reported_by_the_cluster(
    job: Path, cluster: str, environment: dict[str, str], tmp_path: Path
) -> None:
    for name in names(job):
        shutil.copytree(job / name, tmp_path / name)
    broken = names(job)[1]
    (tmp_path / broken / "process.log").write_bytes(b"nonsense" * 100)
    done = call(environment, tmp_path, "report", *names(job), "--dask", cluster, status=4)
    assert broken in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow  # waits until the connection times out
def test_a_missing_scheduler_is_reported_in_one_sentence(job: Path, environment: dict[str, str]) -> None:
    done = call(environment, job, "report", *names(job), "--dask", "tcp://127.0.0.1:1", status=2)
    assert "no Dask scheduler answers there" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_package_of_dask_is_reported_in_one_sentence(
    job: Path, environment: dict[str, str]
) -> None:
    shadow = job / "shadow" / "distributed"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ImportError('no module of that name')\n")
    without = {**environment, "PYTHONPATH": str(shadow.parent)}
    done = call(without, job, "report", *names(job), "--dask", "tcp://127.0.0.1:1", status=8)
    assert "pip install 'ompass[dask]'" in done.stderr
    assert done.stderr.count("\n") == 1

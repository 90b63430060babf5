# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job use the plan of the first rank on their host; without a plan, each rank makes its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ompass.launch import rank_start
from ompass.launch.rank_start import publish_failure, publish_plan, rank_variables, start_rank, withdraw

ARGUMENTS = ["run", "-q", "--", "./solver", "in.0"]


class StartedError(Exception):
    """The process was replaced by a program."""

    def __init__(self, path: str, arguments: Sequence[str], environ: dict[str, str]) -> None:
        super().__init__(path)
        self.path, self.arguments, self.environ = path, arguments, environ


class EndedError(Exception):
    """The process ended with a status."""


@pytest.fixture(autouse=True)
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets up a job whose files are in a folder of the test."""
    for names in rank_start.RANKS:
        for name in filter(None, names):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("OMPASS_LAUNCH", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PMIX_NAMESPACE", "job/7")
    monkeypatch.setattr(rank_start, "_CLAIM_S", 0.05)

    def execve(path: str, arguments: Sequence[str], environ: dict[str, str]) -> None:
        raise StartedError(path, arguments, environ)

    def leave(status: int) -> None:
        raise EndedError(status)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(os, "_exit", leave)


def as_rank(monkeypatch: pytest.MonkeyPatch, rank: int, local: int | None = None) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
    if local is None:
        monkeypatch.delenv("OMPI_COMM_WORLD_LOCAL_RANK", raising=False)
    else:
        monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", str(local))


def lead(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str] | None = None) -> None:
    """Publishes the plan of rank 0."""
    as_rank(monkeypatch, 0, 0)
    start_rank(ARGUMENTS)
    publish_plan(ARGUMENTS, ARGUMENTS[3:], "/bin/solver", variables or {"LD_PRELOAD": "a:b", "EMPTY": ""})


def test_a_rank_starts_the_program_with_the_plan_of_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch)
    as_rank(monkeypatch, 5, 1)
    monkeypatch.setenv("OWN", "value")
    with pytest.raises(StartedError) as started:
        start_rank([*ARGUMENTS[:-1], "in.5", "more"])
    assert started.value.path == "/bin/solver"
    assert started.value.arguments == ["./solver", "in.5", "more"]
    assert started.value.environ["LD_PRELOAD"] == "a:b"
    assert (started.value.environ["EMPTY"], started.value.environ["OWN"]) == ("", "value")


def test_a_plan_is_complete_if_the_kernel_writes_it_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
    test_a_rank_starts_the_program_with_the_plan_of_the_leader(monkeypatch)


@pytest.mark.parametrize("local", [0, None])
def test_the_first_rank_of_a_host_leads(monkeypatch: pytest.MonkeyPatch, local: int | None) -> None:
    lead(monkeypatch)
    as_rank(monkeypatch, 0 if local is None else 8, local)
    start_rank(ARGUMENTS)


def test_other_options_or_another_program_are_planned_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch)
    as_rank(monkeypatch, 1, 1)
    start_rank(["run", "--mode", "trace", "--", "./solver", "in.0"])
    start_rank(["run", "-q", "--", "./other", "in.0"])


def test_without_a_leader_each_rank_plans_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    as_rank(monkeypatch, 1, 1)
    start_rank(ARGUMENTS)


def test_without_a_rank_nothing_is_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    start_rank(ARGUMENTS)
    publish_plan(ARGUMENTS, ARGUMENTS[3:], "/bin/solver", {})
    publish_failure(125)
    withdraw()
    assert list(tmp_path.iterdir()) == []


def test_ranks_inside_of_a_recorded_program_plan_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    lead(monkeypatch)
    as_rank(monkeypatch, 1, 1)
    monkeypatch.setenv("OMPASS_LAUNCH", "outer")
    start_rank(ARGUMENTS)


def test_an_error_of_the_leader_ends_all_ranks_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    as_rank(monkeypatch, 0, 0)
    start_rank(ARGUMENTS)
    publish_failure(127)
    as_rank(monkeypatch, 1, 1)
    with pytest.raises(EndedError, match="127"):
        start_rank(ARGUMENTS)


def test_the_plan_is_removed_at_the_end_of_the_leader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lead(monkeypatch)
    (plan,) = tmp_path.iterdir()
    assert plan.stat().st_mode & 0o077 == 0
    withdraw()
    assert list(tmp_path.iterdir()) == []


def test_ranks_do_not_wait_for_a_dead_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    as_rank(monkeypatch, 0, 0)
    monkeypatch.setattr(os, "getpid", lambda: dead.pid)
    start_rank(ARGUMENTS)
    as_rank(monkeypatch, 1, 1)
    start_rank(ARGUMENTS)


def test_files_of_earlier_jobs_are_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with monkeypatch.context() as earlier:
        earlier.setattr(os, "getpid", lambda: dead.pid)
        lead(earlier)
    as_rank(monkeypatch, 1, 1)
    start_rank(ARGUMENTS)
    as_rank(monkeypatch, 0, 0)
    publish_failure(125)
    (plan,) = tmp_path.iterdir()
    os.utime(plan, (0, 0))
    as_rank(monkeypatch, 1, 1)
    start_rank(ARGUMENTS)


def test_a_link_in_place_of_the_plan_is_not_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lead(monkeypatch)
    (plan,) = tmp_path.iterdir()
    plan.rename(tmp_path / "other")
    plan.symlink_to(tmp_path / "other")
    as_rank(monkeypatch, 1, 1)
    start_rank(ARGUMENTS)


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ("", "", "")),
        (
            {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "4"},
            ("3", "1", "4"),
        ),
        ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "4"}, ("", "", "")),  # batch script
        ({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, ("", "", "")),  # shell
        ({"PMI_RANK": "2", "MPI_LOCALRANKID": "0", "PMI_SIZE": "4", "SLURM_PROCID": "0"}, ("2", "0", "4")),
        ({"OMPI_COMM_WORLD_RANK": "x", "PMIX_RANK": "1"}, ("1", "", "")),
        ({"PMIX_RANK": "3", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}, ("3", "1", "")),  # srun --mpi=pmix
        ({"PMIX_RANK": "3", "SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, ("3", "", "")),  # in a batch script
    ],
)
def test_ranks_come_from_the_variables_of_the_launcher(
    environ: dict[str, str], found: tuple[str, str, str]
) -> None:
    assert rank_variables(environ) == found


def test_a_rank_loads_little_before_its_program_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing the package would cost each rank of a job half a second of processor time."""
    as_rank(monkeypatch, 0, 0)
    publish_plan(["run", "--", "echo"], ["echo"], "/bin/echo", {})
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OMPI_")}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ompass", "run", "--", "echo", "started"],
        env={**environ, "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "started\n"
    bare = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "this"], capture_output=True, text=True, check=True
    )
    loaded, usual = (
        {line.split("|")[-1].strip() for line in each.stderr.splitlines()} for each in (done, bare)
    )
    assert loaded - usual <= {
        "ompass",
        "ompass.__main__",
        "ompass.launch",
        "ompass.launch.rank_start",
        "gc",
        "time",
        "__future__",
    }


def test_a_leader_removes_the_files_of_earlier_jobs_whose_leaders_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    folder = tmp_path
    user = os.geteuid()
    old = {
        f"ompass-{user}-failed.plan": f"fail\0{ended.pid}\x001",
        f"ompass-{user}-killed.plan": f"plan\0{ended.pid}\x001\0run",
        f"ompass-{user}-cut.plan.{ended.pid}": "",
    }
    kept = {
        f"ompass-{user}-running.plan": f"plan\0{os.getpid()}\x001\0run",
        f"ompass-{user}-notes.txt": "",
        f"ompass-{user + 1}-other.plan": "",
    }
    for name, text in (old | kept).items():
        (folder / name).write_text(text)
        os.utime(folder / name, (0, 0))
    (folder / f"ompass-{user}-recent.plan").write_text(f"fail\0{ended.pid}\x001")
    as_rank(monkeypatch, 0, 0)
    start_rank(ARGUMENTS)
    left = {path.name for path in folder.iterdir()}
    assert left == {*kept, f"ompass-{user}-recent.plan", f"ompass-{user}-job_7.plan"}

# SPDX-License-Identifier: Apache-2.0
"""Sweeps count finished, undisturbed rounds, measure the load of other programs, and show their progress."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from ompass.commands.main import application
from ompass.errors import NothingToShowError, UsageError
from ompass.launch.recorder import ProgramFailedError
from ompass.metrics.breakdown import Scope
from ompass.scaling import command, content, execute
from ompass.scaling.content import load_runs
from ompass.scaling.directory import Done, SweepDirectory
from ompass.scaling.plan import BASELINE, ELISION, RECORDED, UNRECORDED, Job, SweepSpec

MS = 1_000_000
SPEC = SweepSpec(("./program",))


@pytest.fixture(autouse=True)
def _recordings_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "open_run", lambda name: name)
    monkeypatch.setattr(content, "measured", lambda run, threads, scope, ns: (run, threads, scope, ns))


def recorded(threads: int, repeat: int, others: float | None = None, value: int = 0) -> Done:
    return Done(Job(RECORDED, threads, value, repeat), 10, None, f"{threads}-{repeat}", others)


def read(done: Sequence[Done], spec: SweepSpec = SPEC, threads: tuple[int, ...] = ()) -> tuple[Any, ...]:
    """Returns the rounds of a sweep with these finished jobs; names represent the runs."""
    directory = SimpleNamespace(
        path="made.sweep", spec=spec, done=lambda: {one.job: one for one in done}, run_of=lambda one: one.run
    )
    return load_runs(cast("SweepDirectory", directory), Scope.REGIONS, threads)


def test_every_number_of_threads_has_its_finished_rounds() -> None:
    done = [recorded(p, repeat) for p, repeat in ((1, 1), (2, 1), (4, 1), (1, 2), (2, 2), (4, 3))]
    one, two, four = read(done)
    assert (one.threads, two.threads, four.threads) == (1, 2, 4)
    assert one.recorded == one.one_thread == ("1-1", "1-2")
    assert (two.recorded, two.one_thread) == (("2-1", "2-2"), ("1-1", "1-2"))
    assert four.recorded == ("4-1",), "round 3 has no run on one thread"
    assert two.samples.recorded == [("2-1", 2, Scope.REGIONS, 10), ("2-2", 2, Scope.REGIONS, 10)]
    assert two.samples.one_thread == [("1-1", 1, Scope.REGIONS, 10), ("1-2", 1, Scope.REGIONS, 10)]
    assert (two.n_left_out, two.others) == (0, 0.0)
    assert [one.threads for one in read(done, threads=(4, 2, 8))] == [2, 4]


def test_a_sweep_without_a_finished_round_has_nothing_to_show() -> None:
    with pytest.raises(NothingToShowError, match="no round of the sweep is finished"):
        read([recorded(2, 1), recorded(4, 1)])


def test_a_sweep_of_an_mpi_job_is_not_read_as_one_of_its_ranks() -> None:
    done = [replace(recorded(p, 1), ranks=(f"{p}-rank0", f"{p}-rank1")) for p in (1, 2)]
    with pytest.raises(UsageError, match=r"a sweep of an MPI job.* `ompass scale -o made.sweep`"):
        read(done)


@pytest.mark.parametrize(
    ("others", "kept"),
    [
        ((0.0, 0.049), [1, 2]),
        ((0.0, 0.05), [1]),
        ((None, 0.051), [1]),
        ((0.06, 0.08), [1, 2]),  # no round is quiet
        ((0.3, 0.04), [2]),
    ],
)
def test_disturbed_rounds_are_omitted_if_quiet_ones_remain(
    others: tuple[float | None, float], kept: list[int]
) -> None:
    done = [recorded(p, k, share) for k, share in enumerate(others, 1) for p in (1, 2)]
    (one, two) = read(done)
    for runs in (one, two):
        assert runs.recorded == tuple(f"{runs.threads}-{k}" for k in kept)
        assert runs.n_left_out == 2 - len(kept)
        assert runs.others == max(others[k - 1] or 0.0 for k in kept)


def test_a_round_is_disturbed_if_one_of_its_runs_is() -> None:
    done = [recorded(1, 1, 0.2), recorded(2, 1), recorded(1, 2), recorded(2, 2)]
    assert [runs.n_left_out for runs in read(done)] == [1, 1]


def test_serial_programs_have_one_time_or_one_for_each_value() -> None:
    spec = replace(SPEC, baseline=("./serial",), elision=("./elision", "{threads}"))
    done = [recorded(p, 1) for p in (1, 2)]
    done += [Done(Job(BASELINE, 1, 0, 1), 7, None, ""), Done(Job(ELISION, 1, 2, 1), 8, 3, "")]
    (two,) = read(done, spec)
    assert two.threads == 2, "the elision did not run for one thread"
    assert two.samples.baseline_ns == [7]
    assert two.samples.elision_ns == [3], "the program printed this time"


def test_values_that_replace_threads_have_their_own_run_on_one_thread() -> None:
    spec = replace(SPEC, command=("./program", "{threads}"))
    done = [recorded(2, 1, value=2), recorded(1, 2, value=2), recorded(2, 2, value=2)]
    (two,) = read(done, spec)
    assert two.recorded == ("2-2",)


def test_runs_without_recording_count_only_in_pairs() -> None:
    done = [recorded(p, repeat) for repeat in (1, 2) for p in (1, 2)]
    done += [Done(Job(UNRECORDED, 2, 0, repeat), 5, None, "") for repeat in (1, 2)]
    done.append(Done(Job(UNRECORDED, 1, 0, 2), 6, None, ""))
    samples = read(done)[1].samples
    assert (samples.unrecorded_ns, samples.unrecorded_one_ns, samples.recorded_process_ns) == ([5], [6], [10])


# ---------------------------------------------------------------- other programs


@pytest.mark.parametrize(
    ("busy", "wall_ns", "own_ns", "share"),
    [
        ((50, 50 + 120), 100 * MS, 60 * MS, 0.2),  # two CPUs: 200 ms; 10 ms of each CPU count as own time
        ((50, 50 + 60), 100 * MS, 60 * MS, 0.0),
        ((0, 900), 100 * MS, 0, 1.0),
        ((None, 100), 100 * MS, 0, None),
        ((0, None), 100 * MS, 0, None),
        ((0, 100), 0, 0, None),
        ((0, 100), 1, 0, 1.0),
    ],
)
def test_the_share_of_other_programs_is_their_part_of_the_cpus_time(
    busy: tuple[int | None, int | None],
    wall_ns: int,
    own_ns: int,
    share: float | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings = iter([None if ms is None else ms * MS for ms in busy])
    times = iter([5, 5 + wall_ns])
    monkeypatch.setattr(execute, "busy_ns", lambda cpus: next(readings))
    monkeypatch.setattr(execute, "step_ns", lambda: 10 * MS)
    monkeypatch.setattr(execute, "time", SimpleNamespace(monotonic_ns=lambda: next(times)))
    assert execute.Watch({0, 1}).others_share(own_ns) == (None if share is None else pytest.approx(share))


# ---------------------------------------------------------------- printed seconds


def printed_ns(text: str, pattern: str, kind: str, folder: Path) -> int | None:
    """Returns the time in the output of a job."""
    output = folder / "job.out"
    output.write_text(text, encoding="utf-8")
    executor: Any = SimpleNamespace(spec=replace(SPEC, seconds=pattern))
    return execute.Executor._printed_ns(executor, Job(kind, 1, 0, 1), output)


@pytest.mark.parametrize(
    ("text", "pattern", "why"),
    [
        ("took 1.5s", r"took (\S+)", "matches '1.5s', not a positive number, in the output of"),
        ("took inf", r"took (\S+)", "matches 'inf', not a positive number"),
        ("took 0.00", r"took (\S+)", "matches '0.00', not a positive number"),
        ("took -1", r"took (\S+)", "matches '-1', not a positive number"),
        ("took long", r"took ([0-9]+)?", "matches '', not a positive number"),
        ("nothing", r"took (\S+)", "matches nothing in the output of"),
    ],
)
def test_a_pattern_that_finds_no_seconds_is_an_error_unless_the_time_is_recorded(
    text: str, pattern: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(ProgramFailedError, match=re.escape(why)) as raised:
        printed_ns(text, pattern, UNRECORDED, tmp_path)
    assert pattern in str(raised.value)
    assert printed_ns(text, pattern, RECORDED, tmp_path) is None


def test_printed_seconds_are_the_time_of_a_job(tmp_path: Path) -> None:
    assert printed_ns("took 1.5 s", r"took (\S+)", UNRECORDED, tmp_path) == 1500 * MS


# ---------------------------------------------------------------- without a program


def test_without_a_program_a_sweep_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "fib"
    program.touch()
    with SweepDirectory.open(tmp_path / "s", SPEC, program):
        pass
    monkeypatch.setattr(command, "_run_all", lambda *_: pytest.fail("runs a job"))
    result = CliRunner().invoke(application(), ["scale", "-o", str(tmp_path / "s"), "-t", "1,2"])
    assert isinstance(result.exception, NothingToShowError)
    assert "no round of the sweep is finished" in str(result.exception)


# ---------------------------------------------------------------- MPI jobs


@pytest.mark.parametrize(
    "form", [("--figure", "f.svg"), ("--html", "f.html"), ("--format", "gcc")], ids=lambda form: form[0]
)
def test_forms_of_reports_that_jobs_lack_are_refused_before_the_first_run(
    form: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mpirun", "solver"):
        (tmp_path / name).write_bytes(Path("/bin/true").read_bytes())
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "_run_all", lambda *_: pytest.fail("runs a job"))
    arguments = ["scale", *form, "--", "./mpirun", "-n", "2", "./solver"]
    result = CliRunner().invoke(application(), arguments)
    assert isinstance(result.exception, UsageError)
    assert f"{form[0]}: the report on an MPI job has no such form" in str(result.exception)
    assert not (tmp_path / "solver.sweep").exists()


# ---------------------------------------------------------------- progress


class Bar:
    """A progress bar that adds up its steps."""

    def add_task(self, description: str, total: int, completed: int) -> int:
        self.total, self.completed = total, completed
        return 7

    def update(self, bar: int, *, description: str = "", advance: int = 0, refresh: bool) -> None:
        assert bar == 7 and refresh
        self.completed += advance


def execute_all(
    monkeypatch: pytest.MonkeyPatch, jobs: list[Job], n_done: int, folder: str
) -> tuple[Bar, list[Job]]:
    """Executes the jobs after the first `n_done`, and returns the bar and the finished jobs."""
    bar, finished = Bar(), list[Any]()

    @contextlib.contextmanager
    def measuring_bar(shown: bool, transient: bool) -> Iterator[Bar]:
        assert transient and not shown
        yield bar

    executor = SimpleNamespace(run=lambda job, sweep: job)
    monkeypatch.setattr(command, "measuring_bar", measuring_bar)
    monkeypatch.setattr(command, "Executor", SimpleNamespace(prepare=lambda *_: executor))
    sweep = SimpleNamespace(
        path="made.sweep",
        spec=replace(SPEC, working_directory=folder),
        done=lambda: dict.fromkeys(jobs[:n_done]),
        finish=finished.append,
    )
    command._run_all(cast("SweepDirectory", sweep), jobs, quiet=True)
    return bar, finished


def test_a_resumed_sweep_executes_the_rest_and_its_bar_ends_full(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [Job(RECORDED, p, 0, 1) for p in (1, 2, 4, 8)]
    bar, finished = execute_all(monkeypatch, jobs, 1, str(Path.cwd()))
    assert finished == jobs[1:]
    assert (bar.total, bar.completed) == (4, 4)
    assert execute_all(monkeypatch, jobs, 4, "/elsewhere")[1] == [], "nothing is left"
    with pytest.raises(UsageError, match="the sweep was started in /elsewhere"):
        execute_all(monkeypatch, jobs, 3, "/elsewhere")

# SPDX-License-Identifier: Apache-2.0
"""The plan, the journal and the results of a suite, with synthetic programs instead of built ones."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ompass.errors import UsageError
from ompass.journal import Journal
from suite.journal import SuiteJournal
from suite.plan import CUTOFFS, Configuration, Plan, Selection, make_plan
from suite.programs import BuiltProgram
from suite.results import SuiteResults, read_results, write_results
from suite.summary import print_summary, summarise


def built(
    program: str, version: str, cutoffs: tuple[str, ...] = CUTOFFS, *, digest: str = "1"
) -> BuiltProgram:
    offered = () if version == "serial" else cutoffs
    return BuiltProgram(
        Path(f"/bots/{program}-{version}"),
        program,
        version,
        "call",
        offered,
        version not in ("serial", "tbb"),
        digest,
    )


CLANG = [
    built("fib", "serial"),
    built("fib", "tasks"),
    built("fib", "tasks-marked"),
    built("fmm", "locality"),
    built("fmm", "serial"),
    built("fmm", "tasks"),
    built("fmm", "tbb", ("none", "manual")),
    built("lu", "tasks", ("none",)),
]
GCC = [built("fib", "serial"), built("fib", "tasks"), built("fmm", "locality"), built("fmm", "tbb")]


@pytest.fixture
def extension(tmp_path: Path) -> Path:
    path = tmp_path / "libomp_ext.so"
    path.write_bytes(b"\x7fELF")
    return path


def plan_for(extension: Path | None = None, environ: dict[str, str] | None = None, **asked: Any) -> Plan:
    return make_plan(Selection(**asked), {"libomp": CLANG, "libgomp": GCC}, extension, environ or {})


def versions_on(plan: Plan, runtime: str) -> set[str]:
    return {f"{c.program}-{c.version}" for c in plan.configurations if c.runtime == runtime}


def test_every_runtime_gets_the_versions_that_run_on_it(extension: Path) -> None:
    plan = plan_for(extension)
    assert versions_on(plan, "libomp") == {"fib-serial", "fib-tasks", "fmm-serial", "fmm-tasks", "lu-tasks"}
    assert versions_on(plan, "libgomp") == {"fib-serial", "fib-tasks"}
    assert versions_on(plan, "ext:nearest") == {"fib-tasks", "fmm-locality", "fmm-tasks", "lu-tasks"}
    assert versions_on(plan, "ext:shared-lifo") == versions_on(plan, "ext:nearest")
    assert versions_on(plan, "tbb") == {"fmm-tbb"}


def test_without_the_extension_its_policies_are_not_offered() -> None:
    assert not any(c.runtime.startswith("ext:") for c in plan_for().configurations)
    with pytest.raises(UsageError, match=r"ext:random.*libomp, libgomp, tbb"):
        plan_for(runtimes=("ext:random",))


def test_only_cutoffs_and_kinds_that_a_version_offers_are_planned() -> None:
    plan = plan_for(cutoffs=CUTOFFS, kinds="both", runtimes=("libomp", "tbb"), threads=(2,))
    offered = {
        name: {(c.cutoff, c.tied) for c in plan.configurations if f"{c.program}-{c.version}" == name}
        for name in ("fib-serial", "fib-tasks", "fmm-tbb", "lu-tasks")
    }
    assert offered["fib-serial"] == {(None, None)}
    # the programs refuse untied with if
    assert offered["fib-tasks"] == {(c, t) for c in CUTOFFS for t in (True, False)} - {("if", False)}
    assert offered["fmm-tbb"] == {("none", None), ("manual", None)}
    assert offered["lu-tasks"] == {("none", True), ("none", False)}


def test_the_default_cutoff_is_the_programs_own() -> None:
    chosen = {
        c.program: c.cutoff for c in plan_for(runtimes=("libomp",)).configurations if c.version == "tasks"
    }
    assert chosen == {"fib": "manual", "fmm": "manual", "lu": "none"}


def test_marked_versions_are_measured_only_when_named() -> None:
    assert not any("marked" in c.version for c in plan_for().configurations)
    assert {c.version for c in plan_for(versions=("tasks-marked",)).configurations} == {"tasks-marked"}


def test_commands_and_environments_follow_the_configuration(extension: Path) -> None:
    plan = plan_for(
        extension, threads=(3,), kinds="untied", programs=("fib",), runtimes=("ext:group", "libomp")
    )
    on_extension = next(c for c in plan.configurations if c.runtime == "ext:group")
    assert on_extension.command()[1:] == [
        *("--class", "small", "--json", "--threads", "3", "--cutoff", "manual", "--untied")
    ]
    made = on_extension.environment({"LD_PRELOAD": "other.so", "HOME": "/h"})
    assert made == {
        "HOME": "/h",
        "LD_PRELOAD": f"{extension}:other.so",
        "OMP_EXT_SCHEDULE": "1",
        "OMP_EXT_STEAL": "group",
        "OMP_NUM_THREADS": "3",
    }
    serial = next(c for c in plan.configurations if c.version == "serial")
    assert serial.command()[1:] == ["--class", "small", "--json"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"programs": ("nix",)}, r"--programs nix.*fib, fmm, lu"),
        ({"versions": ("nix",)}, "--versions nix"),
        ({"cutoffs": ("nix",)}, r"--cutoffs nix.*default, none"),
        ({"runtimes": ("nix",)}, "--runtimes nix"),
        ({"programs": ("lu",), "runtimes": ("libgomp",)}, "nothing to measure"),
    ],
)
def test_unknown_names_are_refused_in_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        plan_for(**asked)
    assert "\n" not in str(caught.value)


def test_rounds_are_interleaved_complete_and_the_same_every_time() -> None:
    plan = plan_for(rounds=4, threads=(1, 2))
    order = list(plan.in_order())
    assert [number for number, _ in order] == sorted(number for number, _ in order)
    assert Counter(order) == Counter((n, c) for n in range(1, 5) for c in plan.configurations)
    assert order == list(plan_for(rounds=4, threads=(1, 2)).in_order())
    rounds = [[c for number, c in order if number == n] for n in range(1, 5)]
    assert any(other != rounds[0] for other in rounds[1:])


def run_of(configuration: Configuration, round_number: int, **other: Any) -> dict[str, Any]:
    return {
        "program": configuration.program,
        "version": configuration.version,
        "class": configuration.input_class,
        "runtime": configuration.runtime,
        "threads": configuration.threads,
        "cutoff": configuration.cutoff,
        "tied": configuration.tied,
        "round": round_number,
        "started": "2026-01-01T00:00:00+00:00",
        "inputs": {"size": 3},
        "cuts": {},
        "seconds": 0.5,
        "tasks": 7,
        "unit": "call",
        "units": 100.0,
        "verified": True,
        "error": None,
        **other,
    }


def fill(path: Path, plan: Plan, n: int) -> list[dict[str, Any]]:
    journal = SuiteJournal(path, plan)
    for number, configuration in list(plan.in_order())[:n]:
        journal.note(configuration, run_of(configuration, number))
    runs = journal.runs()
    journal.close()
    return runs


def test_a_journal_returns_the_noted_measurements(tmp_path: Path) -> None:
    plan = plan_for()
    runs = fill(tmp_path / "j", plan, 5)
    journal = SuiteJournal(tmp_path / "j", plan)
    assert journal.runs() == runs
    assert [journal.has(c, n) for n, c in list(plan.in_order())[:6]] == [True] * 5 + [False]
    journal.close()


def test_a_line_truncated_at_any_byte_loses_only_its_measurement(tmp_path: Path) -> None:
    plan = plan_for()
    path = tmp_path / "j"
    runs = fill(path, plan, 3)
    whole = path.read_bytes()
    for length in range(whole.rfind(b"\n", 0, len(whole) - 1) + 1, len(whole)):
        path.write_bytes(whole[:length])
        journal = SuiteJournal(path, plan)
        assert journal.runs() == runs[:2]
        number, configuration = list(plan.in_order())[2]
        journal.note(configuration, run_of(configuration, number))
        journal.close()
        assert path.read_bytes() == whole


def test_a_journal_truncated_in_its_first_line_starts_over(tmp_path: Path) -> None:
    plan = plan_for()
    path = tmp_path / "j"
    fill(path, plan, 0)
    head = path.read_bytes()
    path.write_bytes(head[: len(head) // 2])
    SuiteJournal(path, plan).close()
    assert path.read_bytes() == head


def test_one_process_at_a_time_holds_a_journal(tmp_path: Path) -> None:
    first = SuiteJournal(tmp_path / "j", plan_for())
    with pytest.raises(UsageError, match="in use"):
        SuiteJournal(tmp_path / "j", plan_for())
    first.close()
    SuiteJournal(tmp_path / "j", plan_for()).close()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"threads": (1, 4)}, r"other settings \(threads\)"),
        ({"rounds": 9, "input_class": "test"}, r"other settings \(input_class, rounds\)"),
        ({"environ": {"OMP_PROC_BIND": "true"}}, r"other settings \(environment\)"),
    ],
)
def test_a_journal_of_another_configuration_is_refused(
    tmp_path: Path, other: dict[str, Any], named: str
) -> None:
    fill(tmp_path / "j", plan_for(), 2)
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(UsageError, match=named) as caught:
        SuiteJournal(tmp_path / "j", plan_for(**other))
    assert "\n" not in str(caught.value)
    assert (tmp_path / "j").read_bytes() == before


def test_a_journal_of_another_build_is_refused(tmp_path: Path) -> None:
    def plan(digest: str) -> Plan:
        return make_plan(
            Selection(), {"libomp": [built("fib", "tasks", digest=digest)], "libgomp": []}, None, {}
        )

    fill(tmp_path / "j", plan("1"), 1)
    with pytest.raises(UsageError, match="build of the programs"):
        SuiteJournal(tmp_path / "j", plan("2"))


def test_separators_of_unicode_do_not_end_a_line(tmp_path: Path) -> None:
    entry = {"output": "a\u2028b\u0085c"}
    with Journal(tmp_path / "j", "") as journal:
        journal.append(entry)
    with Journal(tmp_path / "j", "") as journal:
        assert list(journal.entries()) == [(1, entry)]


@pytest.mark.parametrize("content", ["precious\n", "precious", "precious\nlines", '{"format": 1}\n'])
def test_a_file_that_is_not_a_journal_stays_unchanged(tmp_path: Path, content: str) -> None:
    (tmp_path / "j").write_text(content)
    with pytest.raises(UsageError, match="not a journal"):
        SuiteJournal(tmp_path / "j", plan_for())
    assert (tmp_path / "j").read_text() == content


@pytest.mark.parametrize("name", ["r.json", "r.parquet"])
def test_results_are_read_back_as_they_were_written(tmp_path: Path, name: str) -> None:
    plan = plan_for(cutoffs=CUTOFFS, kinds="both")
    runs = [run_of(c, n) for n, c in plan.in_order()]
    failed = {
        "verified": False,
        "error": "was ended by SIGSEGV",
        "seconds": None,
        "tasks": None,
        "inputs": None,
    }
    runs[3].update({**failed, "cuts": None, "unit": None, "units": None})
    write_results(SuiteResults(plan.settings, runs), tmp_path / name)
    read = read_results(tmp_path / name)
    assert list(read.runs) == runs
    assert read.settings == plan.settings
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "content"),
    [("r.json", b""), ("r.json", b'{"schema": "x"}'), ("r.json", b"[]"), ("r.parquet", b"PAR1")],
)
def test_other_files_are_not_results(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match="contains no results"):
        read_results(tmp_path / name)


def test_the_summary_takes_medians_and_compares_with_the_same_compilers_serial_version() -> None:
    plan = plan_for(programs=("fib",), threads=(2,), rounds=3)
    times = {
        ("serial", "libomp"): (3, 1, 2),
        ("serial", "libgomp"): (8, 8, 8),
        ("tasks", "libomp"): (1, 9, 1),
    }
    runs = [
        run_of(c, n, seconds=float(times.get((c.version, c.runtime), (4, 4, 4))[n - 1]))
        for n, c in plan.in_order()
    ]
    runs.append(run_of(plan.configurations[0], 4, verified=False, error="no", seconds=None))
    lines = {(line.identity["version"], line.identity["runtime"]): line for line in summarise(runs)}
    assert lines["serial", "libomp"].median_s == 2
    assert lines["serial", "libomp"].n_failed == 1
    assert lines["tasks", "libomp"].speed_up == 2
    assert lines["tasks", "libgomp"].speed_up == 2
    assert lines["tasks", "libomp"].least_s == 1
    assert lines["tasks", "libomp"].ns_per_unit == pytest.approx(1e7)


def test_the_summary_shows_every_failure_with_its_reason() -> None:
    plan = plan_for(programs=("lu",))
    runs = [run_of(c, n, verified=False, seconds=None, error="took too long") for n, c in plan.in_order()]
    console = Console(width=200, record=True, file=io.StringIO())
    print_summary(console, json.loads(json.dumps(runs)))
    text = console.export_text()
    assert text.count("took too long") == len(runs)
    assert "3 failed" in text

# SPDX-License-Identifier: Apache-2.0
"""`./run suite` with real and fake programs: results, failures, and kills at any moment."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bots_programs
from toolchains import REPOSITORY, neutral_environment

SUITE = (sys.executable, "-m", "suite")

# A fake program of the suite: sleeps, fails as its name states, and writes a line at each start.
FAKE = (
    f"#!{sys.executable} -S\n"
    + """
import json, os, sys, time
name = os.path.basename(sys.argv[0])
program, version = name.split("-")
if "--describe" in sys.argv:
    print(json.dumps({"program": program, "version": version, "unit": "nap", "serial": False,
                      "cutoffs": ["none", "manual"], "untied": True}))
    sys.exit()
option = lambda word: sys.argv[sys.argv.index(word) + 1]
with open(os.environ["STARTS"], "a") as starts:
    starts.write(f"{os.getpid()} {name}\\n")
if program == "crash":
    os.abort()
if program == "hang":
    time.sleep(60)
time.sleep(0.03)
print(json.dumps({"program": program, "version": version, "class": option("--class"), "inputs": {"size": 1},
                  "threads": int(option("--threads")), "cutoff": option("--cutoff"), "cuts": {},
                  "tied": "--untied" not in sys.argv, "seconds": 0.03, "tasks": 1, "unit": "nap", "units": 1,
                  "verified": program != "wrong"}))
print("wrong result" if program == "wrong" else "", file=sys.stderr)
sys.exit(program == "wrong")
"""
)


def fakes(directory: Path, *programs: str) -> Path:
    directory.mkdir()
    for program in programs:
        path = directory / f"{program}-tasks"
        path.write_text(FAKE)
        path.chmod(0o755)
    return directory


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **neutral_environment(),
        "PYTHONPATH": str(REPOSITORY / "bots"),
        "STARTS": str(tmp_path / "starts"),
    }


def suite(*arguments: str | Path, environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*SUITE, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


def identity(run: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        run[name] for name in ("program", "version", "runtime", "threads", "cutoff", "tied", "round")
    )


def journalled(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the measurements in a journal; skips an incomplete last line."""
    content = path.read_text() if path.exists() else ""
    for line in content[: content.rfind("\n") + 1].splitlines()[1:]:
        yield json.loads(line)["run"]


def test_a_suite_measures_real_programs_on_every_runtime(
    bots_dir: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    result = tmp_path / "r.json"
    ended = suite(
        *("--class", "test", "--threads", "1,2", "--programs", "fib,treeadd", "--rounds", "2"),
        *(
            "--runtimes",
            "libomp,libgomp,tbb",
            "--cutoffs",
            "none,manual",
            "--json",
            result,
            "--bots",
            bots_dir,
            "--bots-gcc",
            bots_programs.built_by_gcc("fib"),
        ),
        environment=environment,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    runs = json.loads(result.read_text())["runs"]
    # Each round runs three serial versions (fib, treeadd, and fib built by gcc) and four parallel ones (fib,
    # treeadd, fib on libgomp, treeadd-tbb). The parallel ones run with 2 numbers of threads and 2 cut-offs.
    assert len(runs) == 2 * (3 + 4 * 4)
    assert all(run["verified"] and run["seconds"] > 0 and run["error"] is None for run in runs)
    assert len({identity(run) for run in runs}) == len(runs)
    assert {run["runtime"] for run in runs} == {"libomp", "libgomp", "tbb"}
    assert not result.with_name("r.json.journal").exists()
    shown = suite("--show", result, environment=environment, cwd=tmp_path)
    assert shown.stdout == ended.stdout


def test_failures_are_results(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "crash", "right", "wrong")
    ended = suite(
        *("--threads", "1", "--rounds", "2", "--json", "r.json", "--bots", bots),
        environment=environment,
        cwd=tmp_path,
    )
    assert ended.returncode == 9
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    errors = {run["program"]: run["error"] for run in runs}
    assert errors["right"] is None
    assert errors["crash"].startswith("was ended by SIGABRT")
    assert errors["wrong"] == "wrong result"
    assert Counter(run["verified"] for run in runs) == {False: 4, True: 2}
    assert "4 measurements failed" in ended.stderr
    assert "Traceback" not in ended.stderr
    for error in filter(None, errors.values()):
        assert error.split(":")[0] in ended.stdout


def test_a_program_that_does_not_end_is_a_result(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "hang")
    ended = suite(
        *("--threads", "1", "--rounds", "1", "--timeout", "0.2", "--json", "r.json", "--bots", bots),
        environment=environment,
        cwd=tmp_path,
    )
    assert ended.returncode == 9
    [run] = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert run["error"] == "did not end within 0.2 s"


@pytest.mark.timeout(600)
def test_a_killed_suite_resumes_without_repeating_or_losing_a_measurement(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    bots = fakes(tmp_path / "bots", "one", "two", "wrong")
    command = [*SUITE, "--threads", "1,2", "--cutoffs", "none,manual", "--tied", "both"]
    command += ["--rounds", "2", "--json", "r.json", "--bots", str(bots)]
    journal = tmp_path / "r.json.journal"
    moments = random.Random(20260101)
    noted: list[dict[str, Any]] = []
    n_kills = 0
    while not (tmp_path / "r.json").exists():
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        # Kills the suite after a few measurements, at a random moment.
        n_wanted = moments.randint(1, 9)
        for n_lines, _ in enumerate(process.stderr, start=1):
            if n_lines >= n_wanted:
                break
        time.sleep(moments.random() * 0.15)
        process.send_signal(signal.SIGKILL)
        n_kills += process.wait() == -signal.SIGKILL
        process.stderr.close()
        if journal.exists():
            before = list(journalled(journal))
            assert before[: len(noted)] == noted, "a noted measurement was lost or changed"
            noted = before
    assert n_kills >= 3
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert runs[: len(noted)] == noted
    n_all = 3 * 2 * 2 * 2 * 2
    assert Counter(map(identity, runs)).most_common(1)[0][1] == 1
    assert len(runs) == n_all
    assert sum(not run["verified"] for run in runs) == n_all // 3
    # The suites started only measurements that they noted or that a kill interrupted. No process is left.
    starts = [line.split() for line in (tmp_path / "starts").read_text().splitlines()]
    assert n_all <= len(starts) <= n_all + n_kills
    assert not any(alive(int(pid), name) for pid, name in starts)


def alive(pid: int, name: str) -> bool:
    try:
        return name.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_an_interrupted_suite_states_how_to_resume(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "one")
    process = subprocess.Popen(
        [*SUITE, "--rounds", "1000", "--json", "r.json", "--bots", str(bots)],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait() == 130
    process.stderr.close()
    assert "the same command resumes the suite" in rest
    assert "Traceback" not in rest
    assert len(list(journalled(tmp_path / "r.json.journal"))) >= 1


def test_resuming_with_other_settings_is_refused(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "crash")
    (tmp_path / "r.json.journal").write_text('{"format": "ompass suite journal 1", "settings": {}}\n')
    ended = suite("--json", "r.json", "--bots", bots, environment=environment, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "must not be mixed" in ended.stderr
    assert not (tmp_path / "starts").exists()


def test_earlier_results_are_not_overwritten(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "one")
    (tmp_path / "suite.json").write_text("{}")
    ended = suite("--bots", bots, environment=environment, cwd=tmp_path)
    assert ended.returncode == 2
    assert "suite.json already exists" in ended.stderr
    assert (tmp_path / "suite.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("result", "complaint"),
    [(".", "it is a directory"), ("nowhere/r.json", "its directory does not exist")],
)
def test_results_that_cannot_be_written_are_refused_at_once(
    tmp_path: Path, environment: dict[str, str], result: str, complaint: str
) -> None:
    bots = fakes(tmp_path / "bots", "one")
    ended = suite("--json", tmp_path / result, "--bots", bots, environment=environment, cwd=tmp_path)
    assert ended.returncode == 7
    assert ended.stderr.count("\n") == 1
    assert complaint in ended.stderr
    assert not (tmp_path / "starts").exists()


def test_a_dry_run_starts_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    bots = fakes(tmp_path / "bots", "one", "two")
    ended = suite("--dry-run", "--threads", "1,2", "--bots", bots, environment=environment, cwd=tmp_path)
    assert ended.returncode == 0
    assert len(ended.stdout.splitlines()) == 4
    assert not (tmp_path / "starts").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["bots"]

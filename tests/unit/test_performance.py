# SPDX-License-Identifier: Apache-2.0
"""Tests performance records: the samples in the output of benchmarks, and the comparison of two records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ompass.errors import UsageError
from performance.__main__ import compare
from performance.compare import changes_of, read_record
from performance.record import FORMAT, Record, file_name, samples_in

STEADY = [1.0, 1.01, 1.02, 1.005, 1.015, 0.995, 1.003, 1.012]


def record(**figures: list[float]) -> Record:
    return {"format": FORMAT, "machine": "Zen 4, 2 processors", "commit": "abc", "figures": figures}


def verdicts(before: Record, after: Record) -> dict[str | None, str]:
    return {change.key: change.verdict for change in changes_of(before, after)}


def test_samples_are_named_by_their_place() -> None:
    output = {
        "repeats": 2,
        "cases": [
            {"case": "fib", "threads": 2, "variants": {"none": {"seconds": [1.0, 2.0], "median": 1.5}}},
            {"case": "fib", "threads": 1, "variants": {"none": {"seconds": [3.0, 4.0]}}},
        ],
        "health": [{"tasks": 5, "seconds": 0.1}, {"tasks": 5, "seconds": 0.2}],
        "single": [1.0],
        "answers": [True, False],
    }
    assert samples_in(output, ("overhead",)) == {
        "overhead cases fib 2 variants none seconds": [1.0, 2.0],
        "overhead cases fib 1 variants none seconds": [3.0, 4.0],
        "overhead health tasks": [5, 5],
        "overhead health seconds": [0.1, 0.2],
    }


def test_a_figure_that_grew_is_distinguished_from_one_that_did_not() -> None:
    before = record(slow=STEADY, same=STEADY, fast=STEADY, count=[7.0] * 8)
    after = record(
        slow=[1.3 * t for t in STEADY],
        same=STEADY[::-1],
        fast=[0.7 * t for t in STEADY],
        count=[7.0] * 8,
    )
    assert verdicts(before, after) == {"slow": "more", "same": "same", "fast": "less", "count": "same"}


def test_few_samples_and_small_differences_decide_nothing() -> None:
    assert verdicts(record(t=[1.0, 1.01]), record(t=[2.0, 2.01])) == {"t": "few"}
    (slight,) = changes_of(record(t=STEADY), record(t=[1.03 * t for t in STEADY]), least=0.05)
    assert slight.verdict == "slight"


def test_the_status_states_that_a_figure_grew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "before.json", tmp_path / "after.json"
    slower = record(t=[1.3 * t for t in STEADY], new=STEADY) | {"machine": "Zen 5"}
    old.write_text(json.dumps(record(t=STEADY)))
    new.write_text(json.dumps(slower))
    assert compare(old, new, None, show_all=False) == 1
    printed = capsys.readouterr().out
    assert "| t | 1.007 | 1.31 | 1.300 (" in printed
    assert "The machines differ" in printed and "Only one record has: new." in printed
    assert compare(old, old, None, show_all=False) == 0
    assert "0 of 1 figures grew, 0 shrank." in capsys.readouterr().out


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    for text in ("{}", "[]", "no JSON"):
        path.write_text(text)
        with pytest.raises(UsageError):
            read_record(path)


def test_the_name_of_a_record_has_machine_and_commit() -> None:
    assert file_name(record()) == "Zen-4-2-processors-abc.json"

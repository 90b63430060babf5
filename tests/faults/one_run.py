# SPDX-License-Identifier: Apache-2.0
"""Runs and judges cases, each in a process of its own, because a wrong reader may crash."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from faults import judge, runs
from faults.cases import Case
from harsh_run import tool_lines

Outcome = dict[str, Any]


def perform(case: Case, folder: Path, library: Path) -> None:
    """Runs a case in an empty folder. AssertionError: the tool, or a reader, is wrong."""
    run_dir = folder / "run.ompass"
    beside = None if case.kind.is_inside else runs.kill_later(case, folder)
    plain = runs.run(case, folder, "plain", None)
    recorded = runs.run(
        case, folder, "recorded", library, environment={"OMPASS_DIR": str(run_dir)}, beside=beside
    )
    judge.check_program(case, plain, recorded)
    judge.check_recording(case, run_dir, recorded.progress, tool_lines(recorded.stderr))


def outcome_of(case: Case, folder: Path, library: Path) -> Outcome:
    """Performs a case. `failure` is empty if all went as expected."""
    failure = skipped = ""
    try:
        perform(case, folder, library)
    except runs.SkippedError as reason:
        skipped = str(reason)
    except AssertionError as error:
        failure = str(error) or traceback.format_exc(limit=-1)
    except Exception:
        failure = traceback.format_exc()
    return {"kind": case.kind.name, **case.described(), "failure": failure, "skipped": skipped}


def run_all(cases: Sequence[Case], library: Path, folder: Path, at_once: int) -> Iterator[Outcome]:
    """Yields the outcome of each case, `at_once` at a time. Only the folders of failed runs remain."""
    waiting = list(reversed(cases))
    running: dict[int, Case] = {}
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                case = waiting.pop()
                running[_begin(case, folder / case.key, library)] = case
            pid, status = os.wait()
            if pid in running:
                case = running.pop(pid)
                yield _outcome(case, folder / case.key, os.waitstatus_to_exitcode(status))
    finally:
        for pid in running:
            os.kill(pid, signal.SIGTERM)


def _begin(case: Case, folder: Path, library: Path) -> int:
    """Begins a case in a new process; returns its number."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    try:
        outcome = outcome_of(case, folder, library)
        (folder / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")
    finally:
        os._exit(0)


def _outcome(case: Case, folder: Path, status: int) -> Outcome:
    """Returns the outcome of an ended process."""
    written = folder / "outcome.json"
    if written.exists():
        outcome: Outcome = json.loads(written.read_text(encoding="utf-8"))
    else:
        failure = f"a reader ended its process with {status}"
        outcome = {"kind": case.kind.name, **case.described(), "failure": failure, "skipped": ""}
    if not outcome["failure"]:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome

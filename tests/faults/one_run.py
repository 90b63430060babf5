# SPDX-License-Identifier: Apache-2.0
"""Runs and judges cases, each in a process of its own, because a defective reader may crash."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from faults import judge, runs
from faults.cases import Case
from faults.surroundings import surroundings_of

Outcome = dict[str, Any]


def perform(case: Case, folder: Path, library: Path) -> None:
    """Runs and judges a case in an empty folder.

    Raises AssertionError if the tool or a reader is wrong, and SkippedError if the case cannot run here.
    """
    with surroundings_of(case, folder) as around:
        environment = {"OMPASS_DIR": str(around.run_dir)}
        plain = runs.run(case, folder, "plain", None, prepare=around.limit)
        if plain.status != (case.kind.status if case.kind.is_inside else 0):
            raise runs.SkippedError(f"the program without the tool ended with {plain.status}")
        others: list[runs.Ended] = []

        def run_another() -> None:
            others.append(runs.run(case, folder, "other", library, environment=environment))

        another = threading.Thread(target=run_another)
        if case.kind.name == "two":
            another.start()
        recorded = runs.run(
            case,
            folder,
            "recorded",
            library,
            environment=environment,
            prepare=around.limit,
            beside=around.beside,
        )
        if case.kind.name == "two":
            another.join()
            judge.check_two(case, around.run_dir, plain, recorded, *others)
            return
        if case.kind.name == "killed" and recorded.status == 0:
            raise runs.SkippedError("the program ended before the kill")
        judge.check_program(case, plain, recorded)
        killed_late = case.kind.name == "killed" and recorded.stdout == plain.stdout
        judge.check_recording(case, around.run_dir, recorded, killed_late=killed_late)


def outcome_of(case: Case, folder: Path, library: Path) -> Outcome:
    """Performs a case and returns its outcome. `failure` is empty if the run passed or was skipped."""
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
    """Runs `at_once` cases at a time and yields their outcomes. Keeps only the folders of failed runs."""
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
    """Starts a case in a new process; returns the process id."""
    if (folder / "disk").is_mount():  # left by a killed process
        subprocess.run(["umount", "--lazy", str(folder / "disk")], check=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # unmounts, and ends the program
    try:
        outcome = outcome_of(case, folder, library)
        (folder / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")
    finally:
        os._exit(0)


def _outcome(case: Case, folder: Path, status: int) -> Outcome:
    """Returns the outcome of an ended process. Removes its folder unless it failed."""
    written = folder / "outcome.json"
    if written.exists():
        outcome: Outcome = json.loads(written.read_text(encoding="utf-8"))
    else:
        failure = f"a reader ended its process with {status}"
        outcome = {"kind": case.kind.name, **case.described(), "failure": failure, "skipped": ""}
    if not outcome["failure"]:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome

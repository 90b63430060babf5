# SPDX-License-Identifier: Apache-2.0
"""Makes one measurement: starts a program, limits its time, and reads its answer.

Failures are part of the result; only an interrupt is raised.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from datetime import datetime, timezone
from functools import cache
from typing import IO, Any

from ompass.errors import CannotRecordError
from ompass.launch.child import Ending, run_measured
from suite.plan import Configuration

Run = dict[str, Any]  # one measurement as JSON; see docs/bots.md

_ANSWERED = ("inputs", "cuts", "seconds", "tasks", "unit", "units", "verified")
_COMPLAINT_CHARACTERS = 300


def measure(configuration: Configuration, round_number: int, timeout_s: float) -> Run:
    """Measures a configuration once. In the result, `error` is the reason for a failure, or None."""
    run: Run = {
        **configuration.identity(),
        "runtime": configuration.runtime,
        "round": round_number,
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **dict.fromkeys(_ANSWERED),
        "verified": False,
        "error": None,
    }
    command = [*_ending_with_us(), *configuration.command()]
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        try:
            ending = run_measured(
                command[0],
                command,
                configuration.environment(os.environ),
                stdout=stdout.fileno(),
                stderr=stderr.fileno(),
                timeout_s=timeout_s,
            ).ending
        except CannotRecordError as error:
            run["error"] = f"cannot be started: {error.why}"
            return run
        if ending.late:
            run["error"] = f"did not end within {timeout_s:g} s"
            return run
        printed, complained = (_text(stream) for stream in (stdout, stderr))
    answer = _answer(printed)
    run.update({name: answer[name] for name in _ANSWERED if name in answer})
    run["error"] = _complaint(ending, complained, answer, configuration)
    run["verified"] = run["error"] is None
    return run


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


@cache
def _ending_with_us() -> tuple[str, ...]:
    """Returns a command prefix that ends the program if the suite is killed."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _answer(stdout: str) -> Run:
    try:
        answer = json.loads(stdout)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _complaint(ending: Ending, stderr: str, answer: Run, configuration: Configuration) -> str | None:
    message = " ".join(stderr.split())[-_COMPLAINT_CHARACTERS:]
    if ending.signal:
        return ending.describe() + (f": {message}" if message else "")
    if ending.exit_code:
        return message or ending.describe()
    if any(name not in answer for name in _ANSWERED):
        return "gave no result in JSON"
    if answer["verified"] is not True:
        return "did not verify its result"
    # The program must have run the planned configuration.
    for name, value in configuration.identity().items():
        if answer.get(name) != value:
            return f"ran with {name} {answer.get(name)} instead of {value}"
    return None

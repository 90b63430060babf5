# SPDX-License-Identifier: Apache-2.0
"""One measurement: a program started, watched, and its answer read.

Whatever goes wrong is part of the result; nothing is raised.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import datetime, timezone
from functools import cache
from typing import Any

from ompass.launch.child import signal_name
from ompass.suite.plan import Configuration

Run = dict[str, Any]  # one measurement as JSON; see docs/bots.md

_ANSWERED = ("inputs", "cuts", "seconds", "tasks", "unit", "units", "verified")
_COMPLAINT_CHARACTERS = 300


def measure(configuration: Configuration, round_number: int, timeout_s: float) -> Run:
    """The measurement of a configuration; `error` is None, or one line on why there is no verified time."""
    run: Run = {
        "program": configuration.program,
        "version": configuration.version,
        "class": configuration.input_class,
        "runtime": configuration.runtime,
        "threads": configuration.threads,
        "cutoff": configuration.cutoff,
        "tied": configuration.tied,
        "round": round_number,
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        **dict.fromkeys(_ANSWERED),
        "verified": False,
        "error": None,
    }
    try:
        ended = subprocess.run(
            [*_ending_with_us(), *configuration.command()],
            env=configuration.environment(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        run["error"] = f"did not end within {timeout_s:g} s"
        return run
    except OSError as error:
        run["error"] = f"cannot be started: {error.strerror or error}"
        return run
    answer = _answer(ended.stdout)
    run.update({name: answer[name] for name in _ANSWERED if name in answer})
    run["error"] = _complaint(ended, answer, configuration)
    run["verified"] = run["error"] is None
    return run


@cache
def _ending_with_us() -> tuple[str, ...]:
    """What to put before a command, lest it goes on when we are killed, and disturbs what is measured again.

    Not a preexec_fn: with one, Python loses an interrupt that comes while it starts the program.
    """
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _answer(stdout: str) -> Run:
    try:
        answer = json.loads(stdout)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _complaint(
    ended: subprocess.CompletedProcess[str], answer: Run, configuration: Configuration
) -> str | None:
    told = " ".join(ended.stderr.split())[-_COMPLAINT_CHARACTERS:]
    if ended.returncode < 0:
        return f"was ended by {signal_name(-ended.returncode)}" + (f": {told}" if told else "")
    if ended.returncode != 0:
        return told or f"exited with {ended.returncode}"
    if any(name not in answer for name in _ANSWERED):
        return "gave no result in JSON"
    if answer["verified"] is not True:
        return "did not verify its result"
    # Between the plan and the program there must be no misunderstanding of what was measured.
    asked = {
        "program": configuration.program,
        "version": configuration.version,
        "class": configuration.input_class,
        "threads": configuration.threads,
        "cutoff": configuration.cutoff,
        "tied": configuration.tied,
    }
    for name, value in asked.items():
        if answer.get(name) != value:
            return f"measured {name} {answer.get(name)} where {value} was asked for"
    return None

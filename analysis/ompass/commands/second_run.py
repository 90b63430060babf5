# SPDX-License-Identifier: Apache-2.0
"""The advice of `ompass run`: predicts the gain of changes of the program from a trace.

If the first run was a profile, runs the program a second time to record the trace, and announces this. Owns
the order of these steps; launch/second_run.py decides whether the program may run again.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Final

from ompass.commands.streams import say, waiting
from ompass.errors import OmpassError
from ompass.launch.child import run_child
from ompass.launch.produced import find_produced, is_rank, new_launch
from ompass.launch.rank_start import LAUNCH
from ompass.launch.second_run import FirstRun, Limits, trace_bytes, why_not_traced, why_once
from ompass.packed import TRACE
from ompass.readers.run import open_run
from ompass.reports.content import ReportContent, with_stored_advice
from ompass.reports.model import plain
from ompass.simulation.advice import advise
from ompass.simulation.report import advice_report
from ompass.simulation.stored import store_advice
from ompass.units import duration

_WANTED_SAMPLES: Final = 400  # of each thread
_LEAST_HZ: Final = 100  # the tool's default
_MOST_HZ: Final = 1_000  # a sample takes a few microseconds


def with_advice(content: ReportContent, first: FirstRun, limits: Limits) -> ReportContent:
    """Returns the content with advice on the program, if a trace of it exists or may be recorded."""
    run = content.run
    if run.mode == "trace":
        if not run.trace_begin_ns and trace_bytes(run) <= limits.most_bytes and _store_advice(run.path):
            return with_stored_advice(content)
        return content
    if limits.twice is False:
        return content
    if needless := _why_needless(content):
        if limits.twice:
            say(f"no second run: {needless}")
        return content
    refusal = why_once(first.before, first.command, first.program, first.plan, first.ending, os.environ)
    refusal = refusal or why_not_traced(run, first.wall_ns, limits.most_ns, limits.most_bytes)
    if limits.twice is None and refusal:
        say(f"no second run: {refusal} (--twice)")
        return replace(content, advice_refusal=refusal)
    trace = _record_again(run.path, first, limits)
    return with_stored_advice(content) if trace and _store_advice(trace, run.path) else content


def _why_needless(content: ReportContent) -> str:
    """Returns why a second run would predict nothing; empty if it may predict something."""
    if is_rank(os.environ):
        return "the other ranks of the job would have to run again, too"
    return "" if has_something_to_change(content) else "no finding that a change of the program may cure"


def has_something_to_change(content: ReportContent) -> bool:
    """True if a trace may show a change that cures a problem of this run."""
    # The static loops of gcc programs do not call the runtime: a run with only such loops has only regions.
    shared = content.n_tasks or content.loops or any(region.max_team_size > 1 for region in content.regions)
    problems = {finding.kind for finding in content.findings if finding.severity == "problem"}
    # Advice assumes that each thread has its own processor.
    return bool(shared) and bool(problems) and "oversubscribed" not in problems


def _record_again(directory: Path, first: FirstRun, limits: Limits) -> Path | None:
    """Runs the program again, in trace mode and without its output. Returns the trace; None if it failed."""
    took = duration(first.wall_ns)
    say(f"running it again ({took}) without output to predict gains (off: --once)")
    place = directory.absolute() / TRACE
    launch = new_launch(os.environ)
    environment = {
        **first.environment,
        "OMPASS_MODE": "trace",
        "OMPASS_DIR": str(place).replace("%", "%%"),
        "OMPASS_LIMIT_MB": f"{limits.most_bytes}B",
        LAUNCH: launch,
    }
    environment.setdefault("OMPASS_SAMPLE", str(sample_hz(first.wall_ns)))
    with Path(os.devnull).open("r+b") as nothing:
        # The program must not wait for an answer on the terminal, because its question is hidden.
        hidden = (0, 1, 2) if os.isatty(0) else (1, 2)
        streams = dict.fromkeys(hidden, nothing.fileno())
        ending = run_child(str(first.program.path), first.command, environment, streams)
    if ending.signal or ending.exit_code:
        say(f"no prediction: the second run {ending.describe()}")
        return None
    return find_produced(environment["OMPASS_DIR"], set(), ending.pid, launch).main


def sample_hz(wall_ns: int) -> int:
    """Returns the rate for _WANTED_SAMPLES, within the limits: enough to find costly atomic updates."""
    return min(max(_WANTED_SAMPLES * 1_000_000_000 // max(wall_ns, 1), _LEAST_HZ), _MOST_HZ)


def _store_advice(trace: Path, *others: Path) -> bool:
    """Stores advice in the traced run and in `others`. Returns False if the trace does not permit advice."""
    try:
        if any(thread.n_dropped for thread in open_run(trace).threads):
            # The rest of the program would look like one long task.
            say("no prediction: the trace became too large (--limit SIZE allows more)")
            return False
        with waiting("predicting the gain of changes"):
            advice = plain(advice_report(advise(trace)))
        for directory in (trace, *others):
            store_advice(directory, advice)
    except OmpassError:
        return False
    return True

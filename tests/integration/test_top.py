# SPDX-License-Identifier: Apache-2.0
"""`ompass top` in a terminal: its last figures equal the report's, and it does not disturb the program."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from needs import require_commands
from ompass.errors import RunNotFoundError
from ompass.live.watch import Watch, change, directories_of
from ompass.model import StateTimes

REPOSITORY = Path(__file__).resolve().parents[2]
BOTS = REPOSITORY / "build" / "release" / "bots"
OMPASS = [sys.executable, "-m", "ompass"]
FIB = [str(BOTS / "fib-tasks"), "--size", "23", "--cutoff", "none", "--threads", "2"]


class Terminal:
    """A terminal of 110 columns in tmux."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "tmux"

    def tmux(self, *words: str) -> str:
        command = ["tmux", "-S", str(self.socket), "-f", "/dev/null", *words]
        environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout

    def start(self, *command: str) -> None:
        line = f"{shlex.join(command)}; echo exit=$?; exec cat"
        self.tmux(
            "new-session",
            "-d",
            "-x",
            "110",
            "-y",
            "45",
            f"PYTHONPATH={os.environ.get('PYTHONPATH', '')} {line}",
        )

    def shown(self, pattern: str, timeout_s: float = 90) -> re.Match[str]:
        """Returns the match on a stable screen. During an update, the screen mixes old and new text."""
        deadline = time.monotonic() + timeout_s
        before = ""
        while True:
            screen = self.tmux("capture-pane", "-p")
            match = re.search(pattern, screen)
            if match and screen == before:
                return match
            assert time.monotonic() < deadline, screen
            before = screen
            time.sleep(0.2)

    def press(self, key: str) -> None:
        self.tmux("send-keys", key)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    require_commands("tmux")
    made = Terminal(tmp_path)
    yield made
    subprocess.run(["tmux", "-S", str(made.socket), "kill-server"], check=False, capture_output=True)


def report_of(directory: Path) -> dict[str, int]:
    output = subprocess.run(
        [*OMPASS, "report", str(directory), "--json"], check=True, capture_output=True, text=True
    )
    values: dict[str, int] = json.loads(output.stdout)
    return values


def test_top_starts_a_program_and_ends_with_the_figures_of_the_report(
    terminal: Terminal, tmp_path: Path
) -> None:
    directory = tmp_path / "fib.ompass"
    terminal.start(*OMPASS, "top", "-o", str(directory), "--", *FIB)
    shown = terminal.shown(r"ended .*? ([\d,]+) tasks")
    values = report_of(directory)
    assert int(shown[1].replace(",", "")) == values["tasks"] > 50_000
    states = terminal.shown(r"since start.*work ([<\d.]+)%.*create ([<\d.]+)%.*schedule ([<\d.]+)%")
    for text, state in zip(states.groups(), ("work", "create", "schedule"), strict=True):
        share = 100 * values[f"{state}_ns"] / values["thread_time_ns"]
        assert float(text.lstrip("<")) == pytest.approx(share, abs=0.06 + 0.1 * text.startswith("<"))
    terminal.shown(r"fib_tasks.hpp:18")
    terminal.press("s")
    terminal.press("q")
    terminal.shown(r"recorded in .*\n(.*\n)*exit=0")


def test_a_process_is_found_by_its_number_and_continues_without_the_view(
    terminal: Terminal, tmp_path: Path
) -> None:
    directory = tmp_path / "long.ompass"
    command = [*OMPASS, "run", "--no-report", "-q", "-o", str(directory), "--", *FIB[:2], "40", *FIB[3:]]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
        try:
            while not (directory / "process.log").exists():
                time.sleep(0.05)
            meta = directory / "meta.json"
            while not meta.exists():
                time.sleep(0.05)
            pid = json.loads(meta.read_text())["pid"]
            assert directories_of(pid) == [directory]
            terminal.start(*OMPASS, "top", str(pid))
            terminal.shown(r"running .* tasks")
            watch = Watch([directory])
            before = watch.look()
            time.sleep(0.3)
            now = watch.look()
            latest = change(before, now)
            assert latest.n_tasks > 0
            assert latest.states.total_ns == sum(states.total_ns for states in latest.threads.values())
            assert latest.states != StateTimes()
            assert now.contents[0].samples is None, "unwinding samples would slow the running program down"
            terminal.press("q")
            terminal.shown(r"exit=0")
            assert program.poll() is None
        finally:
            program.terminate()


def test_a_process_that_is_not_recorded_is_reported() -> None:
    with pytest.raises(RunNotFoundError, match="not being recorded"):
        directories_of(os.getpid())

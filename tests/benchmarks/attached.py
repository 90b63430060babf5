# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of `ompass top` for the recorded program that it watches.

Each round records a benchmark program with and without `ompass top` attached, in random order. Prints the
median and quartiles of the ratios within a round, and top's processor time. Top draws on a pseudoterminal of
size --screen. Needs the build (release preset), the Python with the installed package, and an otherwise idle
machine. If the program has as many threads as there are processors, top takes its time from the program.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import random
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = ["fib-tasks", "--cutoff", "none", "--size", "34"]


@dataclass
class Watched:
    """The processor times of `ompass top` in the runs of one program."""

    cpu_s: list[float] = field(default_factory=list)


def recorded(build: Path, folder: Path, threads: int, command: list[str]) -> subprocess.Popen[str]:
    library = str(build / "lib" / "libompass.so")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("KMP", "OMPASS"))}
    environ |= {"LD_PRELOAD": library, "OMP_TOOL_LIBRARIES": library, "OMPASS_SUMMARY": "off"}
    environ |= {"OMPASS_DIR": str(folder)}
    whole = [str(build / "bots" / command[0]), "--json", "--threads", str(threads), *command[1:]]
    return subprocess.Popen(whole, env=environ, stdout=subprocess.PIPE, text=True)


@contextmanager
def top(folder: Path, size: tuple[int, int], watched: Watched) -> Iterator[None]:
    """Runs `ompass top` on the run directory, and reads the terminal on which it draws."""
    while not (folder / "process.log").exists():
        time.sleep(0.001)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    command = [sys.executable, "-m", "ompass", "top", str(folder)]
    terminal = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    environ = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, env=environ, start_new_session=True, **terminal)  # type: ignore[call-overload]
    os.close(theirs)
    reader = threading.Thread(target=drain, args=(ours,))
    reader.start()
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        watched.cpu_s.append(usage.ru_utime + usage.ru_stime)
        reader.join()
        os.close(ours)


def drain(terminal: int) -> None:
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:
        return


def seconds(run: subprocess.Popen[str]) -> float:
    """Waits for the program; returns the seconds that it reports for its kernel."""
    output, _ = run.communicate()
    if run.returncode:
        raise SystemExit(f"the program ended with {run.returncode}")
    return float(json.loads(output)["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=11, help="rounds (default 11)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--screen", type=int, nargs=2, default=(40, 120), metavar=("LINES", "COLUMNS"))
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build" / "release")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times to FILE")
    parser.add_argument("program", nargs="*", metavar="-- PROGRAM", help=f"default: {' '.join(PROGRAM)}")
    given = parser.parse_args()
    program = given.program or PROGRAM
    watched = Watched()
    times: dict[str, list[float]] = {"alone": [], "watched": []}
    for _ in range(given.rounds):
        for way in random.sample(list(times), 2):
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) / "run.ompass"
                run = recorded(given.build, folder, given.threads, program)
                if way == "alone":
                    times[way].append(seconds(run))
                else:
                    with top(folder, tuple(given.screen), watched):
                        times[way].append(seconds(run))
    ratios = [a / b for a, b in zip(times["watched"], times["alone"], strict=True)]
    quartiles = statistics.quantiles(ratios, n=4)
    print(f"{' '.join(program)}, {given.threads} threads: {statistics.median(times['alone']):.2f} s alone")
    print(f"with top attached, {quartiles[1]:.4f} times as long ({quartiles[0]:.4f} to {quartiles[2]:.4f})")
    print(f"top took {statistics.median(watched.cpu_s):.2f} s of processor time")
    if given.json:
        given.json.write_text(json.dumps({**times, "top_cpu_s": watched.cpu_s}, indent=1) + "\n")


if __name__ == "__main__":
    main()

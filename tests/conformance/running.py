# SPDX-License-Identifier: Apache-2.0
"""Starts the programs of a campaign. Ends them and their children, even if the campaign ends early."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock


class StoppedError(Exception):
    """Raised instead of starting a program when the campaign is ending."""


class RunningPrograms:
    """The programs that run at present. The threads of a campaign share this object."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._stopped = False

    @contextlib.contextmanager
    def program(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, prepare: Callable[[], None]
    ) -> Iterator[subprocess.Popen[str]]:
        """Starts a program without input. Kills it and its children on exit.

        Calls `prepare` in the new process first. Raises StoppedError after stop().
        """
        with self._lock:
            if self._stopped:
                raise StoppedError
            process = subprocess.Popen(
                command,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                preexec_fn=prepare,
                start_new_session=True,
            )
            self._processes.add(process)
        try:
            yield process
        finally:
            _kill(process)
            process.communicate()
            with self._lock:
                self._processes.discard(process)

    def stop(self) -> None:
        """Kills all programs; no more can start. Any thread may call it."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    """Kills a program and its children, if any still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

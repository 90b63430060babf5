# SPDX-License-Identifier: Apache-2.0
"""Runs a program as if it were started directly (streams, signals, exit status), or measures it.

Owns the forwarding of signals. Call these functions from the main thread, before other threads exist: other
threads do not block the signals, and would receive them. numpy starts such threads when it is imported.
"""

from __future__ import annotations

import contextlib
import math
import os
import resource
import signal
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from ompass.launch.program import ProgramNotExecutableError, ProgramNotFoundError

_FORWARDED = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
        signal.SIGALRM,
    }
)
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})
# Signals that Python ignores in its own process; without a reset, a child would ignore them, too.
_PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
_LOOK_SECONDS = 0.5  # poll interval, in case SIGCHLD is lost
_FROM_KERNEL = 0x80  # si_code of signals that a terminal sends to its whole foreground group


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a program: with an exit code, or by a signal."""

    pid: int
    exit_code: int
    signal: int  # 0 when it exited
    cpu_ns: int = 0  # processor time of the process and the children that it waited for
    interrupt: int = 0  # the last ending signal that was received and forwarded; 0: none
    late: bool = False  # killed by the time limit

    def describe(self) -> str:
        if self.signal:
            return f"was ended by {signal_name(self.signal)}"
        return f"exited with {self.exit_code}"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def run_child(
    path: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    streams: Mapping[int, int] = MappingProxyType({}),
    timeout_s: float = math.inf,
) -> Ending:
    """Starts `path` with `argv`, forwards signals until the program ends, and returns its end.

    `streams` maps the child's descriptors 0, 1 and 2 to ours; the child inherits the others. Kills a child
    that takes longer than `timeout_s`. Raises ProgramNotFoundError, ProgramNotExecutableError.
    """
    waited = _FORWARDED | {signal.SIGCHLD}
    # Blocked before the child exists, so an early signal stays pending until the loop receives it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    old_chld = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        pid = _spawn(path, argv, environ, before, streams)
        return _wait(pid, waited, time.monotonic() + timeout_s)
    finally:
        signal.signal(signal.SIGCHLD, old_chld)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _spawn(
    path: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    mask: Collection[int],
    streams: Mapping[int, int],
) -> int:
    redirected = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in streams.items()]
    try:
        return os.posix_spawn(
            path,
            list(argv),
            dict(environ),
            file_actions=redirected,
            setsigmask=mask,
            setsigdef=_PYTHON_IGNORES,
        )
    except FileNotFoundError as error:
        # the interpreter of a script is missing
        raise ProgramNotFoundError(
            path, error.strerror or "no such file", "check its first line (#!)"
        ) from error
    except OSError as error:
        raise ProgramNotExecutableError(
            path, error.strerror or "cannot be executed", "check that it is a program for this machine"
        ) from error


def _wait(pid: int, waited: frozenset[signal.Signals], deadline_s: float) -> Ending:
    interrupt = 0
    late = False
    while True:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 and not late:
            late, deadline_s = True, math.inf
            os.kill(pid, signal.SIGKILL)
        received = signal.sigtimedwait(waited, min(max(left_s, 0.001), _LOOK_SECONDS))
        # If this process was stopped for longer than the timeout, Python returns an arbitrary si_signo.
        if received is not None and received.si_signo in waited - {signal.SIGCHLD}:
            interrupt = received.si_signo if received.si_signo in _ENDING else interrupt
            # The terminal has already signalled the child, which is in the same process group.
            if received.si_code != _FROM_KERNEL:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, received.si_signo)
            continue
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done == pid:
            cpu_ns = round((usage.ru_utime + usage.ru_stime) * 1e9)
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                return Ending(pid, 128 + number, number, cpu_ns, interrupt, late)
            return Ending(pid, os.WEXITSTATUS(status), 0, cpu_ns, interrupt, late)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a program, and the wall time of its process."""

    ending: Ending
    wall_ns: int


def run_measured(
    path: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    stdout: int,
    stderr: int,
    cpus: Collection[int] = (),
    held: int = -1,
    timeout_s: float = float("inf"),
) -> Outcome:
    """Runs `path` to its end, with empty input; `stdout` and `stderr` are descriptors for its output.

    `cpus`: CPUs for the program (empty: ours). `held`: a locked descriptor that the program inherits, so the
    lock is held until the program ends. Forwards an ending signal to the program, then raises
    KeyboardInterrupt. Otherwise raises the errors of run_child.
    """
    with _inherited(held), _on(cpus), Path(os.devnull).open("rb") as nothing:
        streams = {0: nothing.fileno(), 1: stdout, 2: stderr}
        started = time.monotonic_ns()
        ending = run_child(path, argv, environ, streams, timeout_s)
        wall_ns = time.monotonic_ns() - started
    if ending.interrupt:
        raise KeyboardInterrupt
    return Outcome(ending, wall_ns)


@contextlib.contextmanager
def _on(cpus: Collection[int]) -> Iterator[None]:
    own = os.sched_getaffinity(0)
    try:
        if cpus:
            os.sched_setaffinity(0, cpus)  # the program inherits this affinity
        yield
    finally:
        os.sched_setaffinity(0, own)


@contextlib.contextmanager
def _inherited(descriptor: int) -> Iterator[None]:
    if descriptor < 0:
        yield
        return
    os.set_inheritable(descriptor, True)
    try:
        yield
    finally:
        os.set_inheritable(descriptor, False)


def end_as(ending: Ending) -> NoReturn:
    """Ends this process as the program ended: with the same exit code, or by the same signal."""
    if ending.signal:
        # the program has written a core file; suppress a second one
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        number = ending.signal
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(ValueError):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(ending.exit_code)

# SPDX-License-Identifier: Apache-2.0
"""Runs the command `ompass` in forks of a process that has loaded its modules, because loading takes 0.3 s.

Each process of the tests starts one such server, which ends when that process ends. The server runs no
threads, so its forks are safe. Unlike a new process, a fork has loaded modules, and the server's interpreter
settings and loader variables. `works_like_a_new_process` excludes environments where these matter.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_OF_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "TZ", "LD_PRELOAD", "LD_AUDIT", "MALLOC_", "GLIBC_")
_LONGEST_MESSAGE = 1 << 20


def works_like_a_new_process(environment: Mapping[str, str]) -> bool:
    """True if these variables do not change how an interpreter starts, compared with this process."""

    def of_the_interpreter(variables: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value for name, value in variables.items() if value and name.startswith(_OF_THE_INTERPRETER)
        }

    return of_the_interpreter(environment) == of_the_interpreter(os.environ)


class LoadedCommand:
    """The tests' connection to the server. Runs one command at a time."""

    def __init__(self) -> None:
        self._socket, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with others:
            self._process = subprocess.Popen(
                [sys.executable, __file__], stdin=others.fileno(), stdout=subprocess.DEVNULL
            )
        self._turn = threading.Lock()

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path | None, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs the command as subprocess.run does, and captures its output; may raise TimeoutExpired."""
        words = ["ompass", *arguments]
        request = json.dumps([words, dict(environment), str(cwd or Path.cwd())]).encode()
        assert len(request) < _LONGEST_MESSAGE, "the server reads shorter messages only"
        with self._turn, contextlib.ExitStack() as files:
            pipes = [os.pipe() for _ in range(2)]
            outputs = [files.enter_context(os.fdopen(reader, "rb", 0)) for reader, _ in pipes]
            with Path(os.devnull).open("rb") as nothing:
                socket.send_fds(self._socket, [request], [nothing.fileno(), *(end for _, end in pipes)])
            for _, end in pipes:
                os.close(end)
            pid = int(self._socket.recv(100))
            try:
                text = [_as_text(content) for content in _contents(outputs, timeout_s)]
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                self._socket.recv(100)
                raise subprocess.TimeoutExpired(words, timeout_s) from None
            return subprocess.CompletedProcess(words, int(self._socket.recv(100)), *text)


def _as_text(content: bytes) -> str:
    """Returns the content as subprocess.run does with text=True."""
    return io.TextIOWrapper(io.BytesIO(content)).read()


def _contents(files: Sequence[object], timeout_s: float) -> list[bytes]:
    """Returns the contents of pipes when all their writers have ended. Raises TimeoutError."""
    contents: dict[int, bytes] = {}
    give_up_s = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for number, file in enumerate(files):
            contents[number] = b""
            selector.register(file, selectors.EVENT_READ, number)  # type: ignore[arg-type]
        while selector.get_map():
            ready = selector.select(give_up_s - time.monotonic())
            if not ready and time.monotonic() > give_up_s:
                raise TimeoutError
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                contents[key.data] += piece
                if not piece:
                    selector.unregister(key.fileobj)
    return list(contents.values())


_servers: dict[int, LoadedCommand] = {}
_starting = threading.Lock()


def loaded_command() -> LoadedCommand:
    """Returns the server of this process; starts it at the first call."""
    with _starting:
        if os.getpid() not in _servers:
            _servers[os.getpid()] = LoadedCommand()
            atexit.register(_servers[os.getpid()].close)
        return _servers[os.getpid()]


def _load() -> None:
    """Loads the modules of the commands, except those that start threads, such as polars."""
    for name in ("ompass.__main__", "ompass.symbols.lookup", "ompass.commands.main"):
        importlib.import_module(name)
    sys.modules["ompass.commands.main"].application()
    gc.collect()
    gc.freeze()  # forks then copy fewer pages
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a forked process would lack its threads"


def _serve(requests: socket.socket) -> tuple[list[str], dict[str, str], str]:
    """Serves until the tests close the socket. Returns in each fork, with the command that it must run."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, _LONGEST_MESSAGE, 3)
        if not message:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            requests.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            words, environment, folder = json.loads(message)
            return words, environment, folder
        for descriptor in descriptors:
            os.close(descriptor)
        requests.send(b"%d" % pid)
        _, status = os.waitpid(pid, 0)
        requests.send(b"%d" % os.waitstatus_to_exitcode(status))


def _reopen(name: str, mode: str) -> None:
    """Gives a standard stream a new object, because the old one remembers if its file was seekable."""
    old = getattr(sys, name)
    buffering = 1 if name == "stderr" else -1
    setattr(sys, name, os.fdopen(old.fileno(), mode, buffering, old.encoding, old.errors, closefd=False))


def main() -> None:
    """Serves, and runs the command in each fork."""
    _load()
    # Copies the socket to a higher number, because each fork replaces its standard streams.
    requests = socket.socket(fileno=os.dup(0))
    words, environment, folder = _serve(requests)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        _reopen(name, mode)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = words
    from ompass.__main__ import main as command

    command()


if __name__ == "__main__":
    main()

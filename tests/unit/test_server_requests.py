# SPDX-License-Identifier: Apache-2.0
"""The server of `ompass view` answers or refuses every request without a traceback."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.serving import server as serving
from ompass.serving.runs import ServedRuns
from ompass.serving.server import PageServer

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NAMES = (
    "tiles",
    "intervals",
    "links",
    "moment",
    "excerpt",
    "critical",
    "dependences",
    "window",
    "part",
    "bounds",
)
FIELDS = (
    *("run", "rows", "threads", "dimension", "shift", "first", "n", "begin", "end", "task", "thread", "at"),
    *("construct", "part"),
)
WORDS = ("state", "construct", "off_cpu", "kernel", "schedule", "reuse", "graph", "", "x")
NUMBERS = st.sampled_from([0, 1, 2, -1, 7, 40, 1000, 2**31, 2**32, 2**63, 2**64, 10**30, 0.5, 1e300])
LEAVES = NUMBERS | st.sampled_from(WORDS) | st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=8,
)
QUESTIONS = st.fixed_dictionaries(
    {
        "run": st.just(0) | VALUES,
        "rows": st.lists(st.fixed_dictionaries({"run": st.just(0) | LEAVES, "threads": VALUES})) | VALUES,
        "threads": st.lists(st.integers(-1, 5) | NUMBERS, max_size=3) | VALUES,
        "dimension": st.sampled_from(WORDS) | VALUES,
        "part": st.sampled_from(WORDS) | VALUES,
    }
    | dict.fromkeys(
        ("shift", "first", "n", "begin", "end", "task", "thread", "at", "construct"), NUMBERS | VALUES
    )
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Serves one golden trace."""
    folder = tmp_path_factory.mktemp("golden")
    with tarfile.open(GOLDEN / "kernels.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    runs = ServedRuns([collect(open_run(next(folder.rglob("process.log")).parent))])
    made = PageServer(runs.page, runs.answers, runs.files)
    thread = threading.Thread(target=made.serve, kwargs={"until_closed": False})
    thread.start()
    yield made
    made.stop()
    thread.join()


@contextlib.contextmanager
def noted_errors() -> Iterator[list[BaseException]]:
    """Collects exceptions that the server would show with a traceback. Ignores errors of connections."""
    found: list[BaseException] = []

    def note(*_: object) -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, OSError):
            found.append(error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serving._Server, "handle_error", note)
        yield found


def sent(server: PageServer, request: bytes) -> bytes:
    """Returns the first line of the answer; empty if the server closed the connection."""
    host, port = server.host.split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        answer = b""
        with contextlib.suppress(ConnectionError):  # the server may close without reading a refused request
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while b"\r\n" not in answer and (part := connection.recv(65536)):
                answer += part
    return answer.partition(b"\r\n")[0]


def post(server: PageServer, name: str, body: bytes, length: bytes | None = None) -> bytes:
    head = (
        f"POST /{server.token}/{name} HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
    )
    size = b"%d" % len(body) if length is None else length
    return sent(server, head.encode() + b"Content-Length: " + size + b"\r\nConnection: close\r\n\r\n" + body)


@settings(max_examples=100)
@given(name=st.sampled_from(NAMES), question=QUESTIONS | VALUES)
def test_every_question_is_answered_or_refused(server: PageServer, name: str, question: Any) -> None:
    with noted_errors() as found:
        answer = post(server, name, json.dumps(question).encode())
    assert answer[:12] in (b"HTTP/1.1 200", b"HTTP/1.1 400", b"HTTP/1.1 422"), (name, question, answer)
    assert not found, (name, question)


@settings(max_examples=100)
@given(
    method=st.sampled_from([b"GET", b"POST", b"PUT", b"", b"\xff"]),
    token=st.booleans(),
    path=st.binary(max_size=20),
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"Host", b"Origin", b"Content-Length", b"Content-Type", b"X"]),
            st.binary(max_size=12)
            | st.sampled_from([b"-1", b"1e3", b"99999999999999999999", b"application/json"]),
        ),
        max_size=4,
    ),
    body=st.binary(max_size=50),
)
def test_no_bytes_of_a_request_raise_an_error(
    server: PageServer,
    method: bytes,
    token: bool,
    path: bytes,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
) -> None:
    if path.startswith(b"alive"):
        return
    known = server.token.encode() + b"/" if token else b""
    host = b"Host: " + server.host.encode() + b"\r\n" if token else b""
    lines = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
    with noted_errors() as found:
        sent(server, method + b" /" + known + path + b" HTTP/1.1\r\n" + host + lines + b"\r\n" + body)
    assert not found


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff", b"", b"null", b"1e999"])
def test_bodies_that_are_not_objects_are_refused(body: bytes, server: PageServer) -> None:
    with noted_errors() as found:
        assert post(server, "tiles", body)[:10] == b"HTTP/1.1 4"
    assert not found


@pytest.mark.parametrize("length", [b"many", b"-1", "٣".encode(), b"9" * 5000])
def test_wrong_length_is_refused(length: bytes, server: PageServer) -> None:
    with noted_errors() as found:
        assert post(server, "tiles", b"", length)[:10] == b"HTTP/1.1 4"
    assert not found

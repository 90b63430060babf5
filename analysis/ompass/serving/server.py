# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of `ompass view`: local, protected by a token, and running until the page is closed.

Owns access: a request must contain the token in its path, and name this server as its host. The caller
provides the answers.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from ompass.errors import OmpassError

ADDRESS: Final = "127.0.0.1"
_MOST_BYTES: Final = 4 << 20  # largest request: rows of all threads of many ranks
_MOST_DIGITS: Final = 20  # of a request's length
_BEAT_S: Final = 1.0
_PATIENCE_S: Final = 5.0  # a page that reloads is briefly closed


@dataclass(frozen=True, slots=True)
class Answer:
    """Content, its type, and further headers."""

    body: bytes
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_json(cls, value: object) -> Answer:
        """Returns a value as JSON."""
        return cls(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


Question = Mapping[str, Any]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64  # a page asks for many tiles at once

    def __init__(self, owner: PageServer) -> None:
        super().__init__((ADDRESS, 0), _Handler)
        self.owner = owner

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores a browser that disconnects; shows other errors, which are bugs."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class PageServer:
    """Serves the page, and `files` by name. Answers questions: each is a POST to TOKEN/NAME with JSON."""

    def __init__(
        self,
        page: Callable[[], str],
        answers: Mapping[str, Callable[[Question], Answer]],
        files: Mapping[str, Callable[[], Answer]],
    ) -> None:
        """Listens on a free port; serve() answers the requests."""
        self.page = page
        self.answers = answers
        self.files = files
        self.token = secrets.token_urlsafe(18)
        self._guard = threading.Lock()
        self._open_pages = 0
        self._last_seen: float | None = None  # when a page was last opened or closed
        self._server = _Server(self)
        self.host = f"{ADDRESS}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Address of the page. Anyone who has it can read the runs."""
        return f"http://{self.host}/{self.token}/"

    def serve(self, *, until_closed: bool = True) -> None:
        """Answers requests until the page is closed, or KeyboardInterrupt is raised."""
        if until_closed:
            threading.Thread(target=self._watch, daemon=True).start()
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """Ends serve(), which runs in another thread."""
        self._server.shutdown()

    # ------------------------------------------------------------ inside

    def _watch(self) -> None:
        while True:
            time.sleep(_BEAT_S)
            with self._guard:
                gone = self._open_pages == 0 and self._last_seen is not None
                if gone and time.monotonic() - (self._last_seen or 0) > _PATIENCE_S:
                    break
        self.stop()

    def opened(self, by: int) -> None:
        with self._guard:
            self._open_pages += by
            self._last_seen = time.monotonic()


class _Handler(BaseHTTPRequestHandler):
    """One connection of a browser."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ompass"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        name = self._name()
        if name is None:
            return None
        if name == "alive":
            return self._stay_alive()
        file = self._page if name == "" else self.server.owner.files.get(name)
        if file is None:
            return self._refuse(HTTPStatus.NOT_FOUND)
        try:
            answer = file()
        except OmpassError as error:
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error.one_line())
        return self._send(answer)

    def _page(self) -> Answer:
        return Answer(self.server.owner.page().encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        name = self._name()
        if name is None:
            return None
        answer = self.server.owner.answers.get(name)
        length = self.headers.get("Content-Length") or "0"
        if not (length.isascii() and length.isdecimal()):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        # Counts the digits first, because int() fails on thousands of them.
        if answer is None or len(length) > _MOST_DIGITS or not 0 < int(length) <= _MOST_BYTES:
            return self._refuse(HTTPStatus.NOT_FOUND)
        # Other sites cannot send this type without a preflight request, which is refused.
        if self.headers.get_content_type() != "application/json":
            return self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            question = json.loads(self.rfile.read(int(length)))
            reply = answer(question)
        except OmpassError as error:
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, error.one_line())
        except (ValueError, KeyError, IndexError, TypeError, OverflowError, RecursionError):
            return self._refuse(HTTPStatus.BAD_REQUEST)
        return self._send(reply)

    def _name(self) -> str | None:
        """Returns the name in the path; refuses a wrong token, host or origin, and returns None."""
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        _, _, rest = self.path.partition("/")
        token, slash, name = rest.partition("/")
        known = secrets.compare_digest(token.encode(), self.server.owner.token.encode())
        own = host == self.server.owner.host and origin in (None, f"http://{self.server.owner.host}")
        if not (known and slash and own):
            self._refuse(HTTPStatus.NOT_FOUND)
            return None
        return name

    def _send(self, answer: Answer, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self._send_headers(answer)
        self.end_headers()
        self.wfile.write(answer.body)

    def _send_headers(self, answer: Answer) -> None:
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        for name, value in answer.headers:
            self.send_header(name, value)

    def _refuse(self, status: HTTPStatus, why: str = "") -> None:
        self.close_connection = True
        self._send(Answer(why.encode(), "text/plain; charset=utf-8"), status)

    def _stay_alive(self) -> None:
        """Sends a response that lasts as long as the page is open."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.server.owner.opened(1)
        try:
            while True:
                self.wfile.write(b".")
                self.wfile.flush()
                time.sleep(_BEAT_S)
        except OSError:
            pass  # closed
        finally:
            self.server.owner.opened(-1)

    def log_message(self, format: str, *args: object) -> None:
        pass

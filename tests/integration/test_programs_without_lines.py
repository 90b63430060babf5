# SPDX-License-Identifier: Apache-2.0
"""Programs without debug information: reports show functions, libraries, or lines of a debuginfod server."""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from command import call
from needs import require_commands
from ompass.elf import read_facts, read_functions
from ompass.symbols.debugfiles import Servers
from toolchains import CompileProgram, RunRecorded, neutral_environment

SOURCE = """\
#include <stdio.h>
#define SLOW __attribute__((noinline))
static SLOW double inner(double x, int n) { for (int i = 1; i < n; i++) x += 1.0 / i + x * 1e-9; return x; }
static SLOW double second(double x, int n) { for (int i = 1; i < n; i++) x = x * 1.0000001 + i; return x; }
SLOW double exported(double x, int n) { for (int i = 1; i < n; i++) x = x / 1.0000001 + i; return x; }
double r[64];
int main(void) {
#pragma omp parallel
#pragma omp single
  for (int k = 0; k < 64; k++)
#pragma omp task firstprivate(k)
    r[k] = inner(k, 1500000) + second(k, 1500000) + exported(k, 1500000);
  printf("%g\\n", r[5]);
  return 0;
}
"""
INNER_LINE = 3


@pytest.fixture
def program(tmp_path: Path, compile_program: CompileProgram) -> Path:
    """Returns a program with debug information. The tests strip it."""
    require_commands("objcopy", "strip")
    source = tmp_path / "work.c"
    source.write_text(SOURCE, "utf-8")
    built = compile_program(source, flags=["-g", "-rdynamic", "-Wl,--build-id=sha1"])
    return Path(shutil.copy(built, tmp_path / "work"))


def strip(program: Path, *options: str) -> None:
    subprocess.run(["strip", *options, program], check=True)


def samples_of(run: Path, **environment: str) -> Any:
    done = call({**neutral_environment(), **environment}, None, "samples", run, "--json")
    return json.loads(done.stdout)


def own_rows(run: Path, program: Path) -> list[Any]:
    return [
        row for row in samples_of(run)["lines"] if row["owner"] == "task" and row["module"] == str(program)
    ]


def problems_of(run: Path, **environment: str) -> list[str]:
    done = call({**neutral_environment(), **environment}, None, "report", run, "--json")
    return list(json.loads(done.stdout)["problems"])


def test_samples_without_lines_are_grouped_by_function(program: Path, run_recorded: RunRecorded) -> None:
    strip(program, "--strip-debug")
    run = run_recorded(program).run_dir
    names = [row["function"] for row in own_rows(run, program)]
    assert len(names) == len(set(names))
    assert {"inner", "second", "exported"} <= set(names)
    text = call(neutral_environment(), None, "samples", run).stdout
    assert "Hot functions" in text
    (problem,) = (p for p in problems_of(run) if "debug information" in p)
    assert "DEBUGINFOD_URLS" in problem and "names only" not in problem


def test_samples_without_names_are_grouped_by_library(program: Path, run_recorded: RunRecorded) -> None:
    strip(program)
    run = run_recorded(program).run_dir
    rows = [
        row for row in samples_of(run)["lines"] if row["owner"] == "task" and row["module"] == str(program)
    ]
    assert sorted(row["function"] or "" for row in rows) == ["", "exported"]
    assert "(no name)" in call(neutral_environment(), None, "samples", run).stdout
    assert any("names only of the functions that it exports" in p for p in problems_of(run))


def test_names_in_a_compressed_symbol_table_are_read(program: Path, tmp_path: Path) -> None:
    """Fedora strips its programs, but leaves such a table in them."""
    inner = next(f for f in read_functions(program).functions if f[2] == "inner")
    table = tmp_path / "table"
    strip(program, "--strip-debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, table], check=True)
    strip(program)
    assert not read_facts(program).has_names
    assert read_functions(program).at(inner[0]) != "inner"
    (tmp_path / "table.xz").write_bytes(lzma.compress(table.read_bytes()))
    added = f".gnu_debugdata={tmp_path}/table.xz"
    subprocess.run(["objcopy", "--add-section", added, program], check=True)
    assert read_facts(program).has_names
    assert read_functions(program).at(inner[0] + 4) == "inner"


class Server:
    """Serves the debug file of one build id, as debuginfod does."""

    def __init__(self, build_id: str, file: Path) -> None:
        self.asked: list[str] = []
        asked, path = self.asked, f"/buildid/{build_id}/debuginfo"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                content = file.read_bytes() if self.path == path else b""
                self.send_response(200 if content else 404)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def stripped(program: Path, tmp_path: Path) -> Iterator[tuple[Path, Server]]:
    """Yields the program without its debug information, and a server that has this information."""
    if library_is_missing():
        pytest.skip("libdebuginfod is not installed")
    debug = tmp_path / "work.debug"
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    strip(program)
    server = Server(read_facts(program).build_id, debug)
    yield program, server
    server.close()


def library_is_missing() -> bool:
    os.environ["DEBUGINFOD_URLS"] = "http://127.0.0.1:1"
    try:
        return "missing" in Servers().problem
    finally:
        del os.environ["DEBUGINFOD_URLS"]


def test_lines_come_from_a_debuginfod_server(
    stripped: tuple[Path, Server], run_recorded: RunRecorded, tmp_path: Path
) -> None:
    program, server = stripped
    run = run_recorded(program).run_dir
    environment = {"DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    rows = samples_of(run, **environment)["lines"]
    assert any((row["function"], row["line"]) == ("inner", INNER_LINE) for row in rows)
    assert not [p for p in problems_of(run, **environment) if program.name in p]
    n_asked = len(server.asked)
    samples_of(run, **environment)
    assert not [path for path in server.asked[n_asked:] if read_facts(program).build_id in path], (
        "it is cached"
    )
    server.asked.clear()
    problems_of(run)
    assert server.asked == [], "no server is asked unless DEBUGINFOD_URLS names it"


def test_a_file_that_no_server_has_is_reported_in_one_sentence(
    stripped: tuple[Path, Server], run_recorded: RunRecorded, tmp_path: Path
) -> None:
    program, server = stripped
    run = run_recorded(program).run_dir
    environment = {"DEBUGINFOD_URLS": f"{server.url}/no", "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    (problem,) = (p for p in problems_of(run, **environment) if p.startswith(program.name))
    assert "the servers of DEBUGINFOD_URLS do not have it" in problem


def n_connections(server: socket.socket) -> int:
    """Drops all waiting clients and returns their number."""
    n = 0
    server.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            server.accept()[0].close()
            n += 1
    return n


def test_a_server_that_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if library_is_missing():
        pytest.skip("libdebuginfod is not installed")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("DEBUGINFOD_URLS", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
        monkeypatch.setenv("DEBUGINFOD_TIMEOUT", "1")
        servers = Servers()
        assert servers.find("ab" * 20) is None
        assert "did not answer in time" in servers.problem
        assert n_connections(silent) > 0
        assert servers.find("cd" * 20) is None
        assert n_connections(silent) == 0


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1")
    servers = Servers("libnone.so.1")
    assert servers.find("ab" * 20) is None
    assert servers.problem == "libnone.so.1 is missing, so DEBUGINFOD_URLS has no effect"
    monkeypatch.delenv("DEBUGINFOD_URLS")
    assert Servers("libnone.so.1").problem == ""

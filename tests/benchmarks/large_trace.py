# SPDX-License-Identifier: Apache-2.0
"""Measures the time and memory of analyses of a trace of 100 million events, on one core with 4 GiB.

Records a short run of a benchmark program, and repeats its regions, with shifted ids and times, until the
trace has about that many events. Makes two such traces: one with the finest tasks (fib without a cut-off),
one with declared kernels (health). Each analysis is a separate process, bound to one core, with a memory
limit (RLIMIT_DATA) of 4 GiB. Prints a table and writes JSON. Run it with the Python that has the package
installed; needs the build (release preset) and about 5 GB of disk in --scratch.

On a quiet core, an analysis takes as long as its CPU seconds, so the limit of 60 s applies to them. The large
trace keeps the statistics of the short run: without `--source events`, `report` describes only the short run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ompass import _core

REPOSITORY = Path(__file__).resolve().parents[2]
MEMORY_BYTES = 4 << 30
LIMIT_SECONDS = 60
PROGRAMS = {
    "tasks": ["fib-tasks", "--cutoff", "none", "--size", "20"],
    "kernels": ["health-tasks-marked", "--class", "test"],
}
EXTENT_WORDS = 8 << 20
HEADER_BYTES, EXTENT_HEADER_BYTES, EXTENT_MAGIC, EVENTS = 4096, 64, 0x58504D4F, 4

# Analyses by trace. WINDOW is a millisecond in the middle of the run.
ANALYSES: dict[str, dict[str, list[str]]] = {
    "tasks": {
        "report": ["report", "RUN"],
        "report from events": ["report", "RUN", "--source", "events"],
        "report --html": ["report", "RUN", "--html", "OUT/report.html"],
        "graph": ["graph", "RUN"],
        "timeline window": ["timeline", "RUN", "--window", "WINDOW", "--perfetto", "OUT/window.pftrace"],
        "timeline figure": ["timeline", "RUN", "--figure", "OUT/gantt.svg"],
        "query": ["query", "RUN", "SELECT construct, count(*), sum(work_ns) FROM tasks GROUP BY construct"],
    },
    "kernels": {
        "report --html": ["report", "RUN", "--html", "OUT/report.html"],
        "krd": ["krd", "RUN"],
        "krd --share 0.1": ["krd", "RUN", "--share", "0.1"],
    },
}  # fmt: skip

NAMES = [name for name, _ in _core.event_kinds()]
KIND = {name: number for number, name in enumerate(NAMES)}
TWO_WORDS = (
    "time", "create_span_long", "start", "complete_to", "discard", "fulfill", "barrier_end", "implicit_begin",
    "counter", "work_begin",
)  # fmt: skip
THREE_WORDS = (
    "start_ready", "resume", "dependence", "region_begin", "region_end", "read", "write", "resync",
    "preempted", "blocked", "work_end", "fulfill_timed",
)  # fmt: skip
WORDS = dict.fromkeys(NAMES, 1) | dict.fromkeys(TWO_WORDS, 2) | dict.fromkeys(THREE_WORDS, 3)
# The words of each record, by its name, that contain ids of tasks or regions.
ID_WORDS = dict.fromkeys(
    ["start", "start_ready", "resume", "discard", "fulfill", "fulfill_timed", "complete_to", "region_begin",
     "region_end", "implicit_begin", "resync"], (1,)
) | {"dependence": (1, 2)}  # fmt: skip
HAS_ID = ("create", "region_begin", "implicit_begin")  # records that use the thread's next id
UNTIMED = ("inline_begin", "inline_end", "inline_code", "inline_ops", "discard", "fulfill", "dependence",
           "implicit_end", "read", "write", "cpu", "counter", "time", "domain", "placed", "wait_place",
           "waited_for")  # fmt: skip
# By name of a short record: long kind, number of half words, bits of the argument, first bit of the delta.
SHORT = {
    "create_short": ("create", 1, 26, 32),
    "create_span_short": ("create_span", 1, 12, 18),
    "start_short": ("start", 1, 6, 16),
    "start_near": ("start", 2, 12, 40),
    "complete_short": ("complete", 1, 0, 6),
    "wait_begin_short": ("wait_begin", 1, 4, 10),
    "wait_end_short": ("wait_end", 1, 4, 10),
    "wait_place_short": ("wait_place", 1, 26, 32),
}
NEAR_BYTES_BITS = 20  # bits of the length in read_near and write_near; the distance has the bits above


def extent_words(halves: list[int], place: int, n_words: int) -> list[int]:
    """Returns n_words words, which begin at half word `place`."""
    return [halves[i] | halves[i + 1] << 32 for i in range(place, place + 2 * n_words, 2)]


class ThreadLog:
    """The records of one thread's log, in three parts: before, in, and after its regions."""

    def __init__(self, path: Path) -> None:
        self.path = path
        contents = path.read_bytes()
        self.head = bytearray(contents[:HEADER_BYTES])
        events = {}  # by number
        place = HEADER_BYTES
        while place + EXTENT_HEADER_BYTES <= len(contents):
            magic, kind, n_bytes, number = struct.unpack_from("<2I2Q", contents, place)
            if magic != EXTENT_MAGIC:
                break
            if kind == EVENTS:
                events[number] = np.frombuffer(
                    contents[place + EXTENT_HEADER_BYTES : place + n_bytes], np.uint64
                )
            else:
                self.head += contents[place : place + n_bytes]
            place += n_bytes
        self.thread = int(path.stem.removeprefix("thread-"))
        self.records = list(self._decode([words for _, words in sorted(events.items())]))
        leader = path.name == "thread-00000.log"
        first, last = ("region_begin", "region_end") if leader else ("implicit_begin", "implicit_end")
        names = [name for name, _, _ in self.records]
        self.begin = names.index(first) if first in names else len(names)
        self.end = len(names) - names[::-1].index(last) if last in names else self.begin
        if (
            not leader and first in names[self.end :]
        ):  # a worker reports the end of the last region late, or never
            now = self.records[-1][1]
            self.records.append((last, now, [KIND[last]]))
            self.end = len(self.records)

    def _decode(
        self, extents: list[np.ndarray[Any, np.dtype[np.uint64]]]
    ) -> Iterator[tuple[str, int, list[int]]]:
        """Yields (name, absolute time, words) of every record in long form.

        Omits `time` records and off-CPU intervals.
        """
        now = address = started = 0
        latest_id = self.thread << 40
        for extent in extents:
            halves = extent.view(np.uint32).tolist()
            place = 0
            while place + 1 < len(halves) and halves[place]:
                first = halves[place] | halves[place + 1] << 32
                name = NAMES[first & 63]
                if name in SHORT:
                    raw = name
                    name, n_halves, argument_bits, shift = SHORT[raw]
                    first &= (1 << 32 * n_halves) - 1
                    argument = first >> 6 & ((1 << argument_bits) - 1) if raw != "complete_short" else 1
                    record = [first >> shift << 32 | argument << 6 | KIND[name]]
                    if raw == "start_short":
                        record.append(latest_id - (first >> 12 & 15))
                    elif raw == "start_near":
                        distance = first >> 20 & 0xFFFFF
                        distance -= (distance >> 19) << 20  # signed
                        record.append(started + distance | (first >> 18 & 3) << 62)
                    place += n_halves
                else:
                    n_words = WORDS[name]
                    record = extent_words(halves, place, n_words)
                    place += 2 * n_words
                if name == "time":
                    now = record[1]
                    continue
                if name in ("preempted", "blocked", "absent_near"):
                    continue
                if name in ("read_near", "write_near"):
                    distance = record[0] >> (6 + NEAR_BYTES_BITS)
                    n_bytes = record[0] >> 6 & ((1 << NEAR_BYTES_BITS) - 1)
                    name = name.removesuffix("_near")
                    # Signed, of 38 bits.
                    distance -= (distance >> 37) << 38
                    record = [KIND[name], (address + distance) & (2**64 - 1), n_bytes]
                if name in ("read", "write"):
                    address = record[1]
                elif name not in UNTIMED:
                    now += record[0] >> 32
                if name == "start":
                    started = record[1] & ((1 << 62) - 1)
                latest_id += name in HAS_ID
                yield name, now, record

    def n_ids(self) -> int:
        return sum(name in HAS_ID for name, _, _ in self.records[self.begin : self.end])


def repeated(
    log: ThreadLog, times: int, duration: int, ids_per_thread: list[int]
) -> Iterator[np.ndarray[Any, np.dtype[np.uint64]]]:
    """Yields the words of the log with its regions repeated `times` times, `duration` ticks apart."""
    now = 0

    def encode(records: list[tuple[str, int, list[int]]], shift: int, again: bool) -> list[int]:
        nonlocal now
        words: list[int] = []
        for name, time_ticks, record in records:
            if again and name == "inline_code":  # once per thread
                continue
            first, *rest = record
            if name not in UNTIMED:
                delta = time_ticks + shift - now
                if not 0 <= delta < 1 << 32:
                    words += [KIND["time"], time_ticks + shift]
                    delta = 0
                now = time_ticks + shift
                first = first & 0xFFFFFFFF | delta << 32
            words += [first, *rest]
        return words

    yield np.array(encode(log.records[: log.begin], 0, False), np.uint64)
    body = log.records[log.begin : log.end]
    if body:
        yield np.array(encode(body, 0, False), np.uint64)
        now = body[0][1] + duration
        pattern = [KIND["time"], now, *encode(body, duration, True)]
        per_round = np.zeros(len(pattern), np.uint64)  # increase of each word per repetition
        per_round[1] = duration
        place = 2
        for name, _, record in body:
            if name == "inline_code":
                continue
            if pattern[place] & 63 == KIND["time"]:
                per_round[place + 1] = duration
                place += 2
            for k in ID_WORDS.get(name, ()):
                thread = (record[k] & (1 << 62) - 1) >> 40
                per_round[place + k] = ids_per_thread[thread] if record[k] else 0
            if name == "region_end":
                per_round[place + 2] = 2 * duration
            place += WORDS[name]
        words = np.array(pattern, np.uint64)
        # `pattern` has the times of the first repetition, but the ids and last arrivals of the original.
        words += np.where(per_round == duration, np.uint64(0), per_round)
        for _ in range(times - 1):
            yield words
            words = words + per_round
    now = 0  # so that a `time` record precedes the next timed record
    yield np.array(encode(log.records[log.end :], (times - 1) * duration, False), np.uint64)


def write_events(path: Path, head: bytes, chunks: Iterator[np.ndarray[Any, np.dtype[np.uint64]]]) -> None:
    with path.open("wb") as file:
        file.write(head)
        pending: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
        n_pending = n_extents = 0

        def flush() -> None:
            nonlocal n_pending, n_extents
            body = np.concatenate(pending).tobytes() if pending else b""
            n_bytes = -(-(EXTENT_HEADER_BYTES + len(body)) // 4096) * 4096
            header = struct.pack("<2I7Q", EXTENT_MAGIC, EVENTS, n_bytes, n_extents, *[0] * 5)
            n_extents += 1
            file.write((header + body).ljust(n_bytes, b"\0"))
            pending.clear()
            n_pending = 0

        for chunk in chunks:
            pending.append(chunk)
            n_pending += len(chunk)
            if n_pending >= EXTENT_WORDS:
                flush()
        flush()


def make_large(short: Path, large: Path, n_events: int) -> int:
    """Writes the large run; returns how often it contains the regions of the short run."""
    logs = [ThreadLog(path) for path in sorted(short.glob("thread-*.log"))]
    bodies = [log.records[log.begin : log.end] for log in logs]
    n_short = sum(map(len, bodies))
    times = max(1, round(n_events / n_short))
    duration = logs[0].records[logs[0].end - 1][1] - bodies[0][0][1] + 1000
    ids = [log.n_ids() for log in logs]
    large.mkdir()
    for path in short.iterdir():
        if not path.name.startswith("thread-"):
            shutil.copy(path, large)
    for log in logs:
        write_events(large / log.path.name, bytes(log.head), repeated(log, times, duration, ids))
    return times


def record(program: list[str], directory: Path, build: Path) -> None:
    environment = os.environ | {
        "OMP_TOOL_LIBRARIES": str(build / "lib/libompass.so"),
        "OMPASS_MODE": "trace",
        "OMPASS_DIR": str(directory),
        "OMPASS_SUMMARY": "off",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "passive",
    }
    command = [str(build / "bots" / program[0]), "--threads", "2", *program[1:]]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def limits() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def measure(command: list[str], prepare: Callable[[], None]) -> dict[str, Any]:
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "ompass", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=prepare,
    )
    assert process.stderr is not None
    complaint = process.stderr.read().strip()
    _, status, used = os.wait4(process.pid, 0)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,  # includes pages of the mapped log
        "status": os.waitstatus_to_exitcode(status),
        "message": complaint.splitlines()[-1] if complaint else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build/release")
    parser.add_argument("--scratch", type=Path, help="a folder for the traces (default: a temporary one)")
    parser.add_argument("--only", action="append", help="analyses to measure, such as `graph` (default: all)")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"events": arguments.events, "analyses": []}
    print(f"{'trace':<9}{'analysis':<20}{'s':>8}{'CPU s':>8}{'MiB':>8}  status")
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        for trace, analyses in ANALYSES.items():
            chosen = {n: c for n, c in analyses.items() if not arguments.only or n in arguments.only}
            if not chosen:
                continue
            short, large = Path(scratch) / f"{trace}-short.ompass", Path(scratch) / f"{trace}.ompass"
            record(PROGRAMS[trace], short, arguments.build)
            times = make_large(short, large, arguments.events)
            n_threads = len(list(large.glob("thread-*.log")))
            short_ns = _core.Pyramid(str(short), keep=False).end_ns
            middle = short_ns * times // 2
            names = {"RUN": str(large), "WINDOW": f"{middle}ns:{middle + 1_000_000}ns"}
            for name, command in chosen.items():
                words = [names.get(word, word).replace("OUT/", f"{scratch}/") for word in command]
                found = measure(words, limits) | {"trace": trace, "analysis": name, "threads": n_threads}
                results["analyses"].append(found)
                verdict = "ok" if found["status"] == 0 and found["cpu_seconds"] < LIMIT_SECONDS else "FAILS"
                print(
                    f"{trace:<9}{name:<20}{found['seconds']:>8.1f}{found['cpu_seconds']:>8.1f}"
                    f"{found['peak_bytes'] / 2**20:>8.0f}  {verdict} {found['message']}",
                    flush=True,
                )
            shutil.rmtree(large)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

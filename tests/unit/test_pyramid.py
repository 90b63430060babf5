# SPDX-License-Identifier: Apache-2.0
"""The pyramid of synthetic traces: bins add up to `stretches` at every zoom; damaged caches are rebuilt."""

from __future__ import annotations

import os
import random
import struct
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import made_traces
from made_traces import Body, Spawn, Wait, Work, write_trace
from ompass import _core, open
from ompass.model import STATES
from unit.test_schedule import BODIES, MIXED

N_THREADS = 3
IS_FINAL = 144 + 8 * 64 + 4  # offset of this field in process.log
WORK_BEGIN, WORK_END = 48, 49
LONG: Body = tuple(Spawn((Work(20), Spawn((Work(5),), 3), Wait()), 2) for _ in range(3000))
"""A program long enough for several checkpoints."""

Key = tuple[int, int]


def made(body: Body, folder: Path) -> Path:
    return write_trace(folder / "made.ompass", made_traces.Schedule(body, N_THREADS, 1))


def overlaps(path: Path, begin_ns: int, end_ns: int, column: str) -> Counter[Key]:
    """Returns the nanoseconds of a window by thread and state, or of its work by thread and `column`."""
    where = "" if column == "state" else "AND state = 'work'"
    frame = open(path).sql(
        f"SELECT thread, {column} AS key, "
        f"sum(least(end_ns, {end_ns}) - greatest(start_ns, {begin_ns})) AS ns "
        f"FROM stretches WHERE start_ns < {end_ns} AND end_ns > {begin_ns} {where} GROUP BY thread, {column}"
    )
    by_state = column == "state"
    return +Counter(
        {(thread, STATES.index(key) if by_state else key or 0): ns for thread, key, ns in frame.rows()}
    )


def binned(pyramid: _core.Pyramid, shift: int, first: int, n: int, dimension: int) -> Counter[Key]:
    """Returns the same sums as overlaps(), from the bins of the pyramid."""
    keys = [key for key, _ in pyramid.totals(dimension)] if dimension else list(range(len(STATES)))
    tile = pyramid.read_tile(
        [[t] for t in range(N_THREADS)], dimension, keys if dimension else [], shift, first, n
    )
    sums = tile.sum(axis=1).tolist()
    return +Counter({(thread, key): int(ns) for thread in range(N_THREADS)
                     for key, ns in zip(keys, sums[thread], strict=False)})  # fmt: skip


def check_windows(path: Path, seed: int, n_windows: int = 6) -> None:
    pyramid, chosen = _core.Pyramid(str(path), keep=False), random.Random(seed)
    for _ in range(n_windows):
        shift = chosen.randrange(0, pyramid.end_ns.bit_length() + 1)
        n_bins = ((pyramid.end_ns - 1) >> shift) + 1
        first = chosen.randrange(n_bins)
        n = chosen.randint(1, min(n_bins - first, 200))
        window = (first << shift, (first + n) << shift)
        assert binned(pyramid, shift, first, n, 0) == overlaps(path, *window, "state")
        assert binned(pyramid, shift, first, n, 1) == overlaps(path, *window, "construct")


@given(body=BODIES, seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_bins_add_up_to_the_recorded_states_at_every_zoom(body: Body, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_windows(made(body, Path(folder)), seed)


def test_windows_deep_in_a_long_trace_are_read_from_a_checkpoint(tmp_path: Path) -> None:
    path = made(LONG, tmp_path)
    check_windows(path, 5, 40)
    # Reading after the last checkpoint does not read the events before it.
    pyramid = _core.Pyramid(str(path), keep=False)
    log = path / "thread-00000.log"
    damaged = bytearray(log.read_bytes())
    damaged[4096 + 64 + 800 : 4096 + 64 + 808] = b"\xff" * 8
    log.write_bytes(damaged)
    rows = pyramid.read_intervals([0], pyramid.end_ns - 1000, pyramid.end_ns, 1000)
    assert rows is not None and len(rows) > 0


def test_windows_inside_a_loop_are_read_from_a_checkpoint(tmp_path: Path) -> None:
    schedule = made_traces.Schedule(LONG, N_THREADS, 1)
    words = schedule.workers[0].log.words
    begin_of_task = next(
        k for k, word in enumerate(words) if k > 4 and word & 63 == made_traces.IMPLICIT_BEGIN
    )
    words[-6:-6] = [3 << 6 | WORK_END, 1, 1]  # before the end of the last barrier, and of the region
    words[begin_of_task + 2 : begin_of_task + 2] = [3 << 6 | WORK_BEGIN, 1]
    check_windows(write_trace(tmp_path / "made.ompass", schedule), 5, 20)


def test_intervals_of_a_window_agree_with_the_table(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    pyramid = _core.Pyramid(str(path), keep=False)
    begin_ns, end_ns = pyramid.end_ns // 4, pyramid.end_ns // 2
    rows = pyramid.read_intervals([0, 1, 2], begin_ns, end_ns, 10_000)
    assert rows is not None
    found: Counter[Key] = Counter()
    for thread, state, begin, end in zip(rows.thread, rows.state, rows.begin_ns, rows.end_ns, strict=True):
        found[int(thread), int(state)] += int(end - begin)
    assert +found == overlaps(path, begin_ns, end_ns, "state")
    tasks = {(t, c, s) for t, c, s in zip(rows.task, rows.created_ns, rows.start_ns, strict=True) if t}
    known = open(path).sql("SELECT task, created_ns, start_ns FROM tasks WHERE task IS NOT NULL")
    assert tasks and tasks <= set(known.rows())
    assert pyramid.read_intervals([0, 1, 2], begin_ns, end_ns, 2) is None


def test_intervals_of_a_damaged_log_do_not_overlap(tmp_path: Path) -> None:
    schedule = made_traces.Schedule(MIXED, N_THREADS, 1, wrapper_ns=3)
    words = schedule.workers[0].log.words
    span = 3 << 6 | made_traces.CREATE_SPAN
    spans = [k for k, word in enumerate(words) if word & (1 << 32) - 1 == span]
    assert len(spans) > 100
    for k in spans:
        words[k] |= 1 << 20 << 6  # each creation then lasts longer than the run
    pyramid = _core.Pyramid(str(write_trace(tmp_path / "made.ompass", schedule)), keep=False)
    rows = pyramid.read_intervals([0], 0, pyramid.end_ns, 10_000)
    assert rows is not None and len(rows) > 100
    assert (rows.begin_ns[1:] >= rows.end_ns[:-1]).all()
    whole = binned(pyramid, pyramid.end_ns.bit_length(), 0, 1, 0)
    assert sum(ns for (thread, _), ns in whole.items() if thread == 0) <= pyramid.end_ns


def made_with_a_pause(end: int, folder: Path) -> Path:
    """Makes a run whose last barrier ends at the time `end`."""
    schedule = made_traces.Schedule(MIXED, N_THREADS, 1)
    schedule.workers[0].log.words[-6:-6] = [made_traces.TIME, end]
    return write_trace(folder / "made.ompass", schedule)


def test_bins_of_a_run_of_two_weeks_add_up(tmp_path: Path) -> None:
    path = made_with_a_pause(1 << 50, tmp_path)
    pyramid = _core.Pyramid(str(path), keep=False)
    assert pyramid.end_ns > 1 << 49
    whole = binned(pyramid, pyramid.end_ns.bit_length(), 0, 1, 0)
    assert whole == overlaps(path, 0, pyramid.end_ns, "state")
    assert sum(whole.values()) > 1 << 49


def test_a_tile_after_the_run_is_empty(tmp_path: Path) -> None:
    pyramid = _core.Pyramid(str(made(MIXED, tmp_path)), keep=False)
    shift = pyramid.finest_shift + 4
    after = ((pyramid.end_ns - 1) >> shift) + 1
    assert pyramid.read_tile([[0]], 0, [], shift, after - 1, 3).sum() > 0
    for first in (after, 1 << 60, (1 << 63) + 5, (1 << 64) - 1):
        assert pyramid.read_tile([[0]], 0, [], shift, first, 3).sum() == 0


def test_a_run_that_seems_to_last_for_centuries_is_refused(tmp_path: Path) -> None:
    path = made_with_a_pause((1 << 64) - (1 << 40), tmp_path)
    with pytest.raises(Exception, match="over a year after its first"):
        _core.Pyramid(str(path), keep=False)


def test_depths_and_homes_of_work_add_up(tmp_path: Path) -> None:
    pyramid = _core.Pyramid(str(made(LONG, tmp_path)), keep=False)
    work = dict(pyramid.totals(0))[0]
    depths, homes = dict(pyramid.totals(2 + 1)), dict(pyramid.totals(2))
    assert sum(depths.values()) == sum(homes.values()) == work
    assert set(depths) >= {0, 1, 2}
    assert set(homes) <= {0, 1, 2, _core.NO_HOME} and len(homes) > 2


def ended(path: Path) -> Path:
    """Marks all logs of the run as closed by its program; returns its path."""
    log = bytearray((path / "process.log").read_bytes())
    struct.pack_into("<I", log, IS_FINAL, 1)
    (path / "process.log").write_bytes(log)
    return path


def totals(path: Path) -> tuple[bool, list[tuple[int, int]]]:
    pyramid = _core.Pyramid(str(path))
    return pyramid.was_kept, pyramid.totals(0)


def test_a_saved_pyramid_is_reused_only_if_it_is_undamaged_and_matches_the_logs(tmp_path: Path) -> None:
    path = ended(made(LONG, tmp_path))
    cache = path / "pyramid.cache"
    first = totals(path)
    assert (first[0], cache.exists()) == (False, True)
    assert totals(path) == (True, first[1])
    kept, sound = _core.Pyramid(str(path), keep=False), cache.read_bytes()
    cache.unlink()
    made_again = _core.Pyramid(str(path), keep=False)
    assert kept.was_kept and not made_again.was_kept and not cache.exists()
    assert kept.ran == made_again.ran
    assert (kept.read_tile([[0]], 0, [], 3, 100, 50) == made_again.read_tile([[0]], 0, [], 3, 100, 50)).all()
    for place in (0, 200, len(sound) // 2, len(sound) - 1):  # a damaged file is rebuilt and replaced
        cache.write_bytes(sound[:place] + bytes([sound[place] ^ 0x55]) + sound[place + 1 :])
        assert totals(path) == (False, first[1])
        assert totals(path) == (True, first[1])
    for length in (0, 100, len(sound) - 8):
        cache.write_bytes(sound[:length])
        assert totals(path) == (False, first[1])
    os.utime(path / "thread-00001.log")  # looks newly written
    assert totals(path) == (False, first[1])
    assert not list(path.glob("pyramid.cache.*"))


def test_a_pyramid_that_cannot_be_saved_is_still_read(tmp_path: Path) -> None:
    path = ended(made(MIXED, tmp_path))
    (path / "pyramid.cache").mkdir()  # blocks the file even for root, who may write anywhere
    assert totals(path)[0] is False
    assert totals(path)[0] is False
    assert not list(path.glob("pyramid.cache.*"))


def test_a_running_program_has_no_kept_pyramid(tmp_path: Path) -> None:
    path = made(MIXED, tmp_path)
    assert totals(path)[0] is totals(path)[0] is False
    assert not (path / "pyramid.cache").exists()


def test_a_run_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(_core.LogError):
        _core.Pyramid(str(tmp_path))

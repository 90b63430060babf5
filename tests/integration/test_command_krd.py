# SPDX-License-Identifier: Apache-2.0
"""Tests `ompass krd` on programs with known reuse distances and on the marked benchmark programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from ompass import _core
from toolchains import CompileProgram, RunRecorded, Toolchain

# One thread accesses blocks a and b of 1000 bytes, then one range: the second half of a and the first of b.
ONE_THREAD = """\
#include "ompass.h"
static char data[4096];
int main(void) {
#pragma omp parallel num_threads(1)
  {
    ompass_kernel_begin("first");
    ompass_read(data, 1000);
    ompass_write(data + 1000, 1000);
    ompass_kernel_end();
    ompass_kernel_begin("second");
    ompass_read(data + 500, 1000);
    ompass_read(data + 500, 0);
    ompass_kernel_end();
  }
}
"""

# Two threads take turns in a fixed order: thread 0 reads, 1 writes the same bytes, 0 reads them twice.
TURNS = """\
#include <omp.h>
#include "ompass.h"
static char data[64];
static void touch(int write) {
  ompass_kernel_begin("turn");
  if (write) ompass_write(data, sizeof data); else ompass_read(data, sizeof data);
  ompass_kernel_end();
}
int main(void) {
#pragma omp parallel num_threads(2)
  for (int turn = 0; turn < 4; turn++) {
    if (omp_get_thread_num() == (turn == 1)) touch(turn == 1);
#pragma omp barrier
  }
}
"""


def krd(*arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(ompass("krd", *arguments, "--json").stdout)
    return value


def record(
    source: str,
    tmp_path: Path,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    toolchain: Toolchain,
    mode: str = "trace",
) -> str:
    path = tmp_path / "program.c"
    path.write_text(source)
    program = compile_program(path, toolchain)
    return str(run_recorded(program, toolchain, mode=mode, threads=2).run_dir)


def distances(scope: dict[str, Any]) -> dict[int, int]:
    return {row["up_to_bytes"]: row["bytes"] for row in scope["bins"] if row["bytes"]}


def test_ranges_that_overlap_partly_have_their_distances(
    tmp_path: Path, compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    run = record(ONE_THREAD, tmp_path, compile_program, run_recorded, default_toolchain)
    value = krd(run)
    assert value["total"]["cold_bytes"] == 2000
    assert distances(value["total"]) == {1024: 500, 1: 500}
    assert {k["name"]: (k["cold_bytes"], k["accesses"]) for k in value["kernels"]} == {
        "first": (2000, 2),
        "second": (0, 1),
    }
    value = krd(run, "--l2", "1", "--llc", "999")
    assert [value["total"][f"{name}_bytes"] for name in ("close", "near", "far")] == [500, 0, 500]


def test_a_write_under_another_cache_is_a_coherence_miss(
    tmp_path: Path, compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    run = record(TURNS, tmp_path, compile_program, run_recorded, default_toolchain)
    apart = ("--topology", "pack:2 l3:1 core:1 pu:1")
    together = krd(run, "--topology", "pack:1 l3:1 core:2 pu:1")
    assert [together["total"][f"{name}_bytes"] for name in ("cold", "coherence", "close")] == [64, 0, 192]
    value = krd(run, *apart)
    assert [value["total"][f"{name}_bytes"] for name in ("cold", "coherence", "close")] == [128, 64, 64]
    assert [group["threads"] for group in value["groups"]] == [[0], [1]]
    assert [group["coherence_bytes"] for group in value["groups"]] == [64, 0]
    plain = krd(run, *apart, "--no-coherence")
    assert [plain["total"][f"{name}_bytes"] for name in ("cold", "coherence", "close")] == [128, 0, 128]


def test_runs_without_accesses_are_refused_with_the_cure(
    tmp_path: Path, compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    run = record(TURNS, tmp_path, compile_program, run_recorded, default_toolchain, mode="profile")
    message = ompass("krd", run, status=5).stderr
    assert "OMPASS_MODE=trace" in message
    assert len(message.splitlines()) == 1
    unmarked = TURNS.replace('#include "ompass.h"', '#define OMPASS_DISABLE\n#include "ompass.h"')
    run = record(unmarked, tmp_path, compile_program, run_recorded, default_toolchain)
    assert "ompass_read" in ompass("krd", run, status=5).stderr


def by_hand(events: _core.EventTable, kinds: Sequence[str]) -> dict[str, int]:
    """Computes cold bytes and bins naively, for each piece between bounds of accesses. Keys are strings."""
    import numpy as np

    names = np.array(kinds)[np.asarray(events.kind)]
    chosen = np.flatnonzero((names == "read") | (names == "write"))
    order = chosen[np.argsort(np.asarray(events.time_ns)[chosen], kind="stable")]
    begin = np.asarray(events.task)[order].astype(np.int64)
    length = np.asarray(events.value)[order].astype(np.int64)
    cuts = np.unique(np.concatenate([begin, begin + length]))
    weight = np.diff(cuts)
    first, last = np.searchsorted(cuts, begin), np.searchsorted(cuts, begin + length)
    touched_at = np.full(len(weight), -1)
    counts: dict[str, int] = {"cold": 0}
    for moment in range(len(begin)):
        mine = np.arange(first[moment], last[moment])
        was = touched_at[mine]
        counts["cold"] += int(weight[mine[was < 0]].sum())
        for time in np.unique(was[was >= 0]):
            distance = int(weight[touched_at > time].sum())
            k = max(distance - 1, 0).bit_length()
            key = str(2**k)
            counts[key] = counts.get(key, 0) + int(weight[mine[was == time]].sum())
        touched_at[mine] = moment
    return counts


@pytest.mark.parametrize("program", ["sort-tasks-marked", "health-tasks-marked"])
def test_recorded_programs_have_the_distances_of_their_events(
    program: str, bots_dir: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    # On one thread, because times in `dump` are coarser than ticks and do not order events of two threads.
    recorded = run_recorded(bots_dir / program, default_toolchain, "--class", "test", mode="trace", threads=1)
    value = krd(str(recorded.run_dir))
    events = _core.read_events(str(recorded.run_dir))
    expected = by_hand(events, [name for name, _ in _core.event_kinds()])
    assert value["total"]["cold_bytes"] == expected.pop("cold")
    assert {str(size): n for size, n in distances(value["total"]).items()} == expected
    declared = sum(
        row.read_bytes + row.write_bytes for row in _core.read_profile(str(recorded.run_dir)).constructs
    )
    assert value["total"]["accessed_bytes"] == declared


def under_one_cache(run: Path) -> tuple[int, list[int]]:
    """Returns cold bytes and bins of all kernels, as if all threads shared one cache."""
    (group,) = _core.reuse_of_run(str(run), [0] * 8, [], [(1 << 18, 1 << 22)]).groups
    bins = [sum(column) for column in zip(*(kernel.bins for kernel in group.kernels), strict=True)]
    return sum(kernel.cold_bytes for kernel in group.kernels), bins


def touched_in_order(run: Path) -> list[int]:
    """Returns the offsets of the accesses of a run on one thread, in order."""
    import numpy as np

    found: list[Any] = []
    _core.read_rows(str(run), "accesses", ["address"], 1 << 20, lambda columns: found.append(columns[0]))
    address = np.concatenate(found)
    return [int(offset) for offset in address - address.min()]


def test_matmul_has_the_same_reuse_under_any_scheduler_unless_threads_share_a_cache(
    bots_dir: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    """As in Pericàs et al., the order of tasks on one thread does not change the reuse.

    The accesses of two threads in one cache do change it.
    """

    def recorded(version: str, threads: int) -> Path:
        arguments = ("--class", "test", "--threads", str(threads))
        program = bots_dir / f"matmul-{version}-marked"
        return run_recorded(program, default_toolchain, *arguments, mode="trace", preload=True).run_dir

    libomp, tbb = recorded("tasks", 1), recorded("tbb", 1)
    # On one thread libomp runs each task at its creation; oneTBB runs the last created task first.
    assert touched_in_order(libomp) != touched_in_order(tbb)
    assert under_one_cache(libomp) == under_one_cache(tbb)
    # On a busy machine one thread may run all tasks before the other thread starts.
    assert any(under_one_cache(recorded("tasks", 2)) != under_one_cache(libomp) for _ in range(5))


def test_every_form_of_output_is_written(
    tmp_path: Path, bots_dir: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    recorded = run_recorded(
        bots_dir / "health-tasks-marked", default_toolchain, "--class", "test", mode="trace", threads=2
    )
    run, figure = str(recorded.run_dir), tmp_path / "krd.svg"
    page = ompass("krd", run, "--topology", "pack:2 l3:1 core:1 pu:1").stdout
    for text in ("simulate_subtree", "coherence", "cold", "all groups"):
        assert text in page
    ompass("krd", run, run, "--plot", str(figure))
    assert "<svg" in figure.read_text()
    assert ompass("krd", run, "--csv", "--table", "kernels").stdout.startswith("directory,kernel,accesses")
    assert "±" in ompass("krd", run, "--sample", "0.5").stdout
    sampled = krd(run, "--sample", "0.5")
    assert sampled["total"]["accessed_bytes"] == krd(run)["total"]["accessed_bytes"]
    assert 0 < sampled["sample"]["error_share"] <= 1
    for wrong in (["--sample", "0"], ["--l2", "x"], ["--topology", "nonsense"], ["--json", "--csv"]):
        assert len(ompass("krd", run, *wrong, status=2).stderr.splitlines()) == 1

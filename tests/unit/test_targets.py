# SPDX-License-Identifier: Apache-2.0
"""Target constructs: their findings on synthetic runs, and the names of OMPT's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from made_runs import MS, definition, made_run, region, target
from ompass.metrics.breakdown import time_breakdown
from ompass.metrics.facts import Facts, Finding
from ompass.metrics.findings import find_findings
from ompass.metrics.library_calls import devices_of, target_totals
from ompass.model import OUTSIDE, Run, TargetRow, device_of, is_nowait, kind_name, operation_name

SYNCHRONOUS, NOWAIT = 1 | 1 << 8, 9 | 1 << 8  # flags of target constructs on device 0


def run_of(rows: Sequence[TargetRow], flags: int = SYNCHRONOUS, wall_ns: int = 100 * MS) -> Run:
    """Makes a run of one thread outside of regions, with target construct 1."""
    definitions = [definition(0, "program"), definition(1, "target", flags=flags)]
    away_ns = sum(row.time_ns for row in rows)
    alone = region(OUTSIDE, 0, work_ns=wall_ns - away_ns, offload_ns=away_ns)
    return made_run([alone], definitions=definitions, targets=list(rows), wall_ns=wall_ns)


def findings(run: Run) -> dict[str, Finding]:
    found = find_findings(Facts(run, time_breakdown(run), (), targets=target_totals(run)))
    return {finding.kind: finding for finding in found if finding.severity == "problem"}


def kinds(row: TargetRow, **fields: Any) -> set[str]:
    return set(findings(run_of([row], **fields)))


def test_transfers_that_take_most_of_a_construct_are_reported() -> None:
    row = target(1, transfer_ns=20 * MS, launch_ns=MS, to_bytes=1 << 20, n_to=1, n_launches=1)
    found = findings(run_of([row]))["costly_transfers"]
    assert found.cost_ns == 20 * MS
    assert found.construct == 1
    assert found.because.startswith("1.0 MiB to device 0 and 0 B back took 20 ms")
    assert "costly_transfers" not in kinds(row.replace(transfer_ns=2 * MS, time_ns=3 * MS))
    assert "costly_transfers" not in kinds(row.replace(launch_ns=30 * MS, time_ns=50 * MS))


def test_repeated_transfers_are_reported_with_their_part_of_the_time() -> None:
    row = target(
        1, n_runs=100, transfer_ns=20 * MS, launch_ns=40 * MS, n_launches=100, n_to=100, to_bytes=100_000,
        to_ns=16 * MS, n_repeated=75, repeated_bytes=75_000,
    )  # fmt: skip
    assert findings(run_of([row]))["repeated_transfers"].cost_ns == 12 * MS
    assert "repeated_transfers" not in kinds(row.replace(n_repeated=5))
    assert "repeated_transfers" not in kinds(row.replace(repeated_bytes=10_000))
    assert "repeated_transfers" not in kinds(row, wall_ns=1000 * MS)


def test_repeated_data_explains_costly_transfers() -> None:
    row = target(
        1, n_runs=100, transfer_ns=60 * MS, n_launches=100, n_to=100, to_bytes=100_000, to_ns=50 * MS,
        n_repeated=99, repeated_bytes=99_000,
    )  # fmt: skip
    assert "costly_transfers" not in kinds(row)
    assert "repeated_transfers" in kinds(row)


def test_many_small_kernels_are_reported() -> None:
    row = target(1, n_runs=1000, n_launches=1000, launch_ns=20 * MS, wait_ns=10 * MS)
    found = findings(run_of([row]))["small_launches"]
    assert dict(found.numbers)["mean_launch_ns"] == 30_000
    assert "small_launches" not in kinds(row.replace(n_launches=50))
    assert "small_launches" not in kinds(row, wall_ns=1000 * MS)


def test_a_host_that_waits_for_kernels_is_reported_unless_they_are_nowait() -> None:
    row = target(1, n_runs=10, n_launches=10, launch_ns=10 * MS, wait_ns=30 * MS)
    assert findings(run_of([row]))["host_waits"].cost_ns == 40 * MS
    assert "host_waits" not in kinds(row, flags=NOWAIT)
    assert "host_waits" not in kinds(row.replace(n_launches=0))
    assert "host_waits" not in kinds(row, wall_ns=1000 * MS)


def test_preempted_serial_time_hides_no_costly_transfer() -> None:
    run = run_of([target(1, transfer_ns=20 * MS, n_to=1)], wall_ns=1000 * MS)
    assert "costly_transfers" not in findings(run)
    (alone,) = run.regions
    assert "costly_transfers" in findings(run.replace(regions=(alone.replace(work_preempted_ns=900 * MS),)))


def test_the_start_up_of_a_device_is_not_a_problem() -> None:
    row = target(1, launch_ns=9 * MS, n_launches=1)
    assert "host_waits" not in kinds(row, wall_ns=20 * MS)
    assert "host_waits" in kinds(row.replace(launch_ns=11 * MS, time_ns=11 * MS), wall_ns=20 * MS)


def test_rows_of_several_threads_are_one_construct() -> None:
    rows = [
        target(1, 0, transfer_ns=5, operations=(1, 2), operations_n=(1, 2), operations_bytes=(8, 9),
               operations_ns=(1, 4)),
        target(1, 3, transfer_ns=7, operations=(2,), operations_n=(3,), operations_bytes=(10,),
               operations_ns=(7,)),
    ]  # fmt: skip
    (total,) = target_totals(run_of(rows))
    assert (total.n_runs, total.transfer_ns, total.device, total.kind) == (2, 12, 0, "target")
    assert [(o.name, o.n, o.bytes, o.time_ns) for o in total.operations] == [
        ("to device", 5, 19, 11),
        ("alloc", 1, 8, 1),
    ]


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (1, "alloc"),
        (18, "to device (async)"),
        (7 | 1 << 8, "transfer to device"),
        (23 | 2 << 8, "transfer from device (async)"),
        (7 | 3 << 8, "transfer between devices"),
        (21, "operation 21"),
        (99, "operation 99"),
        (255, "operation 255"),
    ],
)
def test_operations_have_names_and_unknown_ones_their_numbers(number: int, name: str) -> None:
    assert operation_name(number) == name


def test_kinds_have_names_and_unknown_ones_their_numbers() -> None:
    assert kind_name(SYNCHRONOUS) == "target"
    assert kind_name(77) == "kind 77"
    assert is_nowait(NOWAIT)
    assert not is_nowait(SYNCHRONOUS)
    assert (device_of(SYNCHRONOUS), device_of(1), device_of(4 | 5 << 8)) == (0, -1, 4)


def test_devices_come_from_the_definitions() -> None:
    definitions = [
        definition(0, "program"),
        definition(1, "device", flags=2 << 1 | 1, name="gpu"),
        definition(2, "device", flags=0, name="host"),
    ]
    devices = devices_of(made_run(definitions=definitions))
    assert [(d.number, d.type, d.is_traced) for d in devices] == [(0, "host", False), (2, "gpu", True)]

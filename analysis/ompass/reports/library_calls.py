# SPDX-License-Identifier: Apache-2.0
"""The tables of a run's MPI calls and target constructs, and the sentences about its devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ompass.metrics.library_calls import TargetTotals, mpi_share
from ompass.reports.constructs import place_columns
from ompass.reports.content import ReportContent
from ompass.reports.model import Column, Kind, Table, data, fields
from ompass.units import duration, plural

_OPERATION: Final = fields("operation=number name n bytes time_ns")


def targets_table(content: ReportContent) -> Table:
    """Returns a table of target constructs: the host's time by part, the data moved, and the launches."""
    constructs = [target for target in content.targets if target.n_runs]
    has_repetitions = any(target.n_repeated for target in constructs)
    is_timed = any(target.n_device_kernels for target in constructs)
    return Table.of(
        "Target constructs",
        (
            *place_columns(content, "target"),
            Column("kind", "kind", Kind.TEXT),
            Column("device", "device", Kind.COUNT, lambda t: t.device if t.device >= 0 else None),
            Column("executions", "runs", Kind.COUNT, "n_runs", "executions of the construct"),
            Column("time_ns", "host time", Kind.TIME, hint="time of the host threads", kept=True, parts=True),
            Column("transfer_ns", "transfer", Kind.TIME, hint="part in data operations", parts=True),
            Column("launch_ns", "launch", Kind.TIME, hint="part in launches of kernels", parts=True),
            Column("wait_ns", "wait", Kind.TIME, hint="the rest, mostly waits for the device", parts=True),
            Column("to_bytes", "to device", Kind.BYTES, kept=True),
            Column("from_bytes", "from device", Kind.BYTES, kept=True),
            Column("launches", "launches", Kind.COUNT, "n_launches", "kernels launched"),
            Column("allocations", "allocs", Kind.COUNT, "n_alloc", "allocations on the device"),
            Column(
                "repeated_bytes",
                "repeated" if has_repetitions else "",
                Kind.BYTES,
                hint="part of the bytes to the device: the same host memory as in an earlier transfer",
            ),
            Column(
                "device_kernel_ns",
                "on device" if is_timed else "",
                Kind.TIME,
                _of_device,
                "time of the kernels on the device",
            ),
            *fields("max_ns to_ns nowait"),
            *fields("transfers_to=n_to transfers_from=n_from alloc_bytes transfers_repeated=n_repeated"),
            *fields("device_kernels=n_device_kernels device_transfers=n_device_transfers device_transfer_ns"),
            data("operations", lambda t: [_values(_OPERATION, operation) for operation in t.operations]),
        ),
        constructs,
        word="target construct",
        more="--csv --table targets",
        notes=tuple(_about_devices(content)) if constructs else (),
    )


def _values(columns: Sequence[Column], row: object) -> dict[str, Any]:
    return {column.key: column.value(row) for column in columns}


def _of_device(target: TargetTotals) -> int | None:
    return target.device_kernel_ns if target.n_device_kernels else None


def _about_devices(content: ReportContent) -> Iterator[str]:
    """Yields the number and types of the devices, and a remark if none reports its own times."""
    devices = content.devices
    if not devices:
        return
    types = sorted({device.type for device in devices if device.type})
    numbers = ", ".join(str(number) for number in sorted({device.number for device in devices}))
    yield f"initialized: {plural(len(devices), 'device')} ({numbers}) of type {', '.join(types) or '?'}"
    if not any(device.is_traced for device in devices):
        yield "the runtime offers no device tracing: times are the host's; a launch may include its kernel"


def device_fields(content: ReportContent) -> list[dict[str, Any]]:
    """Returns the devices as JSON fields."""
    columns = fields("number type traced=is_traced")
    return [_values(columns, device) for device in content.devices]


def offload_words(content: ReportContent) -> str:
    """Returns a sentence on the time of host threads in target constructs; empty without any."""
    targets = content.targets
    time_ns = sum(target.time_ns for target in targets)
    if not time_ns:
        return ""
    parts = (
        f"{duration(sum(getattr(target, f'{part}_ns') for target in targets))} {words}"
        for part, words in (("transfer", "in transfers"), ("launch", "in launches"), ("wait", "waiting"))
    )
    return f"Host threads were in target constructs for {duration(time_ns)}: {', '.join(parts)}."


def mpi_table(content: ReportContent) -> Table:
    """Returns a table of the MPI calls, the longest total time first."""
    calls = content.mpi
    return Table.of(
        "MPI",
        (
            Column("call", "call", Kind.NAME, "function"),
            Column("class", "class", Kind.TEXT, "kind"),
            *place_columns(content, "place"),
            Column("calls", "calls", Kind.COUNT, "n_calls", kept=True),
            Column("time_ns", "time", Kind.TIME, "time_ns", "of all threads", kept=True, parts=True),
            Column(
                "share",
                "share",
                Kind.SHARE,
                lambda call: mpi_share(content.run, calls, call.time_ns),
                "of the run time of the threads that call MPI",
                kept=True,
            ),
            Column("max_ns", "longest", Kind.TIME),
            Column("calls_in_tasks", "in tasks", Kind.COUNT, "n_in_tasks", "calls in explicit tasks"),
            *fields("task_ns serial_ns unaccounted_ns"),
            data("thread_breakdown", lambda call: [_values(_OF_THREAD, thread) for thread in call.threads]),
        ),
        calls,
        word="call",
        more="--csv --table mpi",
    )


_OF_THREAD: Final = fields(
    "thread calls=n_calls time_ns max_ns calls_in_tasks=n_in_tasks task_ns serial_ns unaccounted_ns"
)

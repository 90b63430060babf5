# SPDX-License-Identifier: Apache-2.0
"""A timeline as a Perfetto trace: a track per thread, flows from creation to start, counters of tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ompass.errors import OutputError
from ompass.plain_text import visible
from ompass.readers.timeline import SliceKind, Timeline, walk

_SEQUENCE = 1
_PROCESS_TRACK, _RUNNING_TRACK, _QUEUED_TRACK, _FIRST_THREAD_TRACK = 1, 2, 3, 16
_BATCH_PACKETS = 10_000


def write_perfetto(timeline: Timeline, names: Mapping[int, str], path: Path) -> None:
    """Writes the trace to `path`. `names` are names of constructs. OutputError."""
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    run = timeline.run
    event_type = schema.TrackEvent
    trace = schema.Trace()
    interned: dict[str, int] = {}
    pid = run.pid or 1

    def packet() -> schema.TracePacket:
        added = trace.packet.add()
        added.trusted_packet_sequence_id = _SEQUENCE
        return added

    def track(uuid: int) -> schema.TrackDescriptor:
        descriptor = packet().track_descriptor
        descriptor.uuid = uuid
        return descriptor

    try:
        with path.open("wb") as file:
            first = packet()
            first.sequence_flags = schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            process = track(_PROCESS_TRACK).process
            process.pid = pid
            process.process_name = visible(run.path.name)
            for uuid, title in (
                (_RUNNING_TRACK, "tasks running"),
                (_QUEUED_TRACK, "tasks created and not started"),
            ):
                counter = track(uuid)
                counter.parent_uuid = _PROCESS_TRACK
                counter.name = title
                counter.counter.unit = schema.CounterDescriptor.UNIT_COUNT
            for number in timeline.by_thread:
                recorded = next((t for t in run.threads if t.thread == number), None)
                thread = track(_FIRST_THREAD_TRACK + number)
                thread.parent_uuid = _PROCESS_TRACK
                thread.thread.pid = pid
                thread.thread.tid = recorded.tid if recorded else number
                thread.thread.thread_name = f"thread {number}" + (f" {recorded.kind}" if recorded else "")
            for number, slices in timeline.by_thread.items():
                for time_ns, one, entered in walk(slices):
                    if one.kind is SliceKind.CREATED:
                        if not entered:
                            continue
                        kind = event_type.TYPE_INSTANT
                    else:
                        kind = event_type.TYPE_SLICE_BEGIN if entered else event_type.TYPE_SLICE_END
                    added = packet()
                    added.timestamp = time_ns
                    event = added.track_event
                    event.type = kind
                    event.track_uuid = _FIRST_THREAD_TRACK + number
                    if entered:
                        label = "create" if one.kind is SliceKind.CREATED else visible(one.label(names))
                        if label not in interned:
                            interned[label] = len(interned) + 1
                            name = added.interned_data.event_names.add()
                            name.iid, name.name = interned[label], label
                        added.sequence_flags = schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
                        event.name_iid = interned[label]
                        event.categories.append(one.kind.name.lower())
                        if one.kind is SliceKind.CREATED:
                            event.flow_ids.append(one.task)
                        elif one.kind is SliceKind.TASK and one.task and not one.resumed:
                            event.terminating_flow_ids.append(one.task)
                    if len(trace.packet) >= _BATCH_PACKETS:
                        file.write(trace.SerializeToString())
                        del trace.packet[:]
            for uuid, values in zip((_RUNNING_TRACK, _QUEUED_TRACK), _counters(timeline), strict=True):
                for time_ns, value in values:
                    added = packet()
                    added.timestamp = time_ns
                    added.track_event.type = event_type.TYPE_COUNTER
                    added.track_event.track_uuid = uuid
                    added.track_event.counter_value = value
            file.write(trace.SerializeToString())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"{path} cannot be written", error.strerror or str(error)) from error


def _counters(timeline: Timeline) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Returns (time, number) of running tasks, and of tasks created in the window but not yet started."""
    running: list[tuple[int, int]] = []
    queued: list[tuple[int, int]] = []
    created = {
        one.task for slices in timeline.by_thread.values() for one in slices if one.kind is SliceKind.CREATED
    }
    for slices in timeline.by_thread.values():
        for one in slices:
            if one.kind is SliceKind.CREATED:
                queued.append((one.begin_ns, 1))
            elif one.kind is SliceKind.TASK and not one.untimed:
                running += [(one.begin_ns, 1), (one.end_ns, -1)]
                if one.task in created and not one.resumed:
                    queued.append((one.begin_ns, -1))
    return _running_sum(running), _running_sum(queued)


def _running_sum(changes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Returns (time, value after all changes at that time)."""
    sums: dict[int, int] = {}
    value = 0
    for time_ns, change in sorted(changes):
        value += change
        sums[time_ns] = value
    return list(sums.items())

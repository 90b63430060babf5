# SPDX-License-Identifier: Apache-2.0
"""Writes timelines for other programs, as Perfetto traces and OTF2 archives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from ompass.errors import OutputError
from ompass.files import sync
from ompass.model import device_name
from ompass.plain_text import visible
from ompass.readers.timeline import Slice, SliceKind, Timeline, walk
from ompass.symbols.resolver import Location

_SEQUENCE = 1
_PROCESS_TRACK, _RUNNING_TRACK, _QUEUED_TRACK, _FIRST_THREAD_TRACK = 1, 2, 3, 16
_FIRST_DEVICE_TRACK = 1 << 32
_BATCH_PACKETS = 10_000
_NS_PER_S = 1_000_000_000
_TASK_WAITS = (5, 6, 63)  # kinds of waits for tasks


def write_perfetto(timeline: Timeline, names: Mapping[int, str], path: Path) -> None:
    """Writes a Perfetto trace: tracks of threads and devices, flows from creation to start, counters.

    `names`: names by construct. Raises OutputError.
    """
    try:
        with path.open("wb") as file:
            trace = _PerfettoTrace(file, names)
            trace.describe_tracks(timeline)
            for number, slices in timeline.by_thread.items():
                for time_ns, one, entered in walk(slices):
                    trace.add(_FIRST_THREAD_TRACK + number, time_ns, one, entered)
            for number, slices in timeline.by_device().items():
                trace.describe_device(number)
                for time_ns, one, entered in walk(slices):
                    trace.add(_FIRST_DEVICE_TRACK + number, time_ns, one, entered)
            for uuid, values in zip((_RUNNING_TRACK, _QUEUED_TRACK), _counters(timeline), strict=True):
                trace.count(uuid, values)
            trace.flush()
            sync(file)
    except OSError as error:
        raise OutputError(f"{path} cannot be written", error.strerror or str(error)) from error


class _PerfettoTrace:
    """Packets of a trace, written to a file in batches."""

    def __init__(self, file: IO[bytes], names: Mapping[int, str]) -> None:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

        self._schema = schema
        self._trace = schema.Trace()
        self._file = file
        self._names = names
        self._interned: dict[str, int] = {}

    def describe_tracks(self, timeline: Timeline) -> None:
        run = timeline.run
        pid = run.pid or 1
        first = self._packet()
        first.sequence_flags = self._schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        process = self._track(_PROCESS_TRACK).process
        process.pid = pid
        process.process_name = visible(run.path.name)
        for uuid, title in (
            (_RUNNING_TRACK, "tasks running"),
            (_QUEUED_TRACK, "tasks created and not started"),
        ):
            counter = self._track(uuid)
            counter.parent_uuid = _PROCESS_TRACK
            counter.name = title
            counter.counter.unit = self._schema.CounterDescriptor.UNIT_COUNT
        recorded = {thread.thread: thread for thread in run.threads}
        for number in timeline.by_thread:
            known = recorded.get(number)
            track = self._track(_FIRST_THREAD_TRACK + number)
            track.parent_uuid = _PROCESS_TRACK
            track.thread.pid = pid
            track.thread.tid = known.tid if known else number
            track.thread.thread_name = f"thread {number}" + (f" {known.kind}" if known else "")

    def describe_device(self, number: int) -> None:
        """Adds the track of a device, for the intervals in which host threads used it."""
        track = self._track(_FIRST_DEVICE_TRACK + number)
        track.parent_uuid = _PROCESS_TRACK
        track.name = device_name(number)

    def add(self, track: int, time_ns: int, one: Slice, entered: bool) -> None:
        """Adds the start or end of a slice; a creation becomes an instant event."""
        created = one.kind is SliceKind.CREATED
        if created and not entered:
            return
        kinds = self._schema.TrackEvent
        packet = self._packet()
        packet.timestamp = time_ns
        event = packet.track_event
        if created:
            event.type = kinds.TYPE_INSTANT
        else:
            event.type = kinds.TYPE_SLICE_BEGIN if entered else kinds.TYPE_SLICE_END
        event.track_uuid = track
        if entered:
            event.name_iid = self._intern("create" if created else visible(one.label(self._names)), packet)
            event.categories.append(one.kind.name.lower())
            if created:
                event.flow_ids.append(one.task)
            elif one.kind is SliceKind.TASK and one.task and not one.resumed:
                event.terminating_flow_ids.append(one.task)
        if len(self._trace.packet) >= _BATCH_PACKETS:
            self.flush()

    def count(self, uuid: int, values: list[tuple[int, int]]) -> None:
        for time_ns, value in values:
            packet = self._packet()
            packet.timestamp = time_ns
            packet.track_event.type = self._schema.TrackEvent.TYPE_COUNTER
            packet.track_event.track_uuid = uuid
            packet.track_event.counter_value = value

    def flush(self) -> None:
        self._file.write(self._trace.SerializeToString())
        self._file.flush()
        del self._trace.packet[:]

    def _packet(self) -> Any:
        added = self._trace.packet.add()
        added.trusted_packet_sequence_id = _SEQUENCE
        return added

    def _track(self, uuid: int) -> Any:
        descriptor = self._packet().track_descriptor
        descriptor.uuid = uuid
        return descriptor

    def _intern(self, label: str, packet: Any) -> int:
        if label not in self._interned:
            self._interned[label] = len(self._interned) + 1
            name = packet.interned_data.event_names.add()
            name.iid, name.name = self._interned[label], label
        packet.sequence_flags = self._schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        return self._interned[label]


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


def write_otf2(
    timeline: Timeline, names: Mapping[int, str], places: Mapping[int, Location], path: Path
) -> None:
    """Writes an OTF2 archive into the new directory `path`; its anchor file is traces.otf2.

    It has a location per thread and device, and a region per construct, wait and lock. A resumed task enters
    a separate region, "... (resumed)", so the entries of a construct's region count its tasks. `names` and
    `places`: names and locations by construct. Raises OutputError.
    """
    import otf2
    from otf2.enums import LocationGroupType, LocationType

    if path.exists():
        raise OutputError(f"{path} cannot be written", "it exists", "name a new directory")
    try:
        with otf2.writer.open(str(path), timer_resolution=_NS_PER_S) as archive:
            definitions = archive.definitions
            node = definitions.system_tree_node("machine", class_name="machine")
            group = definitions.location_group(
                visible(timeline.run.path.name),
                location_group_type=LocationGroupType.PROCESS,
                system_tree_parent=node,
            )
            regions: dict[tuple[SliceKind, int, str], Any] = {}
            rows = [
                (f"thread {n}", LocationType.CPU_THREAD, s) for n, s in sorted(timeline.by_thread.items())
            ]
            rows += [(device_name(n), LocationType.GPU, s) for n, s in timeline.by_device().items()]
            for name, kind, slices in rows:
                location = definitions.location(name, type=kind, group=group)
                writer = archive.event_writer_from_location(location)
                for time_ns, one, entered in walk(slices):
                    if one.kind is SliceKind.CREATED:
                        continue
                    label = visible(one.label(names))
                    key = (one.kind, one.construct, label)
                    if key not in regions:
                        regions[key] = _otf2_region(definitions, label, one, places.get(one.construct))
                    if entered:
                        writer.enter(time_ns, regions[key])
                    else:
                        writer.leave(time_ns, regions[key])
    except (OSError, otf2.error.Error) as error:
        raise OutputError(f"{path} cannot be written", str(error), "name a new directory") from error


def _otf2_region(definitions: Any, label: str, one: Slice, place: Location | None) -> Any:
    from otf2.enums import Paradigm, RegionRole

    roles = {
        SliceKind.REGION: RegionRole.PARALLEL,
        SliceKind.IMPLICIT: RegionRole.FUNCTION,
        SliceKind.TASK: RegionRole.TASK,
        SliceKind.WAIT: RegionRole.BARRIER,
        SliceKind.LOCK: RegionRole.CRITICAL,
        SliceKind.CREATE: RegionRole.TASK_CREATE,
        SliceKind.KERNEL: RegionRole.FUNCTION,
        SliceKind.DATA: RegionRole.DATA_TRANSFER,
        SliceKind.LAUNCH: RegionRole.WRAPPER,
        SliceKind.PREEMPTED: RegionRole.ARTIFICIAL,
        SliceKind.BLOCKED: RegionRole.ARTIFICIAL,
        SliceKind.CALL: RegionRole.FUNCTION,
    }
    if one.kind in (SliceKind.WAIT, SliceKind.LOCK):
        place = None  # `construct` of a wait or lock is its kind, which has no place
    task_wait = one.kind is SliceKind.WAIT and one.construct in _TASK_WAITS
    return definitions.region(
        label,
        source_file=visible(place.file if place else ""),
        begin_line_number=(place.line if place else 0) or 0,
        region_role=RegionRole.TASK_WAIT if task_wait else roles[one.kind],
        paradigm={SliceKind.KERNEL: Paradigm.USER, SliceKind.CALL: Paradigm.MPI}.get(
            one.kind, Paradigm.OPENMP
        ),
    )

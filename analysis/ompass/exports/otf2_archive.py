# SPDX-License-Identifier: Apache-2.0
"""A timeline as an OTF2 archive: a location per thread; a region per construct, wait and lock.

A resumed task has a separate region, "... (resumed)", so tasks can be counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ompass.errors import OutputError
from ompass.plain_text import visible
from ompass.readers.timeline import Slice, SliceKind, Timeline, walk
from ompass.symbols import Location

_NS_PER_S = 1_000_000_000


def write_otf2(
    timeline: Timeline, names: Mapping[int, str], places: Mapping[int, Location], path: Path
) -> None:
    """Writes the archive into the new directory `path`; its anchor is traces.otf2.

    `names` and `places` are by construct. OutputError if the archive cannot be written.
    """
    import otf2
    from otf2.enums import LocationGroupType, LocationType, Paradigm, RegionRole

    if path.exists():
        raise OutputError(f"{path} cannot be written", "it exists", "name a new directory")
    roles = {
        SliceKind.REGION: RegionRole.PARALLEL,
        SliceKind.IMPLICIT: RegionRole.FUNCTION,
        SliceKind.TASK: RegionRole.TASK,
        SliceKind.WAIT: RegionRole.BARRIER,
        SliceKind.LOCK: RegionRole.CRITICAL,
        SliceKind.CREATE: RegionRole.TASK_CREATE,
        SliceKind.KERNEL: RegionRole.FUNCTION,
        SliceKind.PREEMPTED: RegionRole.ARTIFICIAL,
        SliceKind.BLOCKED: RegionRole.ARTIFICIAL,
    }
    waits = {5: RegionRole.TASK_WAIT, 6: RegionRole.TASK_WAIT, 63: RegionRole.TASK_WAIT}
    run = timeline.run
    try:
        with otf2.writer.open(str(path), timer_resolution=_NS_PER_S) as archive:
            definitions = archive.definitions
            node = definitions.system_tree_node("machine", class_name="machine")
            group = definitions.location_group(
                visible(run.path.name), location_group_type=LocationGroupType.PROCESS, system_tree_parent=node
            )
            regions = {}

            def region_of(one: Slice) -> object:
                label = visible(one.label(names))
                key = (one.kind, one.construct, label)
                if key not in regions:
                    place = (
                        places.get(one.construct)
                        if one.kind not in (SliceKind.WAIT, SliceKind.LOCK)
                        else None
                    )
                    role = roles[one.kind]
                    if one.kind is SliceKind.WAIT:
                        role = waits.get(one.construct, role)
                    regions[key] = definitions.region(
                        label,
                        source_file=visible(place.file if place else ""),
                        begin_line_number=(place.line if place else 0) or 0,
                        region_role=role,
                        paradigm=Paradigm.USER if one.kind is SliceKind.KERNEL else Paradigm.OPENMP,
                    )
                return regions[key]

            for number, slices in sorted(timeline.by_thread.items()):
                location = definitions.location(f"thread {number}", type=LocationType.CPU_THREAD, group=group)
                writer = archive.event_writer_from_location(location)
                for time_ns, one, entered in walk(slices):
                    if one.kind is SliceKind.CREATED:
                        continue
                    region = region_of(one)
                    if entered:
                        writer.enter(time_ns, region)
                    else:
                        writer.leave(time_ns, region)
    except (OSError, otf2.error.Error) as error:
        raise OutputError(f"{path} cannot be written", str(error), "name a new directory") from error

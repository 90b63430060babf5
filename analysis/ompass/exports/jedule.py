# SPDX-License-Identifier: Apache-2.0
"""A timeline as XML in Jedule's form: a cluster of threads, and a node per interval of a task or kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ompass.errors import OutputError
from ompass.plain_text import visible
from ompass.readers.timeline import SliceKind, Timeline

_SHOWN = (SliceKind.TASK, SliceKind.KERNEL)


def write_jedule(timeline: Timeline, names: Mapping[int, str], path: Path) -> None:
    """Writes tasks and kernels with times in seconds since the start. OutputError."""
    try:
        with path.open("w", encoding="utf-8") as file:
            file.write(
                '<?xml version="1.0" encoding="UTF-8"?>\n<grid_schedule>\n  <grid_info>\n'
                '    <info name="nb_clusters" value="1"/>\n'
            )
            hosts = max(timeline.by_thread) + 1
            file.write(f'    <clusters>\n      <cluster id="0" hosts="{hosts}" first_host="0"/>\n')
            file.write("    </clusters>\n  </grid_info>\n  <node_infos>\n")
            number = 0
            for thread, slices in sorted(timeline.by_thread.items()):
                for one in sorted(slices, key=lambda s: (s.begin_ns, s.depth)):
                    if one.kind not in _SHOWN:
                        continue
                    properties = {
                        "id": str(number),
                        "type": one.label(names),
                        "start_time": f"{one.begin_ns / 1e9:.9f}",
                        "end_time": f"{one.end_ns / 1e9:.9f}",
                    }
                    file.write("    <node_statistics>\n")
                    for name, value in properties.items():
                        text = quoteattr(visible(value))
                        file.write(f'      <node_property name="{name}" value={text}/>\n')
                    file.write(
                        '      <configuration>\n        <conf_property name="cluster_id" value="0"/>\n'
                        '        <conf_property name="host_nb" value="1"/>\n        <host_lists>\n'
                        f'          <hosts start="{thread}" nb="1"/>\n        </host_lists>\n'
                        "      </configuration>\n    </node_statistics>\n"
                    )
                    number += 1
            file.write("  </node_infos>\n</grid_schedule>\n")
    except OSError as error:
        raise OutputError(f"{path} cannot be written", error.strerror or str(error)) from error

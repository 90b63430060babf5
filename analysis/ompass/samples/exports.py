# SPDX-License-Identifier: Apache-2.0
"""Samples for other viewers: speedscope, folded stacks for flame graphs, and pprof.

pprof reads a gzipped Protocol Buffers message. This file lists the message's fields that it writes, by
number and type.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from typing import Any, Final

from ompass.samples.content import SampleContent
from ompass.samples.metrics import Line, LocatedSample


def _name(line: Line) -> str:
    return line.function or line.place


def folded_stacks(content: SampleContent) -> str:
    """Returns a line for each chain of calls: `construct;outermost;...;innermost samples`."""
    counts: Counter[str] = Counter()
    for sample in content.samples:
        names = (content.label(sample.owner), *(_name(line) for line in reversed(sample.calls)))
        counts[";".join(name.replace(";", ",").replace("\n", " ") for name in names)] += sample.weight
    return "".join(f"{names} {n}\n" for names, n in sorted(counts.items()))


def speedscope_profile(content: SampleContent) -> str:
    """Returns a file for https://www.speedscope.app: a profile per thread, with constructs at the root."""
    frames: dict[tuple[str, str, int], int] = {}

    def number(name: str, file: str = "", line: int = 0) -> int:
        return frames.setdefault((name, file, line), len(frames))

    def stack(sample: LocatedSample) -> list[int]:
        calls = [number(_name(line), line.file, line.line) for line in reversed(sample.calls)]
        return [number(content.label(sample.owner)), *calls]

    profiles = []
    for thread in sorted({sample.thread for sample in content.samples}):
        samples = [sample for sample in content.samples if sample.thread == thread]
        scale = 1000 / content.frequency_hz if content.frequency_hz and not content.loads else 1
        weights = [sample.weight * scale for sample in samples]
        profiles.append(
            {
                "type": "sampled",
                "name": f"thread {thread}",
                "unit": "none" if content.loads else "milliseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [stack(sample) for sample in samples],
                "weights": weights,
            }
        )
    return json.dumps(
        {
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "exporter": "ompass",
            "name": content.run.path.name,
            "activeProfileIndex": 0,
            "profiles": profiles,
            "shared": {
                "frames": [
                    {"name": name, **({"file": file, "line": line} if file else {})}
                    for name, file, line in frames
                ]
            },
        }
    )


_PACKAGE: Final = "perftools.profiles"
# Name, number and type of a field; lower-case types are scalars, * marks a repeated field.
_MESSAGES: Final = {
    "ValueType": "type=1 int64, unit=2 int64",
    "Label": "key=1 int64, str=2 int64, num=3 int64",
    "Sample": "location_id=1 *uint64, value=2 *int64, label=3 *Label",
    "Line": "function_id=1 uint64, line=2 int64",
    "Location": "id=1 uint64, mapping_id=2 uint64, address=3 uint64, line=4 *Line",
    "Function": "id=1 uint64, name=2 int64, system_name=3 int64, filename=4 int64",
    "Profile": (
        "sample_type=1 *ValueType, sample=2 *Sample, location=4 *Location, function=5 *Function, "
        "string_table=6 *string, time_nanos=9 int64, duration_nanos=10 int64, period_type=11 ValueType, "
        "period=12 int64"
    ),
}


@functools.cache
def _classes() -> dict[str, Any]:
    """Returns the message classes, made by the Protocol Buffers library."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    scalars = {"int64": field.TYPE_INT64, "uint64": field.TYPE_UINT64, "string": field.TYPE_STRING}
    file = descriptor_pb2.FileDescriptorProto(name="ompass_pprof.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            declared, kind = text.split()
            member, _, number = declared.partition("=")
            repeated = field.LABEL_REPEATED if kind.startswith("*") else field.LABEL_OPTIONAL
            kind = kind.lstrip("*")
            added = message.field.add(name=member, number=int(number), label=repeated)
            if kind in scalars:
                added.type = scalars[kind]
            else:
                added.type = field.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        for name in _MESSAGES
    }


def parse_pprof(profile: bytes) -> Any:
    """Returns the message in a profile from pprof_profile."""
    return _classes()["Profile"].FromString(gzip.decompress(profile))


def pprof_profile(content: SampleContent) -> bytes:
    """Returns the profile: samples and processor time, with the labels `construct` and `thread`.

    Samples of loads have no time.
    """
    profile = _classes()["Profile"]()
    strings: dict[str, int] = {"": 0}
    places: dict[Line, int] = {}
    functions: dict[tuple[str, str], int] = {}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def place(line: Line) -> int:
        if line not in places:
            places[line] = len(places) + 1
            name = line.function or line.place
            key = (name, line.file)
            if key not in functions:
                functions[key] = len(functions) + 1
                profile.function.add(
                    id=functions[key], name=text(name), system_name=text(name), filename=text(line.file)
                )
            location = profile.location.add(id=places[line])
            location.line.add(function_id=functions[key], line=line.line)
        return places[line]

    period_ns = 1_000_000_000 // max(content.frequency_hz, 1)
    kinds = {"samples": "count"} if content.loads else {"samples": "count", "cpu": "nanoseconds"}
    for kind, unit in kinds.items():
        profile.sample_type.add(type=text(kind), unit=text(unit))
    if not content.loads:
        profile.period_type.type, profile.period_type.unit = text("cpu"), text("nanoseconds")
        profile.period = period_ns
    profile.time_nanos = content.run.start_epoch_ns
    profile.duration_nanos = content.run.wall_ns
    for sample in content.samples:
        added = profile.sample.add(
            location_id=[place(line) for line in sample.calls],
            value=[sample.weight, sample.weight * period_ns][: len(kinds)],
        )
        added.label.add(key=text("construct"), str=text(content.label(sample.owner)))
        added.label.add(key=text("thread"), num=sample.thread)
    profile.string_table.extend(strings)
    return gzip.compress(profile.SerializeToString(deterministic=True), mtime=0)

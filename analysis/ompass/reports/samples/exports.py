# SPDX-License-Identifier: Apache-2.0
"""Samples for other viewers: speedscope, and folded stacks for flame graphs."""

from __future__ import annotations

import json
from collections import Counter

from ompass.metrics.samples import Line, LocatedSample
from ompass.reports.samples.content import SampleContent


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
    """Returns a profile for https://www.speedscope.app: one per thread, with constructs at the root."""
    frames: dict[tuple[str, str, int], int] = {}

    def number(name: str, file: str = "", line: int = 0) -> int:
        return frames.setdefault((name, file, line), len(frames))

    def stack(sample: LocatedSample) -> list[int]:
        calls = [number(_name(line), line.file, line.line) for line in reversed(sample.calls)]
        return [number(content.label(sample.owner)), *calls]

    profiles = []
    for thread in sorted({sample.thread for sample in content.samples}):
        samples = [sample for sample in content.samples if sample.thread == thread]
        scale = 1 if content.loads else 1000 / content.frequency_hz
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

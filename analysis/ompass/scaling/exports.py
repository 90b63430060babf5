# SPDX-License-Identifier: Apache-2.0
"""The verdict on a sweep as a remark on a source line, for editors and code hosts."""

from __future__ import annotations

from collections.abc import Iterator

from ompass.reports.remarks import NOTE, WARNING, Remark
from ompass.scaling.content import ScalingContent


def sweep_remarks(content: ScalingContent) -> Iterator[Remark]:
    """Yields the verdict: a warning, or a note if the program scales; nothing for a sweep on one thread."""
    judged = content.judged
    if judged is None or judged.verdict is None:
        return
    verdict = judged.verdict
    loss = next((loss for loss in verdict.losses if loss.kind == verdict.kind), None)
    yield Remark(
        verdict.kind,
        NOTE if verdict.kind == "scales" else WARNING,
        f"{verdict.title} (on {judged.point.threads} threads)",
        verdict.because,
        verdict.cure,
        judged.location,
        of_whole=False,
        cost_ns=int(loss.ns) if loss else 0,
        share=loss.share if loss else 0.0,
        numbers={"threads": judged.point.threads, "efficiency": judged.point.efficiency},
        source=content.directory,
    )

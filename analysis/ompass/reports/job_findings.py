# SPDX-License-Identifier: Apache-2.0
"""The findings on an MPI job in words, and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ompass.metrics.job_findings import Found
from ompass.reports.model import Advice, fields, place_fields
from ompass.symbols.resolver import UNKNOWN, Location


def job_advice(found: Found, place: Location) -> Advice:
    """Returns a finding on a job in words."""
    finding = found.finding
    return Advice(finding.title, finding.because, finding.cure, place.label() if place != UNKNOWN else "")


def finding_values(findings: Sequence[tuple[Found, Location]]) -> list[dict[str, Any]]:
    """Returns the findings on a job as JSON values."""
    names = fields("kind title because cure cost_ns")
    return [
        {column.key: column.value(found.finding) for column in names}
        | {"rank": found.rank if found.rank >= 0 else None}
        | place_fields(place)
        | {"numbers": dict(found.finding.numbers)}
        for found, place in findings
    ]

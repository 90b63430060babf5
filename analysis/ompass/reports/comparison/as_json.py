# SPDX-License-Identifier: Apache-2.0
"""A comparison as JSON. The schema is documented in docs/comparison.md and versioned here."""

from __future__ import annotations

from typing import Any, Final

from ompass import __version__
from ompass.metrics.comparison import Change
from ompass.reports.comparison.content import ComparisonContent, headline
from ompass.reports.scaling.content import Place

SCHEMA_VERSION: Final = 1


def json_comparison(content: ComparisonContent) -> dict[str, Any]:
    """The comparison as plain values, in the order in which they are documented."""
    return {
        "schema": "ompass-compare",
        "schema_version": SCHEMA_VERSION,
        "ompass_version": __version__,
        "before": content.before,
        "after": content.after,
        "scope": content.scope.value,
        "compared": [
            {
                "threads_before": one.threads_before,
                "threads_after": one.threads_after,
                "runs_before": one.n_before,
                "runs_after": one.n_after,
                "headline": headline(one),
                "changes": [_change(change) for change in one.changes],
            }
            for one in content.compared
        ],
        "notes": list(content.notes),
    }


def _change(change: Change[Place]) -> dict[str, Any]:
    key = change.key
    return {
        "figure": change.figure,
        "construct": None
        if key is None
        else {
            "kind": key.kind,
            "label": key.label(),
            "function": key.function or None,
            "file": key.file or None,
            "line": key.line or None,
        },
        "before_ns": change.before_mean,
        "after_ns": change.after_mean,
        "difference_ns": change.difference,
        "ratio": change.ratio,
        "values_before_ns": list(change.before),
        "values_after_ns": list(change.after),
        "noise_ns": change.noise,
        "p_value": change.p_value,
        "verdict": change.verdict,
    }

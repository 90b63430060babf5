# SPDX-License-Identifier: Apache-2.0
"""Reuse distances as a JSON value; docs/reuse-distance.md lists the fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ompass.metrics.reuse import GroupReuse, KernelReuse, ReuseHistogram
from ompass.reports.reuse.content import ReuseContent

SCHEMA_VERSION = 1


def json_reuse(contents: Sequence[ReuseContent]) -> dict[str, Any]:
    """One run: its figures; several: a list of them in an object."""
    values = [_run(content) for content in contents]
    if len(values) == 1:
        return values[0]
    return {"schema": "ompass-krd-runs", "schema_version": SCHEMA_VERSION, "runs": values}


def _run(content: ReuseContent) -> dict[str, Any]:
    profile, sample = content.profile, content.profile.sample
    return {
        "schema": "ompass-krd",
        "schema_version": SCHEMA_VERSION,
        "directory": str(content.run.path),
        "topology": content.machine,
        "coherent": profile.coherent,
        "sample": sample
        and {
            "rate": sample.rate,
            "block_bytes": sample.block_bytes,
            "sampled_bytes": sample.n_sampled_bytes,
            "error_share": sample.error_share,
        },
        "total": histogram_value(profile.total),
        "groups": [_group(group) for group in profile.groups],
        "kernels": [_kernel(kernel) for kernel in profile.kernels],
        "notes": list(content.notes),
    }


def histogram_value(histogram: ReuseHistogram) -> dict[str, Any]:
    """The classes, and the bins from 1 byte up to the last one that is not empty."""
    return {
        "accessed_bytes": histogram.accessed_bytes,
        "cold_bytes": histogram.cold_bytes,
        "coherence_bytes": histogram.coherence_bytes,
        "close_bytes": histogram.close_bytes,
        "near_bytes": histogram.near_bytes,
        "far_bytes": histogram.far_bytes,
        "bins": [{"up_to_bytes": 2**k, "bytes": histogram.bins[k]} for k in range(histogram.n_bins)],
    }


def _group(group: GroupReuse) -> dict[str, Any]:
    return {
        "name": group.group.name,
        "cpus": list(group.group.cpus),
        "threads": list(group.threads),
        "l2_bytes": group.group.l2_bytes,
        "llc_bytes": group.group.llc_bytes,
        "distinct_bytes": group.distinct_bytes,
        **histogram_value(group.histogram),
        "kernels": [_kernel(kernel) for kernel in group.kernels],
    }


def _kernel(kernel: KernelReuse) -> dict[str, Any]:
    return {"name": kernel.name, "accesses": kernel.n_accesses, **histogram_value(kernel.histogram)}

# SPDX-License-Identifier: Apache-2.0
"""The section on kernel reuse distance: bytes by distance per cache group and kernel, and figures of them."""

from __future__ import annotations

from collections.abc import Iterable

from ompass.figures.reuse import reuse_beyond, reuse_histogram
from ompass.figures.style import Spec
from ompass.metrics.reuse import ReuseHistogram
from ompass.page.markup import Cell, Column, Markup, Row, element, join, table
from ompass.page.section import Section, place_figure
from ompass.reports.reuse import ReuseContent
from ompass.units import count, percent, size

_CLASSES = ("cold", "coherence", "close", "near", "far")


def reuse_section(content: ReuseContent, number: int) -> Section:
    """The reuse distances of one run."""
    profile = content.profile
    parts: list[Markup] = [
        element(
            "p",
            f"{size(profile.total.accessed_bytes)} of accesses, on the {content.machine}. Close reuse "
            "fits in the L2, near reuse in the last-level cache, far reuse in neither.",
            class_="scope",
        ),
        table(
            "Reuse by cache group",
            (Column("cache group"), Column("distinct", True, "bytes touched"), *_class_columns()),
            [
                Row(
                    (
                        Cell(element("code", group.group.name), group.group.name),
                        Cell(size(group.distinct_bytes), group.distinct_bytes),
                        *_class_cells(group.histogram),
                    )
                )
                for group in profile.groups
                if group.histogram.accessed_bytes
            ],
        ),
        table(
            "Reuse by kernel",
            (Column("kernel"), Column("accesses", True), *_class_columns()),
            [
                Row(
                    (
                        Cell(element("code", kernel.name), kernel.name),
                        Cell(count(kernel.n_accesses), kernel.n_accesses),
                        *_class_cells(kernel.histogram),
                    )
                )
                for kernel in profile.kernels
            ],
        ),
    ]
    figures: dict[str, Spec] = {}
    for k, make in enumerate((reuse_histogram, reuse_beyond), 1):
        markup, made = place_figure(f"reuse-{number}-{k}", make([content]))
        parts.append(markup)
        figures |= made
    parts += [element("p", f"Note: {note}", class_="note") for note in content.notes]
    return Section(f"reuse-{number}", "Reuse distance of the kernels", join(parts), figures)


def _class_columns() -> Iterable[Column]:
    return (
        Column("accessed", True),
        *(Column(name, True, "share of the accessed bytes") for name in _CLASSES),
    )


def _class_cells(histogram: ReuseHistogram) -> Iterable[Cell]:
    accessed = histogram.accessed_bytes
    yield Cell(size(accessed), accessed)
    for name in _CLASSES:
        share = getattr(histogram, f"{name}_bytes") / accessed if accessed else 0.0
        yield Cell(percent(share), share)

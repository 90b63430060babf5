# SPDX-License-Identifier: Apache-2.0
"""Reuse distances on a terminal: classes of each cache group, histogram, kernels by far bytes."""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ompass.metrics.reuse import ReuseHistogram
from ompass.reports.bars import Canvas, length_bar
from ompass.reports.reuse.content import ReuseContent
from ompass.reports.tables import MAX_ROWS, plain_table
from ompass.reports.terminal import section
from ompass.units import count, percent, plural, size

CLASS_STYLES = {"close": "green", "near": "yellow", "far": "red", "coherence": "magenta", "cold": "blue"}
_MAX_GROUPS = 16


def print_reuse(console: Console, content: ReuseContent) -> None:
    """Print the page of one run."""
    profile = content.profile
    canvas = Canvas(console.width, console.encoding.lower().startswith("utf"))
    console.print(Rule(Text(f"ompass krd · {content.run.path.name}", style="bold"), style="cyan"))
    accessed = profile.total.accessed_bytes
    n_accesses = sum(kernel.n_accesses for kernel in profile.kernels)
    summary = (
        f"{size(accessed)} in {plural(n_accesses, 'access').replace('accesss', 'accesses')} · "
        f"{plural(len(profile.groups), 'cache group')} · {content.machine}"
    )
    console.print(Text(summary, style="dim"))
    if profile.sample:
        sample = profile.sample
        console.print(
            f"sampled: {percent(sample.rate)} of blocks of {size(sample.block_bytes)}; "
            f"every share is within ± {percent(sample.error_share)} (95% confidence)"
        )
    for note in content.notes:
        console.print(Text(note, style="yellow"))
    section(console, "Where the bytes came from", _classes_table(content))
    section(console, "Reuse distance, all groups", _histogram_table(profile.total, content, canvas))
    section(console, "Kernels by far bytes", _kernels_table(content))
    console.print()


def _shares(histogram: ReuseHistogram) -> list[str]:
    whole = histogram.accessed_bytes
    values = (
        histogram.close_bytes,
        histogram.near_bytes,
        histogram.far_bytes,
        histogram.coherence_bytes,
        histogram.cold_bytes,
    )
    return [percent(value / whole) if whole else "-" for value in values]


def _classes_table(content: ReuseContent) -> Table:
    table = plain_table()
    table.add_column("group", no_wrap=True)
    for name in ("L2", "LLC", "touched", "accessed"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, style in CLASS_STYLES.items():
        table.add_column(Text(name, style=style), justify="right", no_wrap=True)
    groups = content.profile.groups
    for group in groups[:_MAX_GROUPS]:
        table.add_row(
            group.group.name,
            size(group.group.l2_bytes),
            size(group.group.llc_bytes),
            size(group.distinct_bytes),
            size(group.histogram.accessed_bytes),
            *_shares(group.histogram),
        )
    if len(groups) > _MAX_GROUPS:
        table.add_row(Text(f"and {len(groups) - _MAX_GROUPS} more: --csv --table classes", style="dim"))
    if len(groups) > 1:
        total = content.profile.total
        table.add_row("total", "", "", "", size(total.accessed_bytes), *_shares(total), style="bold")
    return table


def _histogram_table(histogram: ReuseHistogram, content: ReuseContent, canvas: Canvas) -> Table:
    table = plain_table()
    table.add_column("distance", justify="right", no_wrap=True)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    first = next((k for k, n_bytes in enumerate(histogram.bins) if n_bytes), 0)
    caches = {(group.group.l2_bytes, group.group.llc_bytes) for group in content.profile.groups}
    l2_bytes, llc_bytes = max(caches)
    rows = [
        (
            f"<= {size(2**k)}",
            histogram.bins[k],
            CLASS_STYLES["close" if 2**k <= l2_bytes else "near" if 2**k <= llc_bytes else "far"],
        )
        for k in range(first, histogram.n_bins)
    ]
    if histogram.coherence_bytes:
        rows.append(("coherence", histogram.coherence_bytes, CLASS_STYLES["coherence"]))
    rows.append(("cold", histogram.cold_bytes, CLASS_STYLES["cold"]))
    largest = max(n_bytes for _, n_bytes, _ in rows)
    cells = canvas.room(40, 50)
    for label, n_bytes, style in rows:
        table.add_row(
            label,
            size(n_bytes),
            percent(n_bytes / histogram.accessed_bytes),
            length_bar(n_bytes, largest, cells, style, canvas.unicode),
        )
    return table


def _kernels_table(content: ReuseContent) -> Table:
    table = plain_table()
    table.add_column("kernel", overflow="fold", min_width=12)
    for name in ("accesses", "accessed", "far bytes", *CLASS_STYLES):
        table.add_column(name, justify="right", no_wrap=True)
    kernels = content.profile.kernels
    for kernel in kernels[:MAX_ROWS]:
        table.add_row(
            Text(kernel.name, style="cyan"),
            count(kernel.n_accesses),
            size(kernel.histogram.accessed_bytes),
            size(kernel.histogram.far_bytes),
            *_shares(kernel.histogram),
        )
    if len(kernels) > MAX_ROWS:
        table.add_row(Text(f"and {len(kernels) - MAX_ROWS} more: --csv --table kernels", style="dim"))
    return table

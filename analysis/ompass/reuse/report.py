# SPDX-License-Identifier: Apache-2.0
"""The reports on reuse distances: classes of each cache group, bytes by distance, kernels by far bytes.

docs/reuse-distance.md lists the fields of their JSON form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from ompass.model import Run, share
from ompass.packed import shown_path
from ompass.reports.model import Bar, Column, Kind, Report, Section, Table, csv_rows, data, plain
from ompass.reuse.metrics import GroupReuse, KernelReuse, ReuseHistogram, ReuseProfile, reuse_profile
from ompass.reuse.reader import read_reuse
from ompass.topology import Topology, recorded_topology
from ompass.units import percent, plural, size

Progress: TypeAlias = Callable[[float], None]
"""Receives the finished share."""


@dataclass(frozen=True, slots=True)
class ReuseOptions:
    """Options of the analysis. Sizes of 0 come from the topology; 0 jobs: one per CPU."""

    machine: Topology | None = None  # None: the recorded machine
    place: str = "compact"  # how threads are mapped onto `machine`: "compact" or "scatter"
    l2_bytes: int = 0
    llc_bytes: int = 0
    coherent: bool = True
    rate: float = 1.0
    n_jobs: int = 0


@dataclass(frozen=True, slots=True)
class ReuseContent:
    run: Run
    machine: str  # "recorded machine", or the synthetic topology
    profile: ReuseProfile
    notes: tuple[str, ...]  # sentences on assumptions and missing data

    @property
    def label(self) -> str:
        return self.run.path.name.removesuffix(".ompass") or str(self.run.path)


def collect_reuse(
    run: Run, options: ReuseOptions | None = None, progress: Progress | None = None
) -> ReuseContent:
    """Returns the reuse distances of a run.

    Raises NothingToShowError if the run declares no accesses, and DamagedRunError.
    """
    options = options or ReuseOptions()
    topology = options.machine or recorded_topology(run.path)
    n_threads = 1 + max((thread.thread for thread in run.threads), default=0)
    group_of_thread = topology.group_of_thread(n_threads, options.place) if options.machine else []
    groups = [group.with_sizes(options.l2_bytes, options.llc_bytes) for group in topology.groups]
    reuse = read_reuse(
        run,
        group_of_thread=group_of_thread,
        group_of_cpu=topology.group_of_cpu(),
        class_bytes=[(group.l2_bytes, group.llc_bytes) for group in groups],
        rate=options.rate,
        coherent=options.coherent,
        n_jobs=options.n_jobs,
        progress=progress,
    )
    profile = reuse_profile(
        run, groups, reuse, rate=options.rate, coherent=options.coherent, group_of_thread=group_of_thread
    )
    notes = list(run.incomplete_reasons)
    for name, option, given, known, used in (
        (
            "L2",
            "--l2",
            options.l2_bytes,
            [group.l2_bytes for group in topology.groups],
            [group.l2_bytes for group in groups],
        ),
        (
            "last-level cache",
            "--llc",
            options.llc_bytes,
            [group.llc_bytes for group in topology.groups],
            [group.llc_bytes for group in groups],
        ),
    ):
        if not given and 0 in known:
            assumed = size(used[known.index(0)])
            notes.append(f"The topology has no size for the {name}; {assumed} is assumed ({option} sets it).")
    if profile.sample and profile.sample.error_share > 0.1:
        notes.append(
            f"This sample may be off by {percent(profile.sample.error_share)}: it has too few blocks, "
            "or most accesses are to a few blocks. Raise --share, or omit it."
        )
    return ReuseContent(run, topology.description, profile, tuple(notes))


SCHEMA_VERSION: Final = 1
CSV_TABLES: Final = ("bins", "classes", "kernels")
CLASSES: Final = ("close", "near", "far", "coherence", "cold")

_BYTES = ("accessed_bytes", *(f"{name}_bytes" for name in CLASSES))


def reuse_report(content: ReuseContent) -> Report:
    """Returns the report on one run."""
    profile, sample = content.profile, content.profile.sample
    n_accesses = sum(kernel.n_accesses for kernel in profile.kernels)
    facts = [
        f"{size(profile.total.accessed_bytes)} in {plural(n_accesses, 'access', 'accesses')}",
        plural(len(profile.groups), "cache group"),
        content.machine,
    ]
    if sample:
        facts.append(
            f"sampled: {percent(sample.rate)} of blocks of {size(sample.block_bytes)}; every share is within "
            f"± {percent(sample.error_share)} (95% confidence)"
        )
    return Report(
        title=f"ompass krd · {content.run.path.name}",
        facts=tuple(facts),
        sections=(
            Section("classes", "Where the bytes came from", (_classes(content),)),
            Section("distances", "Reuse distance, all groups", (_distances(content),), drawn=True),
            Section("kernels", "Kernels by far bytes", (_kernels(profile.kernels),)),
        ),
        notes=content.notes,
        values={
            "schema": "ompass-krd",
            "schema_version": SCHEMA_VERSION,
            "directory": shown_path(content.run.path),
            "topology": content.machine,
            "coherent": profile.coherent,
            "sample": sample
            and {
                "rate": sample.rate,
                "block_bytes": sample.block_bytes,
                "sampled_bytes": sample.n_sampled_bytes,
                "error_share": sample.error_share,
            },
            "total": histogram_fields(profile.total),
            "groups": [_group_fields(group) for group in profile.groups],
            "kernels": _kernels(profile.kernels),
            "notes": content.notes,
        },
    )


def json_reuse(contents: Sequence[ReuseContent]) -> Any:
    """Returns the figures of one run, or an object with a list of several runs."""
    values = [plain(reuse_report(content)) for content in contents]
    if len(values) == 1:
        return values[0]
    return {"schema": "ompass-krd-runs", "schema_version": SCHEMA_VERSION, "runs": values}


def csv_reuse(contents: Sequence[ReuseContent], table: str) -> str:
    """Returns one of CSV_TABLES for one or more runs.

    bins: bytes by distance, and cold and coherence bytes, per group and in total; classes: one line per group
    and one in total; kernels: one line per kernel, over all groups.
    """
    rows = {"bins": _bin_rows, "classes": _class_rows, "kernels": _kernel_rows}[table]
    values = [plain(reuse_report(content)) for content in contents]
    return csv_rows([{"directory": v["directory"], **row} for v in values for row in rows(v)], ())


Fields = dict[str, Any]


def _scopes(values: Fields) -> list[tuple[str, Fields]]:
    return [("total", values["total"]), *((group["name"], group) for group in values["groups"])]


def _bin_rows(values: Fields) -> Iterator[Fields]:
    for name, histogram in _scopes(values):
        parts = [("reuse", row["up_to_bytes"], row["bytes"]) for row in histogram["bins"]]
        parts += [(kind, None, histogram[f"{kind}_bytes"]) for kind in ("coherence", "cold")]
        for kind, up_to, n_bytes in parts:
            yield {"group": name, "class": kind, "up_to_bytes": up_to, "bytes": n_bytes}


def _class_rows(values: Fields) -> Iterator[Fields]:
    for name, histogram in _scopes(values):
        yield {"group": name, **{key: histogram[key] for key in _BYTES}}


def _kernel_rows(values: Fields) -> Iterator[Fields]:
    for kernel in values["kernels"]:
        yield {
            "kernel": kernel["name"],
            "accesses": kernel["accesses"],
            **{key: kernel[key] for key in _BYTES},
        }


def histogram_fields(histogram: ReuseHistogram) -> Fields:
    """Returns the classes, and the bins from 1 byte to the last non-empty one."""
    return {**{key: getattr(histogram, key) for key in _BYTES}, "bins": _bins(histogram)}


def _bins(histogram: ReuseHistogram) -> list[Fields]:
    return [{"up_to_bytes": 2**k, "bytes": histogram.bins[k]} for k in range(histogram.n_bins)]


def _group_fields(group: GroupReuse) -> Fields:
    return {
        "name": group.group.name,
        "cpus": list(group.group.cpus),
        "threads": list(group.threads),
        "l2_bytes": group.group.l2_bytes,
        "llc_bytes": group.group.llc_bytes,
        "distinct_bytes": group.distinct_bytes,
        **histogram_fields(group.histogram),
        "kernels": _kernels(group.kernels),
    }


def class_columns() -> Iterator[Column]:
    """Yields the columns of objects with a histogram: accessed bytes, and the share of each class."""
    yield Column("accessed_bytes", "accessed", Kind.BYTES, "histogram.accessed_bytes")
    for name in CLASSES:
        yield Column("", name, Kind.SHARE, _share_of(name), "of the accessed bytes", look=name)
        yield data(f"{name}_bytes", f"histogram.{name}_bytes")


def _share_of(name: str) -> Any:
    return lambda row: (
        share(getattr(row.histogram, f"{name}_bytes"), row.histogram.accessed_bytes)
        if row.histogram.accessed_bytes
        else None
    )


class _Row(NamedTuple):
    """A cache group, or all groups together; None for values that cannot be summed."""

    name: str
    l2_bytes: int | None
    llc_bytes: int | None
    distinct_bytes: int | None
    histogram: ReuseHistogram


def _classes(content: ReuseContent) -> Table:
    """Returns a row for each group, and a total row if there are several."""
    rows = [
        _Row(each.group.name, each.group.l2_bytes, each.group.llc_bytes, each.distinct_bytes, each.histogram)
        for each in content.profile.groups
    ]
    if len(rows) > 1:
        rows.insert(0, _Row("all groups", None, None, None, content.profile.total))
    return Table.of(
        "Reuse by cache group",
        (
            Column("", "group", Kind.NAME, "name"),
            Column("", "L2", Kind.BYTES, "l2_bytes"),
            Column("", "LLC", Kind.BYTES, "llc_bytes"),
            Column("", "touched", Kind.BYTES, "distinct_bytes", "distinct bytes"),
            *class_columns(),
        ),
        rows,
        word="group",
        more="--csv --table classes",
        most=17,
    )


def _distances(content: ReuseContent) -> Table:
    total = content.profile.total
    first = next((k for k, n_bytes in enumerate(total.bins) if n_bytes), 0)
    l2_bytes, llc_bytes = max((g.group.l2_bytes, g.group.llc_bytes) for g in content.profile.groups)
    rows = [
        (
            f"<= {size(2**k)}",
            total.bins[k],
            "close" if 2**k <= l2_bytes else "near" if 2**k <= llc_bytes else "far",
        )
        for k in range(first, total.n_bins)
    ]
    if total.coherence_bytes:
        rows.append(("coherence", total.coherence_bytes, "coherence"))
    rows.append(("cold", total.cold_bytes, "cold"))
    return Table.of(
        "Bytes by reuse distance",
        (
            Column("", "distance", Kind.TEXT, lambda row: row[0]),
            Column("", "bytes", Kind.BYTES, lambda row: row[1]),
            Column("", "share", Kind.SHARE, lambda row: share(row[1], total.accessed_bytes)),
            Column("", "", Kind.BAR, lambda row: Bar(row[1], row[2])),
        ),
        rows,
        most=80,
    )


def _kernels(kernels: Iterable[KernelReuse]) -> Table:
    return Table.of(
        "Reuse by kernel",
        (
            Column("name", "kernel", Kind.NAME),
            Column("accesses", "accesses", Kind.COUNT, "n_accesses"),
            Column("", "far bytes", Kind.BYTES, "histogram.far_bytes"),
            *class_columns(),
            data("bins", lambda kernel: _bins(kernel.histogram)),
        ),
        kernels,
        word="kernel",
        more="--csv --table kernels",
    )

# SPDX-License-Identifier: Apache-2.0
"""Reuse distances: the error of samples, the cache groups of topologies, and the formats of reports."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import made_run
from ompass import _core
from ompass.errors import NothingToShowError, UsageError
from ompass.figures.render import render
from ompass.reuse.figure import reuse_beyond, reuse_figure, reuse_histogram
from ompass.reuse.metrics import (
    GroupReuse,
    KernelReuse,
    ReuseHistogram,
    ReuseProfile,
    fine_bin,
    sample_error,
    sum_histograms,
    sum_kernels,
)
from ompass.reuse.reader import check_has_accesses
from ompass.reuse.report import ReuseContent, csv_reuse, json_reuse
from ompass.topology import CacheGroup, recorded_topology, synthetic_topology
from ompass.units import parse_size

BLOCK_BYTES = 4096
CLASSES = (1 << 20, 16 << 20)


def blocks_of(
    order: str, seed: int, n: int = 60_000, n_blocks: int = 8000
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    random = np.random.default_rng(seed)
    if order == "loop":
        return np.asarray(np.arange(n, dtype=np.uint64) % np.uint64(n_blocks))
    if order == "uniform":
        return random.integers(0, n_blocks, n, dtype=np.uint64)
    if order == "hot":  # half of the accesses use three blocks
        cold = random.integers(0, n_blocks, n, dtype=np.uint64)
        return np.where(random.random(n) < 0.5, random.integers(0, 3, n, dtype=np.uint64), cold)
    walk = np.cumsum(random.integers(-40, 41, n))
    return np.asarray(np.abs(walk).astype(np.uint64) % np.uint64(n_blocks))


def counted(block: np.ndarray[tuple[int], np.dtype[np.uint64]], seed: int, rate: float) -> _core.Reuse:
    n = len(block)
    return _core.reuse_of_accesses(
        (block + np.uint64(1000 * seed)) * np.uint64(BLOCK_BYTES),
        np.full(n, BLOCK_BYTES, np.uint64),
        np.zeros(n, np.uint8),
        np.zeros(n, np.uint16),
        np.zeros(n, np.uint32),
        [CLASSES],
        rate=rate,
    )


def cumulative(kernel: _core.KernelReuse) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    whole = sum(kernel.bins) + kernel.cold_bytes
    return np.append(np.cumsum(kernel.bins), kernel.cold_bytes) / whole


@pytest.mark.parametrize("order", ["loop", "uniform", "hot", "walk"])
def test_a_sample_is_within_its_stated_error(order: str) -> None:
    """At 95% confidence, one of 20 samples may be outside. The test tolerates two."""
    outside, bounds = 0, []
    for seed in range(20):
        block = blocks_of(order, seed)
        (exact,) = counted(block, seed, 1.0).groups[0].kernels
        sampled = counted(block, seed, 0.1)
        (estimate,) = sampled.groups[0].kernels
        bound = sample_error(
            sampled.groups[0].sample,
            rate=0.1,
            block_bytes=sampled.block_bytes,
            accessed_bytes=exact.bytes,
        )
        bounds.append(bound)
        outside += float(np.abs(cumulative(estimate) - cumulative(exact)).max()) > bound
    assert outside <= 2
    # The bound must not be trivial; it must be wide if a few blocks have half of the accesses.
    assert (max(bounds) > 0.3) if order == "hot" else (max(bounds) < 1)
    if order == "uniform":
        assert max(bounds) < 0.4


def test_a_rate_of_one_is_exact() -> None:
    block = blocks_of("uniform", 1, 5000, 300)
    assert counted(block, 1, 1.0).block_bytes == 0
    almost = counted(block, 1, 0.999999999)
    (exact,), (sampled,) = (r.groups[0].kernels for r in (counted(block, 1, 1.0), almost))
    assert sampled.bins == exact.bins


@given(st.integers(0, 2**63 - 1))
def test_fine_bins_grow_with_the_distance_and_refine_powers_of_two(distance: int) -> None:
    assert fine_bin(distance) <= fine_bin(distance + 1)
    if distance >= 8:
        assert fine_bin(distance) // 8 == distance.bit_length() - 1


HISTOGRAMS = st.builds(
    lambda cold, coherence, close, near, far: ReuseHistogram(
        cold, coherence, close, near, far, (close, near, far) + (0,) * 61
    ),
    *[st.integers(0, 10**12)] * 5,
)


@given(HISTOGRAMS, st.integers(0, 10**15))
def test_a_scaled_histogram_still_adds_up(histogram: ReuseHistogram, total: int) -> None:
    scaled = histogram.scaled_to(total)
    if histogram.accessed_bytes:
        assert scaled.accessed_bytes == total
        assert sum(scaled.bins) == scaled.close_bytes + scaled.near_bytes + scaled.far_bytes


@given(st.lists(HISTOGRAMS, max_size=5))
def test_groups_sum_to_the_total(histograms: list[ReuseHistogram]) -> None:
    assert sum_histograms(histograms).accessed_bytes == sum(h.accessed_bytes for h in histograms)


def test_threads_fill_caches_one_by_one_or_alternate_between_them() -> None:
    topology = synthetic_topology("pack:2 l3:1 core:3 pu:1")
    assert [group.cpus for group in topology.groups] == [(0, 1, 2), (3, 4, 5)]
    assert topology.group_of_thread(8) == [0, 0, 0, 1, 1, 1, 0, 0]
    assert topology.group_of_thread(4, "scatter") == [0, 1, 0, 1]


def test_sizes_of_a_described_cache_are_used_and_missing_ones_assumed() -> None:
    (group,) = synthetic_topology("l3:1(size=18874368) l2:2(size=262144) pu:2").groups
    assert (group.l2_bytes, group.llc_bytes) == (262144, 18874368)
    (group,) = synthetic_topology("l3:1(size=18874368) core:2 pu:1").groups
    assert group.l2_bytes == 0
    assert group.with_sizes().l2_bytes > 0
    assert group.with_sizes(llc_bytes=5).llc_bytes == 5


def test_without_an_l3_the_groups_are_packages_or_the_largest_caches() -> None:
    assert len(synthetic_topology("pack:2 core:2 pu:2").groups) == 2
    assert len(synthetic_topology("core:4 l2:1 pu:1").groups) == 4


def test_topology_that_hwloc_refuses_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="synthetic"):
        synthetic_topology("pack:x")


def test_a_run_without_a_readable_topology_has_one_group(tmp_path: Path) -> None:
    assert len(recorded_topology(tmp_path).groups) == 1
    (tmp_path / "topology.xml").write_text("<topology><object")
    assert len(recorded_topology(tmp_path).groups) == 1


def test_a_profile_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(NothingToShowError, match="OMPASS_MODE=trace"):
        check_has_accesses(made_run())


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("512", 512), ("512K", 1 << 19), ("18MiB", 18 << 20), ("1.5g", 3 << 29), ("4kb", 4096)],
)
def test_sizes_are_read_in_binary_units(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "0", "-1", "5X", "K"])
def test_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def made_content() -> ReuseContent:
    def kernel(name: str, construct: int, far: int) -> KernelReuse:
        bins = (3, 0, 4, far) + (0,) * 60
        return KernelReuse(construct, name, 5, ReuseHistogram(10, 2, 3, 4, far, bins))

    groups = tuple(
        GroupReuse(
            CacheGroup(f"L3 {n}", (n,), 4, 8), (), sum_histograms(k.histogram for k in kernels), kernels, 17
        )
        for n, kernels in enumerate([(kernel("a", 1, 7), kernel("b", 2, 9)), (kernel("a", 1, 1),)])
    )
    total = sum_histograms(group.histogram for group in groups)
    return ReuseContent(
        made_run(), "recorded machine", ReuseProfile(total, groups, sum_kernels(groups), True, None), ()
    )


def test_json_has_the_classes_and_bins_of_the_total_and_of_each_group() -> None:
    value = json_reuse([made_content()])
    for scope in [value["total"], *value["groups"]]:
        reused = scope["close_bytes"] + scope["near_bytes"] + scope["far_bytes"]
        assert sum(row["bytes"] for row in scope["bins"]) == reused
        assert [row["up_to_bytes"] for row in scope["bins"]] == [1, 2, 4, 8]
        assert scope["accessed_bytes"] == reused + scope["cold_bytes"] + scope["coherence_bytes"]
    assert value["total"]["far_bytes"] == 17
    assert [(k["name"], k["far_bytes"], k["accesses"]) for k in value["kernels"]] == [
        ("b", 9, 5),
        ("a", 8, 10),
    ]
    assert len(json_reuse([made_content(), made_content()])["runs"]) == 2


@pytest.mark.parametrize(("table", "n_rows"), [("bins", 3 * 6), ("classes", 3), ("kernels", 2)])
def test_csv_has_the_rows_of_each_table(table: str, n_rows: int) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_reuse([made_content()], table))))
    assert len(rows) == n_rows
    if table == "bins":
        total = sum(int(row["bytes"]) for row in rows if row["group"] == "total")
        assert total == made_content().profile.total.accessed_bytes


def test_the_figures_show_every_run(tmp_path: Path) -> None:
    contents = [made_content(), made_content()]
    shares = reuse_histogram(contents)["data"]["values"]
    assert sum(row["share"] for row in shares) == pytest.approx(2)
    for run in {row["run"] for row in shares}:
        beyond = [row["share"] for row in reuse_beyond(contents)["data"]["values"] if row["run"] == run]
        assert beyond == sorted(beyond, reverse=True)
        ends = sum(
            row["share"] for row in shares if row["run"] == run and row["distance"] in ("cold", "coherence")
        )
        assert beyond[-1] == pytest.approx(ends)
    render(reuse_figure(contents), tmp_path / "krd.svg")
    picture = (tmp_path / "krd.svg").read_text()
    for text in ("(1)", "(2)", "coherence", "LLC"):
        assert text in picture

# SPDX-License-Identifier: Apache-2.0
"""Reuse distances of the core, compared with the definition byte by byte."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ompass import _core


class Access(NamedTuple):
    address: int
    n_bytes: int
    write: bool = False
    group: int = 0
    kernel: int = 0


L2_BYTES, LLC_BYTES = 16, 40


class Tally(NamedTuple):
    """The counts of one kernel in one group."""

    cold: int
    coherence: int
    close: int
    near: int
    far: int
    bins: tuple[int, ...]


def bin_of(distance: int) -> int:
    k = 0
    while 2**k < max(distance, 1):
        k += 1
    return k


def by_definition(
    accesses: Sequence[Access], n_groups: int, coherent: bool, unit: int = 1
) -> dict[tuple[int, int], Tally]:
    """Returns the tally of each (group, kernel). For each byte, visits all accesses since its last access.

    Addresses and lengths are in units of `unit` bytes.
    """
    counted: dict[tuple[int, int], Counter[str]] = {}
    bins: dict[tuple[int, int], Counter[int]] = {}
    for group in range(n_groups):
        stream = [access for access in accesses if access.group == group]
        last: dict[int, int] = {}  # byte -> index of its last access in the stream
        invalid: set[int] = set()
        index = 0
        for access in accesses:
            touched = range(access.address, access.address + access.n_bytes)
            if access.group != group:
                if access.write and coherent:
                    invalid.update(touched)
                continue
            key = (group, access.kernel)
            count, distances = counted.setdefault(key, Counter()), bins.setdefault(key, Counter())
            for byte in touched:
                if byte not in last:
                    count["cold"] += unit
                    continue
                if byte in invalid:
                    count["coherence"] += unit
                    continue
                between: set[int] = set()
                for other in stream[last[byte] + 1 : index]:
                    between.update(range(other.address, other.address + other.n_bytes))
                distance = len(between) * unit
                count["close" if distance <= L2_BYTES else "near" if distance <= LLC_BYTES else "far"] += unit
                distances[bin_of(distance)] += unit
            last.update(dict.fromkeys(touched, index))
            invalid.difference_update(touched)
            index += 1
    return {
        key: Tally(
            count["cold"],
            count["coherence"],
            count["close"],
            count["near"],
            count["far"],
            tuple(bins[key][k] for k in range(64)),
        )
        for key, count in counted.items()
    }


def computed(
    accesses: Sequence[Access], n_groups: int, coherent: bool, n_jobs: int = 1
) -> dict[tuple[int, int], Tally]:
    """Returns the tallies that the core computes."""
    result = reuse(accesses, [(L2_BYTES, LLC_BYTES)] * n_groups, coherent=coherent, n_jobs=n_jobs)
    tallies = {}
    for group, row in enumerate(result.groups):
        for kernel in row.kernels:
            assert kernel.bytes == sum(
                a.n_bytes for a in accesses if (a.group, a.kernel) == (group, kernel.construct)
            )
            tallies[group, kernel.construct] = Tally(
                kernel.cold_bytes,
                kernel.coherence_bytes,
                kernel.close_bytes,
                kernel.near_bytes,
                kernel.far_bytes,
                tuple(kernel.bins),
            )
    return tallies


def reuse(
    accesses: Sequence[Access],
    class_bytes: list[tuple[int, int]],
    *,
    coherent: bool = True,
    n_jobs: int = 1,
    rate: float = 1.0,
    block_bytes: int = 0,
) -> _core.Reuse:
    columns = list(zip(*accesses, strict=True)) or [()] * 5
    return _core.reuse_of_accesses(
        np.array(columns[0], dtype=np.uint64),
        np.array(columns[1], dtype=np.uint64),
        np.array(columns[2], dtype=np.uint8),
        np.array(columns[3], dtype=np.uint16),
        np.array(columns[4], dtype=np.uint32),
        class_bytes,
        rate=rate,
        block_bytes=block_bytes,
        coherent=coherent,
        n_jobs=n_jobs,
    )


ACCESS = st.builds(
    Access, st.integers(0, 60), st.integers(1, 24), st.booleans(), st.integers(0, 2), st.integers(0, 2)
)


@settings(max_examples=150)
@given(st.lists(ACCESS, max_size=40), st.booleans())
def test_any_ranges_in_any_groups_have_the_distances_of_the_definition(
    accesses: list[Access], coherent: bool
) -> None:
    assert computed(accesses, 3, coherent) == by_definition(accesses, 3, coherent)


def random_trace(random_source: random.Random) -> tuple[list[Access], int]:
    """Makes a trace with random shares of recurring blocks and of short and long ranges that cut them."""
    n_groups = random_source.choice((1, 1, 2, 3))
    space, block = random_source.choice((30, 100, 400)), random_source.choice((1, 4, 7, 16))
    exact = random_source.random()
    accesses = []
    for _ in range(random_source.randrange(1, 60)):
        if random_source.random() < exact:
            address, n_bytes = random_source.randrange(0, space, block), block
        else:
            address = random_source.randrange(space)
            n_bytes = random_source.randrange(1, random_source.choice((3, 12, space + 2)))
        accesses.append(
            Access(
                address,
                n_bytes,
                random_source.random() < 0.4,
                random_source.randrange(n_groups),
                random_source.randrange(2),
            )
        )
    return accesses, n_groups


@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_random_traces_have_the_distances_of_the_definition(seed: int) -> None:
    random_source = random.Random(seed)
    for n in range(400):
        accesses, n_groups = random_trace(random_source)
        coherent = random_source.random() < 0.5
        assert computed(accesses, n_groups, coherent, n_jobs=1 + n % 2) == by_definition(
            accesses, n_groups, coherent
        ), f"seed {seed}, trace {n}"


@pytest.mark.parametrize("shift", [24, 27, 28, 30, 31, 33, 53])
def test_ranges_of_gigabytes_have_the_distances_of_the_definition(shift: int) -> None:
    """Tests lengths and weights around the limits of the tables' narrow entries."""
    random_source = random.Random(shift)
    for n in range(60):
        accesses, n_groups = random_trace(random_source)
        large = [a._replace(address=a.address << shift, n_bytes=a.n_bytes << shift) for a in accesses]
        assert computed(large, n_groups, True) == by_definition(accesses, n_groups, True, 1 << shift), n


def by_recency(
    accesses: Sequence[Access], n_groups: int, coherent: bool, n_bytes: int
) -> dict[tuple[int, int], Tally]:
    """Returns the tallies from the last access of each byte; fast for long traces of few bytes."""
    last = np.full((n_groups, n_bytes), -1)
    invalid = np.zeros((n_groups, n_bytes), dtype=bool)
    bins = np.array([bin_of(distance) for distance in range(n_bytes + 1)])
    counted: dict[tuple[int, int], np.ndarray] = {}  # cold, coherence, close, near, far, bins
    for index, access in enumerate(accesses):
        group, touched = access.group, slice(access.address, access.address + access.n_bytes)
        moments, known = last[group, touched], last[group, touched] >= 0
        reused = moments[known & ~invalid[group, touched]]
        distances = (last[group] > reused[:, None]).sum(axis=1)
        tally = counted.setdefault((group, access.kernel), np.zeros(5 + 64, dtype=int))
        tally[0] += np.count_nonzero(~known)
        tally[1] += np.count_nonzero(known & invalid[group, touched])
        tally[2:5] += np.bincount(1 * (distances > L2_BYTES) + (distances > LLC_BYTES), minlength=3)
        tally[5:] += np.bincount(bins[distances], minlength=64)
        last[group, touched] = index
        invalid[group, touched] = False
        if access.write and coherent:
            others = np.arange(n_groups) != group
            invalid[others, touched] = True
    tallies = {}
    for key, tally in counted.items():
        cold, coherence, close, near, far, *in_bins = (int(x) for x in tally)
        tallies[key] = Tally(cold, coherence, close, near, far, tuple(in_bins))
    return tallies


@cache
def long_trace() -> tuple[list[Access], object]:
    """Returns random accesses and their tallies."""
    random_source = random.Random(1)
    n_bytes, accesses = 120, list[Access]()
    for _ in range(150_000):
        if random_source.random() < 0.8:
            address, length = random_source.randrange(0, n_bytes, 8), 8
        else:
            address = random_source.randrange(n_bytes)
            length = random_source.randrange(1, min(30, n_bytes - address) + 1)
        write, group, kernel = (random_source.randrange(n) for n in (2, 2, 3))
        accesses.append(Access(address, length, write == 1, group, kernel))
    return accesses, by_recency(accesses, 2, True, n_bytes)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_long_traces_are_counted_alike_on_any_number_of_threads(n_jobs: int) -> None:
    """The trace has several batches. Threads process two at a time, and the core renumbers the moments."""
    accesses, tallies = long_trace()
    assert computed(accesses, 2, True, n_jobs) == tallies


def test_a_loop_that_repeats_has_the_distance_of_its_length() -> None:
    """The trace is so long that the core renumbers the moments many times."""
    n_blocks, rounds, block = 1000, 100, 64
    loop = [Access(k * block, block) for k in range(n_blocks)] * rounds
    (tally,) = computed(loop, 1, True).values()
    assert tally.cold == n_blocks * block
    assert tally.bins[16] == n_blocks * block * (rounds - 1)  # 999 * 64 bytes apart, within 2**16
    assert sum(tally.bins) == tally.bins[16]


def test_blocks_that_shift_by_a_byte_each_round_agree_with_the_definition() -> None:
    """Every access cuts two earlier ones; cuts appear and disappear."""
    accesses = [Access((7 * k + k // 9) % 90, 9, k % 5 == 0, k % 2) for k in range(300)]
    assert computed(accesses, 2, True) == by_definition(accesses, 2, True)


def test_the_other_bytes_of_an_access_do_not_count_towards_its_distance() -> None:
    (tally,) = computed([Access(0, 100), Access(0, 100)], 1, True).values()
    assert tally.bins[0] == 100
    (tally,) = computed([Access(0, 10), Access(10, 10), Access(0, 20)], 1, True).values()
    assert (tally.bins[4], tally.bins[0]) == (
        10,
        10,
    )  # ten bytes in between, then none


def test_a_write_elsewhere_is_a_coherence_miss_once_and_never_cold() -> None:
    trace = [Access(0, 8), Access(0, 8, True, 1), Access(0, 8), Access(0, 8)]
    tally = computed(trace, 2, True)[0, 0]
    assert (tally.cold, tally.coherence, tally.close) == (8, 8, 8)
    tally = computed(trace, 2, False)[0, 0]
    assert (tally.cold, tally.coherence, tally.close) == (8, 0, 16)


def test_memory_is_proportional_to_distinct_data_and_not_to_the_length_of_the_trace() -> None:
    blocks = [Access(64 * k, 64) for k in range(20_000)]
    once, often = (reuse(blocks * n, [(1, 2)]).groups[0].memory_bytes for n in (2, 12))
    assert often <= 1.5 * once
    assert often <= 400 * len(blocks)


@pytest.mark.parametrize(
    ("accesses", "message"),
    [
        ([Access(0, 0)], "no bytes"),
        ([Access(2**64 - 4, 8)], "exceeds the address space"),
        ([Access(0, 4, group=1)], "unknown group"),
    ],
)
def test_impossible_accesses_are_refused(accesses: list[Access], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reuse(accesses, [(1, 2)])

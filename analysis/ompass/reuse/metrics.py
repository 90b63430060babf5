# SPDX-License-Identifier: Apache-2.0
"""Kernel reuse distances: bytes by distance, per cache group and kernel, and the error bound of samples.

Pure functions of the core's counts; docs/reuse-distance.md defines every figure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ompass import model
from ompass.errors import NothingToShowError
from ompass.model import Reuse, Run
from ompass.topology import CacheGroup

if TYPE_CHECKING:
    import numpy as np  # imported lazily where a sample is judged, because it loads slowly
    from numpy.typing import NDArray


N_BINS = 64
_BINS_PER_OCTAVE = 8
_COLD, _COHERENCE = N_BINS * _BINS_PER_OCTAVE, N_BINS * _BINS_PER_OCTAVE + 1


@dataclass(frozen=True, slots=True)
class ReuseHistogram:
    """Bytes of accesses by reuse distance: cold + coherence + close + near + far are all bytes.

    bins[k]: bytes whose distance is in (2**(k-1), 2**k], bin 0 up to 1; they sum to close + near + far.
    """

    cold_bytes: int = 0
    coherence_bytes: int = 0
    close_bytes: int = 0
    near_bytes: int = 0
    far_bytes: int = 0
    bins: tuple[int, ...] = (0,) * N_BINS

    @property
    def accessed_bytes(self) -> int:
        return self.cold_bytes + self.coherence_bytes + self.close_bytes + self.near_bytes + self.far_bytes

    @property
    def n_bins(self) -> int:
        """Number of bins up to the last non-empty one."""
        return max((k + 1 for k, n_bytes in enumerate(self.bins) if n_bytes), default=0)

    def __add__(self, other: ReuseHistogram) -> ReuseHistogram:
        return ReuseHistogram(
            self.cold_bytes + other.cold_bytes,
            self.coherence_bytes + other.coherence_bytes,
            self.close_bytes + other.close_bytes,
            self.near_bytes + other.near_bytes,
            self.far_bytes + other.far_bytes,
            tuple(a + b for a, b in zip(self.bins, other.bins, strict=True)),
        )

    def scaled_to(self, total_bytes: int) -> ReuseHistogram:
        """Returns a histogram of `total_bytes` with the same shares, in whole bytes; unchanged if empty."""
        if self.accessed_bytes in (0, total_bytes):
            return self
        classes = _shared_out(
            (self.cold_bytes, self.coherence_bytes, self.close_bytes, self.near_bytes, self.far_bytes),
            total_bytes,
        )
        reused = classes[2] + classes[3] + classes[4]
        bins = tuple(_shared_out(self.bins, reused))
        return ReuseHistogram(classes[0], classes[1], classes[2], classes[3], classes[4], bins)


def _shared_out(parts: Sequence[int], total: int) -> list[int]:
    """Returns integers proportional to `parts` that sum to `total`."""
    whole = sum(parts)
    if whole == 0:
        return [0] * len(parts)
    borders = [0, *(running * total // whole for running in itertools.accumulate(parts))]
    return [high - low for low, high in itertools.pairwise(borders)]


@dataclass(frozen=True, slots=True)
class KernelReuse:
    """One kernel's part of the accesses."""

    construct: int
    name: str
    n_accesses: int
    histogram: ReuseHistogram


@dataclass(frozen=True, slots=True)
class GroupReuse:
    """The stream of one cache group."""

    group: CacheGroup
    threads: tuple[int, ...]  # mapped threads; empty if threads belong to the group of their current CPU
    histogram: ReuseHistogram
    kernels: tuple[KernelReuse, ...]
    distinct_bytes: int  # touched bytes; an estimate if only a sample was analysed


@dataclass(frozen=True, slots=True)
class SampleQuality:
    """The rate and the size of a sample, and the error bound of its shares."""

    rate: float
    block_bytes: int
    n_sampled_bytes: int  # accessed bytes in the sample
    error_share: float  # of the accessed bytes, at 95% confidence, for each class and cumulative sum of bins


@dataclass(frozen=True, slots=True)
class ReuseProfile:
    """The reuse distances of a run."""

    total: ReuseHistogram
    groups: tuple[GroupReuse, ...]
    kernels: tuple[KernelReuse, ...]  # over all groups, most far bytes first
    coherent: bool
    sample: SampleQuality | None


def sum_histograms(histograms: Iterable[ReuseHistogram]) -> ReuseHistogram:
    return sum(histograms, ReuseHistogram())


def sum_kernels(groups: Iterable[GroupReuse]) -> tuple[KernelReuse, ...]:
    """Returns the kernels summed over all groups, by decreasing far, cold and coherence bytes."""
    totals: dict[int, KernelReuse] = {}
    for kernel in itertools.chain.from_iterable(group.kernels for group in groups):
        known = totals.get(kernel.construct)
        totals[kernel.construct] = (
            kernel
            if known is None
            else KernelReuse(
                kernel.construct,
                kernel.name,
                known.n_accesses + kernel.n_accesses,
                known.histogram + kernel.histogram,
            )
        )
    return tuple(
        sorted(
            totals.values(),
            key=lambda k: (
                -k.histogram.far_bytes,
                -k.histogram.cold_bytes,
                -k.histogram.coherence_bytes,
                k.name,
            ),
        )
    )


def total_histogram(reuse: Reuse) -> ReuseHistogram:
    """Returns the exact counts of all groups and kernels together."""
    return sum_histograms(_histogram(kernel) for group in reuse.groups for kernel in group.kernels)


def reuse_profile(
    run: Run,
    groups: Sequence[CacheGroup],
    reuse: Reuse,
    *,
    rate: float,
    coherent: bool,
    group_of_thread: Sequence[int] = (),
) -> ReuseProfile:
    """Returns the figures of `run` from the core's counts. Raises NothingToShowError for an empty sample."""
    counted = tuple(
        _group(run, group, row, _threads(group_of_thread, index), rate)
        for index, (group, row) in enumerate(zip(groups, reuse.groups, strict=True))
    )
    total = sum_histograms(group.histogram for group in counted)
    if total.accessed_bytes == 0:
        raise NothingToShowError(
            f"the sample of {run.path} is empty",
            f"no block was drawn at a rate of {rate:g}",
            "raise --share",
        )
    return ReuseProfile(total, counted, sum_kernels(counted), coherent, _quality(reuse, rate))


def _threads(group_of_thread: Sequence[int], group: int) -> tuple[int, ...]:
    return tuple(thread for thread, index in enumerate(group_of_thread) if index == group)


def _histogram(row: model.KernelReuse) -> ReuseHistogram:
    return ReuseHistogram(
        row.cold_bytes, row.coherence_bytes, row.close_bytes, row.near_bytes, row.far_bytes, row.bins
    )


def _group(
    run: Run, group: CacheGroup, row: model.GroupReuse, threads: tuple[int, ...], rate: float
) -> GroupReuse:
    accessed = sum(kernel.bytes for kernel in row.kernels)
    return GroupReuse(
        group,
        threads,
        sum_histograms(map(_histogram, row.kernels)).scaled_to(accessed),
        tuple(
            KernelReuse(
                kernel.construct,
                run.definitions[kernel.construct].name,
                kernel.n_accesses,
                _histogram(kernel).scaled_to(kernel.bytes),
            )
            for kernel in row.kernels
        ),
        round(row.distinct_bytes / rate),
    )


def _quality(reuse: Reuse, rate: float) -> SampleQuality | None:
    if rate >= 1:
        return None
    parts = [group.sample for group in reuse.groups]
    replicates = [[sum(bins) for bins in zip(*rows, strict=True)] for rows in zip(*parts, strict=True)]
    return SampleQuality(
        rate,
        reuse.block_bytes,
        sum(map(sum, replicates)),
        sample_error(
            replicates,
            rate=rate,
            block_bytes=reuse.block_bytes,
            accessed_bytes=sum(k.bytes for group in reuse.groups for k in group.kernels),
        ),
    )


def sample_error(
    replicates: Sequence[Sequence[int]], *, rate: float, block_bytes: int, accessed_bytes: int
) -> float:
    """Returns the error bound of the shares of a sample (0 to 1), at 95% confidence.

    `replicates`: bytes by distance of random parts of the sampled blocks, from the core. The bound is the
    maximum, over all powers of two, of the sum of two terms: the spread over the parts (delete-one
    jackknife), and the change of the shares if each distance were off by two of its standard errors (a
    distance is an estimate from rate * distance / block_bytes blocks). The bound also contains the surplus or
    lack of sampled bytes that chance does not explain, as when most accesses are to a few blocks.
    """
    import numpy as np

    parts = np.asarray(replicates, dtype=np.float64)
    sampled = parts.sum()
    if sampled == 0 or accessed_bytes == 0:
        return 1.0
    n_parts = len(parts)

    def shares(bytes_by_bin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns cumulative shares up to each fine bin, then the shares of cold and coherence bytes."""
        by_distance = np.cumsum(bytes_by_bin[:_COLD])
        whole = max(bytes_by_bin.sum(), 1.0)
        cumulative: NDArray[np.float64] = np.append(by_distance, bytes_by_bin[_COLD : _COHERENCE + 1]) / whole
        return cumulative

    everything = parts.sum(axis=0)
    share = shares(everything)
    without_one = np.array([shares(everything - part) for part in parts])
    deviations = without_one - without_one.mean(axis=0)
    spread = _T_95 * np.sqrt((n_parts - 1) / n_parts * (deviations**2).sum(axis=0))
    bound = float(spread[-2:].max())
    for k in range(N_BINS - 1):
        distance = 2.0**k
        doubt = 1 + 2 * math.sqrt((1 - rate) * block_bytes / (rate * distance))
        at, low, high = (fine_bin(x) for x in (distance, distance / doubt, distance * doubt))
        smear = max(share[high] - share[at], share[at] - (share[low - 1] if low > 0 else 0.0))
        bound = max(bound, float(spread[at]) + float(smear))
    chance = 2 * math.sqrt(n_parts * float(parts.sum(axis=1).var(ddof=1)))
    expected = rate * accessed_bytes
    return min(1.0, bound + max(0.0, abs(expected - float(sampled)) - chance) / expected)


_T_95 = 2.04  # Student's t of 31 degrees of freedom, both sides


def fine_bin(distance: float) -> int:
    """Returns the fine bin of a distance, by the rule of the core."""
    whole = min(int(distance), 2**63)
    if whole < _BINS_PER_OCTAVE:
        return whole
    octave = whole.bit_length() - 1
    return octave * _BINS_PER_OCTAVE + (whole >> (octave - 3)) % _BINS_PER_OCTAVE

# SPDX-License-Identifier: Apache-2.0
"""Quantities are formatted readably, and times that a person writes are parsed exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ompass.units import count, duration, parse_duration, parse_limit, percent, plural, size


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (7, "7 ns"),
        (999, "999 ns"),
        (999.7, "1 µs"),
        (1000, "1 µs"),
        (1234, "1.23 µs"),
        (45_600_000, "45.6 ms"),
        (999_999_999, "1 s"),
        (123_456_000_000, "123 s"),
        (12_345_678_000_000, "12,346 s"),
    ],
)
def test_duration_has_three_digits_and_a_unit(ns: float, text: str) -> None:
    assert duration(ns).replace(".00", "") == text


@given(st.integers(0, 10**15))
def test_duration_is_within_a_hundredth_of_the_truth(ns: int) -> None:
    number, unit = duration(ns).replace(",", "").split()
    scale = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}[unit]
    assert float(number) * scale == pytest.approx(ns, rel=0.01)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("250us", 250_000),
        ("1.5ms", 1_500_000),
        ("2s", 2 * 10**9),
        ("17", 17),
        ("0.000000001 s", 1),
        ("1m", 6 * 10**10),
    ],
)
def test_written_times_are_read_exactly(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@given(st.integers(0, 10**18))
def test_no_nanosecond_is_lost_in_reading(ns: int) -> None:
    assert parse_duration(f"{ns // 10**9}.{ns % 10**9:09d}s") == ns


@pytest.mark.parametrize("text", ["", "fast", "-1ms", "1.5.2s", "3 hours"])
def test_invalid_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"1\.5ms"):
        parse_duration(text)


def test_tiny_share_is_not_called_zero() -> None:
    assert (percent(0), percent(0.0004), percent(0.123)) == ("0.0%", "<0.1%", "12.3%")


def test_counts_have_separators_and_sizes_have_binary_units() -> None:
    assert (count(1234567), plural(1, "task"), plural(2, "task")) == ("1,234,567", "1 task", "2 tasks")
    assert (size(17), size(1536), size(3 << 40)) == ("17 B", "1.5 KiB", "3.0 TiB")


LIMITS = [
    ("1", 1 << 20), ("500", 500 << 20), ("1.5", 3 << 19), ("1G", 1 << 30), ("1.5G", 3 << 29),
    ("64k", 64 << 10), ("64K", 64 << 10), ("2MB", 2 << 20), ("2 MiB", 2 << 20), ("3mib", 3 << 20),
    ("1T", 1 << 40), ("4096B", 4096), (" 7 ", 7 << 20),
]  # fmt: skip
NO_LIMITS = ["", "0", "0G", "-1", "much", "12kg", "1e3", "G", "1..5", "1.", "1P", "1 2", "9" * 30]


@pytest.mark.parametrize(("text", "n_bytes"), LIMITS)
def test_limit_without_a_unit_is_in_megabytes(text: str, n_bytes: int) -> None:
    assert parse_limit(text) == n_bytes


@pytest.mark.parametrize("text", NO_LIMITS)
def test_other_text_is_not_a_limit(text: str) -> None:
    with pytest.raises(ValueError, match="not a size; write"):
        parse_limit(text)

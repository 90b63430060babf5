# SPDX-License-Identifier: Apache-2.0
"""The parts of a run's work that a sweep compares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ompass.metrics.breakdown import Scope
from ompass.model import CpuTimes, StateTimes
from ompass.reports.content import ReportContent
from ompass.samples.metrics import LocatedSample, Owner
from ompass.scaling import content

MS = 1_000_000


@pytest.mark.parametrize(
    ("loops", "undivided"),
    [
        ({}, 70),
        ({"for": 30}, 40),
        ({"for": 30, "sections": 15}, 25),
        ({"single": 30}, 70),
        ({"for": 90}, 0),
    ],
)
def test_undivided_work_is_that_of_implicit_tasks_without_loops(
    loops: dict[str, int], undivided: int
) -> None:
    made: Any = SimpleNamespace(
        regions=[SimpleNamespace(implicit_ns=ms * MS) for ms in (50, 20)],
        loops=[SimpleNamespace(kind=kind, time_ns=ms * MS) for kind, ms in loops.items()],
    )
    assert content._undivided_ns(cast("ReportContent", made)) == undivided * MS


def sample(kind: str, weight: int = 1, thread: int = 0) -> LocatedSample:
    return LocatedSample(thread, Owner(kind, -1), (), "", weight)


def parts_of(scope: Scope = Scope.REGIONS, **of_samples: Any) -> Any:
    """Returns the parts of 100 ms of work, 10 of them preempted and 20 blocked, sampled at 1 kHz."""
    usual = {
        "loads": False,
        "frequency_hz": 1000,
        "n_lost": 0,
        "n_dropped": 0,
        "unsampled": (),
        "window_ns": {},
        "used_data": (),
    }
    usual["samples"] = [sample("task", 30), sample("task", 20, 1), sample("serial", 5), sample("wait", 9)]
    work = CpuTimes.of(100 * MS, 10 * MS, 20 * MS)
    made: Any = SimpleNamespace(
        breakdown=SimpleNamespace(presence=SimpleNamespace(work=work), states=StateTimes(work_ns=100 * MS)),
        samples=SimpleNamespace(**(usual | of_samples)),
        regions=[],
        loops=[],
        location=lambda construct: None,
    )
    whole: Any = SimpleNamespace(states=StateTimes(work_ns=100 * MS))
    return content._parts(made, whole, scope)


def test_work_without_samples_is_kernel_time() -> None:
    parts = parts_of()
    assert (parts.work_ns, parts.preempted_ns, parts.blocked_ns) == (100 * MS, 10 * MS, 20 * MS)
    assert [dict(counts) for counts in parts.counts.values()] == [{0: 30, 1: 20}]
    assert parts.kernel_ns == pytest.approx((70 - 50) * MS)
    whole = parts_of(Scope.PROGRAM)
    assert sum(sum(counts.values()) for counts in whole.counts.values()) == 55, "and the serial part"
    assert whole.kernel_ns == pytest.approx((70 - 55) * MS)


@pytest.mark.parametrize(
    "samples",
    [
        {"n_lost": 1},
        {"n_dropped": 1},
        {"unsampled": (1,)},
        {"window_ns": {1: 1}},
        {"samples": [sample("task", 80)]},
    ],
)
def test_kernel_time_needs_all_samples(samples: dict[str, Any]) -> None:
    assert parts_of(**samples).kernel_ns == 0


@pytest.mark.parametrize("samples", [{"samples": []}, {"loads": True}])
def test_without_samples_of_time_there_is_no_rate(samples: dict[str, Any]) -> None:
    parts = parts_of(**samples)
    assert (parts.counts, parts.frequency_hz, parts.kernel_ns) == ({}, 0, 0)


@pytest.mark.parametrize(("times", "typical"), [([5], 0), ([5, 3], 1), ([5, 3, 4], 2), ([4, 9, 7, 1], 0)])
def test_the_typical_run_has_the_lower_median_time(times: list[int], typical: int) -> None:
    names = cast("list[ReportContent]", list(range(len(times))))
    assert cast("Any", content._typical(names, times)) == typical

# SPDX-License-Identifier: Apache-2.0
"""Tasks by domain: the matrix is the sum over threads, and its diagonal has the local tasks."""

from __future__ import annotations

from typing import Any

import pytest

from made_runs import made_run, region
from ompass.metrics.locality import locality
from ompass.model import Run


def with_held(*held: dict[str, Any]) -> Run:
    """Makes a run of one region whose threads have these fields."""
    return made_run([region(0, thread, **one) for thread, one in enumerate(held)])


def test_matrix_adds_up_threads_and_local_is_its_diagonal() -> None:
    figures = locality(
        with_held(
            {"domain": 0, "n_steals": 1, "n_failed_steals": 3, "n_from_domain": [5, 1, 0]},
            {"domain": 0, "n_from_domain": [2, 0, 0]},
            {"domain": 1, "n_rescued": 1, "n_from_domain": [4, 6, 0]},
        )
    )
    assert figures is not None
    assert figures.matrix == ((7, 4), (1, 6))
    assert (figures.n_tasks, figures.n_local, figures.n_remote) == (18, 13, 5)
    assert figures.n_rescued == 1
    assert figures.steal_success == pytest.approx(0.25)


def test_domains_beyond_the_last_count_as_the_last() -> None:
    figures = locality(with_held({"domain": 70, "n_from_domain": [0, 0, 9]}))
    assert figures is not None
    assert figures.matrix == ((0, 0, 0), (0, 0, 0), (0, 0, 9))


def test_a_run_without_held_tasks_has_no_locality() -> None:
    assert locality(with_held({})) is None

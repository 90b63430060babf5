# SPDX-License-Identifier: Apache-2.0
"""The samples of a recorded run, for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass.readers.run import SampledThread, read_samples


def sampled_threads(run_dir: Path) -> tuple[SampledThread, ...]:
    """Returns the samples of all threads."""
    threads: list[SampledThread] = []
    read_samples(run_dir, threads.append)
    return tuple(threads)


def require_samples(run_dir: Path) -> None:
    """Skips the test if the run has no samples, because the kernel refused them."""
    if not any(thread.samples for thread in sampled_threads(run_dir)):
        pytest.skip("the kernel refuses samples")

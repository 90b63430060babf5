# SPDX-License-Identifier: Apache-2.0
"""The samples of a run: code addresses of its threads, taken at regular times."""

from __future__ import annotations

from pathlib import Path

from ompass import _core
from ompass._core import STACK_WORD, Sample, SampledThread, Samples
from ompass.readers.core import check_directory, core_errors

__all__ = ["STACK_WORD", "Sample", "SampledThread", "Samples", "read_samples"]


def read_samples(path: Path) -> Samples:
    """Returns all samples, by thread; no threads for a run without samples.

    Raises RunNotFoundError, DamagedRunError.
    """
    check_directory(path)
    with core_errors(path):
        return _core.read_samples(str(path))

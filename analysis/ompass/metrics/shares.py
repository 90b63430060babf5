# SPDX-License-Identifier: Apache-2.0
"""A part of a whole, where the whole may be nothing; sums of rows, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def share(part: float, whole: float, of_nothing: float = 0.0) -> float:
    """part / whole; `of_nothing` where the whole is 0."""
    return part / whole if whole else of_nothing


def sums(rows: Sequence[Any], names: str) -> dict[str, Any]:
    """Returns the sum over the rows of each attribute that `names` lists."""
    return {name: sum(getattr(row, name) for row in rows) for name in names.split()}

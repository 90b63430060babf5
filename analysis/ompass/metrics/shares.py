# SPDX-License-Identifier: Apache-2.0
"""Shares of a whole that may be zero; sums of rows, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def share(part: float, whole: float, of_nothing: float = 0.0) -> float:
    """Returns part / whole; `of_nothing` if the whole is 0."""
    return part / whole if whole else of_nothing


def sums(rows: Sequence[Any], names: str) -> dict[str, Any]:
    """Returns the sums over the rows of the attributes listed in `names`."""
    return {name: sum(getattr(row, name) for row in rows) for name in names.split()}

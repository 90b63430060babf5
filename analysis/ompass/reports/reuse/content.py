# SPDX-License-Identifier: Apache-2.0
"""What the reuse reports show of one run."""

from __future__ import annotations

from dataclasses import dataclass

from ompass.metrics.reuse import ReuseProfile
from ompass.model import Run


@dataclass(frozen=True, slots=True)
class ReuseContent:
    run: Run
    machine: str  # "recorded machine", or the synthetic topology
    profile: ReuseProfile
    notes: tuple[str, ...]  # sentences: what is assumed, what is missing

    @property
    def label(self) -> str:
        return self.run.path.name.removesuffix(".ompass") or str(self.run.path)

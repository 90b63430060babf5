# SPDX-License-Identifier: Apache-2.0
"""All papers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from papers.bots.paper import PAPER as _BOTS
from papers.factored.paper import PAPER as _FACTORED
from papers.model import Paper
from papers.olivier.paper import PAPER as _OLIVIER
from papers.reuse.paper import PAPER as _REUSE
from papers.tbb.paper import PAPER as _TBB

PAPERS: Final[Mapping[str, Paper]] = {
    paper.name: paper for paper in (_BOTS, _FACTORED, _OLIVIER, _REUSE, _TBB)
}

# SPDX-License-Identifier: Apache-2.0
"""The report on a comparison of runs or sweeps. It computes no figures."""

from ompass.reports.comparison.content import ComparisonContent, Side, compare_sides, side_of
from ompass.reports.comparison.report import comparison_report

__all__ = ["ComparisonContent", "Side", "compare_sides", "comparison_report", "side_of"]

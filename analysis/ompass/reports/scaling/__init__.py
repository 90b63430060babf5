# SPDX-License-Identifier: Apache-2.0
"""Reports of a sweep: terminal page, JSON, CSV and the factored speed-up plot. They compute no figure."""

from ompass.reports.scaling.as_json import json_scaling
from ompass.reports.scaling.content import ScalingContent, collect_scaling
from ompass.reports.scaling.picture import scaling_figure, svg_scaling
from ompass.reports.scaling.tables import CSV_TABLES, csv_scaling
from ompass.reports.scaling.terminal import print_scaling

__all__ = [
    "CSV_TABLES",
    "ScalingContent",
    "collect_scaling",
    "csv_scaling",
    "json_scaling",
    "print_scaling",
    "scaling_figure",
    "svg_scaling",
]

# SPDX-License-Identifier: Apache-2.0
"""The report on samples: hot lines, functions and libraries inside each construct."""

from ompass.reports.samples.content import SampleContent, collect_samples
from ompass.reports.samples.exports import folded_stacks, speedscope_profile
from ompass.reports.samples.pprof import pprof_profile
from ompass.reports.samples.report import sample_fields, sample_parts, samples_report

__all__ = [
    "SampleContent",
    "collect_samples",
    "folded_stacks",
    "pprof_profile",
    "sample_fields",
    "sample_parts",
    "samples_report",
    "speedscope_profile",
]

# SPDX-License-Identifier: Apache-2.0
"""The report as one self-contained HTML page."""

from ompass.page.assemble import FIGURE_SCRIPT, RunPart, html_report
from ompass.page.timeline import Timeline

__all__ = ["FIGURE_SCRIPT", "RunPart", "Timeline", "html_report"]

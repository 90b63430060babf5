# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML page that stands alone."""

from ompass.page.assemble import RunPart, html_report

__all__ = ["RunPart", "html_report"]

# SPDX-License-Identifier: Apache-2.0
"""What sampled loads say: how long those of each construct took, and where their data came from."""

from ompass.reports.latency.report import CSV_TABLES, csv_latency, latency_report

__all__ = ["CSV_TABLES", "csv_latency", "latency_report"]

# SPDX-License-Identifier: Apache-2.0
"""The report on sampled loads: latencies of each construct, and the sources of its data."""

from ompass.reports.latency.report import CSV_TABLES, csv_latency, latency_report

__all__ = ["CSV_TABLES", "csv_latency", "latency_report"]

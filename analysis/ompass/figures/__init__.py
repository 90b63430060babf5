# SPDX-License-Identifier: Apache-2.0
"""Figures as Vega-Lite specifications. docs/python-api.md documents these two names."""

from ompass.figures.render import render
from ompass.figures.run import RUN_FIGURES

__all__ = ["RUN_FIGURES", "render"]

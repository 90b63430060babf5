# SPDX-License-Identifier: Apache-2.0
"""Figures as Vega-Lite specifications: one for the page of a browser, for SVG, PDF and PNG alike.

A figure is a function of what is to be shown that returns a specification with its data inside; it computes
no metric.
Rendering is render.py's, the looks that all figures share are style.py's.
"""

from ompass.figures.render import FORMATS, render
from ompass.figures.run import RUN_FIGURES
from ompass.figures.style import Figure, Spec

__all__ = ["FORMATS", "RUN_FIGURES", "Figure", "Spec", "render"]

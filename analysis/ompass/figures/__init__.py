# SPDX-License-Identifier: Apache-2.0
"""Figures as Vega-Lite specifications, for the browser, SVG, PDF and PNG.

A figure is a function of a report's content that returns a specification with its data inside; it computes no
metrics. render.py renders it, style.py has the common looks.
"""

from ompass.figures.render import FORMATS, render
from ompass.figures.run import RUN_FIGURES
from ompass.figures.style import Figure, Spec

__all__ = ["FORMATS", "RUN_FIGURES", "Figure", "Spec", "render"]

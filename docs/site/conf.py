# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the documentation site. build_site.py runs it on the pages of site_sources.py.

The pages load nothing from a network: Furo uses the fonts of the system, and the search runs in the
browser, also on local files. Material for MkDocs was the alternative; its support ends in November 2026.
"""

from __future__ import annotations

import os
from pathlib import Path

project = "Ompass"
author = "the authors of Ompass"
release = os.environ["OMPASS_SITE_VERSION"]
html_title = f"Ompass {release}"

extensions = ["myst_parser"]
myst_heading_anchors = 6  # headings get the same anchors as on code hosts
root_doc = "index"
language = "en"
smartquotes = False  # would change options such as --json
highlight_language = "none"

html_theme = "furo"
html_static_path = [str(Path(__file__).parent / "static")]
html_css_files = ["site.css"]
html_use_index = False
html_show_search_summary = False  # it fetches pages, which browsers refuse for local files
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False

# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site, without a network: python docs/site/build_site.py OUT.

Exits with 1 if Sphinx warns, a link is broken, a page is not in docs/index.md, or a page loads something
from a network.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sphinx.cmd.build import build_main

from checked_site import problems_of
from reference_pages import version
from site_sources import write_sources

HERE = Path(__file__).resolve().parent


def build(out: Path) -> Iterator[str]:
    """Builds the site in `out`, replacing that folder. Yields the problems of the site."""
    os.environ["OMPASS_SITE_VERSION"] = version()
    with tempfile.TemporaryDirectory() as work:
        sources = Path(work) / "pages"
        write_sources(sources)
        shutil.rmtree(out, ignore_errors=True)
        options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(HERE), "-d", f"{work}/doctrees"]
        if build_main([*options, str(sources), str(out)]) != 0:
            yield "Sphinx reports warnings"
    yield from problems_of(out)


def main() -> int:
    out = Path(sys.argv[1]).resolve()
    problems = list(build(out))
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

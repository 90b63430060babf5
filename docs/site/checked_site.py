# SPDX-License-Identifier: Apache-2.0
"""Checks a built site: the targets of all links within it exist, and pages load nothing from a network."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class _Page(HTMLParser):
    """The anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in _LOADED and value:
                self.loaded.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


def linked_pages(site: Path, name: str) -> Iterator[str]:
    """Yields the targets of a page's links within the site, as PAGE and, with an anchor, as PAGE#ANCHOR."""
    for target in _Page((site / name).read_text(encoding="utf-8")).links:
        parts = urlsplit(target)
        if not (parts.scheme or parts.netloc):
            path = (site / name).parent / unquote(parts.path) if parts.path else site / name
            place = path.resolve().relative_to(site.resolve()).as_posix()
            if place.endswith(".html"):
                yield place
                if parts.fragment:
                    yield f"{place}#{parts.fragment}"


def problems_of(site: Path) -> Iterator[str]:
    """Yields broken links of the pages in a folder, and files that they load from a network."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for loaded in page.loaded:
            if urlsplit(loaded).netloc:
                yield f"{name} loads {loaded} from a network"
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                yield f"{name} links to {target}, which does not exist"
            elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
                yield f"{name} links to {target}, which has no such anchor"
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        if "url(http" in text or "url(//" in text or "@import" in text:
            yield f"{style.relative_to(site)} loads files from a network"

# SPDX-License-Identifier: Apache-2.0
"""Copies the Markdown pages of the site from the repository, and adapts their links to the site.

Owns the names of the pages on the site. docs/index.md owns their order.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import reference_pages

ROOT = Path(__file__).resolve().parents[2]

OTHER_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "omp_ext/README.md": "extension.md",
    "tests/README.md": "tests.md",
    "SECURITY.md": "security.md",
}
"""Pages outside of docs/, and their names on the site."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, str]:
    """Returns the name on the site of every Markdown page, by its path in the repository."""
    documents = (ROOT / "docs").glob("**/*.md")
    inside = {path.relative_to(ROOT).as_posix(): path for path in documents}
    return {name: name.removeprefix("docs/") for name in sorted(inside)} | OTHER_PAGES


def places() -> dict[str, str]:
    """Returns the names of the pages that show files and folders, by path in the repository."""
    return pages() | {source: page.name for page in reference_pages.PAGES for source in page.sources}


def relinked(text: str, source: str, where: dict[str, str], keep_file: Callable[[Path], str]) -> str:
    """Returns a page with its links adapted to the site.

    `keep_file` copies linked files outside of docs/ that are not pages; the links lead to the copies.
    """
    own_folder = Path(source).parent
    here = Path(where[source]).parent

    def moved(match: re.Match[str]) -> str:
        target, hash_sign, anchor = match[1].partition("#")
        if not target or "://" in target:
            return match[0]
        path = os.path.normpath(own_folder / target)
        if path in where:
            target = where[path]
        elif (ROOT / path).is_file():
            target = path.removeprefix("docs/") if path.startswith("docs/") else keep_file(ROOT / path)
        else:
            return match[0]  # Sphinx reports broken links
        return f"]({os.path.relpath(target, here)}{hash_sign}{anchor})"

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)


def with_contents(index: str) -> str:
    """Returns the start page with contents for the sidebar: the pages listed under each heading."""
    trees = []
    for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        listed = re.findall(r"^- \[[^\]]+\]\(([^)#]+)\.md(?:#[^)]*)?\)", section, re.MULTILINE)
        if listed:
            entries = "\n".join(dict.fromkeys(listed))
            trees.append(f"```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{entries}\n```\n")
    return index + "\n" + "\n".join(trees)


def write_sources(folder: Path) -> None:
    """Writes the pages of the site, still as Markdown, and the files that they show or link to."""
    kept = folder / "files"
    kept.mkdir(parents=True)

    def keep_file(path: Path) -> str:
        shutil.copy(path, kept / path.name)
        return f"files/{path.name}"

    where = places()
    for path in (ROOT / "docs").rglob("*"):
        if path.suffix in {".svg", ".png", ".ipynb", ".c"}:
            target = folder / path.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for source, name in pages().items():
        text = relinked((ROOT / source).read_text(encoding="utf-8"), source, where, keep_file)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(with_contents(text) if name == "index.md" else text, encoding="utf-8")
    for page in reference_pages.PAGES:
        (folder / page.name).write_text(page.text(), encoding="utf-8")

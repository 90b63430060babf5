# SPDX-License-Identifier: Apache-2.0
"""Pages of the documentation site: their links, their order, and the check of the built site."""

from __future__ import annotations

from pathlib import Path

import site_sources
from checked_site import problems_of

WHERE = {"docs/usage.md": "usage.md", "docs/papers/tbb.md": "papers/tbb.md", "CHANGELOG.md": "changelog.md"}


def relinked(text: str, source: str = "docs/usage.md") -> tuple[str, list[str]]:
    """Returns a page with the links of the site, and the names of the files that the site copies."""
    kept: list[str] = []

    def keep(path: Path) -> str:
        kept.append(path.name)
        return f"files/{path.name}"

    return site_sources.relinked(text, source, WHERE, keep), kept


def test_links_lead_to_the_pages_of_the_site() -> None:
    assert relinked("[a](../CHANGELOG.md#added) [b](papers/tbb.md)")[0] == (
        "[a](changelog.md#added) [b](papers/tbb.md)"
    )
    assert relinked("[a](../../CHANGELOG.md)", "docs/papers/tbb.md")[0] == "[a](../changelog.md)"
    assert relinked("[a](docs/usage.md)", "CHANGELOG.md")[0] == "[a](usage.md)"


def test_links_to_other_files_lead_to_a_copy() -> None:
    text, kept = relinked("[a](../pyproject.toml) [b](https://example.org/x.md) [c](#part)")
    assert text == "[a](files/pyproject.toml) [b](https://example.org/x.md) [c](#part)"
    assert kept == ["pyproject.toml"]


def test_code_and_broken_links_stay() -> None:
    page = "[a](missing.md)\n\n```c\na[i](../CHANGELOG.md)\n```\n"
    assert relinked(page) == (page, [])


def test_the_sidebar_has_the_lists_of_the_start_page() -> None:
    page = (
        "# Start\n\n- [x](no.md)\n\n## One\n\n- [a](a.md): x\n- [b](b.md#c)\n- [a](a.md)\n\n## Two\n\nText\n"
    )
    tree = "```{toctree}\n:hidden:\n:caption: One\n\na\nb\n```\n"
    assert site_sources.with_contents(page) == f"{page}\n{tree}"


def test_every_problem_of_a_built_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here"></a><a href="b.html#gone"></a><a href="c.html"></a><a href="#gone"></a>'
        '<script src="https://example.org/x.js"></script><a href="https://example.org/"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p><img src="no.png">')
    (tmp_path / "x.css").write_text("a { background: url(//example.org/x.woff) }")
    assert list(problems_of(tmp_path)) == [
        "a.html loads https://example.org/x.js from a network",
        "a.html links to b.html#gone, which has no such anchor",
        "a.html links to c.html, which does not exist",
        "a.html links to #gone, which has no such anchor",
        "b.html links to no.png, which does not exist",
        "x.css loads files from a network",
    ]

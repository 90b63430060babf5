# SPDX-License-Identifier: Apache-2.0
"""The links, files and options in the documents exist, and the tables of sources are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from ext_programs import STEAL_POLICIES
from ompass.commands.main import application
from ompass.errors import UsageError
from ompass.metrics.findings import KINDS
from ompass.simulation.reader import POLICIES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/papers/*.md", "omp_ext/*.md", "tests/*.md")
    for path in ROOT.glob(pattern)
)
FOLDERS = ("analysis", "bots", "docs", "omp_ext", "ompt_tool", "tests")
COMMANDS = vars(typer.main.get_command(application()))["commands"]


def shown(*arguments: str) -> str:
    """Returns the output of `ompass docs`."""
    return CliRunner().invoke(application(), ["docs", *arguments], catch_exceptions=False).stdout


def anchors(document: Path) -> set[str]:
    """Returns the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def problems_of_links(document: Path) -> Iterator[str]:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        name, _, anchor = target.partition("#")
        file = document.parent / name if name else document
        if target.startswith("https://"):
            continue
        if not file.exists() or (anchor and anchor not in anchors(file)):
            yield target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_paths_exist(document: Path) -> None:
    paths = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*\w)`", document.read_text())
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert [*problems_of_links(document), *missing] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_options_exist(document: Path) -> None:
    unknown = []
    for line in document.read_text().splitlines():
        named = re.findall(rf"\bompass ({'|'.join(COMMANDS)})\b([^`|]*)", line)
        if line.startswith("|") and len(named) == 1:  # the row of a command in a table
            named = [(named[0][0], line)]
        for name, text in named:
            shown = [each for each in COMMANDS[name].params if not getattr(each, "hidden", False)]
            known = {"--help"}.union(*(each.opts + each.secondary_opts for each in shown))
            asked = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text.split(" -- ")[0])
            unknown += [f"{name} {option}" for option in asked if option not in known]
    assert unknown == []


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_names_pages_that_the_command_shows(name: str) -> None:
    command = COMMANDS[name] if name else typer.main.get_command(application())
    texts = [command.help, command.epilog, *(getattr(parameter, "help", "") for parameter in command.params)]
    text = "\n".join(filter(None, texts))
    assert re.findall(r"\bdocs/\S*", text) == []  # an installed package has no such directory
    asked = set(re.findall(r"ompass docs ([a-z][a-z-]*)", text))
    assert asked <= {page.stem for page in (ROOT / "docs").glob("*.md")}


def test_docs_lists_every_page_and_accepts_its_name_as_in_links() -> None:
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert {line.split()[0] for line in shown().splitlines()} == pages
    text = (ROOT / "docs" / "cost.md").read_text()
    assert [shown(name) for name in ("cost", "cost.md", "docs/cost.md")] == [text] * 3
    assert Path(shown("cost", "--path").strip()).read_text() == text
    with pytest.raises(UsageError, match="no page nowhere: the pages are index, first-result, "):
        CliRunner().invoke(application(), ["docs", "nowhere"], catch_exceptions=False)


def test_the_start_page_lists_every_page() -> None:
    start = (ROOT / "docs" / "index.md").read_text()
    listed = set(re.findall(r"^- \[[^]]+\]\(([\w/-]+)\.md", start, re.MULTILINE))
    pages = {
        path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    assert pages - listed == {"index"}


def test_docs_opens_a_page_of_the_website(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("ompass.commands.docs.site_directory", lambda: tmp_path)
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name in ("index", "cost"):
        (tmp_path / f"{name}.html").touch()
    for arguments in (["--browser"], ["cost.md", "--browser"]):
        shown(*arguments)
    assert opened == [(tmp_path / f"{name}.html").as_uri() for name in ("index", "cost")]
    with pytest.raises(UsageError, match="no page nowhere"):
        CliRunner().invoke(application(), ["docs", "nowhere", "--browser"], catch_exceptions=False)


@pytest.mark.parametrize(
    ("document", "sources"),
    [
        ("docs/architecture.md", "ompt_tool/src"),
        ("docs/architecture.md", "ompt_tool/mpi"),
        ("docs/architecture.md", "ompt_tool/format"),
        ("omp_ext/README.md", "omp_ext/src"),
    ],
)
def test_tables_of_sources_are_complete(document: str, sources: str) -> None:
    text = (ROOT / document).read_text()
    table = text[text.index(f"| file of `{sources}` |") :].split("\n\n")[0]
    named = {
        name for row in table.splitlines()[2:] for name in re.findall(r"`(\w[\w.*]+)`", row.split("|")[1])
    }
    patterns = {name if "*" in name else f"{Path(name).stem}.*" for name in named}
    described = {pattern: {path.name for path in (ROOT / sources).rglob(pattern)} for pattern in patterns}
    assert [pattern for pattern, files in described.items() if not files] == []
    files = {path.name for path in (ROOT / sources).rglob("*") if path.is_file()}
    files.discard("CMakeLists.txt")
    assert files - set().union(*described.values()) == set()


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ("usage", [f"ompass {name}" for name in COMMANDS]),
        ("report-schema", [kind.name for kind in KINDS]),
        ("simulation", POLICIES),
        ("locality", STEAL_POLICIES),
    ],
)
def test_documents_are_complete(document: str, names: list[str]) -> None:
    text = (ROOT / "docs" / f"{document}.md").read_text()
    assert [name for name in names if not re.search(rf"`{name}\b", text)] == []


def test_index_of_test_programs_and_shared_modules_is_complete() -> None:
    text = (ROOT / "tests/README.md").read_text()
    for heading, folder in (("## Shared modules", "support"), ("## Programs", "programs")):
        table = text[text.index(heading) + 1 :].split("\n## ")[0]
        rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")]
        patterns = {name for row in rows for name in re.findall(r"`([\w./*]+)`", row)}
        found = {path for path in (ROOT / "tests" / folder).rglob("*") if path.is_file()}
        files = {path for path in found if path.suffix != ".pyc"}
        suffix = ".py" if folder == "support" else ""
        listed = {pattern: set((ROOT / "tests" / folder).glob(pattern + suffix)) for pattern in patterns}
        assert [pattern for pattern, matches in listed.items() if not matches] == []
        assert files - set().union(*listed.values()) == set()

# SPDX-License-Identifier: Apache-2.0
"""`ompass docs`: shows the documents that are installed with the package."""

from __future__ import annotations

import os
import re
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from ompass.commands.streams import console_for, say, write_result
from ompass.errors import IncompleteInstallationError, UsageError
from ompass.installation import documents_directory, site_directory

_EPILOG = """
[bold]Examples[/bold]

  ompass docs              lists the pages with their titles

  ompass docs metrics      the meaning of every figure of a report

  ompass docs usage | less

  ompass docs --browser    the website, with a search and a page on every command
"""


def register(app: typer.Typer) -> None:
    app.command("docs", epilog=_EPILOG)(docs)


def docs(
    page: Annotated[str, typer.Argument(metavar="[PAGE]", help="The page to show, such as `metrics`.")] = "",
    path: Annotated[
        bool, typer.Option("--path", help="Print the path of the pages, or of this page.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser", help="Open the website, or its page PAGE, in the default browser.")
    ] = False,
) -> None:
    """Show a page of the documentation. Without PAGE, list the pages.

    On a terminal, formats the page and shows it in the pager; elsewhere, prints Markdown. Wheels also
    contain the pages as a website.
    """
    if browser:
        _open(page)
        return
    pages = _pages()
    if not page:
        listing = "".join(f"{name:<16} {_title(file)}\n" for name, file in pages.items())
        write_result(f"{documents_directory()}\n" if path else listing, None)
        return
    name = Path(page).name.removesuffix(".md")  # also accepts the target of a link in a page
    if name not in pages:
        raise UsageError(f"there is no page {page}", f"the pages are {', '.join(pages)}")
    if path:
        write_result(f"{pages[name]}\n", None)
        return
    text = pages[name].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        os.environ.setdefault("LESS", "-R")  # otherwise `less` shows escape sequences, not colours
        console = console_for()
        with console.pager(styles=True):
            console.print(Markdown(text, hyperlinks=False))
    else:
        write_result(text, None)


def _open(page: str) -> None:
    """Opens the website at a page, and prints its address, for machines without a browser."""
    name = Path(page or "index").name.removesuffix(".md")
    file = site_directory() / f"{name}.html"
    if not file.is_file():
        raise UsageError(f"the website has no page {page}", "see `ompass docs`")
    say(file.as_uri())
    webbrowser.open(file.as_uri())


def _pages() -> dict[str, Path]:
    """Returns the pages by name, in the order of index.md.

    Raises IncompleteInstallationError if none are installed.
    """
    directory = documents_directory()
    pages = {file.stem: file for file in sorted(directory.glob("*.md")) if file.stem != "CHANGELOG"}
    if "index" in pages:
        listed = re.findall(r"^- .*?\]\((.+?)\.md", pages["index"].read_text("utf-8"), re.MULTILINE)
        names = dict.fromkeys(["index", *listed, *pages])
        pages = {name: pages[name] for name in names if name in pages}
    if not pages:
        raise IncompleteInstallationError(
            "the documents are not installed with this package", f"{directory} has no pages", "reinstall it"
        )
    return pages


def _title(file: Path) -> str:
    with file.open(encoding="utf-8") as lines:
        return next((line.lstrip("# ").rstrip() for line in lines if line.startswith("# ")), "")

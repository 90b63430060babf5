# SPDX-License-Identifier: Apache-2.0
"""The table of events in docs/trace-format.md says what analysis/core/format/format.h says."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_document_lists_every_event_as_the_format_declares_it() -> None:
    source = re.sub(r"\s*\\\n\s*", " ", (ROOT / "analysis/core/format/format.h").read_text())
    declared = re.findall(r'X\(k\w+, (\d), (\d), "[-\w]*", "(\w+)", "([^"]+)"\)', source)
    assert len(declared) > 30
    expected = [
        f"| {number} | `{name}` | {words} | {'yes' if timed == '1' else ''} | {meaning} |"
        for number, (words, timed, name, meaning) in enumerate(declared)
    ]
    document = (ROOT / "docs/trace-format.md").read_text().splitlines()
    table = [line for line in document if re.match(r"\| \d+ \|", line)]
    assert table == expected


def test_document_names_the_version_of_the_format() -> None:
    source = (ROOT / "analysis/core/format/format.h").read_text()
    version = re.search(r"kVersion = (\d+);", source)
    assert version is not None
    assert f"version {version.group(1)}." in (ROOT / "docs/trace-format.md").read_text()

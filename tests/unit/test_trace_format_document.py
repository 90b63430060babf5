# SPDX-License-Identifier: Apache-2.0
"""`ompass dump --kinds` describes all kinds of events; docs/trace-format.md names the format's version."""

import re
from pathlib import Path

from ompass import _core

ROOT = Path(__file__).resolve().parents[2]


def test_every_kind_of_event_has_a_name_and_a_meaning() -> None:
    kinds = _core.event_kinds()
    assert len({name for name, _ in kinds}) == len(kinds) > 30
    assert all(re.fullmatch(r"[a-z_]+", name) and len(meaning) > 10 for name, meaning in kinds)
    assert "`ompass dump DIR --kinds`" in (ROOT / "docs/trace-format.md").read_text()


def test_document_names_the_version_of_the_format() -> None:
    source = (ROOT / "ompt_tool/format/format.h").read_text()
    version = re.search(r"kVersion = (\d+);", source)
    assert version is not None
    assert f"version {version.group(1)}." in (ROOT / "docs/trace-format.md").read_text()

# SPDX-License-Identifier: Apache-2.0
"""The places of installed debug files. Reads no files, so that it loads quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

DEBUG_ROOTS = (Path("/usr/lib/debug"),)


def installed_debug_files(build_id: str, roots: Sequence[Path] = DEBUG_ROOTS) -> Iterator[Path]:
    """Yields the existing files at the places where packages put the debug file of a build id."""
    if len(build_id) < 3:
        return
    for root in roots:
        path = root / ".build-id" / build_id[:2].lower() / f"{build_id[2:].lower()}.debug"
        if path.is_file():
            yield path

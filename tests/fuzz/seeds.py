# SPDX-License-Identifier: Apache-2.0
"""Packs the golden runs as first inputs of the fuzzer. packed_run.h describes the format."""

from __future__ import annotations

import re
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

GOLDEN: Final = Path(__file__).resolve().parent.parent / "golden"
HEAD: Final = struct.Struct("<BHH")  # struct PieceHead
MOST_THREADS: Final = 32
WORD: Final = bytes(8)
MOST_WORDS: Final = 0xFFFF


def file_number(name: str) -> int | None:
    """Returns the number of a file in packed runs; None if packed runs omit the file."""
    if name in ("process.log", "kept.log"):
        return ("process.log", "kept.log").index(name)
    found = re.fullmatch(r"thread-(\d{5})\.(log|samples)", name)
    if not found or int(found[1]) >= MOST_THREADS:
        return None
    return 2 + int(found[1]) + (MOST_THREADS if found[2] == "samples" else 0)


def stretches(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields (number of zero words, bytes after them up to the next two zero words) of a file, in order."""
    content += bytes(-len(content) % 8)
    words = [content[place : place + 8] for place in range(0, len(content), 8)]
    place = 0
    while place < len(words):
        begin = place
        while begin < len(words) and words[begin] == WORD:
            begin += 1
        end = begin
        while end < len(words) and words[end : end + 2] not in ([WORD, WORD], [WORD]):
            end += 1
        yield begin - place, b"".join(words[begin:end])
        place = end


def pieces(number: int, content: bytes) -> Iterator[bytes]:
    """Yields the pieces of a file."""
    for n_zeros, data in stretches(content):
        zeros = n_zeros
        while zeros > MOST_WORDS:
            yield HEAD.pack(number, MOST_WORDS, 0)
            zeros -= MOST_WORDS
        for place in range(0, max(len(data), 1), MOST_WORDS - 7):
            part = data[place : place + MOST_WORDS - 7]
            yield HEAD.pack(number, zeros, len(part)) + part
            zeros = 0


def packed(archive: Path) -> bytes:
    """Returns a golden run as an input."""
    parts: list[bytes] = []
    with tarfile.open(archive) as files:
        for entry in files:
            number = file_number(Path(entry.name).name)
            content = files.extractfile(entry)
            if number is not None and content is not None:
                parts += pieces(number, content.read())
    return b"".join(parts)


def write(folder: Path) -> None:
    """Writes all golden runs into a folder, one input each."""
    folder.mkdir(parents=True, exist_ok=True)
    for archive in sorted(GOLDEN.glob("*.tar.xz")):
        (folder / archive.name.removesuffix(".tar.xz")).write_bytes(packed(archive))

# SPDX-License-Identifier: Apache-2.0
"""Packs the golden runs and other recorded runs as first inputs of the fuzzer, one for each reader.

packed_run.h describes the format. A byte before it selects the reader (fuzz_run.cpp).
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

RUNS: Final = Path(__file__).parent / "runs"
"""Recorded runs with files and records that the golden runs lack; see record.py."""
FOUND: Final = Path(__file__).parent / "found.tar.xz"
"""Inputs that fuzzing found. Each executes lines of the readers that no other input executes."""
GOLDEN: Final = Path(__file__).resolve().parent.parent / "golden"
HEAD: Final = struct.Struct("<BHH")  # struct PieceHead
MOST_THREADS: Final = 32
WORD: Final = bytes(8)
MOST_WORDS: Final = 0xFFFF
N_READERS: Final = 9
"""The number of readers in readers.cpp."""


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
    """Returns an archived run as an input, without the byte that selects the reader."""
    parts: list[bytes] = []
    with tarfile.open(archive) as files:
        for entry in files:
            number = file_number(Path(entry.name).name)
            content = files.extractfile(entry)
            if number is not None and content is not None:
                parts += pieces(number, content.read())
    return b"".join(parts)


def write(folder: Path) -> None:
    """Replaces the folder by one with an input for each run and reader, and the inputs that fuzzing found."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for archive in sorted([*GOLDEN.glob("*.tar.xz"), *RUNS.glob("*.tar.xz")]):
        run = packed(archive)
        for reader in range(N_READERS):
            name = f"{archive.name.removesuffix('.tar.xz')}-{reader}"
            (folder / name).write_bytes(bytes([reader]) + run)
    for name, data in found().items():
        (folder / name).write_bytes(data)


def found() -> dict[str, bytes]:
    """Returns the inputs that fuzzing found, by name."""
    inputs = {}
    if FOUND.exists():
        with tarfile.open(FOUND) as archive:
            for entry in archive:
                content = archive.extractfile(entry)
                assert content is not None
                inputs[entry.name] = content.read()
    return inputs


def keep(new: Iterable[Path]) -> None:
    """Adds inputs to found.tar.xz."""
    inputs = found() | {path.name: path.read_bytes() for path in new}
    with tarfile.open(FOUND, "w:xz", preset=9) as archive:
        for name, data in sorted(inputs.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))

# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's first inputs: each recorded run once for each reader, and the inputs that fuzzing found."""

from __future__ import annotations

import re
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from fuzz import seeds


def unpacked(content: bytes) -> dict[int, bytes]:
    """Unpacks an input as packed_run.cpp does. Returns the files by number, without trailing zeros."""
    files: dict[int, bytes] = defaultdict(bytes)
    while content:
        number, n_skipped, n_bytes = seeds.HEAD.unpack_from(content)
        files[number] += bytes(8 * n_skipped) + content[seeds.HEAD.size :][:n_bytes]
        content = content[seeds.HEAD.size + n_bytes :]
    return {number: data.rstrip(b"\0") for number, data in files.items()}


@pytest.mark.parametrize("name", ["killed", "kernels", "nested-regions", "clang-19-preloaded-trace"])
def test_input_holds_the_logs_of_a_golden_run(name: str) -> None:
    archive = seeds.GOLDEN / f"{name}.tar.xz"
    expected = {}
    with tarfile.open(archive) as files:
        for entry in files:
            number = seeds.file_number(Path(entry.name).name)
            content = files.extractfile(entry)
            if number is not None and content is not None:
                expected[number] = content.read().rstrip(b"\0")
    assert len(expected) > 1
    assert unpacked(seeds.packed(archive)) == expected


def test_long_zeros_and_long_pieces_are_split() -> None:
    content = bytes(8 * 70_000) + b"\1" * 200_000 + bytes(24) + b"\2" * 8
    parts = list(seeds.pieces(3, content))
    assert len(parts) > 4
    assert unpacked(b"".join(parts)) == {3: content}


def test_every_run_is_a_first_input_of_every_reader(tmp_path: Path) -> None:
    source = Path(seeds.__file__).with_name("readers.cpp").read_text(encoding="utf-8")
    (readers,) = re.findall(r"kReaders = \{([^}]*)\}", source)
    assert len(readers.split(",")) == seeds.N_READERS
    seeds.write(tmp_path / "inputs")
    inputs = {path.name: path.read_bytes() for path in (tmp_path / "inputs").iterdir()}
    run = seeds.packed(seeds.RUNS / "kept.tar.xz")
    for reader in range(seeds.N_READERS):
        assert inputs[f"kept-{reader}"] == bytes([reader]) + run
    found = seeds.found()
    assert found
    assert found.items() <= inputs.items()

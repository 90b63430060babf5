# SPDX-License-Identifier: Apache-2.0
"""Rows of a timeline: hundreds of threads by domain and core, hundreds of ranks by host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ompass.model import Run, ThreadRow
from ompass.page.timeline import rows_of


def recorded(folder: Path, name: str, n_threads: int, host: str = "") -> Run:
    path = folder / name
    path.mkdir()
    places = [[cpu // 2, cpu // 32] for cpu in range(n_threads)]
    meta = {"pid": 1, "host": host, "cpu_core_and_domain": places}
    (path / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return Run(path=path, threads=tuple(ThreadRow(thread=k) for k in range(n_threads)))


def leaves(row: dict[str, Any]) -> list[int]:
    if not row["rows"]:
        return list(row["threads"])
    return [thread for each in row["rows"] for thread in leaves(each)]


def test_512_threads_are_grouped_by_domain_and_core(tmp_path: Path) -> None:
    [row] = rows_of([(recorded(tmp_path, "a", 512), [*range(256), *range(256)])])
    assert [each["label"] for each in row["rows"]] == [f"domain {k}" for k in range(8)]
    cores = row["rows"][2]["rows"]
    assert [each["label"] for each in cores] == [f"core {k}" for k in range(32, 48)]
    assert cores[1]["threads"] == [66, 67, 322, 323]
    assert sorted(leaves(row)) == list(range(512))
    identities = [each["id"] for group in row["rows"] for each in (group, *group["rows"])]
    assert len(identities) == len(set(identities))


def test_threads_that_moved_are_apart_and_others_are_ordered_by_number(tmp_path: Path) -> None:
    [moved] = rows_of([(recorded(tmp_path, "a", 100), [0] * 50 + [-1] * 50)])
    assert sorted(each["label"] for each in moved["rows"]) == ["core 0", "several cores"]
    [unknown] = rows_of([(recorded(tmp_path, "b", 100), [-1] * 100)])
    assert unknown["rows"][0]["label"] == "0 to 15"
    assert sorted(leaves(unknown)) == list(range(100))
    [few] = rows_of([(recorded(tmp_path, "c", 4), [0, 1, 2, 3])])
    assert [each["label"] for each in few["rows"]] == [f"thread {k}" for k in range(4)]


def test_256_ranks_are_grouped_by_host(tmp_path: Path) -> None:
    runs = [(recorded(tmp_path, f"r{k:03}", 2, f"node{k // 64}"), [0, 1]) for k in range(256)]
    rows = rows_of(runs)
    assert len(rows) == 16
    assert rows[4]["label"].startswith("node1: r064")
    assert [each["run"] for group in rows for each in group["rows"]] == list(range(256))
    assert len(rows_of(runs[:8])) == 8

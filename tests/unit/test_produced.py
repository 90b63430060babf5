# SPDX-License-Identifier: Apache-2.0
"""The launcher finds the directories of its run by name, chooses the main one, and ignores older ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ompass.errors import OutputError, UsageError
from ompass.launch.produced import (
    absolute_pattern,
    candidates,
    check_place,
    choose_directory,
    dumps_of,
    find_produced,
    new_launch,
    remove_existing,
)
from ompass.readers.meta import read_meta

LAUNCHED = "a.1"


def record(path: Path, pid: int, size: int = 1, launch: str = LAUNCHED) -> Path:
    path.mkdir(parents=True)
    values = {"pid": pid, "rank": None, "environment": {"OMPASS_LAUNCH": launch}}
    (path / "meta.json").write_text(json.dumps(values), encoding="utf-8")
    (path / "thread-00000.log").write_bytes(b"\1" * size)
    return path


def test_the_default_name_contains_program_and_process() -> None:
    assert choose_directory(Path("/bin/fib"), {}, 77) == "fib-77.ompass"
    assert choose_directory(Path("/bin/100%"), {}, 77) == "100%%-77.ompass"
    assert choose_directory(Path("/bin/fib"), {"PMI_RANK": "3"}, 77) == "fib-r%r-77.ompass"


def test_patterns_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "50%"
    odd.mkdir()
    monkeypatch.chdir(odd)
    assert absolute_pattern("a.ompass") == f"{tmp_path}/50%%/a.ompass"
    assert absolute_pattern("/b/%p") == "/b/%p"
    made = record(odd / "a.ompass", 1)
    assert candidates(absolute_pattern("a.ompass")) == {made}


def test_numbered_directories_belong_to_the_name(tmp_path: Path) -> None:
    made = {record(tmp_path / name, 1) for name in ("fib.ompass", "fib-2.ompass", "fib-13.ompass")}
    record(tmp_path / "fibonacci.ompass", 1)
    record(tmp_path / "fib-x.ompass", 1)
    (tmp_path / "fib-3.ompass").mkdir()
    assert candidates(f"{tmp_path}/fib.ompass") == made


def test_names_without_the_suffix_are_numbered_at_the_end(tmp_path: Path) -> None:
    made = {record(tmp_path / name, 1) for name in ("out", "out-2")}
    assert candidates(f"{tmp_path}/out") == made


def test_patterns_match_the_names_that_the_tool_makes(tmp_path: Path) -> None:
    made = {record(tmp_path / name, 1) for name in ("fib-node1-r0-12.ompass", "sh-node1-r1-13-2.ompass")}
    record(tmp_path / "fib-node1-rx-12.ompass", 1)
    assert candidates(f"{tmp_path}/%e-%h-r%r-%p.ompass") == made


def test_a_pattern_may_name_folders(tmp_path: Path) -> None:
    made = {record(tmp_path / f"rank{r}" / "run.ompass", 1) for r in (0, 1)}
    assert candidates(f"{tmp_path}/rank%r/run.ompass") == made


def test_run_of_the_program_itself_is_the_main_one(tmp_path: Path) -> None:
    old = record(tmp_path / "a.ompass", 5, 100_000)
    before = candidates(f"{tmp_path}/a.ompass")
    child = record(tmp_path / "a-2.ompass", 6, 50_000)
    own = record(tmp_path / "a-3.ompass", 5, 10)
    assert before == {old}
    found = find_produced(f"{tmp_path}/a.ompass", before, 5, LAUNCHED)
    assert (found.main, found.others) == (own, (child,))


def test_largest_run_is_the_main_one_when_only_children_recorded(tmp_path: Path) -> None:
    small = record(tmp_path / "a.ompass", 8, 10)
    large = record(tmp_path / "a-2.ompass", 9, 100_000)
    found = find_produced(f"{tmp_path}/a.ompass", set(), 5, LAUNCHED)
    assert (found.main, found.others) == (large, (small,))


def test_runs_of_other_launches_are_not_children(tmp_path: Path) -> None:
    """The ranks of a job share one pattern of directory names."""
    own = record(tmp_path / "q-0.ompass", 5)
    child = record(tmp_path / "q-0-2.ompass", 6)
    inner = record(
        tmp_path / "q-0-3.ompass", 7, launch=f"{LAUNCHED}/b.2"
    )  # from an `ompass run` in the program
    for rank in range(1, 64):
        record(tmp_path / f"q-{rank}.ompass", 100 + rank, 10_000, launch=f"a.1{rank}")
    record(tmp_path / "q-64.ompass", 999, launch="")
    found = find_produced(f"{tmp_path}/q-%r.ompass", set(), 5, LAUNCHED)
    assert (found.main, set(found.others)) == (own, {child, inner})


@pytest.mark.parametrize("pattern", ["q-1234.ompass", "q-%p.ompass", "%e.ompass", "%h-%p.ompass"])
def test_runs_are_in_the_order_of_their_numbers(tmp_path: Path, pattern: str) -> None:
    names = ("q-1234-2.ompass", "q-1234.ompass", "q-1234-3.ompass", "q-1234-10.ompass")
    main, *others = (record(tmp_path / name, k) for k, name in enumerate(names, 5))
    found = find_produced(f"{tmp_path}/{pattern}", set(), 5, LAUNCHED)
    assert (found.main, found.others) == (main, tuple(others))


def test_run_without_a_description_is_kept(tmp_path: Path) -> None:
    made = record(tmp_path / "a.ompass", 5)
    (made / "meta.json").unlink()
    (made / "process.log").write_bytes(b"")
    assert find_produced(f"{tmp_path}/a.ompass", set(), 5, LAUNCHED).main == made


def test_dumps_of_an_earlier_run_with_the_same_name_are_left_out(tmp_path: Path) -> None:
    run = record(tmp_path / "a.ompass", 5)
    record(tmp_path / "a-dump-1.ompass", 4, launch="a.0")
    own = [record(tmp_path / name, 5) for name in ("a-dump-2.ompass", "a-dump-10.ompass")]
    assert dumps_of(run) == own


def test_launch_inside_a_launch_is_its_descendant() -> None:
    outer = new_launch({})
    assert new_launch({"OMPASS_LAUNCH": outer}).startswith(outer + "/")
    assert new_launch({}) != outer


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("file", "it is a file"),
        ("file/a.ompass", "file is a file"),
        ("file/deep/a.ompass", "file is a file"),
        ("dangling", "it is a file"),
        (f"{'n' * 300}.ompass", "too long"),
        (f"{'n' * 300}/a.ompass", "too long"),
        ("/".join(["deep" * 20] * 60), "too long"),
        ("/proc/a.ompass", "no directory can be made in /proc"),
        ("/proc/new/a.ompass", "no directory can be made in /proc"),
        ("file/%r/a.ompass", "it is a file"),
        ("/proc/%r/a.ompass", "no directory can be made in /proc"),
        ("file/a-%r.ompass", "it is a file"),
    ],
)
def test_place_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path, place: str, why: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(OutputError, match=f"-o {place[:20]}.*{why}.*name another place"):
        check_place(str(tmp_path / place), f"-o {place}")


@pytest.mark.parametrize(
    "place", ["new/deep/a.ompass", "there", "%h/a.ompass", "a-%r.ompass", "100%%.ompass"]
)
def test_place_that_can_be_written_stays_unchanged(tmp_path: Path, place: str) -> None:
    (tmp_path / "there").mkdir()
    check_place(str(tmp_path / place), "-o")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert not list((tmp_path / "there").iterdir())


def test_a_pattern_without_new_runs_produced_nothing(tmp_path: Path) -> None:
    record(tmp_path / "a.ompass", 5)
    pattern = f"{tmp_path}/a.ompass"
    assert find_produced(pattern, candidates(pattern), 5, LAUNCHED).main is None
    assert find_produced(f"{tmp_path}/no/such/b.ompass", set(), 5, LAUNCHED).main is None


def test_force_removes_only_runs_without_other_files(tmp_path: Path) -> None:
    run = record(tmp_path / "a.ompass", 5)
    (run / "process.log").write_bytes(b"OMPASSPR")
    (run / "results.csv").write_text("mine")
    with pytest.raises(UsageError, match=r"also contains results\.csv"):
        remove_existing(str(run), {})
    (run / "results.csv").unlink()
    (run / "process.log").write_bytes(b"log of a server")
    with pytest.raises(UsageError, match=r"process\.log is not from ompass"):
        remove_existing(str(run), {})
    with pytest.raises(UsageError, match="several processes"):
        remove_existing(str(run), {"PMI_RANK": "0"})
    (run / "process.log").write_bytes(b"OMPASSPR")
    remove_existing(str(run), {"SLURM_PROCID": "0"})
    assert not run.exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"pid": "x", "command": 3, "environment": []}'])
def test_broken_meta_data_read_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.json").write_text(text, encoding="utf-8")
    meta = read_meta(tmp_path)
    assert (meta.pid, meta.command, meta.environment) == (0, (), {})

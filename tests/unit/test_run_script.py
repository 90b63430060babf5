# SPDX-License-Identifier: Apache-2.0
"""`./run suite`, `papers` and `docs` build the right targets; fake commands replace cmake and Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def stand_in(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Makes a tree with only the script, and with fake tools that record their calls."""
    shutil.copy(REPOSITORY / "run", tmp_path / "run")
    for folder in ("ompt_tool", "omp_ext/include", "analysis", "docs", "bots/fib", "bots/sort"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"):
        (tmp_path / file).touch()
    stand_in(tmp_path / "bin" / "cmake", f'echo "$@" >>{tmp_path}/calls')
    stand_in(
        tmp_path / ".venv/bin/python",
        f'test "$2" != suite || echo "$* with $PYTHONPATH" >>{tmp_path}/calls',
    )
    (tmp_path / ".venv/made-for").write_text(f"{tmp_path}\n")
    return tmp_path


def calls(tree: Path, *arguments: str, command: str = "suite", **environment: str) -> list[str]:
    path = f"{tree / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    subprocess.run(
        [tree / "run", command, *arguments],
        env={"PATH": path, "HOME": str(tree), **environment},
        check=True,
        capture_output=True,
    )
    return (tree / "calls").read_text().splitlines()


def test_only_the_requested_programs_are_built(tree: Path) -> None:
    lines = calls(tree, "--programs", "fib", "--runtimes=libomp,tbb")
    assert [line for line in lines if "--build" in line] == [
        "--build --preset release --target ompass omp_ext bots-configure",
        f"--build {tree}/build/release/bots --target fib",
    ]
    assert lines[-1] == f"-m suite --programs fib --runtimes=libomp,tbb with {tree}/bots"


def test_the_built_package_comes_before_another_source_tree(tree: Path) -> None:
    assert calls(tree, "--programs", "fib", PYTHONPATH="/elsewhere")[-1].endswith(f"with {tree}/bots")


def test_without_named_runtimes_both_compilers_build_the_programs(tree: Path) -> None:
    lines = calls(tree, "--programs=fib,sort")
    assert [line.rpartition("release/")[2] for line in lines if "--target fib" in line] == [
        "bots --target fib sort",
        "bots-gcc --target fib sort",
    ]


def test_all_programs_are_built_when_none_is_named(tree: Path) -> None:
    assert "--build --preset release --target ompass omp_ext bots bots-gcc" in calls(tree)


def test_nothing_is_built_to_show_results(tree: Path) -> None:
    assert calls(tree, "--show", "all.json") == [f"-m suite --show all.json with {tree}/bots"]


@pytest.fixture
def tree_with_papers(tree: Path) -> Path:
    script = f"""
        test "$2" = papers || exit 0
        case "$*" in
        *bots*--needs) printf 'bots bots-gcc\\nfib\\n' ;;
        *--needs) printf 'bots\\nfib sort\\n' ;;
        *) echo "$*" >>{tree}/calls ;;
        esac"""
    stand_in(tree / ".venv/bin/python", script)
    return tree


def test_a_paper_builds_its_programs(tree_with_papers: Path) -> None:
    lines = calls(tree_with_papers, "tbb", "--quick", command="papers")
    assert [line for line in lines if "--build" in line] == [
        "--build --preset release --target ompass omp_ext bots-configure",
        f"--build {tree_with_papers}/build/release/bots --target fib sort",
    ]
    assert lines[-1] == "-m papers tbb --quick"


def test_a_paper_builds_its_programs_with_both_compilers(tree_with_papers: Path) -> None:
    lines = calls(tree_with_papers, "bots", command="papers")
    assert [line.rpartition("release/")[2] for line in lines if "--target fib" in line] == [
        "bots --target fib",
        "bots-gcc --target fib",
    ]


def test_a_page_is_written_without_a_build(tree_with_papers: Path) -> None:
    assert calls(tree_with_papers, "tbb", "--page", command="papers") == ["-m papers tbb --page"]


def test_the_site_is_built_in_build_docs(tree: Path) -> None:
    stand_in(tree / ".venv/bin/python", f'echo "$*" >>{tree}/calls')
    lines = calls(tree, command="docs")
    assert any(line.startswith("-m pip install") and line.endswith(f"{tree}[docs]") for line in lines)
    assert lines[-1] == f"{tree}/docs/site/build_site.py {tree}/build/docs"

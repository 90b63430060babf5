# SPDX-License-Identifier: Apache-2.0
"""Addresses in global and static variables have names. Other addresses and other builds have none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from needs import require_commands
from ompass.elf import read_facts
from ompass.model import Module
from ompass.simulation.addresses import variable_name

BASE = 0x5555_0000_0000
SOURCE = """
namespace grid { double cells[100]; }
static char scratch[300];
extern "C" void *cells(int k) { return k ? (void *)&grid::cells[k] : scratch; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_commands("g++", "nm")
    folder = tmp_path_factory.mktemp("variables")
    source, library = folder / "cells.cpp", folder / "libcells.so"
    source.write_text(SOURCE, encoding="utf-8")
    build = ["g++", "-shared", "-fPIC", "-Wl,--build-id", str(source), "-o", str(library)]
    subprocess.run(build, check=True)
    return library


def test_an_address_within_a_variable_has_its_name(library: Path) -> None:
    table = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    starts = {
        line.split()[2]: int(line.split()[0], 16) for line in table.splitlines() if len(line.split()) == 3
    }
    module = Module(path=str(library), build_id=read_facts(library).build_id, base=BASE)
    modules = [Module(path="linux-vdso.so.1", base=1), Module(path="/not/there", base=2), module]
    scratch, cells = BASE + starts["_ZL7scratch"], BASE + starts["_ZN4grid5cellsE"]
    assert variable_name(modules, scratch + 299) == "scratch"
    assert variable_name(modules, cells) == "grid::cells"
    assert variable_name(modules, cells + 8 * 99) == "grid::cells"
    assert variable_name(modules, BASE + starts["cells"]) == "", "a function"
    assert variable_name(modules, BASE + (1 << 40)) == "", "the heap"
    assert variable_name([Module(path=str(library), build_id="00", base=BASE)], scratch) == "", (
        "another build"
    )

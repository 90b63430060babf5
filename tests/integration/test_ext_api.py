# SPDX-License-Identifier: Apache-2.0
"""Tests omp_ext.h, its scope guard, the Fortran module, the paper's Fig. 8 and the environment variables.

The programs, in tests/programs/ext_api and ext, check themselves. The tests divide the machine into domains
(OMP_EXT_DOMAINS=4) or describe another machine, so they run everywhere. test_numa_machine.py tests memory on
NUMA nodes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ext_programs import FORTRAN_MODULE, compile_with_ext
from toolchains import Toolchain, toolchain_named

FOUR_NODES = "synthetic:pack:4 numa:1 l3:1 core:8 pu:1"
# Strict mode makes every count exact.
EXACTLY = {"OMP_EXT_STRICT": "1"}
SIZES = [("4", "4"), ("8", "4"), ("8", "3"), ("2", "2")]  # threads, domains
WITH_SIZES = pytest.mark.parametrize(("n_threads", "domains"), SIZES)


def run(
    program: Path, toolchain: Toolchain, settings: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    return toolchain.run([str(program), *arguments], settings)


def check(program: Path, toolchain: Toolchain, settings: Mapping[str, str], *arguments: str) -> str:
    """Runs the program, which must succeed; returns its stdout."""
    finished = run(program, toolchain, settings, *arguments)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@WITH_SIZES
@pytest.mark.parametrize("source", ["ext_api/calls.c", "ext_api/scope_guard.cpp"])
def test_calls_behave_as_the_header_states(
    toolchain: Toolchain, source: str, n_threads: str, domains: str
) -> None:
    program = compile_with_ext(source, toolchain)
    check(program, toolchain, {**EXACTLY, "OMP_NUM_THREADS": n_threads, "OMP_EXT_DOMAINS": domains})


@WITH_SIZES
@pytest.mark.parametrize("name", ["clang-19", "gcc-12-libomp-19"])
def test_fortran_has_the_same_calls(name: str, n_threads: str, domains: str) -> None:
    toolchain = toolchain_named(name)
    assert not toolchain.missing()
    program = compile_with_ext("ext_api/module.f90", toolchain, extra_sources=[FORTRAN_MODULE])
    settings = {**EXACTLY, "OMP_NUM_THREADS": n_threads, "OMP_EXT_DOMAINS": domains}
    assert check(program, toolchain, settings) == "all held\n"


@pytest.mark.parametrize("source", ["ext_api/calls.c", "ext_api/scope_guard.cpp"])
def test_calls_work_on_a_described_machine(default_toolchain: Toolchain, source: str) -> None:
    program = compile_with_ext(source, default_toolchain)
    check(
        program,
        default_toolchain,
        {**EXACTLY, "OMP_NUM_THREADS": "8", "OMP_EXT_DOMAINS": FOUR_NODES},
    )


@pytest.mark.parametrize("domains", ["2", "5"])
def test_threads_on_one_cpu_run_the_tasks_of_all_domains(toolchain: Toolchain, domains: str) -> None:
    program = compile_with_ext("ext_api/alike.c", toolchain)
    settings = {**EXACTLY, "OMP_NUM_THREADS": domains, "OMP_EXT_DOMAINS": domains}
    cpu = str(min(os.sched_getaffinity(0)))
    check(Path("/usr/bin/taskset"), toolchain, settings, "-c", cpu, str(program))


@pytest.mark.parametrize("n_threads", ["4", "8"])
def test_tasks_of_fig8_run_where_the_paper_states(toolchain: Toolchain, n_threads: str) -> None:
    program = compile_with_ext("ext/fig8.c", toolchain)
    settings = {**EXACTLY, "OMP_NUM_THREADS": n_threads, "OMP_EXT_DOMAINS": "4"}
    assert "domains=4 rescued=0 elsewhere=0 in" in check(program, toolchain, settings, "10", "4")


@pytest.mark.parametrize("domains", ["4", FOUR_NODES])
@pytest.mark.parametrize("n_threads", ["4", "8"])
def test_tasks_of_fig8_split_on_every_level_run_where_placed(
    default_toolchain: Toolchain, n_threads: str, domains: str
) -> None:
    program = compile_with_ext("ext/fig8.c", default_toolchain, "-DEVERY_LEVEL")
    settings = {**EXACTLY, "OMP_NUM_THREADS": n_threads, "OMP_EXT_DOMAINS": domains}
    assert "domains=4 rescued=0 elsewhere=0 in" in check(program, default_toolchain, settings, "10", "4")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "OMP_EXT_DOMAINS",
            "nodes",
            "valid values: numa, package, l3, l2, core, a number from 1 to 1024, synthetic",
        ),
        ("OMP_EXT_DOMAINS", "0", "valid values: numa"),
        ("OMP_EXT_DOMAINS", "synthetic:what", "hwloc does not understand this description of a machine"),
        ("OMP_EXT_BIND", "perhaps", "valid values: yes, no, core. Using yes."),
    ],
)
def test_a_wrong_value_is_reported_in_one_line(
    default_toolchain: Toolchain, variable: str, value: str, message: str
) -> None:
    program = compile_with_ext("ext_api/calls.c", default_toolchain)
    settings = {**EXACTLY, "OMP_NUM_THREADS": "2", variable: value}
    if variable != "OMP_EXT_DOMAINS":
        settings["OMP_EXT_DOMAINS"] = "2"
    finished = run(program, default_toolchain, settings)
    assert finished.returncode == 0, finished.stderr
    assert sum(message in line for line in finished.stderr.splitlines()) == 1, finished.stderr


@pytest.mark.parametrize(
    ("variable", "value", "kib"),
    [
        ("KMP_STACKSIZE", "64MB", 65536),
        ("KMP_STACKSIZE", "128 kb ", 128),
        ("OMP_STACKSIZE", "128 ", 128),
        ("OMP_STACKSIZE", "64 M B", 4096),  # the runtime does not accept this value either
        ("OMP_EXT_STACKSIZE", "131072b", 128),
    ],
)
def test_stacks_have_the_size_that_the_runtime_reads(
    default_toolchain: Toolchain, variable: str, value: str, kib: int
) -> None:
    program = compile_with_ext("ext_api/calls.c", default_toolchain)
    settings = {**EXACTLY, "OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2", "OMP_EXT_DISPLAY": "1"}
    finished = run(program, default_toolchain, {**settings, variable: value})
    assert finished.returncode == 0, finished.stderr
    assert f"additional stacks: {kib} KiB each" in finished.stderr


def test_a_missing_hwloc_is_reported_in_one_sentence(default_toolchain: Toolchain, tmp_path: Path) -> None:
    program = compile_with_ext("ext_api/calls.c", default_toolchain)
    # The loader first finds a library that has hwloc's name, but is not hwloc.
    (tmp_path / "empty.c").write_text("int nothing;\n")
    subprocess.run(
        [default_toolchain.cc, "-shared", "-o", tmp_path / "libhwloc.so.15", tmp_path / "empty.c"], check=True
    )
    environment = {**EXACTLY, "OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "2"}
    folder = f"{tmp_path}:{default_toolchain.runtime_dir}"
    finished = run(program, default_toolchain, {**environment, "LD_LIBRARY_PATH": folder})
    assert finished.returncode == 0, finished.stderr
    sentence = "libhwloc.so.15 cannot be opened: the machine's nodes and caches are unknown"
    assert sum(sentence in line for line in finished.stderr.splitlines()) == 1, finished.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")
def test_a_privileged_program_reads_no_variables(tmp_path: Path, default_toolchain: Toolchain) -> None:
    runtime = f"-Wl,-rpath,{default_toolchain.runtime_dir}"
    program = tmp_path / "privileged"
    shutil.copy(compile_with_ext("ext/privileged.c", default_toolchain, runtime), program)
    nogroup = 65534
    os.chown(program, 0, nogroup)
    # The program changes only its group, so it can still read the libraries in this tree.
    program.chmod(0o2755)
    settings = {
        "OMP_EXT_DOMAINS": "4",
        "OMP_EXT_STATISTICS": "1",
        "OMP_EXT_DISPLAY": "1",
        "OMP_EXT_STRIKT": "1",
        "HWLOC_SYNTHETIC": "numa:4 pu:1",
    }
    finished = run(program, default_toolchain, settings)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "domains 1\n", "")


def test_a_described_machine_that_is_too_large_is_refused_at_once(default_toolchain: Toolchain) -> None:
    program = compile_with_ext("ext_api/calls.c", default_toolchain)
    settings = {**EXACTLY, "OMP_NUM_THREADS": "2", "OMP_EXT_DOMAINS": "synthetic:numa:99999 pu:99999"}
    finished = run(program, default_toolchain, settings)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "more than 4096 processors" in finished.stderr

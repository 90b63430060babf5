# SPDX-License-Identifier: Apache-2.0
"""Checks that neither tool nor extension changes the binding of threads, in programs of every compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from command import call, command_line
from ext_programs import ext_library
from needs import require_commands, require_toolchain
from toolchains import CompileProgram, Toolchain, neutral_environment, toolchain_named

CPUS = sorted(os.sched_getaffinity(0))
PATIENCE_S = 60

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="two bound threads need two CPUs")

BINDINGS: tuple[dict[str, str], ...] = (
    {"OMP_PROC_BIND": "true"},
    {"OMP_PROC_BIND": "close"},
    {"OMP_PROC_BIND": "spread"},
    {"OMP_PLACES": "threads"},
    {"OMP_PLACES": f"{{{CPUS[-1]}}},{{{CPUS[0]}}}", "OMP_PROC_BIND": "close"},
    {"GOMP_CPU_AFFINITY": f"{CPUS[-1]} {CPUS[0]}"},
    {"OMP_PROC_BIND": "false"},
    {},
)
# compiler -> toolchain and source. Programs of gcc and gfortran still load libgomp when they run on libomp.
SOURCES = {
    "gcc": ("gcc-12-libomp-19", "binding/masks.c"),
    "gfortran": ("gcc-12-libomp-19", "binding/masks.f90"),
    "clang": ("clang-19", "binding/masks.c"),
    "flang": ("clang-19", "binding/masks.f90"),
}


# gcc programs try every binding, because the tool replaces their runtime. Fortran programs try only one,
# because they share the runtime of the C compiler.
BINDINGS_OF = {"gcc": BINDINGS, "gfortran": BINDINGS[4:5], "clang": BINDINGS[::2], "flang": BINDINGS[4:5]}


def named(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items()) or "unbound"


@pytest.fixture(scope="module")
def libomp(default_toolchain: Toolchain) -> Path:
    return default_toolchain.runtime_library


@pytest.fixture
def environment(libompass: Path, default_toolchain: Toolchain) -> dict[str, str]:
    """Returns an environment in which clang programs find libomp, and gcc programs the system's libgomp."""
    return {
        **neutral_environment(),
        "OMPASS_LIBRARY": str(libompass),
        "OMPASS_SUMMARY": "off",
        "LD_LIBRARY_PATH": str(default_toolchain.runtime_dir),
        "OMP_NUM_THREADS": "2",
    }


@pytest.fixture(params=SOURCES)
def program(request: pytest.FixtureRequest, compile_program: CompileProgram) -> Path:
    return built(request.param, compile_program)


@pytest.fixture
def gcc_program(compile_program: CompileProgram) -> Path:
    return built("gcc", compile_program)


def built(compiler: str, compile_program: CompileProgram) -> Path:
    toolchain, source = SOURCES[compiler]
    return compile_program(source, require_toolchain(toolchain_named(toolchain)))


def masks(environment: Mapping[str, str], cwd: Path, *command: object) -> list[str]:
    """Runs a command; returns the sorted `thread` lines that its programs print."""
    done = subprocess.run(
        [str(word) for word in command],
        env=dict(environment), cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = sorted(line.rstrip() for line in done.stdout.splitlines() if line.startswith("thread "))
    assert lines, done.stdout
    return lines


@pytest.mark.parametrize(
    ("source", "binding"),
    [
        pytest.param(source, binding, id=f"{source}-{named(binding)}")
        for source, bindings in BINDINGS_OF.items()
        for binding in bindings
    ],
)
def test_run_binds_threads_as_without_the_tool(
    source: str,
    binding: dict[str, str],
    compile_program: CompileProgram,
    environment: dict[str, str],
    libomp: Path,
    tmp_path: Path,
) -> None:
    program = built(source, compile_program)
    environment |= binding
    recorded = command_line("run", "-q", "--libomp", libomp, "--", program)
    assert masks(environment, tmp_path, *recorded) == masks(environment, tmp_path, program)


def test_run_without_wrappers_binds_threads_as_without_the_tool(
    program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["OMP_PROC_BIND"] = "close"
    recorded = command_line("run", "-q", "--no-wrappers", "--", program)
    assert masks(environment, tmp_path, *recorded) == masks(environment, tmp_path, program)


def test_a_binding_does_not_change_the_default_number_of_threads(
    gcc_program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    del environment["OMP_NUM_THREADS"]
    environment["OMP_PROC_BIND"] = "true"
    recorded = masks(environment, tmp_path, *command_line("run", "-q", "--", gcc_program))
    assert len(recorded) == len(masks(environment, tmp_path, gcc_program)) == len(CPUS)


@pytest.mark.parametrize("how", ["LD_PRELOAD", "OMP_TOOL_LIBRARIES"])
def test_a_tool_loaded_by_hand_leaves_bindings_alone(
    how: str, compile_program: CompileProgram, libompass: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    clang_program = built("clang", compile_program)
    environment["OMP_PROC_BIND"] = "close"
    with_tool = environment | {how: str(libompass)}
    assert masks(with_tool, tmp_path, clang_program) == masks(environment, tmp_path, clang_program)


@pytest.mark.parametrize("binding", BINDINGS, ids=named)
@pytest.mark.parametrize("with_tool", [False, True], ids=["alone", "before the tool"])
def test_the_extension_binds_threads_as_without_it(
    binding: dict[str, str], with_tool: bool, gcc_program: Path, environment: dict[str, str], libompass: Path,
    libomp: Path, tmp_path: Path,
) -> None:  # fmt: skip
    environment |= binding
    libraries = [ext_library(), *([libompass] if with_tool else []), libomp]
    extended = environment | {"LD_PRELOAD": ":".join(map(str, libraries))}
    assert masks(extended, tmp_path, gcc_program) == masks(environment, tmp_path, gcc_program)


def test_an_unreplaced_libgomp_binds_its_threads(
    gcc_program: Path, environment: dict[str, str], libompass: Path, tmp_path: Path
) -> None:
    environment["OMP_PROC_BIND"] = "close"
    preloaded = environment | {"LD_PRELOAD": f"{libompass}:{ext_library()}"}
    alone = masks(environment, tmp_path, gcc_program)
    assert masks(preloaded, tmp_path, gcc_program) == alone
    assert len({line.split(":")[1] for line in alone}) == 2


@pytest.mark.parametrize("replaced", [True, False], ids=["replaced", "in use"])
def test_a_libgomp_of_a_wheel_binds_threads_only_if_it_is_not_replaced(
    replaced: bool, environment: dict[str, str], libompass: Path, libomp: Path, tmp_path: Path
) -> None:
    found = subprocess.run(
        ["gcc-12", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True
    )
    wheels_own = tmp_path / "libgomp-a34b3233.so.1"
    shutil.copy(found.stdout.strip(), wheels_own)
    script = (
        f"import ctypes, os; ctypes.CDLL({str(wheels_own)!r}, ctypes.RTLD_GLOBAL); "
        "print('thread 0:', *os.sched_getaffinity(0))"
    )
    environment["OMP_PROC_BIND"] = "true"
    environment["LD_PRELOAD"] = ":".join(map(str, [libompass, *([libomp] if replaced else [])]))
    (line,) = masks(environment, tmp_path, sys.executable, "-c", script)
    assert len(line.split()) - 2 == (len(CPUS) if replaced else 1)


def test_the_affinity_mask_of_a_process_is_kept(
    gcc_program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    require_commands("taskset")
    environment["OMP_PROC_BIND"] = "true"
    on_one = ("taskset", "-c", CPUS[-1])
    recorded = masks(environment, tmp_path, *on_one, *command_line("run", "-q", "--", gcc_program))
    assert recorded == [f"thread {number}: {CPUS[-1]}" for number in range(2)]
    assert recorded == masks(environment, tmp_path, *on_one, gcc_program)


def test_each_rank_of_a_node_keeps_the_processors_of_its_launcher(
    gcc_program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    require_commands("mpirun.openmpi")
    environment |= {
        "OMP_PROC_BIND": "true",
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    launcher = ("mpirun.openmpi", "-n", 2, "--bind-to", "core")
    recorded = masks(environment, tmp_path, *launcher, *command_line("run", "-q", "--", gcc_program))
    assert recorded == masks(environment, tmp_path, *launcher, gcc_program)
    assert len(set(recorded)) == 2


def test_runs_of_a_sweep_have_a_processor_for_each_thread(
    gcc_program: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    call(
        environment, tmp_path,
        "scale", "-t", "1,2", "--repeat", 1, "--unrecorded", "-o", "s.sweep", "--json", "--", gcc_program,
    )  # fmt: skip
    on_two = [
        text
        for path in (tmp_path / "s.sweep/runs").glob("*.out")
        if "thread 1:" in (text := path.read_text())
    ]
    assert len(on_two) == 2  # with and without recording
    for text in on_two:
        lines = [line for line in text.splitlines() if line.startswith("thread ")]
        assert len({line.split(":")[1] for line in lines}) == 2, text


def test_a_report_leads_with_threads_bound_to_too_few_processors(
    compile_program: CompileProgram, environment: dict[str, str], tmp_path: Path
) -> None:
    program = built("clang", compile_program)

    def findings(run: str, places: str) -> list[str]:
        bound = environment | {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}
        call(bound, tmp_path, "run", "-q", "-o", run, "--", program)
        report = json.loads(call(environment, tmp_path, "report", "--json", run).stdout)
        return [finding["kind"] for finding in report["findings"]]

    assert findings("one.ompass", f"{{{CPUS[0]}}}")[0] == "bound_together"
    assert "bound_together" not in findings("two.ompass", f"{{{CPUS[0]}}},{{{CPUS[1]}}}")

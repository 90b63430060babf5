# SPDX-License-Identifier: Apache-2.0
"""Plans of a recording: the right environment, the user's settings, and refusals that state what to do."""

from __future__ import annotations

import ctypes.util
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ompass.elf import ElfFacts, is_elf, read_facts
from ompass.errors import CannotRecordError
from ompass.launch import second_run
from ompass.launch.child import Ending
from ompass.launch.libraries import Loaded, find_library, loaded_libraries, loader_cache, parse_loader_cache
from ompass.launch.plan import Plan, RunOptions, plan_recording, unrecorded_variables
from ompass.launch.produced import why_nothing
from ompass.launch.program import (
    Program,
    ProgramNotExecutableError,
    ProgramNotFoundError,
    calls_mpi,
    inspect_program,
)
from ompass.launch.runtimes import Runtime, version_key
from ompass.launch.tool import preloadable
from ompass.runtime_names import runtime_kind

TOOL = Path("/opt/ompass/libompass.so")
FORWARDS = Path("/opt/ompass/libompass_mpi.so")
LIBOMP = Runtime("libomp", Path("/usr/lib/llvm-19/lib/libomp.so.5"), has_ompt=True, has_gomp=True)
LIBGOMP = Runtime("libgomp", Path("/usr/lib/libgomp.so.1"), has_ompt=False, has_gomp=True)


def elf(*, dynamic: bool = True, **fields: Any) -> ElfFacts:
    values: dict[str, Any] = {
        "path": Path("/bin/p"), "bits": 64, "machine": "EM_X86_64", "interpreter": "/lib64/ld.so",
        "is_dynamic": dynamic, "soname": "", "needed": (), "rpath": (), "runpath": (), "build_id": "",
        "debug_link": "", "has_names": False, "has_lines": True, "has_address_table": False,
        "is_executable": True,
    }  # fmt: skip
    return ElfFacts(**{**values, **fields})


def program(*runtimes: Runtime, **fields: Any) -> Program:
    values: dict[str, Any] = {
        "path": Path("/bin/p"), "elf": elf(), "interpreters": (), "libraries": (), "runtimes": runtimes,
        "has_own_tool": False, "is_privileged": False,
    }  # fmt: skip
    return Program(**{**values, **fields})


def plan(
    *runtimes: Runtime,
    environ: dict[str, str] | None = None,
    installed: tuple[Runtime, ...] = (LIBOMP,),
    options: RunOptions | None = None,
    for_mpi: Path | None = FORWARDS,
    **fields: Any,
) -> Plan:
    return plan_recording(
        program(*runtimes, **fields), TOOL, options or RunOptions(), environ or {}, installed, for_mpi
    )


def test_llvm_program_is_recorded_unchanged() -> None:
    made = plan(LIBOMP)
    assert made.variables == {
        "LD_PRELOAD": str(TOOL),
        "OMP_TOOL_LIBRARIES": str(TOOL),
        "OMPASS_WRAPPERS": "on",
    }
    assert made.warnings == ()


def test_gcc_program_runs_on_libomp_with_the_tool_first() -> None:
    made = plan(LIBGOMP)
    assert made.variables["LD_PRELOAD"] == f"{TOOL}:{LIBOMP.path}"
    assert made.runtime == LIBOMP
    assert "in place of gcc's libgomp" in made.how


def test_gcc_program_without_wrappers_still_needs_libomp_and_the_tool_preloaded() -> None:
    made = plan(LIBGOMP, options=RunOptions(wrappers=False))
    assert made.variables["LD_PRELOAD"] == f"{TOOL}:{LIBOMP.path}"
    assert made.variables["OMP_TOOL_LIBRARIES"] == str(TOOL)
    assert made.variables["OMPASS_WRAPPERS"] == "off"


def test_an_unrecorded_run_preloads_the_same_libraries() -> None:
    set_by_user = {"OMP_SCHEDULE": "static", "OMP_STACKSIZE": "16M"}
    made = plan(LIBGOMP, environ={"LD_PRELOAD": "/their/malloc.so", **set_by_user})
    assert unrecorded_variables(made) == {
        "LD_PRELOAD": f"{TOOL}:{LIBOMP.path}:/their/malloc.so",
        "OMPASS_ENABLED": "off",
    }
    assert unrecorded_variables(plan(LIBOMP)) == {}


def test_a_gcc_program_has_libgomps_defaults_in_recorded_and_unrecorded_runs() -> None:
    made = plan(LIBGOMP)
    assert made.variables["OMP_SCHEDULE"] == "dynamic,1"
    assert unrecorded_variables(made)["OMP_SCHEDULE"] == "dynamic,1"
    assert "OMP_SCHEDULE" not in plan(LIBOMP).variables


def test_without_wrappers_the_tool_is_preloaded_only_if_necessary() -> None:
    assert "LD_PRELOAD" not in plan(LIBOMP, options=RunOptions(wrappers=False)).variables


@pytest.fixture
def mpi_program(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Makes /bin/p import an MPI function. Returns the fields of a program with its libraries."""
    monkeypatch.setattr(
        "ompass.launch.program.imported_symbols",
        lambda path, prefixes: {("MPI_Send", "")} if path == elf().path else set(),
    )
    return {"libraries": (Loaded("libmpi.so.40", None), Loaded("libc.so.6", None))}


def test_a_program_that_calls_mpi_gets_the_library_that_forwards_its_calls(
    mpi_program: dict[str, Any],
) -> None:
    for wrappers in (None, False):
        made = plan(LIBOMP, options=RunOptions(wrappers=wrappers), **mpi_program)
        assert made.variables["LD_PRELOAD"] == f"{TOOL}:{FORWARDS}"
        assert unrecorded_variables(made) == {}
    assert plan(LIBGOMP, **mpi_program).variables["LD_PRELOAD"] == f"{TOOL}:{FORWARDS}:{LIBOMP.path}"
    assert plan(LIBOMP).variables["LD_PRELOAD"] == str(TOOL)


def test_a_build_without_the_library_for_mpi_warns(mpi_program: dict[str, Any]) -> None:
    made = plan(LIBOMP, for_mpi=None, **mpi_program)
    assert made.variables["LD_PRELOAD"] == str(TOOL)
    assert any("MPI calls are not recorded" in warning for warning in made.warnings)
    assert plan(LIBOMP, for_mpi=None).warnings == ()


def test_python_counts_as_calling_mpi_if_it_has_mpi4py(tmp_path: Path) -> None:
    python = program(path=tmp_path / "bin" / "python3.11")
    assert not calls_mpi(python, {})
    (tmp_path / "lib/python3.11/site-packages/mpi4py").mkdir(parents=True)
    assert calls_mpi(python, {})
    script = program(path=tmp_path / "solve.py", interpreters=(python.path,))
    assert calls_mpi(script, {})
    (tmp_path / "more/mpi4py").mkdir(parents=True)
    other = program(path=tmp_path / "other/bin/python3")
    assert not calls_mpi(other, {})
    assert calls_mpi(other, {"PYTHONPATH": f"{tmp_path}/none:{tmp_path}/more"})


def test_the_extension_comes_before_the_tool_and_is_not_a_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    symbols = {"libomp_ext.so": {"ompt_start_tool", "omp_ext_observe"}, "other.so": {"ompt_start_tool"}}
    monkeypatch.setattr(
        "ompass.launch.plan.dynamic_symbols",
        lambda path, wanted: ([name for name in wanted if name in symbols.get(path.name, ())], []),
    )
    made = plan(LIBOMP, environ={"LD_PRELOAD": "/a/malloc.so /b/libomp_ext.so:/c/other.so"})
    assert made.variables["LD_PRELOAD"] == f"/b/libomp_ext.so:{TOOL}:/a/malloc.so:/c/other.so"
    assert [w for w in made.warnings if "OMPT tool" in w] == [
        "LD_PRELOAD names the OMPT tool /c/other.so; only one tool can be active, and Ompass comes first"
    ]


def test_the_users_values_are_kept_after_ours() -> None:
    made = plan(
        LIBOMP,
        environ={
            "LD_PRELOAD": "/their/malloc.so",
            "OMP_TOOL_LIBRARIES": "/their/tool.so",
            "LIBOMP_USE_HIDDEN_HELPER_TASK": "1",
        },
    )
    assert made.variables["LD_PRELOAD"] == f"{TOOL}:/their/malloc.so"
    assert made.variables["OMP_TOOL_LIBRARIES"] == f"{TOOL}:/their/tool.so"
    assert "LIBOMP_USE_HIDDEN_HELPER_TASK" not in made.variables
    assert [w for w in made.warnings if "/their/tool.so" in w and "only one tool" in w]


def test_disabled_tools_are_enabled_with_a_warning() -> None:
    made = plan(LIBOMP, environ={"OMP_TOOL": "disabled"})
    assert made.variables["OMP_TOOL"] == "enabled"
    assert any("OMP_TOOL=disabled" in warning for warning in made.warnings)


def test_only_given_options_become_variables() -> None:
    made = plan(
        LIBOMP, options=RunOptions(mode="trace", threads="4,2", counters="A,B", sample="50", limit_mb="7M")
    )
    wanted = {
        "OMPASS_MODE": "trace",
        "OMP_NUM_THREADS": "4,2",
        "OMPASS_COUNTERS": "A,B",
        "OMPASS_SAMPLE": "50",
        "OMPASS_LIMIT_MB": "7M",
    }
    assert made.variables.items() >= wanted.items()
    assert {"OMPASS_MODE", "OMP_NUM_THREADS"} & set(plan(LIBOMP).variables) == set()


def test_wrappers_follow_the_environment_without_an_option() -> None:
    assert not plan(LIBOMP, environ={"OMPASS_WRAPPERS": "off"}).wrappers
    assert not plan(LIBOMP, environ={"OMPASS_BRACKETS": "off"}).wrappers  # former name of OMPASS_WRAPPERS
    assert plan(LIBOMP, environ={"OMPASS_WRAPPERS": "on", "OMPASS_BRACKETS": "off"}).wrappers
    assert plan(LIBOMP, environ={"OMPASS_WRAPPERS": "off"}, options=RunOptions(wrappers=True)).wrappers


@pytest.mark.parametrize(
    ("runtimes", "installed", "why", "cure"),
    [
        ((LIBGOMP,), (), "libgomp, which has no OMPT", "--libomp"),
        ((LIBGOMP,), (Runtime("libomp", Path("/l"), False, True),), "/l", "install LLVM's runtime"),
        ((Runtime("libomp", Path("/l"), False, True),), (LIBOMP,), "built without OMPT", "--libomp"),
        (
            (Runtime("libgomp", Path("/bin/p"), False, True, True),),
            (LIBOMP,),
            "linked into it",
            "clang -fopenmp",
        ),
        ((Runtime("libnvomp", Path("/n"), False, False),), (LIBOMP,), "has no OMPT", "compile it with"),
    ],
)
def test_refusal_states_the_reason_and_the_cure(
    runtimes: tuple[Runtime, ...], installed: tuple[Runtime, ...], why: str, cure: str
) -> None:
    with pytest.raises(CannotRecordError) as caught:
        plan(*runtimes, installed=installed)
    assert why in caught.value.why
    assert cure in caught.value.cure


def test_static_program_is_refused() -> None:
    with pytest.raises(CannotRecordError, match="statically linked"):
        plan(elf=elf(dynamic=False))


def test_libgomp_with_ompt_is_recorded_directly() -> None:
    # A future libgomp may have OMPT. Only OMPT matters, not the runtime's name.
    made = plan(Runtime("libgomp", Path("/g"), has_ompt=True, has_gomp=True))
    assert made.variables["LD_PRELOAD"] == str(TOOL)


def test_program_without_runtime_is_tried() -> None:
    assert plan().runtime is None


def test_named_file_that_is_not_a_runtime_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotRecordError, match="--libomp"):
        plan(LIBGOMP, options=RunOptions(libomp=tmp_path / "no.so"))


def test_privileged_program_gets_a_warning() -> None:
    assert any("ignores LD_PRELOAD" in w for w in plan(LIBOMP, is_privileged=True).warnings)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("libomp.so.5", "libomp"),
        ("libomp-64.so.5", "libomp"),
        ("libiomp5.so", "libiomp5"),
        ("libgomp.so.1", "libgomp"),
        ("libgomp-a34b3233.so.1.0.0", "libgomp"),
        ("libompass.so", ""),
        ("libompi.so", ""),
        ("libm.so.6", ""),
    ],
)
def test_runtimes_are_known_by_their_names(name: str, kind: str) -> None:
    assert runtime_kind(name) == kind


def test_newest_version_sorts_last() -> None:
    paths = [Path(f"/usr/lib/llvm-{v}/lib") for v in (19, 9, 14)]
    assert sorted(paths, key=version_key)[-1] == paths[0]


def test_library_whose_path_cannot_stand_in_ld_preload_gets_a_link(tmp_path: Path) -> None:
    odd, other = (tmp_path / name / "libompass.so" for name in ("a clone", "a:b"))
    plain = tmp_path / "libompass.so"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert preloadable(plain, scratch) == plain
    links = [preloadable(path, scratch) for path in (odd, other, odd)]
    assert [link.readlink() for link in links] == [odd, other, odd]
    assert links[0] == links[2]
    assert all(link.name == "libompass.so" and not set(" :") & set(str(link)) for link in links)


NOTHING = Ending(1, 0, 0)


@pytest.mark.parametrize(
    ("fields", "runtimes", "environ", "ending", "why"),
    [
        ({}, (), {}, NOTHING, "not linked with an OpenMP runtime"),
        ({"interpreters": (Path("/bin/sh"),)}, (), {}, NOTHING, "nor its child processes"),
        ({}, (LIBOMP,), {}, NOTHING, "was never started"),
        ({}, (LIBOMP,), {}, Ending(1, 3, 0), "exited with 3 before it started"),
        ({"is_privileged": True}, (LIBOMP,), {}, NOTHING, "raised privileges"),
        ({"has_own_tool": True}, (LIBOMP,), {}, NOTHING, "contains an OMPT tool"),
        ({}, (LIBOMP,), {"OMPASS_ENABLED": "off"}, NOTHING, "OMPASS_ENABLED"),
        ({}, (LIBOMP,), {}, Ending(1, 139, 11), "ended by SIGSEGV before recording began"),
    ],
)
def test_the_reason_why_nothing_was_recorded_is_stated(
    fields: dict[str, Any],
    runtimes: tuple[Runtime, ...],
    environ: dict[str, str],
    ending: Ending,
    why: str,
) -> None:
    shown = program(*runtimes, **fields)
    reason, cure = why_nothing(shown, plan(*runtimes, **fields), ending, environ)
    assert why in reason
    assert cure


# The tests below read real files: on every machine, this Python is a program with libraries.


def test_libraries_of_a_program_are_those_that_the_loader_maps() -> None:
    if not is_elf(Path(sys.executable).resolve()) or not loader_cache():
        pytest.skip("needs ldconfig and an ELF interpreter")
    facts = read_facts(Path(sys.executable).resolve())
    found = loaded_libraries(facts, {})
    mapped = {
        Path(line.split()[-1]).resolve()
        for line in Path("/proc/self/maps").read_text().splitlines()
        if ".so" in line
    }
    assert found
    for loaded in found:
        assert loaded.facts is not None, f"{loaded.name} was not found"
        assert loaded.facts.path.resolve() in mapped


def a_library() -> ElfFacts:
    name = ctypes.util.find_library("m")
    paths = loader_cache().get(name or "", ())
    if not paths:
        pytest.skip("needs ldconfig")
    return read_facts(paths[0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda: Path("new").touch(), "it wrote new"),
        (lambda: Path("old").write_text("more"), "it wrote old"),
        (lambda: Path("old").unlink(), "it removed old"),
        (lambda: None, ""),
    ],
)
def test_a_program_that_changes_its_files_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(second_run, "_input_can_be_read_again", lambda _: True)
    Path("old").touch()
    before = second_run.Before.of(["./a"])
    change()
    why = second_run.why_once(before, ["./a"], program(LIBOMP), plan(LIBOMP), Ending(1, 0, 0), {})
    assert why == reason


@pytest.mark.parametrize("argument", ["{}", "--output={}", "-o{}", "file={}"])
@pytest.mark.parametrize("named", ["out/new", "out"])
def test_a_program_that_changes_a_file_or_folder_of_its_arguments_runs_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(second_run, "_input_can_be_read_again", lambda _: True)
    Path("out").mkdir()
    command = ["./a", "-n4", argument.format(tmp_path / named)]
    before = second_run.Before.of(command)
    assert second_run.why_once(before, command, program(LIBOMP), plan(LIBOMP), Ending(1, 0, 0), {}) == ""
    Path("out/new").touch()
    why = second_run.why_once(before, command, program(LIBOMP), plan(LIBOMP), Ending(1, 0, 0), {})
    assert why == "it wrote new"


def test_search_order_is_rpath_environment_runpath(tmp_path: Path) -> None:
    real = a_library()
    for place in ("rpath", "environment", "runpath", "parent"):
        (tmp_path / place).mkdir()
        shutil.copyfile(real.path, tmp_path / place / "libx.so")
    environ = {"LD_LIBRARY_PATH": str(tmp_path / "environment")}
    shared: dict[str, Any] = {"bits": real.bits, "machine": real.machine}

    def found(user: ElfFacts, *ancestors: ElfFacts, environ: dict[str, str] = environ) -> str:
        facts = find_library("libx.so", user, ancestors, environ)
        return facts.path.parent.name if facts else ""

    rpath, runpath = (str(tmp_path / "rpath"),), (str(tmp_path / "runpath"),)
    parent = elf(**shared, rpath=(str(tmp_path / "parent"),))
    assert found(elf(**shared, rpath=rpath)) == "rpath"
    assert found(elf(**shared, rpath=rpath, runpath=runpath)) == "environment", "RUNPATH switches RPATH off"
    assert found(elf(**shared, runpath=runpath), environ={}) == "runpath"
    assert found(elf(**shared), parent) == "parent", "RPATH is inherited"
    assert found(elf(**shared, runpath=runpath), parent, environ={}) == "runpath"
    assert found(elf(**shared), environ={}) == ""
    assert found(elf(machine="EM_S390", rpath=rpath), environ={}) == "", (
        "another machine's library is skipped"
    )


def test_origin_is_the_directory_of_the_file_that_needs_the_library(tmp_path: Path) -> None:
    real = a_library()
    (tmp_path / "lib").mkdir()
    shutil.copyfile(real.path, tmp_path / "lib" / "libx.so")
    user = elf(bits=real.bits, machine=real.machine, path=tmp_path / "program", runpath=("${ORIGIN}/lib",))
    facts = find_library("libx.so", user, (), {})
    assert facts is not None
    assert facts.path == tmp_path / "lib" / "libx.so"


def test_loader_cache_is_read_in_its_order() -> None:
    text = (
        "2 libs found in cache\n"
        "\tlibx.so.1 (libc6,x86-64, hwcap: 1) => /a/libx.so.1\n"
        "\tlibx.so.1 (libc6,x86-64) => /b/libx.so.1\n"
    )
    assert parse_loader_cache(text) == {"libx.so.1": (Path("/a/libx.so.1"), Path("/b/libx.so.1"))}


def test_the_interpreter_of_a_script_is_found(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S FOO=1 sh\nexit 0\n", encoding="utf-8")
    script.chmod(0o755)
    found = inspect_program(str(script), {"PATH": "/usr/bin:/bin"})
    assert found.is_script
    assert found.interpreters[0].name == "sh"
    assert found.elf is not None


def test_program_is_found_in_the_path(tmp_path: Path) -> None:
    script = tmp_path / "mine"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    assert inspect_program("mine", {"PATH": str(tmp_path)}).path == script


def test_missing_and_unexecutable_programs_have_the_exit_codes_of_a_shell(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text", encoding="utf-8")
    with pytest.raises(ProgramNotFoundError) as missing:
        inspect_program(str(tmp_path / "none"), {})
    with pytest.raises(ProgramNotFoundError):
        inspect_program("no-such-program-anywhere", {"PATH": str(tmp_path)})
    with pytest.raises(ProgramNotExecutableError) as unexecutable:
        inspect_program(str(tmp_path), {})
    assert (missing.value.exit_code, unexecutable.value.exit_code) == (127, 126)


def test_a_source_file_leads_to_its_program(tmp_path: Path) -> None:
    source = tmp_path / "fib.c"
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    with pytest.raises(ProgramNotExecutableError, match=r"chmod \+x"):
        inspect_program(str(source), {})
    shutil.copy(sys.executable, tmp_path / "fib")
    with pytest.raises(ProgramNotExecutableError, match=f"name the program: {tmp_path / 'fib'}$"):
        inspect_program(str(source), {})

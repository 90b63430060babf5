# SPDX-License-Identifier: Apache-2.0
"""Plugins loaded one after another at the same address: each has its own constructs with all their counts.

The programs are tests/programs/plugins/*.cpp. The host fails if more than a quarter of the plugins are mapped
at another address than the plugin before.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from ext_programs import ext_library, ways_to_load
from needs import require_toolchain
from ompass import _core
from ompass.readers.run import SampledThread, read_samples
from recorded_run import check_accounts_agree, check_sound, facts_in
from toolchains import Toolchain, compile_source, toolchain_named

HOST, PLUGIN = "plugins/host.cpp", "plugins/plugin.cpp"
TASKS = {"first": 60, "other": 100}  # deferred tasks; each plugin also creates as many undeferred ones
ROUNDS = 3

# Ways to load the tool. With those in IN_FRONT, the tool sees the program's calls of dlclose.
IN_FRONT = ("preload", "extension-tool")
LOADINGS = ("tool", *IN_FRONT)


@pytest.fixture(params=["clang-19", "gcc-12-libomp-19"])
def toolchain(request: pytest.FixtureRequest) -> Toolchain:
    return require_toolchain(toolchain_named(request.param))


def plugin(name: str, toolchain: Toolchain, *flags: str) -> Path:
    settings = (f"-DTASKS={TASKS[name]}", f'-DNAME="{name}"', "-shared", "-fPIC")
    return compile_source(PLUGIN, toolchain, flags=(*settings, *flags))


def plugins(toolchain: Toolchain, *flags: str) -> list[Path]:
    return [plugin(name, toolchain, *flags) for name in TASKS]


def run_host(
    what: str,
    rounds: int,
    loaded: list[Path],
    toolchain: Toolchain,
    environment: dict[str, str],
    *,
    openmp: bool = True,
) -> subprocess.CompletedProcess[str]:
    host = compile_source(HOST, toolchain, openmp=openmp)
    ran = toolchain.run(
        [str(host), what, str(rounds), *map(str, loaded)],
        {"OMP_NUM_THREADS": "2", **environment},
        timeout_s=120,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran


def settings(loading: str, tool: Path, run_dir: Path, **more: str) -> dict[str, str]:
    """Returns an environment that loads the tool in one way of LOADINGS and records into `run_dir`."""
    return {"OMPASS_DIR": str(run_dir), "OMPASS_SUMMARY": "off", **ways_to_load(tool)[loading], **more}


def definitions_of(run: _core.Run, kind: str, module: Path) -> set[int]:
    modules = {index for index, known in enumerate(run.modules) if known.path == str(module)}
    return {known.id for known in run.definitions if known.kind == kind and known.module in modules}


def tasks_of(run: _core.Run, module: Path) -> Counter[str]:
    """Counts the tasks of the constructs in a module."""
    ids = definitions_of(run, "task", module)
    rows = [row for row in run.constructs if row.construct in ids]
    assert {row.construct for row in rows} == ids, "a construct without tasks"
    return Counter(
        constructs=len(ids),
        completed=sum(row.n_completed for row in rows),
        undeferred=sum(row.n_undeferred for row in rows),
    )


def check_plugin(run: _core.Run, module: Path, name: str, rounds: int) -> None:
    """Checks the counts of a plugin that ran its region `rounds` times."""
    n = TASKS[name] * rounds
    assert tasks_of(run, module) == Counter(constructs=2, completed=2 * n, undeferred=n)
    regions = definitions_of(run, "parallel", module)
    # The extension forwards gcc's regions, so the runtime may report an address in the extension.
    assert len(regions) == 1 or any(known.path == str(ext_library()) for known in run.modules)
    assert sum(row.n_primary for row in run.regions if row.construct in regions) == rounds * len(regions)
    loops = definitions_of(run, "loop", module)
    assert sum(row.n_iterations for row in run.loops if row.construct in loops) >= n
    waits = definitions_of(run, "wait", module)
    assert sum(row.n_waits for row in run.waits if row.construct in waits) >= n, "turns in a critical section"
    named = {known.id: known.kind for known in run.definitions if known.name == name}
    assert sorted(named.values()) == ["kernel", "phase"]
    marked = [row for row in run.constructs if row.construct in named]
    assert sum(row.n_completed for row in marked) == 2 * rounds


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", LOADINGS)
def test_each_plugin_has_its_own_constructs(
    loading: str, mode: str, toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    loaded, run_dir = plugins(toolchain), tmp_path / "run.ompass"
    environment = settings(loading, libompass, run_dir, OMPASS_MODE=mode)
    run_host("regions", ROUNDS, loaded, toolchain, environment)
    profile = check_sound(run_dir)
    for name, module in zip(TASKS, loaded, strict=True):
        check_plugin(profile, module, name, ROUNDS)
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(run_dir)))


@pytest.mark.parametrize("loading", LOADINGS)
def test_plugins_without_build_id_are_distinguished(
    loading: str, toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    loaded, run_dir = plugins(toolchain, "-Wl,--build-id=none"), tmp_path / "run.ompass"
    run_host("regions", ROUNDS, loaded, toolchain, settings(loading, libompass, run_dir))
    profile = check_sound(run_dir)
    assert all(known.build_id == "" for known in profile.modules if known.path in map(str, loaded))
    for name, module in zip(TASKS, loaded, strict=True):
        check_plugin(profile, module, name, ROUNDS)


@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("loading", IN_FRONT)
def test_plugins_are_distinguished_inside_a_region_with_other_tasks(
    loading: str, mode: str, toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    loaded, run_dir, rounds = plugins(toolchain), tmp_path / "run.ompass", 50
    environment = settings(loading, libompass, run_dir, OMPASS_MODE=mode)
    ran = run_host("tasks", rounds, loaded, toolchain, environment)
    profile = check_sound(run_dir)
    for name, module in zip(TASKS, loaded, strict=True):
        n = TASKS[name] * rounds
        assert tasks_of(profile, module) == Counter(constructs=2, completed=2 * n, undeferred=n)
    host = compile_source(HOST, toolchain)
    assert tasks_of(profile, host) == Counter(
        constructs=1, completed=facts_in(ran.stdout)["tasks"], undeferred=0
    )
    if mode == "trace":
        check_accounts_agree(profile, _core.replay_trace(str(run_dir)))


@pytest.mark.parametrize("loading", LOADINGS)
def test_plugins_that_are_loaded_500_times_are_defined_once(
    loading: str, libompass: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    loaded = plugins(default_toolchain)
    runs = {}
    for rounds in (1, 500):
        run_dir = tmp_path / f"{rounds}.ompass"
        run_host("regions", rounds, loaded, default_toolchain, settings(loading, libompass, run_dir))
        runs[rounds] = check_sound(run_dir)
        for name, module in zip(TASKS, loaded, strict=True):
            check_plugin(runs[rounds], module, name, rounds)
    of_modules = Counter((known.path, known.build_id) for known in runs[500].modules)
    of_places = Counter(
        (known.kind, known.module, known.offset, known.flags, known.name) for known in runs[500].definitions
    )
    assert set(of_modules.values()) == set(of_places.values()) == {1}
    sizes = [(tmp_path / f"{rounds}.ompass" / "process.log").stat().st_size for rounds in runs]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("loading", ["tool", "preload", "extension-tool", "switched-off", "extension"])
@pytest.mark.parametrize("compiler", ["clang-19", "clang-19-libiomp5"])
def test_runtime_may_be_loaded_and_unloaded_with_a_plugin(
    compiler: str, loading: str, libompass: Path, tmp_path: Path
) -> None:
    """Intel's runtime is unloaded with the plugin, LLVM's is not. The tool must not call an unloaded one."""
    toolchain = require_toolchain(toolchain_named(compiler))
    run_dir = tmp_path / "run.ompass"
    if loading == "extension":
        environment = {"LD_PRELOAD": str(ext_library()), "OMP_EXT_SCHEDULE": "1"}
    elif loading == "switched-off":
        environment = settings("preload", libompass, run_dir, OMP_TOOL="disabled")
    else:
        environment = settings(loading, libompass, run_dir)
    module = plugin("first", toolchain)
    run_host("regions", ROUNDS, [module], toolchain, environment, openmp=False)
    if loading in LOADINGS:
        check_plugin(check_sound(run_dir), module, "first", ROUNDS)


def test_samples_fall_in_the_plugin_that_ran(
    default_toolchain: Toolchain, libompass: Path, tmp_path: Path
) -> None:
    loaded, run_dir = plugins(default_toolchain), tmp_path / "run.ompass"
    environment = settings("preload", libompass, run_dir, OMPASS_SAMPLE="1000")
    run_host("spins", ROUNDS, loaded, default_toolchain, environment)
    profile = check_sound(run_dir)
    threads: list[SampledThread] = []
    samples = read_samples(run_dir, threads.append)
    if samples.n_refused:
        pytest.skip(f"the kernel refuses perf events: {os.strerror(samples.error)}")
    in_modules: Counter[str] = Counter()
    for sample in next(thread for thread in threads if thread.thread == 0).samples:
        module = (sample.chain[0] >> 48) - 1 if sample.chain else -1
        in_modules[profile.modules[module].path if module >= 0 else ""] += sample.weight
    for path in map(str, loaded):  # 200 ms in each round, at 1000 samples a second
        assert 0.8 * 200 * ROUNDS <= in_modules[path] <= 1.2 * 200 * ROUNDS, in_modules

# SPDX-License-Identifier: Apache-2.0
"""Samples: lines with known shares of the time, killed programs, and machines or runs without samples."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from ompass.elf import read_functions
from ompass.symbols.lookup import Lookup
from recorded_run import check_sound
from sampled_run import sampled_threads
from toolchains import PROGRAMS, CompileProgram, Record, RunRecorded, Toolchain, toolchain_named

HZ = 2000
ENOUGH = 2000
POINTS = 0.03
SOURCES = PROGRAMS / "samples"


def shares_by_line(*files: Path) -> dict[tuple[str, int], float]:
    """Returns the shares that comments in the sources state, by file and line."""
    return {
        (file.name, number): int(match[1]) / 100
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (match := re.search(r"share (\d+)$", line))
    }


def report_of(run_dir: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(ompass("report", str(run_dir), "--json").stdout)
    return report


def sampled(
    run_recorded: RunRecorded, program: Path, toolchain: Toolchain, n_tasks: int = 600, **options: Any
) -> dict[str, Any]:
    """Records a program long enough for its samples. Returns the field `samples` of the report."""
    environment = {"OMPASS_SAMPLE": str(HZ), **options.pop("environment", {})}
    recorded = run_recorded(program, toolchain, str(n_tasks), environment=environment, **options)
    check_sound(recorded.run_dir)
    samples: dict[str, Any] = report_of(recorded.run_dir)["samples"]
    assert samples["samples"] >= ENOUGH, "the program is too short"
    return samples


def check_shares(samples: dict[str, Any], promised: dict[tuple[str, int], float]) -> None:
    """Checks that every line with a known share has this share of the tasks' samples."""
    of_tasks = [line for line in samples["lines"] if line["owner"] == "task"]
    assert len({line["construct"] for line in of_tasks}) == 1
    found = {(Path(line["file"] or "").name, line["line"]): 0.0 for line in of_tasks}
    for line in of_tasks:
        found[Path(line["file"] or "").name, line["line"]] += line["share"]
    for place, share in promised.items():
        assert found.get(place, 0.0) == pytest.approx(share, abs=POINTS), f"{place} of {found}"


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("-fomit-frame-pointer",), id="without frame pointers"),
        pytest.param(("-fno-omit-frame-pointer",), id="with frame pointers"),
        pytest.param(("-DSPIN=static inline __attribute__((always_inline))",), id="inlined"),
    ],
)
@pytest.mark.parametrize("compiler", ["clang-19", "gcc-12-libomp-19"])
def test_lines_have_their_shares(
    compile_program: CompileProgram, run_recorded: RunRecorded, compiler: str, flags: tuple[str, ...]
) -> None:
    toolchain = toolchain_named(compiler)
    program = compile_program("samples/shares.c", toolchain, flags=flags)
    samples = sampled(run_recorded, program, toolchain)
    check_shares(samples, shares_by_line(SOURCES / "spin.h"))


def test_lines_of_shared_libraries_have_their_shares(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    library = compile_program(
        "samples/library.c", default_toolchain, flags=("-shared", "-fPIC"), openmp=False
    )
    program = compile_program(
        "samples/shares.c",
        default_toolchain,
        flags=("-DIN_LIBRARY", str(library), f"-Wl,-rpath,{library.parent}"),
    )
    samples = sampled(run_recorded, program, default_toolchain)
    check_shares(samples, shares_by_line(SOURCES / "spin.h"))
    in_tasks = [line for line in samples["lines"] if line["owner"] == "task" and line["share"] > 0.1]
    assert {line["module"] for line in in_tasks} == {str(library)}


@pytest.mark.parametrize("name", ["shares.cpp", "shares.f90"])
@pytest.mark.parametrize("compiler", ["clang-19", "gcc-12-libomp-19"])
def test_lines_of_other_languages_have_their_shares(
    compile_program: CompileProgram, run_recorded: RunRecorded, compiler: str, name: str
) -> None:
    toolchain = toolchain_named(compiler)
    program = compile_program(f"samples/{name}", toolchain)
    samples = sampled(run_recorded, program, toolchain)
    check_shares(samples, shares_by_line(SOURCES / name))


def test_optimised_code_of_several_lines_belongs_to_the_preceding_line(
    bots_dir: Path, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    """clang gives such code line 0. In health, this includes the instruction after the costliest load."""
    program = bots_dir / "health-tasks"
    lookup = Lookup(program, True)
    of_no_line = [
        address
        for start, size, symbol in read_functions(program).functions
        if "receive_patients" in symbol
        for address in range(start, start + size)
        if (frames := lookup(address)) and not frames[0].line
    ]
    assert of_no_line, "this compiler gives a line to every instruction"
    n_found = sum(lookup.of_sample(address)[0].line > 0 for address in of_no_line)
    assert n_found > 0.9 * len(of_no_line)
    recorded = run_recorded(
        program,
        default_toolchain,
        "--class",
        "small",
        "--threads",
        "2",
        environment={"OMPASS_SAMPLE": str(HZ)},
    )
    lines = report_of(recorded.run_dir)["samples"]["lines"]
    ours = [line for line in lines if "bots::" in (line["function"] or "")]
    assert sum(line["samples"] for line in ours) >= ENOUGH / 4
    assert all(line["line"] for line in ours)


@pytest.mark.parametrize("mode", ["profile", "trace"])
def test_callers_are_found_without_frame_pointers(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain, mode: str
) -> None:
    program = compile_program("samples/shares.c", default_toolchain, flags=("-fomit-frame-pointer",))
    samples = sampled(run_recorded, program, default_toolchain, mode=mode)
    (task,) = [call for call in samples["calls"] if call["owner"] == "task" and call["function"] == "main"]
    assert task["share"] > 0.98, "the body of the task is in main, and calls everything else"


def test_callers_are_found_in_the_kernels_library(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain
) -> None:
    program = compile_program("samples/clock.c", default_toolchain, flags=("-fomit-frame-pointer",))
    samples = sampled(run_recorded, program, default_toolchain, environment={"OMP_NUM_THREADS": "2"})
    calls = [call for call in samples["calls"] if call["owner"] == "task"]
    (asking,) = [call for call in calls if call["function"] == "asks_for_time"]
    assert asking["share"] > 0.97, calls
    assert not any("linux-vdso" in problem for problem in samples.get("problems", []))


@pytest.mark.parametrize("period_ns", [2_000_000, 2_000_000 - 2_000_000 // 97])
def test_tasks_that_alternate_in_the_period_of_the_samples_have_their_shares(
    compile_program: CompileProgram, run_recorded: RunRecorded, default_toolchain: Toolchain, period_ns: int
) -> None:
    program = compile_program("samples/alternates.c", default_toolchain)
    environment = {"OMPASS_SAMPLE": "500"}
    recorded = run_recorded(program, default_toolchain, str(period_ns), "800", environment=environment)
    samples = [s for thread in sampled_threads(recorded.run_dir) for s in thread.samples if s.construct >= 0]
    first = min(sample.construct for sample in samples)
    n_first = sum(sample.weight for sample in samples if sample.construct == first)
    n_all = sum(sample.weight for sample in samples)
    assert n_first / n_all == pytest.approx(0.3, abs=0.12)
    # The tool varies the period; weights make up for it. A thread that loses its processor lengthens gaps.
    assert {sample.weight for sample in samples} <= {1, 2}
    assert n_all / 500 == pytest.approx(800 * period_ns / 1e9, rel=0.12)
    times = [sample.time_ns for sample in samples]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    shortest = [sorted(gaps[k : k + 60])[3] for k in range(0, len(gaps) - 60, 60)]
    assert max(shortest) - min(shortest) > 0.015 * 2_000_000, "all periods are the same"


def test_default_is_100_samples_per_second_of_processor_time(record: Record) -> None:
    recorded = record("samples/shares.c", "600")
    report = report_of(recorded.run_dir)
    assert report["samples"]["frequency_hz"] == 100
    running_s = report["work_cpu"]["running_ns"] / 1e9
    in_tasks = sum(
        owner["samples"] for owner in report["samples"]["owners"] if owner["owner"] in ("task", "implicit")
    )
    assert in_tasks == pytest.approx(100 * running_s, rel=0.1, abs=5)


def test_samples_can_be_switched_off(record: Record) -> None:
    recorded = record("samples/shares.c", "20", environment={"OMPASS_SAMPLE": "off"})
    assert not list(recorded.run_dir.glob("*.samples"))
    assert report_of(recorded.run_dir)["samples"] is None


def test_the_tool_reports_once_that_it_cannot_sample_loads_and_samples_time(record: Record) -> None:
    environment = {"OMPASS_SAMPLE": "loads:5000", "OMP_NUM_THREADS": "2"}
    recorded = record("samples/shares.c", "100", environment=environment)
    check_sound(recorded.run_dir)
    if any(thread.period for thread in sampled_threads(recorded.run_dir)):
        assert ompass("latency", str(recorded.run_dir)).returncode == 0
        return
    lines = [line for line in recorded.process.stderr.splitlines() if "samples of loads" in line]
    assert len(lines) == 1 and lines[0].endswith("Sampling processor time instead.")
    samples = report_of(recorded.run_dir)["samples"]
    assert samples["loads_refusal"].startswith("Loads were not sampled: ")
    assert (samples["frequency_hz"], samples["samples"] > 0) == (100, True)
    refused = ompass("latency", str(recorded.run_dir), status=5)
    assert samples["loads_refusal"].rstrip(".") in refused.stderr


def test_a_killed_program_keeps_its_samples(
    compile_program: CompileProgram, libompass: Path, default_toolchain: Toolchain, tmp_path: Path
) -> None:
    program = compile_program("samples/shares.c", default_toolchain)
    run_dir = tmp_path / "killed.ompass"
    environment = default_toolchain.run_environment(
        {
            "OMP_TOOL_LIBRARIES": str(libompass),
            "OMPASS_DIR": str(run_dir),
            "OMPASS_SAMPLE": str(HZ),
            "OMP_NUM_THREADS": "2",
        }
    )
    with subprocess.Popen([str(program), "1000000"], env=environment) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        process.kill()
    assert sum(len(thread.samples) for thread in sampled_threads(run_dir)) > 100


def test_threads_that_switch_very_often_are_sampled_in_windows(record: Record) -> None:
    # A virtual machine skips most timers of so short turns.
    recorded = record("samples/handovers.c", "16000", threads=2, environment={"OMPASS_SAMPLE": "1000"})
    profile = check_sound(recorded.run_dir)
    if {thread.cpu_source for thread in profile.threads} != {"switches"}:
        pytest.skip("the kernel refuses records of switches")
    by_clock = {thread.thread: thread.by_clock_ns for thread in profile.threads}
    if sum(by_clock.values()) < 200_000_000:
        pytest.skip("the threads switch less than 5,000 times a second on this machine")
    for thread in sampled_threads(recorded.run_dir):
        # The first window begins after 24 ms, the next one after 88 ms.
        assert by_clock[thread.thread] / 2 < thread.window_ns <= by_clock[thread.thread]
        represented_ns = sum(sample.weight for sample in thread.samples) * 1_000_000
        assert 0.05 * by_clock[thread.thread] < represented_ns < 0.75 * by_clock[thread.thread]
    samples = report_of(recorded.run_dir)["samples"]
    assert all(thread["share"] < 0.5 for thread in samples["unsampled"])
    promised = shares_by_line(SOURCES / "handovers.c")
    in_tasks = {
        line["line"]: line["samples"]
        for line in samples["lines"]
        if line["owner"] == "task" and ("handovers.c", line["line"]) in promised
    }
    for (_, line), part in promised.items():
        assert in_tasks.get(line, 0) / sum(in_tasks.values()) == pytest.approx(part, abs=0.25)


def test_a_long_serial_part_is_sampled_to_its_end(record: Record) -> None:
    # Runs for 2 to 4 s. The ring of the first thread has room for a tenth of its samples.
    n_lost: list[int] = []
    while not n_lost or n_lost[-1] <= 100:  # beside other programs, a virtual machine may skip timers
        assert len(n_lost) < 6, f"the program is too short: {n_lost}"
        recorded = record("samples/long_serial.c", environment={"OMPASS_SAMPLE": str(HZ)})
        samples = report_of(recorded.run_dir)["samples"]
        n_lost.append(samples["lost"])
    serial = [line for line in samples["lines"] if line["owner"] == "serial"]
    found = {line["line"]: line["share"] for line in serial if Path(line["file"] or "").name == "spin.h"}
    for (_, number), share in shares_by_line(SOURCES / "spin.h").items():
        assert found[number] == pytest.approx(share, abs=0.12), found


def test_a_thread_without_events_in_a_pause_has_no_samples_of_the_pause(
    record: Record,
) -> None:
    # The clock of the samples has no pauses, and the thread notices the pause only after it. Its ring has
    # room for some 100 samples.
    source = enumerate((SOURCES / "paused.c").read_text().splitlines(), 1)
    phases = {
        number: match[1] for number, line in source if (match := re.search(r"// (\w+) the pause$", line))
    }
    found: list[int] = []  # least number of samples before or after the pause
    while not found or found[-1] <= 10:  # on a busy machine, the thread may get no processor
        assert len(found) < 8, f"the thread had no processor: {found}"
        recorded = record("samples/paused.c", environment={"OMPASS_SAMPLE": "120"})
        check_sound(recorded.run_dir)
        sampled = dict.fromkeys(phases.values(), 0)
        for line in report_of(recorded.run_dir)["samples"]["lines"]:
            if line["line"] in phases and Path(line["file"]).name == "paused.c":
                assert line["owner"] == "implicit"
                sampled[phases[line["line"]]] += line["samples"]
        assert sampled["in"] <= 1
        found.append(min(sampled["before"], sampled["after"]))

# SPDX-License-Identifier: Apache-2.0
"""Programs whose breakdown follows from the length of their spins: each state within 3% or 200 us.

The programs, in tests/programs/answers, print the answer themselves, in the format of answer.h. Because a
busy machine adds time, the quick tests check only the number of tasks of every construct, and that work is at
least the spun time. The slow tests check everything, on an otherwise idle machine. They repeat an attempt
that misses the answer. They fail after three misses without a disturbance, or if attempts are still disturbed
after PATIENCE_S.
"""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import pytest

from ompass import _core
from recorded_run import OUTSIDE, check_identity, task_rows, warm_up_and_after
from toolchains import DEFAULT_TOOLCHAIN, PROGRAMS, TOOLCHAINS, CompileProgram, Record, RunRecorded, Toolchain

Answer = dict[str, int]

CLOCK_ERROR_NS = 1_000  # error of a spin, because program and tool use different clocks
N_TRIES = 3
PATIENCE_S = 90
DISTURBED_NS = 100_000  # least run delay at which a wrong answer does not prove a fault of the tool
RELATIVE_TOLERANCE = 0.03
ABSOLUTE_TOLERANCE_NS = 200_000

# The answers assume that threads wait actively: a sleeping thread wakes late.
ENVIRONMENT = {"OMP_WAIT_POLICY": "active", "OMP_DYNAMIC": "false"}

# program -> toolchains on which it cannot work; task_programs.py gives the reasons for similar programs
LACKS = {"detach": {"gcc-12-libomp-19"}, "ordered_wait": {"clang-19-libomp-15"}}
ANSWERS = sorted(path.stem for path in (PROGRAMS / "answers").glob("*.c"))


def answers_in(stdout: str, word: str) -> list[Answer]:
    """Returns the numbers of every line that begins with `word`."""
    return [
        {name: int(value) for name, value in (pair.split("=") for pair in line.split()[1:])}
        for line in stdout.splitlines()
        if line.startswith(word + " ")
    ]


def is_close(measured_ns: int, expected_ns: int) -> bool:
    return abs(measured_ns - expected_ns) <= max(ABSOLUTE_TOLERANCE_NS, RELATIVE_TOLERANCE * expected_ns)


def measured_states(profile: _core.Run) -> Answer:
    """Returns the thread-time in each state, summed over all regions after the warm-up."""
    _, rows = warm_up_and_after(profile)
    return {
        "work_ns": sum(row.work_ns for row in rows),
        "idle_ns": sum(row.idle_ns for row in rows),
        "sync_ns": sum(row.sync_ns for row in rows),
        "lock_ns": sum(row.lock_ns for row in rows),
        "create_ns": sum(row.create_ns for row in rows),
        "schedule_ns": sum(row.schedule_ns for row in rows),
    }


def measured_constructs(profile: _core.Run) -> list[Answer]:
    """Returns the counts and times of each task construct, for all threads together."""
    by_construct: dict[int, list[_core.ConstructRow]] = defaultdict(list)
    for row in task_rows(profile):
        by_construct[row.construct].append(row)
    return [
        {
            "tasks": sum(row.n_completed for row in rows),
            "work_ns": sum(row.work_ns for row in rows),
            "min_ns": min((row.min_ns for row in rows if row.n_timed), default=0),
            "max_ns": max(row.max_ns for row in rows),
        }
        for rows in by_construct.values()
    ]


def misses(profile: _core.Run, stdout: str) -> list[str]:
    """Returns each time that is too far from the answer. Asserts the numbers of tasks."""
    (states,) = answers_in(stdout, "EXPECT")
    expected = {"create_ns": 0, "schedule_ns": 0} | states
    measured = measured_states(profile)
    found = [
        f"{state}: {measured[state]}, not {expected[state]}"
        for state in measured
        if not is_close(measured[state], expected[state])
    ]
    outside_ns = sum(row.work_ns for row in profile.regions if row.construct == OUTSIDE)
    for outside in answers_in(stdout, "OUTSIDE"):
        if not is_close(outside_ns, outside["work_ns"]):
            found.append(f"work_ns outside of regions: {outside_ns}, not {outside['work_ns']}")

    constructs = sorted(measured_constructs(profile), key=lambda construct: construct["work_ns"])
    answers = sorted(answers_in(stdout, "CONSTRUCT"), key=lambda construct: construct["work_ns"])
    assert [construct["tasks"] for construct in constructs] == [answer["tasks"] for answer in answers]
    for construct, answer in zip(constructs, answers, strict=True):
        found += [
            f"{figure} of {answer['tasks']} tasks: {construct[figure]}, not {answer[figure]}"
            for figure in ("work_ns", "min_ns", "max_ns")
            if not is_close(construct[figure], answer[figure])
        ]
    return found


def shortfalls(profile: _core.Run, stdout: str) -> list[str]:
    """Returns each work time below the answer; noise can only add time. Asserts the numbers of tasks."""
    (states,) = answers_in(stdout, "EXPECT")
    answers = sorted(answers_in(stdout, "CONSTRUCT"), key=lambda answer: answer["tasks"])
    constructs = sorted(measured_constructs(profile), key=lambda construct: construct["tasks"])
    assert [construct["tasks"] for construct in constructs] == [answer["tasks"] for answer in answers]
    n_spins = 1 + sum(answer["tasks"] for answer in answers)
    floors = {"work_ns of regions": (measured_states(profile)["work_ns"], states["work_ns"])}
    for figure in ("work_ns", "min_ns", "max_ns"):
        floors[f"{figure} of all constructs"] = (
            sum(construct[figure] for construct in constructs),
            sum(answer[figure] for answer in answers),
        )
    return [
        f"{name}: {measured}, less than {least}"
        for name, (measured, least) in floors.items()
        if measured < least - n_spins * CLOCK_ERROR_NS
    ]


def recorded_accounts(run_dir: Path, mode: str) -> list[_core.Run]:
    """Returns the profile and, of a trace, the replay; checks that the states add up in both."""
    accounts = [_core.read_profile(str(run_dir))]
    if mode == "trace":
        accounts.append(_core.replay_trace(str(run_dir)))
    for account in accounts:
        check_identity(account)
    return accounts


def check_answer(
    program: str, mode: str, preload: bool, toolchain: Toolchain, run: RunRecorded, compile_: CompileProgram
) -> None:
    # Not optimized, because an unrolled loop has one task construct per copy.
    executable = compile_(f"answers/{program}.c", toolchain, opt_level="-O0")
    n_misses = 0
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        recorded = run(executable, toolchain, mode=mode, preload=preload, environment=ENVIRONMENT)
        stdout = recorded.process.stdout
        found: list[str] = []
        for account in recorded_accounts(recorded.run_dir, mode):
            found += [f"{account.source}: {miss}" for miss in misses(account, stdout)]
        if not found:
            return
        (noise,) = answers_in(stdout, "NOISE")
        n_misses += noise["run_delay_ns"] < DISTURBED_NS
        assert n_misses < N_TRIES, "\n".join(found)
        assert time.monotonic() < give_up_s, "disturbed all the time:\n" + "\n".join(found)


@pytest.mark.parametrize("preload", [False, True], ids=["without-wrappers", "with-wrappers"])
@pytest.mark.parametrize("program", ANSWERS)
def test_work_is_at_least_the_spun_time(program: str, preload: bool, record: Record) -> None:
    for mode in ("profile", "trace"):
        recorded = record(
            f"answers/{program}.c", opt_level="-O0", mode=mode, preload=preload, environment=ENVIRONMENT
        )
        for account in recorded_accounts(recorded.run_dir, mode):
            assert shortfalls(account, recorded.process.stdout) == [], account.source


@pytest.mark.slow
@pytest.mark.parametrize("preload", [False, True], ids=["without-wrappers", "with-wrappers"])
@pytest.mark.parametrize("mode", ["profile", "trace"])
@pytest.mark.parametrize("program", ANSWERS)
def test_breakdown_follows_from_the_spins(
    program: str,
    mode: str,
    preload: bool,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
) -> None:
    check_answer(program, mode, preload, default_toolchain, run_recorded, compile_program)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "toolchain"),
    [
        pytest.param(program, toolchain.name, id=f"{program}-{toolchain.name}")
        for toolchain in TOOLCHAINS
        for program in ANSWERS
        if toolchain.name != DEFAULT_TOOLCHAIN and toolchain.name not in LACKS.get(program, ())
    ],
    indirect=["toolchain"],
)
def test_breakdown_follows_from_the_spins_on_every_toolchain(
    program: str, toolchain: Toolchain, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    # Without wrappers, libomp attributes gcc's tasks to the region if they are created inside its barrier.
    check_answer(program, "trace", toolchain.cc == "gcc-12", toolchain, run_recorded, compile_program)

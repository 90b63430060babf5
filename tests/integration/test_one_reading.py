# SPDX-License-Identifier: Apache-2.0
"""All readers of a trace give a creation the same time, with and without wrappers.

The first tests run programs of tests/programs/spans, whose span is a known share of their work. The programs
compute this share from their measured spins. The tool's span must not be shorter. On a busy machine it may be
longer, because time passes between the spins; then the test repeats the run. A reader that gave a creation
the time of the preceding record would exceed the tolerance: it would find shares of 0.33 for the chain, 0.25
for the fan and 0.54 for the dependent tasks.

The other tests run random programs. Their span must equal the longest path that
tests/support/second_reading.py finds, and all readers must show the same times for each task.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from command import call
from ext_programs import compile_with_ext
from needs import require_toolchain
from ompass import _core
from random_programs import WAYS, all_disagreements, read_again, record
from readers_agree import (
    creations_outside_their_intervals,
    second_reading_differs,
    span_differs,
    task_rows_of,
    task_times_differ,
)
from recorded_run import check_sound, facts_in
from second_reading import Reading
from toolchains import (
    DEFAULT_TOOLCHAIN,
    TOOLCHAINS,
    CompileProgram,
    Record,
    Recorded,
    RunRecorded,
    Toolchain,
    toolchain_named,
)

N_TRIES = 5
CLOCK_ERROR_NS = 200_000  # error of all spins together; program and tool use different clocks


class KnownSpan(NamedTuple):
    """A program of tests/programs/spans, and its span as a share of its work on an idle machine."""

    program: str
    share: float
    tolerance: float


class Measured(NamedTuple):
    span_ns: int
    work_ns: int
    stdout: str


CHAIN = KnownSpan("chain", 1.0, 0.03)
FAN = KnownSpan("fan", (8 * 0.02 + 0.1) / (8 * 0.12), 0.01)
ASIDE = KnownSpan("aside", 1 / 6, 0.02)
DEPENDENT = KnownSpan("dependent", (6 * 0.01 + 2 * 0.005) / (6 * 0.02), 0.02)


def check_share(known: KnownSpan, measure: Callable[[], Measured]) -> None:
    """Checks that in one of several tries the tool finds the share that the program measured."""
    seen = []
    for _ in range(N_TRIES):
        measured = measure()
        (line,) = (line for line in measured.stdout.splitlines() if line.startswith("SPAN "))
        span_ns, work_ns = (int(word.split("=")[1]) for word in line.split()[1:])
        assert span_ns / work_ns >= 0.9 * known.share, "the program does not have the known span"
        # Noise only adds time.
        assert measured.work_ns >= work_ns - CLOCK_ERROR_NS, "work is missing"
        assert measured.span_ns >= span_ns - CLOCK_ERROR_NS, (
            f"a path of {span_ns} ns is known, and the longest path is {measured.span_ns} ns long"
        )
        share = measured.span_ns / measured.work_ns
        if abs(share - span_ns / work_ns) <= known.tolerance:
            return
        seen.append(f"{share:.4f} in place of {span_ns / work_ns:.4f}")
    pytest.fail(f"the span of {known.program} as a share of its work: {', '.join(seen)}")


def measured(recorded: Recorded) -> Measured:
    graph = _core.task_graph(str(recorded.run_dir))
    return Measured(graph.span_ns - graph.span_outside_ns, graph.work_ns, recorded.process.stdout)


@pytest.mark.parametrize("way", WAYS)
def test_the_span_of_a_chain_is_its_work(way: str, toolchain: Toolchain, record: Record) -> None:

    def measure() -> Measured:
        return measured(record("spans/chain.c", toolchain=toolchain, mode="trace", preload=WAYS[way]))

    check_share(CHAIN, measure)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [FAN, DEPENDENT], ids=lambda known: str(known.program))
def test_a_child_begins_when_its_creator_creates_it(known: KnownSpan, way: str, record: Record) -> None:

    def measure() -> Measured:
        return measured(record(f"spans/{known.program}.c", mode="trace", preload=WAYS[way]))

    check_share(known, measure)


@pytest.mark.parametrize("schedule", ["0", "1"], ids=["runtime", "extension"])
def test_stepping_aside_does_not_change_the_span(
    schedule: str, default_toolchain: Toolchain, run_recorded: RunRecorded
) -> None:
    program = compile_with_ext("spans/aside.c", default_toolchain)
    settings = {"OMP_EXT_SCHEDULE": schedule, "OMP_EXT_STRICT": "1", "OMP_EXT_DOMAINS": "2"}

    def measure() -> Measured:
        recorded = run_recorded(program, default_toolchain, mode="trace", preload=True, environment=settings)
        if schedule == "1":
            assert "at once 1\n" not in recorded.process.stdout, "no task stepped aside"
        return measured(recorded)

    check_share(ASIDE, measure)


@pytest.mark.parametrize("known", [CHAIN, FAN, DEPENDENT], ids=lambda known: str(known.program))
def test_the_command_records_and_reads_known_spans(
    known: KnownSpan,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    libompass: Path,
    tmp_path: Path,
) -> None:
    program = compile_program(f"spans/{known.program}.c", default_toolchain)
    environment = default_toolchain.run_environment(
        {"OMPASS_LIBRARY": str(libompass), "OMP_NUM_THREADS": "2"}
    )
    numbers = iter(range(N_TRIES))

    def measure() -> Measured:
        run_dir = tmp_path / f"{next(numbers)}.ompass"
        ran = call(environment, tmp_path, "run", "-q", "--mode", "trace", "-o", run_dir, "--", program)
        report = json.loads(call(environment, tmp_path, "graph", run_dir, "--time", "wall", "--json").stdout)
        assert report["parallelism"] == pytest.approx(report["work_ns"] / report["span_ns"])
        return Measured(report["span_ns"], report["work_ns"], ran.stdout)

    check_share(known, measure)


@pytest.mark.parametrize("way", WAYS)
def test_dependent_tasks_are_created_after_the_work_between_them(way: str, record: Record) -> None:
    run_dir = record("spans/dependent.c", mode="trace", preload=WAYS[way]).run_dir
    created_ns = sorted(row.created_ns for row in task_rows_of(run_dir).values())
    assert len(created_ns) == 12
    for first_ns, of_next_pair_ns in zip(created_ns[0::2], created_ns[2::2], strict=False):
        assert of_next_pair_ns - first_ns >= 9_999_000, "created while its creator was still at work"


@pytest.mark.parametrize("arguments", [(), ("depend",)], ids=lambda words: " ".join(words) or "plain")
@pytest.mark.parametrize("way", WAYS)
def test_a_part_whose_end_is_not_reported_ends_with_its_task(
    way: str, arguments: tuple[str, ...], record: Record
) -> None:
    run_dir = record("spans/last_part.c", *arguments, mode="trace", preload=WAYS[way]).run_dir
    assert _core.validate(str(run_dir)) == []
    assert all_disagreements(run_dir) == []
    reading = read_again(run_dir)
    (task,) = reading.deferred()
    parts = [step for step in task.done if step.what == "work"]
    assert max(part.at[0] for part in parts) == task.end_ns
    assert reading.tasks[task.id].work_ns > 5_000_000


def test_a_profile_has_the_end_of_a_part_that_is_not_reported(record: Record) -> None:
    check_sound(record("spans/last_part.c", mode="profile").run_dir)


# ---------------------------------------------------------------- random programs

OTHERS = [toolchain.name for toolchain in TOOLCHAINS if toolchain.name != DEFAULT_TOOLCHAIN]
CASES = [(seed, DEFAULT_TOOLCHAIN) for seed in (20, 21, 22, 36)] + [
    (40 + number, name) for number, name in enumerate(OTHERS)
]


class RandomRun(NamedTuple):
    run_dir: Path
    facts: dict[str, int]
    reading: Reading


@pytest.fixture(scope="module")
def random_run(
    libompass: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int, str, str], RandomRun]:
    """Returns a function that records the program of a seed, once for all tests."""

    @cache
    def run(seed: int, name: str, way: str) -> RandomRun:
        toolchain = require_toolchain(toolchain_named(name))
        workspace = tmp_path_factory.mktemp(f"random-{seed}")
        recorded = record(seed, toolchain, WAYS[way], libompass, workspace)
        run_dir = recorded.run_dir
        return RandomRun(run_dir, facts_in(recorded.process.stdout), read_again(run_dir))

    return run


random_cases = pytest.mark.parametrize(
    ("seed", "name", "way"),
    [pytest.param(seed, name, way, id=f"{seed}-{name}-{way}") for seed, name in CASES for way in WAYS],
)


def assert_none(found: list[str]) -> None:
    assert not found, "\n".join(found[:10] + ([f"and {len(found) - 10} more"] if len(found) > 10 else []))


@random_cases
def test_every_task_of_a_random_program_is_read(random_run: Any, seed: int, name: str, way: str) -> None:
    run = random_run(seed, name, way)
    assert _core.validate(str(run.run_dir)) == []
    # A taskloop creates one additional undeferred task.
    assert len(run.reading.deferred()) + run.reading.n_undeferred >= run.facts["tasks"]
    assert all(task.end_ns >= task.start_ns >= task.created_ns >= 0 for task in run.reading.deferred())


@random_cases
def test_the_span_is_the_longest_path(random_run: Any, seed: int, name: str, way: str) -> None:
    run = random_run(seed, name, way)
    assert_none(span_differs(run.run_dir, run.reading))


@random_cases
def test_a_task_has_the_same_times_in_sql_graph_and_timeline(
    random_run: Any, seed: int, name: str, way: str
) -> None:
    assert_none(task_times_differ(random_run(seed, name, way).run_dir))


@random_cases
def test_sql_agrees_with_the_records_of_tasks(random_run: Any, seed: int, name: str, way: str) -> None:
    run = random_run(seed, name, way)
    assert_none(second_reading_differs(run.run_dir, run.reading))


@random_cases
def test_a_creation_lies_in_the_interval_that_dump_gives(
    random_run: Any, seed: int, name: str, way: str
) -> None:
    assert_none(creations_outside_their_intervals(random_run(seed, name, way).run_dir))

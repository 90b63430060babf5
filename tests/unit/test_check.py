# SPDX-License-Identifier: Apache-2.0
"""`ompass check`: its verdicts on simulated noise, its exit statuses, and its files for services."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from made_jobs import rank_content
from made_runs import MS
from ompass.check import content as check_content
from ompass.check import execute
from ompass.check.content import (
    UNPREEMPTED,
    CheckContent,
    Evidence,
    Figure,
    Measured,
    changed,
    collect_check,
    evidence_of,
    measured,
    recorded_before,
    verdict_of,
)
from ompass.check.execute import TRACED_ROUNDS, Limits, Source, gather, recorded_directories
from ompass.check.exports import bencher_check, benchmark_check, junit_check, markdown_check
from ompass.check.report import check_report, times_table
from ompass.check.verdict import (
    FALSE_WORSE,
    LEAST_REPEATS,
    MOST_ROUNDS,
    Judgement,
    judge,
    looks,
    rounds_needed,
)
from ompass.errors import UsageError
from ompass.launch.recorder import RecordedRun
from ompass.metrics.significance import Ratio, least_groups_p
from ompass.reports.model import plain
from unit.test_commands import call, error_of

SECOND = 10**9


def times_of(chance: random.Random, n: int, factor: float, noise: float) -> list[float]:
    """Returns noisy times with a tail of long ones."""
    return [factor * math.exp(chance.gauss(0, noise / 2) + chance.expovariate(1) * noise) for _ in range(n)]


def decided(chance: random.Random, factor: float, noise: float, drift: float) -> str:
    """Returns the verdict on rounds of a drifting machine. Judges them as often as the command does."""
    planned = looks(MOST_ROUNDS)
    level = 0.0
    before: list[float] = []
    after: list[float] = []
    for n in range(1, MOST_ROUNDS + 1):
        level = 0.8 * level + chance.gauss(0, drift)
        before += times_of(chance, 1, math.exp(level), noise)
        after += times_of(chance, 1, factor * math.exp(level), noise)
        if n in planned:
            verdict = judge(before, after, 0.02, len(planned), True).verdict
            if verdict != "open":
                return verdict
    return "open"


def test_looks_become_rarer_and_end_at_the_limit() -> None:
    assert looks(40) == (7, 10, 14, 20, 28, 40)
    assert looks(30) == (7, 10, 14, 20, 30)
    assert looks(LEAST_REPEATS) == (LEAST_REPEATS,)
    assert looks(8) == (8,)


@pytest.mark.parametrize("repeats", [LEAST_REPEATS, 8, 10, 20, 40, 100])
def test_quiet_rounds_decide_early(repeats: int) -> None:
    planned = looks(repeats)

    def verdict(n: int, factor: float) -> str:
        before = [100 + k / 100 for k in range(n)]
        after = [t * factor for t in before[1:] + before[:1]]
        return judge(before, after, 0.02, len(planned), True).verdict

    assert verdict(planned[0], 1.0) == "not worse"
    assert verdict(planned[0], 0.9) in ("better", "not worse")
    assert verdict(planned[:2][-1], 1.1) == "worse"
    assert verdict(planned[:2][-1], 1.01) == "not worse", "less than the minimum difference"


def test_the_least_number_of_rounds_can_decide() -> None:
    assert least_groups_p(LEAST_REPEATS, LEAST_REPEATS) / 2 <= FALSE_WORSE
    assert least_groups_p(LEAST_REPEATS - 1, LEAST_REPEATS - 1) / 2 > FALSE_WORSE


def test_equal_programs_are_not_worse_but_three_percent_more_time_is() -> None:
    chance = random.Random(4)
    equal = [decided(chance, 1.0, 0.02, 0.01) for _ in range(100)]
    more = [decided(chance, 1.03, 0.02, 0.01) for _ in range(50)]
    assert equal.count("worse") == 0
    assert equal.count("open") <= 10
    assert more.count("worse") >= 45
    assert more.count("not worse") == 0


def test_looking_often_does_not_make_equal_programs_worse() -> None:
    chance = random.Random(5)
    planned = looks(160)
    wrong = 0
    for _ in range(200):
        before, after = times_of(chance, 160, 1.0, 0.1), times_of(chance, 160, 1.0, 0.1)
        # A minimum difference would hide the errors of the test.
        wrong += any(
            judge(before[:n], after[:n], 0.0, len(planned), True).verdict == "worse" for n in planned
        )
    assert wrong <= 2, "0.1% of 200 is 0.2"


def test_too_much_noise_leaves_the_verdict_open_and_names_the_rounds_needed() -> None:
    chance = random.Random(6)
    before, after = times_of(chance, 20, 1.0, 0.2), times_of(chance, 20, 1.0, 0.2)
    judgement = judge(before, after, 0.02, 5, True)
    assert judgement.verdict == "open"
    assert rounds_needed(judgement, 20) > 200
    few = judge(before[:3], after[:3], 0.02, 5, True)
    assert (few.verdict, rounds_needed(few, 3)) == ("open", 6)


def test_series_with_much_noise_are_open() -> None:
    chance = random.Random(9)
    before, after = times_of(chance, 20, 1.0, 0.3), times_of(chance, 20, 1.0, 0.3)
    assert judge(before, after, 0.02, 1, alternating=False).verdict == "open", "a drift may hide a change"
    spread = [1 + (7 * k % 60) / 1200 for k in range(60)]
    tight = judge(spread, spread[::-1], 0.02, 1, alternating=False)
    assert tight.ratio.high < 1.02 < 1 + tight.minimum
    assert tight.verdict == "open", "many runs do not remove a drift"
    quiet = [1 + k / 10_000 for k in range(20)]
    assert judge(quiet, quiet[::-1], 0.02, 1, alternating=False).verdict == "not worse"


def test_a_difference_between_series_must_exceed_a_drift() -> None:
    before = [1.00, 1.04, 1.01, 1.08, 1.02, 1.06, 1.03, 1.05] * 3
    after = [t * 1.05 for t in before]
    assert judge(before, after, 0.02, 1, alternating=True).verdict == "worse"
    assert judge(before, after, 0.02, 1, alternating=False).verdict != "worse"
    assert judge(before, [t * 1.3 for t in before], 0.02, 1, alternating=False).verdict == "worse"


def run(
    time_s: float, start: int, *, work_s: float = 0.1, disturbed: bool = False, tasks: int = 100
) -> Measured:
    times = {"time": round(time_s * SECOND), "work on processors": round(work_s * SECOND)}
    return Measured(times, {"tasks": tasks, "loops": 0}, disturbed, start)


def rounds(
    n: int, factor: float, *, noise: float = 0.001, work: float = 1.0, disturbed: bool = False
) -> list[list[Measured]]:
    """Returns n rounds. The second side takes `factor` times the time and does `work` times the work."""
    chance = random.Random(7)
    sides: list[list[Measured]] = [[], []]
    for k in range(2 * n):
        later = k % 2
        (time_s,) = times_of(chance, 1, factor if later else 1.0, noise)
        work_s = (0.1 + k // 2 / 1e5) * (work if later else 1.0)
        sides[later].append(run(time_s, k, work_s=work_s, disturbed=disturbed, tasks=100 + later))
    return sides


def evidence(sides: Sequence[Sequence[Measured]]) -> Evidence:
    return evidence_of(sides, ([], []), 0.02, 5)


def test_each_verdict_has_its_exit_status() -> None:
    def found(sides: Sequence[Sequence[Measured]]) -> tuple[int, str]:
        verdict = verdict_of(evidence(sides))
        return verdict.status, verdict.kind

    assert found(rounds(20, 1.0)) == (0, "not worse")
    assert found(rounds(20, 1.05)) == (1, "worse")
    assert found(rounds(20, 0.95)) == (0, "better")
    assert found(rounds(20, 1.0, noise=0.5)) == (2, "noisy")
    assert found(rounds(20, 1.0, noise=0.5, disturbed=True)) == (2, "disturbed")
    assert found(rounds(1, 1.0)) == (2, "single")
    assert found(rounds(20, 1.05, disturbed=True)) == (1, "worse"), "alternating sides share the disturbance"


def test_work_decides_only_that_a_program_is_worse() -> None:
    worse = verdict_of(evidence(rounds(20, 1.0, noise=0.5, work=1.05, disturbed=True)))
    assert (worse.status, worse.kind) == (1, "worse")
    assert "work" in worse.because
    faster = verdict_of(evidence(rounds(20, 0.9, work=1.05)))
    assert (faster.status, faster.kind) == (0, "better"), "the time decides if it can"
    assert verdict_of(evidence(rounds(20, 1.0, noise=0.5, work=0.5))).status == 2


def preempted(n: int, *, factor: float = 1.0, longer: float = 1.0, disturbed: bool = True) -> Evidence:
    """Returns the evidence of n rounds of a program that runs for 0.1 s and is preempted for 0 to 0.1 s.

    The second side runs `factor` times as long, and is preempted `longer` times as long.
    """
    chance = random.Random(3)
    sides: list[list[Measured]] = [[], []]
    for k in range(2 * n):
        own_s = times_of(chance, 1, 0.1 * (factor if k % 2 else 1.0), 0.001)[0]
        lost_s = chance.random() * 0.1 * (longer if k % 2 else 1.0)
        times = {"time": round((own_s + lost_s) * SECOND), UNPREEMPTED: round(own_s * SECOND)}
        sides[k % 2].append(Measured(times, {}, disturbed, k))
    return evidence_of(sides, ([], []), 0.02, 5)


def test_the_time_without_preemption_may_show_that_a_program_is_not_worse() -> None:
    found = preempted(20)
    verdict = verdict_of(found)
    assert (verdict.status, verdict.kind, found.is_certain) == (0, "not worse", True)
    assert "time without preemption" in verdict.because
    assert verdict_of(preempted(20, factor=1.03)).status == 2
    assert verdict_of(preempted(20, longer=2.0)).status == 2, "the change may cause the preemption"
    assert verdict_of(preempted(20, disturbed=False)).status == 2
    assert not preempted(20, disturbed=False).is_certain


def test_an_open_verdict_says_what_to_do() -> None:
    assert "more time" in verdict_of(evidence(rounds(4, 1.0, noise=0.5))).cure
    assert "more rounds" in verdict_of(evidence(rounds(20, 1.0, noise=0.5))).cure
    in_series = rounds(20, 1.0, noise=0.5)
    in_series[1] = [Measured(r.times, r.counts, r.disturbed, r.start_ns + 1000) for r in in_series[1]]
    assert "alternate" in verdict_of(evidence(in_series)).cure
    disturbed = collect_check("x", "a", "b", evidence(rounds(20, 1.0, noise=0.5, disturbed=True)))
    assert disturbed.verdict.kind == "disturbed"
    assert "repeat the check on a quiet machine" in disturbed.verdict.cure
    assert any("work on processors is not worse" in note for note in disturbed.notes)
    assert f"directory of at least {LEAST_REPEATS} runs" in verdict_of(evidence(rounds(1, 1.0))).cure
    short = evidence_of(rounds(1, 1.0), ([], []), 0.02, 5, alternating=True, repeatable=True)
    assert "more time" in verdict_of(short).cure


def content(factor: float = 1.05, name: str = "fib|30 <b>") -> CheckContent:
    sides = rounds(20, factor)
    traced = [[Measured({"work on processors": 4000, "span": 1000}, {"tasks": n}, False)] for n in (100, 101)]
    return collect_check(name, "./old", "./new `x`", evidence_of(sides, traced, 0.02, 5))


def test_counts_are_exact_and_traces_add_span_and_parallelism() -> None:
    found = content()
    values = plain(check_report(found))
    assert values["counts"] == [
        {"figure": "tasks", "verdict": "different", "values_before": [100] * 21, "values_after": [101] * 21}
    ]
    assert values["traced_times"][0]["figure"] == "span"
    assert values["parallelism"] == {"before": 4, "after": 4}
    assert any("tasks" in note for note in found.notes)
    assert json.loads(json.dumps(values, allow_nan=False))["status"] == 1


def test_markdown_escapes_the_name_and_the_commands_of_the_program() -> None:
    text = markdown_check(content())
    assert text.startswith("### ❌ fib\\|30 \\<b\\>: worse\n")
    assert "``./new `x` ``" in text.replace("`` ./new", "``./new")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any(line.startswith("| time | 1.00 s | 1.05 s | +5.") for line in rows)
    assert markdown_check(content(1.0)).startswith("### ✅")


def test_junit_has_a_failure_only_if_the_program_is_worse() -> None:
    suite = ElementTree.fromstring(junit_check(content(name="fib \x1b\x00 \ufffe")).partition("\n")[2])
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "1", "0")
    assert "longer" in str(suite.find("testcase/failure").get("message"))  # type: ignore[union-attr]
    equal = ElementTree.fromstring(junit_check(content(1.0)).partition("\n")[2])
    assert equal.find("testcase/failure") is None
    noisy = collect_check("x", "a", "b", evidence(rounds(20, 1.0, noise=0.5)))
    assert ElementTree.fromstring(junit_check(noisy).partition("\n")[2]).find("testcase/skipped") is not None


def test_services_get_the_times_of_the_new_program() -> None:
    entries = json.loads(benchmark_check(content(name="fib")))
    assert {entry["name"] for entry in entries} == {"fib: time", "fib: work on processors", "fib: span"}
    assert all(set(entry) == {"name", "unit", "value", "range", "extra"} for entry in entries)
    assert entries[0]["value"] == pytest.approx(1050, rel=0.02)
    measures = json.loads(bencher_check(content(name="fib")))["fib"]
    assert measures["latency"]["value"] == pytest.approx(1.05 * SECOND, rel=0.02)
    for measure in measures.values():
        assert measure["lower_value"] <= measure["value"] <= measure["upper_value"]


class FakeRecorder:
    """Records nothing, and logs the side and mode of each run."""

    def __init__(self, log: list[tuple[str, str]], side: str) -> None:
        self.log, self.side = log, side

    def record(self, directory: Path, mode: str = "profile") -> tuple[str, int]:
        self.log.append((self.side, mode))
        return self.side, len(self.log)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Lists the runs of gather() in order. A run takes 1 s on the side before and 1.1 s on the side after."""

    def measure(recorded: tuple[str, int], by_process: bool) -> Measured:
        side, start = recorded
        return run((1.1 if side == "after" else 1.0) + start / 1e6, start)

    monkeypatch.setattr(execute, "measured", measure)
    return []


def sources(log: list[tuple[str, str]]) -> list[Source]:
    return [Source(side, FakeRecorder(log, side)) for side in ("before", "after")]  # type: ignore[arg-type]


def test_both_sides_run_in_rounds_until_the_verdict_is_certain(
    log: list[tuple[str, str]], tmp_path: Path
) -> None:
    found = gather(sources(log), Limits(40, 600, 0.02, True), tmp_path, chance=random.Random(8))
    assert verdict_of(found).kind == "worse"
    assert (found.n_before, found.n_after) == (10, 10), "the second look is enough"
    assert [mode for _, mode in log] == ["trace"] * 2 * TRACED_ROUNDS + ["profile"] * 20
    sides = [side for side, _ in log]
    assert all({a, b} == {"before", "after"} for a, b in zip(sides[::2], sides[1::2], strict=True))
    assert 0 < sides[::2].count("before") < len(sides) / 2, "the order is random"


def test_the_time_limit_ends_the_rounds(log: list[tuple[str, str]], tmp_path: Path) -> None:
    found = gather(sources(log), Limits(40, 0, 0.02, False), tmp_path)
    assert (found.n_before, found.n_after) == (1, 1)
    assert verdict_of(found).status == 2


@pytest.mark.parametrize("keep", [True, False])
def test_recordings_are_kept_only_on_request(
    log: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: bool
) -> None:
    def record(self: FakeRecorder, directory: Path, mode: str = "profile") -> RecordedRun:
        directory.mkdir()
        return RecordedRun((directory,), 1, 1)

    monkeypatch.setattr(FakeRecorder, "record", record)
    monkeypatch.setattr(execute, "measured", lambda *_: run(1.0, 0))
    gather(sources(log), Limits(7, 600, 0.02, False), tmp_path, keep=keep)
    assert len(list(tmp_path.glob("*/*.ompass"))) == (14 if keep else 0)


def test_ranks_of_a_job_are_one_recorded_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = [
        rank_content(tmp_path, rank, work_ms=10 + rank, start_ms=100 * job, launch=f"job{job}").run
        for job in range(2)
        for rank in range(2)
    ]
    monkeypatch.setattr(check_content, "open_run", {run.path: run for run in ranks}.__getitem__)
    found = recorded_before([run.path for run in ranks])
    assert [(one.times["time"], one.counts["ranks"]) for one in found] == [(11 * MS, 2)] * 2


@pytest.mark.parametrize("one_is_recorded", [False, True])
def test_both_sides_use_the_times_in_recordings_if_one_side_was_recorded_before(
    log: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_is_recorded: bool
) -> None:
    made = rank_content(tmp_path, None, work_ms=10).run
    monkeypatch.setattr(check_content, "open_run", lambda _: made)
    monkeypatch.setattr(execute, "measured", measured)
    monkeypatch.setattr(FakeRecorder, "record", lambda *_: RecordedRun((made.path,), 15 * MS, 7 * MS))
    before, after = sources(log)
    if one_is_recorded:
        before = Source("before", None, (made.path,) * 2)
    found = gather([before, after], Limits(7, 600, 0.02, False), tmp_path / "new").figure("time")
    assert found is not None
    assert {*found.before, *found.after} == {10 * MS if one_is_recorded else 15 * MS}


def test_run_directories_are_found(tmp_path: Path) -> None:
    for name in ("b.ompass", "a.ompass", "other"):
        (tmp_path / name).mkdir()
    for name in ("a.ompass", "b.ompass"):
        (tmp_path / name / "meta.json").touch()
    assert [path.name for path in recorded_directories(tmp_path)] == ["a.ompass", "b.ompass"]
    assert recorded_directories(tmp_path / "a.ompass") == (tmp_path / "a.ompass",)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["a 'b", "--", "x"], "quote it"),
        (["", "--", "x"], "is empty"),
        (["true", "--time", "long", "--", "x"], "--time-limit long"),
        (["true", "--min-difference", "0", "--", "x"], "write a percentage such as 2%"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], complaint: str) -> None:
    error = error_of(call("check", *arguments))
    assert isinstance(error, UsageError)
    assert complaint in error.one_line()


def test_directories_without_runs_are_refused(tmp_path: Path) -> None:
    assert "contains no runs" in error_of(call("check", tmp_path, "--", "true")).one_line()


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(1.031, 1.02, 1.042), "3.1% longer, between +2.0% and +4.2%"),
        (Ratio(0.4, 0.0, 0.417), "60.0% shorter, at least 58.3%"),
        (Ratio(0.995, 0.0, 1.012), "0.5% shorter, at most 1.2% longer"),
        (Ratio(1.5, 1.4, math.inf), "50.0% longer, at least 40.0%"),
        (Ratio(1.01, 0.98, math.inf), "1.0% longer, at most 2.0% shorter"),
        (Ratio(1.01, 0.0, math.inf), "1.0% longer, in too few runs for a confidence interval"),
    ],
)
def test_a_verdict_states_the_limits_that_are_known(ratio: Ratio, text: str) -> None:
    assert changed(Judgement(ratio, 0.02, "open")) == text


@pytest.mark.parametrize(
    ("ratio", "shown", "interval"),
    [
        (Ratio(0.995, 0.98, 1.012), "-2.0% and +1.2%", [0.98, 1.012]),
        (Ratio(0.995, 0.0, 1.012), "? and +1.2%", [None, 1.012]),
        (Ratio(1.5, 1.4, math.inf), "+40.0% and ?", [1.4, None]),
        (Ratio(1.01, 0.0, math.inf), None, None),
    ],
)
def test_a_table_marks_unknown_limits(
    ratio: Ratio, shown: str | None, interval: list[float | None] | None
) -> None:
    table = times_table([Figure("time", (1, 1), (1, 1), Judgement(ratio, 0.02, "open"))])
    (row,) = plain(table)
    assert row["ratio_interval"] == interval
    assert table.rows[0][[column.title for column in table.columns].index("between")] == shown

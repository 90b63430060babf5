# SPDX-License-Identifier: Apache-2.0
"""The report on a sweep: verdict, scaling, thread-time, factored speed-up with gaps, inflation by construct.

docs/scaling.md lists the fields of its JSON form.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ompass import __version__
from ompass.metrics import thresholds
from ompass.metrics.breakdown import Scope
from ompass.model import STATES, share, shown_states
from ompass.reports.model import (
    Advice,
    Column,
    Kind,
    Report,
    Section,
    Table,
    csv_rows,
    data,
    fields,
    plain,
    sentence,
)
from ompass.reports.remarks import NOTE, WARNING, Remark
from ompass.scaling.content import NumberOfThreads, Place, ScalingContent
from ompass.scaling.metrics import CURVES, Inflation
from ompass.scaling.verdict import WORDS
from ompass.units import count, duration, in_sentence, percent, plural

SCHEMA_VERSION: Final = 1
CSV_TABLES: Final = ("points", "constructs")

_MOST_CONSTRUCTS: Final = 10
_OF_ALL: Final = "share of the time that grew"
_UNRECORDED: Final = "speed-up unrecorded"  # the title of a column, which a note names


def scaling_report(content: ScalingContent) -> Report:
    """Returns the whole report on a sweep."""
    judged, spec = content.judged, content.spec
    rounds = max(column.n_rounds for column in content.columns)
    return Report(
        title=f"ompass scale · {' '.join(spec.command)}",
        facts=(
            plural(rounds, "round"),
            "all parallel regions" if content.scope is Scope.REGIONS else "the whole program",
            content.directory,
        ),
        sections=tuple(_sections(content)),
        notes=(*_notes(content), *_warnings(content)),
        values={
            "schema": "ompass-scale",
            "schema_version": SCHEMA_VERSION,
            "ompass_version": __version__,
            "directory": content.directory,
            "command": spec.command,
            "baseline": spec.baseline or None,
            "elision": spec.elision or None,
            "scope": content.scope.value,
            "cpus": content.n_cpus,
            "pinned": spec.pinned,
            "points": _points(content),
            "judged_threads": judged.point.threads if judged else None,
            "verdict": _verdict_fields(judged) if judged and judged.verdict else None,
            "gaps": Table.of("", fields("name upper lower size meaning"), content.gaps),
            "bends": content.bends,
        },
    )


def sweep_remarks(content: ScalingContent) -> Iterator[Remark]:
    """Yields the verdict for editors and code hosts: a warning, or a note if the program scales.

    Yields nothing for a sweep on one thread.
    """
    judged = content.judged
    if judged is None or judged.verdict is None:
        return
    verdict = judged.verdict
    loss = next((loss for loss in verdict.losses if loss.kind == verdict.kind), None)
    yield Remark(
        verdict.kind,
        NOTE if verdict.kind == "scales" else WARNING,
        f"{verdict.title} (on {judged.point.threads} threads)",
        verdict.because,
        verdict.cure,
        judged.location,
        of_whole=False,
        cost_ns=int(loss.ns) if loss else 0,
        share=loss.share if loss else 0.0,
        numbers={"threads": judged.point.threads, "efficiency": judged.point.efficiency},
        source=content.directory,
    )


def brief_scaling(content: ScalingContent) -> Report:
    """Returns the part of the report that most readers need: the verdict, one table, and next commands."""
    whole = scaling_report(content)
    verdicts = [section for section in whole.sections if section.key == "verdict"]
    parts: list[str | Advice | Table] = [_brief_points(content), *_of_program(content)]
    table = Section("scaling", "Speed-up, and where the thread-time went", tuple(parts))
    return replace(
        whole,
        sections=(*verdicts, table),
        notes=tuple(_warnings(content)),
        commands=tuple(_next_commands(content)),
    )


def _of_program(content: ScalingContent) -> Iterator[str]:
    """Yields the speed-up of the whole program in words, if it differs from the speed-up of the regions."""
    judged, first = content.judged, content.columns[0]
    if content.scope is not Scope.REGIONS or judged is None or first.point.threads != 1:
        return
    if not (first.program_ns and judged.program_ns):
        return
    speedup = first.program_ns / judged.program_ns
    if abs(speedup - judged.point.speedup) > thresholds.UNLIKE_PROGRAM * judged.point.speedup:
        times = f"{duration(first.program_ns)} on 1 thread, and {duration(judged.program_ns)}"
        yield (
            f"These are times in parallel regions. The whole program took {times} on {judged.point.threads}: "
            f"speed-up {speedup:.2f}."
        )


def _brief_points(content: ScalingContent) -> Table:
    unrecorded = Column("", _UNRECORDED, Kind.RATIO, _recording("unrecorded_speedup"))
    return Table.of(
        "Scaling",
        (
            Column("", "threads", Kind.COUNT, "point.threads"),
            Column("", "time", Kind.TIME, "point.time_ns"),
            Column("", "speed-up", Kind.RATIO, "point.speedup"),
            *([unrecorded] if any(column.recording for column in content.columns) else []),
            *(Column("", state, Kind.SHARE, _state_share(state), look=state) for state in _shown(content)),
        ),
        content.columns,
        most=64,
    )


def _next_commands(content: ScalingContent) -> Iterator[tuple[str, str]]:
    """Yields the next commands, each with its purpose."""
    judged = content.judged
    is_sweep = not content.directory.startswith("--from ")
    first, last = (f" -o {shlex.quote(content.directory)}", "") if is_sweep else ("", f" {content.directory}")
    if (
        judged is not None
        and judged.verdict is not None
        and judged.verdict.kind not in ("scales", "disturbed")
    ):
        threads = judged.point.threads
        command = shlex.join(word.replace("{threads}", str(threads)) for word in content.spec.command)
        yield f"ompass run -t {threads} -- {command}", "its findings, and the gain of changes"
    yield f"ompass scale{first} --html scale.html{last}", "curves and sources on a page"
    yield f"ompass scale{first} --full{last}", "all tables and notes"


def csv_scaling(content: ScalingContent, table: str) -> str:
    """Returns one of CSV_TABLES."""
    points = plain(_points(content))
    if table == "points":
        return csv_rows(points)
    return csv_rows([{"threads": point["threads"], **row} for point in points for row in point["constructs"]])


def _sections(content: ScalingContent) -> Iterator[Section]:
    judged = content.judged
    if judged is not None and judged.verdict is not None:
        verdict = judged.verdict
        advice = Advice(
            f"{verdict.title} (on {judged.point.threads} threads)",
            verdict.because,
            verdict.cure,
            judged.finding_place,
            f"Also: {'; '.join(map(in_sentence, verdict.also))}." if verdict.also else "",
            good=verdict.kind == "scales",
        )
        yield Section("verdict", "Verdict", (advice,))
    yield Section("scaling", "Scaling", (_points(content),))
    yield Section("sweep-time", "Where the thread-time went", (_states(content),))
    said = [
        f"{gap.name}, {gap.upper} to {gap.lower} on {judged.point.threads} threads: {gap.size:.2f}. "
        f"{sentence(gap.meaning)}"
        for gap in content.gaps
        if judged is not None
    ]
    yield Section("speedup", "Factored speed-up", (_curves(content), *said, *content.bends))
    if judged is not None and judged.causes is not None:
        yield Section("causes", "Why the work takes longer", tuple(_causes_shown(judged)))
    if judged is not None and judged.inflation:
        yield Section("inflation", "Inflation by construct", (_inflation(judged),))


def _points(content: ScalingContent) -> Table:
    """Returns a row per number of threads, without its verdict."""
    recorded: tuple[Column, ...] = ()
    if any(column.recording for column in content.columns):
        recorded = (
            Column("", _UNRECORDED, Kind.RATIO, _recording("unrecorded_speedup")),
            Column("", "cost of recording", Kind.RATIO, _recording("factor")),
        )
    return Table.of(
        "Scaling",
        (
            Column("threads", "threads", Kind.COUNT, "point.threads"),
            Column("time_ns", "time", Kind.TIME, "point.time_ns", "mean of the rounds"),
            Column("", "from", Kind.TIME, lambda c: c.spreads["time_ns"][0], "shortest of the rounds"),
            Column("", "to", Kind.TIME, lambda c: c.spreads["time_ns"][1], "longest of the rounds"),
            Column("speedup", "speed-up", Kind.RATIO, "point.speedup"),
            Column("", "least", Kind.RATIO, lambda c: c.spreads["speedup"][0], "of the rounds"),
            Column("", "most", Kind.RATIO, lambda c: c.spreads["speedup"][1], "of the rounds"),
            Column(
                "efficiency", "efficiency", Kind.SHARE, "point.efficiency", "speed-up over number of threads"
            ),
            Column("ovr", "OVR", Kind.RATIO, "point.ovr", "thread-time over work"),
            Column("wti", "WTI", Kind.RATIO, "point.wti", "work over the serial program's time"),
            *recorded,
            *fields("rounds=n_rounds rounds_left_out=n_left_out others_share=others threads_seen=n_seen"),
            data("thread_time_ns", "point.thread_time_ns"),
            *(data(f"{state}_ns", f"point.states.{state}_ns") for state in STATES),
            data("one_thread_time_ns", "point.one_time_ns"),
            *(data(f"one_thread_{state}_ns", f"point.one.{state}_ns") for state in STATES),
            data("serial_ns", "point.serial_ns"),
            data("serial_is", lambda c: "baseline" if c.point.has_baseline else "work on one thread"),
            *fields("elision_ns=point.elision_ns inflation_ns=point.inflation_ns"),
            *fields(
                "work_inflation_ns=point.work_inflation_ns runtime_inflation_ns=point.runtime_inflation_ns"
            ),
            data("curves", lambda c: {name: c.point.curve(name) for name in CURVES}),
            data("spread", lambda c: {name: {"low": b[0], "high": b[1]} for name, b in c.spreads.items()}),
            data("unrecorded", _unrecorded),
            data("constructs", _inflation),
            data("causes", lambda c: _causes(c) if c.causes else ()),
            data("lines", lambda c: _lines(c) if c.causes else ()),
        ),
        content.columns,
        most=64,
    )


def _recording(name: str) -> Any:
    return lambda column: getattr(column.recording, name) if column.recording else None


def _unrecorded(column: NumberOfThreads) -> dict[str, Any] | None:
    cost = column.recording
    if cost is None:
        return None
    return {
        "speedup": cost.unrecorded_speedup,
        "recording_cost": cost.factor,
        "against": "baseline" if cost.against_baseline else "one thread",
    }


def _states(content: ScalingContent) -> Table:
    return Table.of(
        "Thread-time by number of threads",
        (
            Column("", "threads", Kind.COUNT, "point.threads"),
            Column("", "thread-time", Kind.TIME, "point.thread_time_ns"),
            *(Column("", state, Kind.SHARE, _state_share(state), look=state) for state in _shown(content)),
            Column("", "", Kind.STATES, "point.states", scaled=True),
        ),
        content.columns,
        most=64,
    )


def _shown(content: ScalingContent) -> tuple[str, ...]:
    return shown_states(*(column.point.states for column in content.columns))


def _state_share(state: str) -> Any:
    return lambda column: share(getattr(column.point.states, f"{state}_ns"), column.point.thread_time_ns)


def _curves(content: ScalingContent) -> Table:
    shown = [n for n in CURVES if any(c.point.curve(n) is not None for c in content.columns)]
    return Table.of(
        "Speed-up without each cause",
        (
            Column("", "threads", Kind.COUNT, "point.threads"),
            *(Column("", name, Kind.RATIO, partial(_curve, name)) for name in shown),
            Column("", "T_s", Kind.TIME, "point.serial_ns", "time of the serial program"),
            Column("", "T_1", Kind.TIME, "point.one_time_ns", "time on one thread"),
            Column("", "T_P", Kind.TIME, "point.time_ns", "time"),
            Column("", "I_P", Kind.TIME, "point.states.idle_ns", "idle time"),
            Column("", "F_P", Kind.TIME, "point.inflation_ns", "inflation"),
        ),
        content.columns,
        most=64,
    )


def _curve(name: str, column: NumberOfThreads) -> float | None:
    return column.point.curve(name)


def _inflation(column: NumberOfThreads) -> Table:
    """Returns work compared with one thread, by construct. Kernels run inside tasks, so sums omit them."""
    grown_ns = sum(max(row.excess_ns, 0) for row in column.inflation if row.key.kind != "kernel")
    unequal = any(not row.same_work for row in column.inflation)
    return Table.of(
        "Inflation by construct",
        (
            Column("", "construct", Kind.NAME, lambda r: r.key.label() + ("" if r.same_work else " *")),
            data("kind", "key.kind"),
            *(data(name, partial(_known, name)) for name in ("function", "file", "line", "module", "offset")),
            Column("one_thread_work_ns", "on one", Kind.TIME, "one_work_ns", "work on one thread"),
            Column("work_ns", f"on {column.point.threads}", Kind.TIME, hint="work on that many threads"),
            Column("", "factor", Kind.RATIO, lambda row: row.factor if row.one_work_ns else None),
            data("factor"),
            Column("factor_low", "from", Kind.RATIO, "low", "smallest of the rounds"),
            Column("factor_high", "to", Kind.RATIO, "high", "largest of the rounds"),
            Column("excess_ns", "excess", Kind.TIME, hint="work beyond that on one thread"),
            Column(
                "",
                "of all",
                Kind.SHARE,
                lambda row: _part(row.excess_ns, grown_ns) if row.key.kind != "kernel" else None,
                _OF_ALL,
            ),
            *fields("runs=n_runs one_thread_runs=one_n_runs same_work"),
        ),
        column.inflation,
        word="construct",
        more="--csv --table constructs",
        most=_MOST_CONSTRUCTS,
        notes=("* ran a different number of times: the factor compares unequal work",) if unequal else (),
    )


def _causes_shown(column: NumberOfThreads) -> Iterator[Table | str]:
    """Yields the causes and the lines that grew, with a sentence if the samples are too few."""
    causes = column.causes
    assert causes is not None
    yield _causes(column)
    if causes.lines:
        yield _lines(column)
    if not causes.has_samples:
        yield "Without samples of the work, all inflation that clocks do not explain counts as memory."
    elif causes.enough_hz:
        yield (
            f"{count(causes.n_samples)} samples on {column.point.threads} threads and "
            f"{count(causes.one_n_samples)} on one are few: OMPASS_SAMPLE={causes.enough_hz} (samples per "
            "second), or more rounds (--repeat), would separate the causes."
        )


def _causes(column: NumberOfThreads) -> Table:
    total_ns = column.causes.inflation_ns if column.causes else 0.0
    grown_ns = _grown_ns(column)
    return Table.of(
        f"Causes of {duration(abs(total_ns))} {'less' if total_ns < 0 else 'more'} work on "
        f"{column.point.threads} threads",
        (
            Column("", "cause", Kind.NAME, lambda cause: WORDS[cause.kind]),
            data("kind"),
            Column("ns", "time", Kind.TIME, hint="the sum of this column is the inflation"),
            Column("low_ns", "from", Kind.TIME, hint="95% interval"),
            Column("high_ns", "to", Kind.TIME, hint="95% interval"),
            Column("", "of all", Kind.SHARE, lambda cause: _part(cause.ns, grown_ns), _OF_ALL),
            Column("basis", "known from", Kind.NAME),
            Column("", "line", Kind.NAME, lambda c: c.line.spot.label if c.line else ""),
        ),
        column.causes.parts if column.causes else (),
        word="cause",
    )


def _grown_ns(column: NumberOfThreads) -> float:
    """Returns the sum of all causes that made the work longer."""
    return sum(max(cause.ns, 0) for cause in column.causes.parts) if column.causes else 0.0


def _part(ns: float, grown_ns: float) -> float | None:
    """Returns `ns` as a share of the growth; None if `ns` is not above 0, or exceeds the growth."""
    return ns / grown_ns if 0 < ns <= grown_ns else None


def _lines(column: NumberOfThreads) -> Table:
    grown_ns = _grown_ns(column)
    return Table.of(
        "Lines that grew",
        (
            Column("", "line", Kind.NAME, "spot.label"),
            *fields("function=spot.function file=spot.file line=spot.line library=spot.library cause"),
            Column("one_thread_ns", "on one", Kind.TIME, "growth.one_ns", "processor time on one thread"),
            Column("ns", f"on {column.point.threads}", Kind.TIME, "growth.ns", "on that many threads"),
            Column("excess_ns", "excess", Kind.TIME, "growth.excess_ns"),
            Column("low_ns", "from", Kind.TIME, lambda g: g.growth.interval_ns[0], "95% interval"),
            Column("high_ns", "to", Kind.TIME, lambda g: g.growth.interval_ns[1], "95% interval"),
            data("share"),
            Column("", "of all", Kind.SHARE, lambda g: _part(g.growth.excess_ns, grown_ns), _OF_ALL),
            Column("", "cause", Kind.NAME, lambda g: WORDS[g.cause]),
        ),
        column.causes.lines if column.causes else (),
        word="line",
        more="--json",
        most=_MOST_CONSTRUCTS,
    )


def _known(name: str, row: Inflation[Place]) -> Any:
    return getattr(row.key, name) or None


def _verdict_fields(column: NumberOfThreads) -> dict[str, Any]:
    verdict = column.verdict
    assert verdict is not None
    return {
        "kind": verdict.kind,
        "title": verdict.title,
        "because": verdict.because,
        "cure": verdict.cure,
        "place": column.finding_place or None,
        "also": verdict.also,
        "losses": Table.of("", fields("kind ns share"), verdict.losses),
    }


def _notes(content: ScalingContent) -> list[str]:
    """Returns notes on the origin of the figures, as sentences."""
    notes = []
    point = content.columns[0].point
    if not point.has_baseline:
        notes.append(
            "no serial program was given (--baseline): the work on one thread replaces T_s, so the "
            "maximal curve shows only the cost of the runtime on one thread."
        )
    notes.append(
        "T_1 excludes the cost of queues: on one thread, libomp runs tasks at once instead of queueing them."
    )
    if content.spec.depends_on_threads("recorded"):
        notes.append("the command depends on {threads}: T_1 was measured for each number of threads.")
    if not any(column.recording for column in content.columns):
        notes.append("times come from recorded runs; --unrecorded measures the cost of recording.")
    return notes


def _warnings(content: ScalingContent) -> list[str]:
    """Returns the notes that a reader must know to interpret the figures."""
    notes = []
    costs = [c.recording.factor for c in content.columns if c.recording]
    if costs and max(costs) >= thresholds.RECORDING_COST:
        notes.append(
            f"recording made the program up to {max(costs):.2f} times slower: the column `{_UNRECORDED}` "
            "has its true speed-ups; all other figures are from recorded runs."
        )
    for column in content.columns:
        if column.n_team > column.point.threads:
            notes.append(
                f"a team had {column.n_team} threads instead of {column.point.threads}: "
                "the program sets its own number (num_threads, omp_set_num_threads); pass {threads} to it."
            )
            break
        if column.misfit:
            notes.append(
                f"more than {column.point.threads} threads ran at a time ({column.n_seen} took part): the "
                "program has nested teams or starts threads itself, and the figures include them."
            )
            break
    left_out = max(column.n_left_out for column in content.columns)
    if left_out:
        notes.append(
            f"the figures omit {plural(left_out, 'round')}, because other programs used the CPUs for more "
            f"than {percent(thresholds.DISTURBED_SHARE)} of the time."
        )
    others = max(column.others for column in content.columns)
    if others >= thresholds.DISTURBED_SHARE:
        notes.append(
            f"other programs used up to {percent(others)} of the CPUs' time in every round: measure on a "
            "quiet machine."
        )
    crowded = [c.point.threads for c in content.columns if 0 < content.n_cpus < c.point.threads]
    if crowded:
        notes.append(f"from {crowded[0]} threads on, threads share {content.n_cpus} CPUs and are not pinned.")
    return notes

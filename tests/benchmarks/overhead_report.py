# SPDX-License-Identifier: Apache-2.0
"""Evaluates the samples of overhead.py: ratios, costs per task and event, the project's targets, the table.

Computes ratios within a repetition, then their quartiles. A cost in ns is additional thread time per task or
event: all threads are busy, so it is the additional time multiplied by the number of threads.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypedDict

SCHEMA_VERSION = 1
N_REPEATS_FOR_VERDICT = 15


class Kind(Enum):
    """The dominant part of a case: work (coarse), deferred tasks (fine), or undeferred tasks."""

    COARSE = "coarse"
    FINE = "fine"
    UNDEFERRED = "undeferred"


@dataclass(frozen=True)
class Sample:
    """One run."""

    seconds: float  # time of the parallel part
    n_tasks: int
    trace_bytes: int | None  # size of the thread logs; None when no trace was written


@dataclass
class Measurement:
    """All repetitions of one case with one team size."""

    case: str
    kind: Kind
    threads: int
    arguments: str
    n_task_events: int = 0  # task_create and task_schedule events of one run
    repetitions: list[dict[str, Sample]] = field(default_factory=list)  # variant -> sample


class Quartiles(TypedDict):
    q1: float
    median: float
    q3: float


class VariantReport(TypedDict):
    seconds: list[float]
    median_seconds: float
    ratio_to_none: Quartiles | None
    ratio_to_empty: Quartiles | None
    extra_ns_per_task: float | None  # relative to no tool
    extra_ns_per_event: (
        float | None
    )  # relative to the empty tool; None for coarse cases, where noise hides it
    wrapper_ns_per_task: float | None  # relative to the same mode without wrappers; None for coarse cases
    trace_bytes_per_task: float | None


class CaseReport(TypedDict):
    case: str
    kind: str
    threads: int
    arguments: str
    tasks: int
    task_events: int
    ns_per_task: float | None  # without a tool, thread-time
    variants: dict[str, VariantReport]


class TargetReport(TypedDict):
    target: str
    case: str
    threads: int
    variant: str
    value: float
    limit: float
    met: bool


class Report(TypedDict):
    schema_version: int
    repeats: int
    enough_repeats: bool
    cases: list[CaseReport]
    targets: list[TargetReport]


@dataclass(frozen=True)
class Target:
    """An upper limit for one value, in every case of these kinds, numbers of threads and variants."""

    text: str
    limit: float
    kinds: tuple[Kind, ...]
    threads: tuple[int, ...]
    variants: tuple[str, ...]
    value: Callable[[VariantReport], float | None]


def _median_ratio(name: str) -> Callable[[VariantReport], float | None]:
    def value(variant: VariantReport) -> float | None:
        quartiles = variant["ratio_to_none"] if name == "none" else variant["ratio_to_empty"]
        return quartiles["median"] if quartiles else None

    return value


_PLAIN = ("profile", "trace")
_WRAPPERS = ("profile+wrappers", "trace+wrappers")
_HARD = (Kind.FINE, Kind.UNDEFERRED)

TARGETS = (
    Target("sensible cut-off, ratio to no tool", 1.02, (Kind.COARSE,), (2,), _PLAIN, _median_ratio("none")),
    Target("no cut-off, ratio to no tool", 1.10, (Kind.FINE,), (2,), _PLAIN, _median_ratio("none")),
    Target(
        "if-clause cut-off, ratio to the empty tool",
        1.20,
        (Kind.UNDEFERRED,),
        (2,),
        _PLAIN,
        _median_ratio("empty"),
    ),
    Target("one thread, ratio to the empty tool", 1.60, _HARD, (1,), _PLAIN, _median_ratio("empty")),
    Target(
        "one thread, ratio to no tool (the limit of the empty tool)",
        1.60,
        _HARD,
        (1,),
        _PLAIN,
        _median_ratio("none"),
    ),
    Target("ns per event", 25.0, _HARD, (1, 2), _PLAIN, lambda variant: variant["extra_ns_per_event"]),
    Target(
        "trace bytes per task",
        64.0,
        tuple(Kind),
        (1, 2),
        ("trace", "trace+wrappers"),
        lambda variant: variant["trace_bytes_per_task"],
    ),
    Target(
        "ns per task for the wrappers",
        25.0,
        _HARD,
        (1, 2),
        _WRAPPERS,
        lambda variant: variant["wrapper_ns_per_task"],
    ),
)


def build_report(measurements: Sequence[Measurement]) -> Report:
    """Returns statistics and verdicts of all cases with at least one complete repetition."""
    measured = [measurement for measurement in measurements if measurement.repetitions]
    cases = [_evaluate(measurement) for measurement in measured]
    n_repeats = min((len(measurement.repetitions) for measurement in measured), default=0)
    return {
        "schema_version": SCHEMA_VERSION,
        "repeats": n_repeats,
        "enough_repeats": n_repeats >= N_REPEATS_FOR_VERDICT,
        "cases": cases,
        "targets": [verdict for target in TARGETS for verdict in _judge(target, cases)],
    }


def _evaluate(measurement: Measurement) -> CaseReport:
    repetitions = measurement.repetitions
    names = list(repetitions[0])
    n_tasks = next(iter(repetitions[0].values())).n_tasks
    dominated_by_tasks = measurement.kind is not Kind.COARSE

    def quartiles_over(base: str, name: str) -> Quartiles | None:
        if base not in names:
            return None
        return _quartiles([samples[name].seconds / samples[base].seconds for samples in repetitions])

    def extra_ns(base: str, name: str, n: int) -> float | None:
        if base not in names or name == base or n == 0:
            return None
        extra_s = statistics.median(samples[name].seconds - samples[base].seconds for samples in repetitions)
        return extra_s * measurement.threads / n * 1e9

    def evaluate_variant(name: str) -> VariantReport:
        samples = [repetition[name] for repetition in repetitions]
        trace_bytes = [sample.trace_bytes for sample in samples if sample.trace_bytes is not None]
        return {
            "seconds": [sample.seconds for sample in samples],
            "median_seconds": statistics.median(sample.seconds for sample in samples),
            "ratio_to_none": quartiles_over("none", name),
            "ratio_to_empty": quartiles_over("empty", name),
            "extra_ns_per_task": extra_ns("none", name, n_tasks),
            "extra_ns_per_event": (
                extra_ns("empty", name, measurement.n_task_events)
                if dominated_by_tasks and name in _PLAIN
                else None
            ),
            "wrapper_ns_per_task": (
                extra_ns(name.removesuffix("+wrappers"), name, n_tasks)
                if dominated_by_tasks and name in _WRAPPERS
                else None
            ),
            "trace_bytes_per_task": statistics.median(trace_bytes) / n_tasks
            if trace_bytes and n_tasks
            else None,
        }

    variants = {name: evaluate_variant(name) for name in sorted(names, key=_VARIANT_ORDER.index)}
    none = variants.get("none")
    return {
        "case": measurement.case,
        "kind": measurement.kind.value,
        "threads": measurement.threads,
        "arguments": measurement.arguments,
        "tasks": n_tasks,
        "task_events": measurement.n_task_events,
        "ns_per_task": none["median_seconds"] * measurement.threads / n_tasks * 1e9
        if none and n_tasks
        else None,
        "variants": variants,
    }


_VARIANT_ORDER = ("none", "empty", *_PLAIN, *_WRAPPERS)


def _quartiles(values: Sequence[float]) -> Quartiles:
    if len(values) == 1:
        return {"q1": values[0], "median": values[0], "q3": values[0]}
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return {"q1": q1, "median": median, "q3": q3}


def _judge(target: Target, cases: Sequence[CaseReport]) -> list[TargetReport]:
    verdicts: list[TargetReport] = []
    for case in cases:
        if Kind(case["kind"]) not in target.kinds or case["threads"] not in target.threads:
            continue
        for name in target.variants:
            if name not in case["variants"]:
                continue
            value = target.value(case["variants"][name])
            if value is None:
                continue
            verdicts.append(
                {
                    "target": target.text,
                    "case": case["case"],
                    "threads": case["threads"],
                    "variant": name,
                    "value": value,
                    "limit": target.limit,
                    "met": value <= target.limit,
                }
            )
    return verdicts


def format_report(report: Report) -> str:
    """Returns the report as text: a table per case, then the targets."""
    lines: list[str] = []
    for case in report["cases"]:
        threads = f"{case['threads']} thread{'s' if case['threads'] > 1 else ''}"
        per_task = f", {case['ns_per_task']:,.1f} ns each" if case["ns_per_task"] is not None else ""
        lines.append(f"{case['case']}, {threads}: {case['tasks']:,} tasks{per_task}")
        lines.append(
            f"  {'':18}{'seconds':>9}  {'ratio to none (q1-q3)':>24}  {'ratio to empty (q1-q3)':>24}"
            f"{'ns/task':>10}{'ns/event':>10}{'wrappers':>10}{'bytes/task':>12}"
        )
        for name, variant in case["variants"].items():
            lines.append(
                f"  {name:18}{variant['median_seconds']:9.4f}"
                f"  {_format_ratio(variant['ratio_to_none'] if name != 'none' else None):>24}"
                f"  {_format_ratio(variant['ratio_to_empty'] if name not in ('none', 'empty') else None):>24}"
                f"{_format_number(variant['extra_ns_per_task']):>10}"
                f"{_format_number(variant['extra_ns_per_event']):>10}"
                f"{_format_number(variant['wrapper_ns_per_task']):>10}"
                f"{_format_number(variant['trace_bytes_per_task']):>12}"
            )
        lines.append("")
    if report["targets"]:
        lines.append(f"  {'target':46}{'case':12}{'threads':>7}  {'variant':18}{'value':>9}{'limit':>9}")
        for target in report["targets"]:
            verdict = "met" if target["met"] else "MISSED"
            lines.append(
                f"  {target['target']:46}{target['case']:12}{target['threads']:7}  {target['variant']:18}"
                f"{target['value']:9.3f}{target['limit']:9.2f}  {verdict}"
            )
    lines.append(f"Medians of {report['repeats']} repetitions.")
    if not report["enough_repeats"]:
        lines.append(f"Fewer than {N_REPEATS_FOR_VERDICT}: an indication, not a verdict.")
    return "\n".join(lines)


def _format_ratio(quartiles: Quartiles | None) -> str:
    if quartiles is None:
        return "-"
    return f"{quartiles['median']:.3f} ({quartiles['q1']:.3f}-{quartiles['q3']:.3f})"


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"

# SPDX-License-Identifier: Apache-2.0
"""Names the cause that keeps a program from scaling.

Owns the division of the loss P * T_P - T_s among causes. They add up exactly:

    P * T_P - T_s  =  (T_1 - T_s)  +  I_P - I_1  +  (create, schedule, sync)_P - (...)_1
                      +  (mpi, offload)_P - (...)_1  +  W_P - W_1

causes.py divides the last term further. Without a baseline, T_s is W_1. Then the time in MPI and in
target constructs on one thread counts as a loss to MPI and target constructs, not as a part of T_1 - T_s.

The findings of single runs separate causes that sums cannot: tasks that are too fine, and reasons for idle
time. Also interprets factored speed-up curves: the four gaps and the bends (Acar et al., 2.4 and 2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.facts import Finding
from ompass.metrics.findings import KINDS
from ompass.scaling.causes import CAUSES, Causes, LineThatGrew
from ompass.scaling.metrics import ScalingPoint
from ompass.units import duration, in_sentence, percent

FINE_FINDINGS = ("too_fine", "copied_data")
_IDLE_FINDINGS = (
    "too_coarse", "undivided", "starved", "detached_events", "undeferred", "wait_in_loop", "dependence_chain",
    "serial_producer", "fewer_threads", "loop_imbalance", "imbalance", "short_regions",
)  # fmt: skip
_SYNC_FINDINGS = (
    "critical_contention", "lock_contention", "iteration_order", "busy_waiting", "short_regions",
    "synchronization",
)  # fmt: skip

_FINDINGS_OF: Final = {
    "too_fine": FINE_FINDINGS,
    "too_coarse": _IDLE_FINDINGS,
    "synchronization": _SYNC_FINDINGS,
    "dispatch": ("slow_dispatch",),
    "mpi": ("time_in_mpi",),
    "offload": ("repeated_transfers", "costly_transfers", "small_launches", "host_waits"),
    "runtime": ("small_chunks", "short_regions", "synchronization"),
}
"""For each kind of loss, the findings of single runs that explain it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts about a point in addition to its times."""

    findings: tuple[Finding, ...]  # problems of one run on P threads, most expensive first
    fine_inflation_ns: float  # W_P,c - W_1,c of the constructs with FINE_FINDINGS
    n_cpus: int  # CPUs that the threads could use; 0: unknown
    n_tasks: int = 0  # tasks completed in that run
    others: float = 0.0  # part of these CPUs' time that other programs took
    causes: Causes | None = None  # the inflation of work, divided; None: all of it counts as memory_bound


@dataclass(frozen=True, slots=True)
class Loss:
    """Thread-time lost to one cause."""

    kind: str  # one of _TITLES_OF_LOSSES
    ns: float
    share: float  # share of P * T_P


@dataclass(frozen=True, slots=True)
class Verdict:
    """The diagnosis of the program at one number of threads."""

    kind: str  # of a Loss or a Finding; "scales", "mixed", "oversubscribed" or "disturbed"
    title: str
    because: str
    cure: str
    also: tuple[str, ...]  # titles of further causes above the threshold
    losses: tuple[Loss, ...]  # all, largest first
    finding: Finding | None  # the finding of the run that supports the verdict, or qualifies "scales"
    line: LineThatGrew | None = None  # the line to blame, if the work itself takes longer


_AS_FINDINGS = {
    kind.name: kind
    for kind in reversed(KINDS)  # if two kinds have one name, the first in KINDS remains
    if kind.name in ("blocked", "page_faults", "allocator", "mutex", "busy_waiting", "atomic_contention")
}
"""Causes that single runs show, too; these kinds of findings give the title and cure."""

_TITLES = {
    **{name: kind.title for name, kind in _AS_FINDINGS.items()},
    "too_fine": "Tasks are too fine",
    "too_coarse": "Tasks are too coarse: threads are idle",
    "preempted": "Other programs used the CPUs",
    "system_calls": "System calls take longer",
    "runtime": "The OpenMP runtime takes longer inside of the work",
    "library": "A library takes longer",
    "replicated_work": "Threads repeat the same work",
    "false_sharing": "Threads take each other's cache lines",
    "memory_bound": "Memory bound: the work itself takes longer",
    "synchronization": "Threads wait for each other",
    "dispatch": "Ready tasks reach threads slowly",
    "algorithm": "The parallel program does more work than the serial one",
    "mpi": "Threads wait in MPI",
    "offload": "Threads wait for target constructs",
    "scales": "Scales well",
    "mixed": "No single cause",
    "oversubscribed": "More threads than CPUs",
    "serial_fraction": "A serial part limits the speed-up",
    "throttled": "A quota held the threads back",
    "bound_together": "Threads were bound to fewer processors than the process could use",
    "disturbed": "Other programs used the CPUs",
}


_ABOUT_EQUAL: Final = 0.9

_TITLES_OF_LOSSES = (
    "too_fine", "too_coarse", "synchronization", "dispatch", "algorithm", "mpi", "offload", *CAUSES,
)  # fmt: skip


def diagnose(point: ScalingPoint, evidence: Evidence) -> Verdict:
    """Returns the verdict for one number of threads above one."""
    found = losses(point, evidence)
    named = [loss for loss in found if loss.share >= thresholds.DISEASE_SHARE]
    largest = _largest(point, evidence, found)
    decisive = _decisive(point, evidence, largest.ns if largest else 0.0)
    kind = _kind(point, evidence, decisive, largest)
    finding = decisive or _finding_of(kind, evidence.findings)
    cause = evidence.causes.of(kind) if evidence.causes else None
    because, cure = _explain(kind, point, evidence, found, finding, decisive is not None)
    return Verdict(
        kind=kind,
        title=_title(kind, finding),
        because=because,
        cure=cure,
        also=tuple(_TITLES[loss.kind] for loss in named if loss.kind != kind)
        if kind in (*_TITLES_OF_LOSSES, "serial_fraction")
        else (),
        losses=found,
        finding=finding,
        # The runtime's time belongs to the finding's construct, if any, not to a line that calls the runtime.
        line=cause.line if cause and not (kind == "runtime" and finding) else None,
    )


_LIMITS: Final = ("bound_together", "throttled")
"""The findings on limits that keep threads from their processors, whatever other programs do."""


def _is_crowded(point: ScalingPoint, evidence: Evidence) -> bool:
    return 0 < evidence.n_cpus < point.threads


def _decisive(point: ScalingPoint, evidence: Evidence, lost_ns: float) -> Finding | None:
    """Returns the finding that decides the verdict alone, without the losses in the regions; else None.

    `lost_ns` is the largest of these losses; the cost of a serial part must exceed it.
    """
    if _is_crowded(point, evidence):
        return None
    if evidence.others >= thresholds.SPOILT_SHARE:
        return next((f for f in evidence.findings if f.kind in _LIMITS), None)
    for finding in evidence.findings:
        serial = finding.kind == "serial_fraction" or (
            finding.kind == "page_faults" and finding.construct is None
        )
        if finding.kind in (*_LIMITS, "oversubscribed") or (serial and finding.cost_ns > lost_ns):
            return finding
    return None


def _kind(point: ScalingPoint, evidence: Evidence, decisive: Finding | None, largest: Loss | None) -> str:
    """Returns the kind of the verdict."""
    if decisive is not None:
        return decisive.kind
    if _is_crowded(point, evidence):
        return "oversubscribed"
    if evidence.others >= thresholds.SPOILT_SHARE or (largest and largest.kind == "preempted"):
        return "disturbed"
    if largest:
        return largest.kind
    return "scales" if point.efficiency >= thresholds.SCALES_EFFICIENCY else "mixed"


def _largest(point: ScalingPoint, evidence: Evidence, found: Sequence[Loss]) -> Loss | None:
    """Returns the largest loss that is worth a verdict; None if none is, or if the program scales.

    The inflation of work counts as one loss; its largest part names it. If two losses or parts are about
    equal, the first finding of the run decides: threads that wait for each other are often idle, too, and
    the data that a lock protects moves between their caches.
    """
    if point.efficiency >= thresholds.SCALES_EFFICIENCY:
        return None
    inflation = [loss for loss in found if loss.kind in CAUSES]
    share = sum(loss.share for loss in inflation)
    first = evidence.findings[0].kind if evidence.findings else ""

    def is_explained(loss: Loss) -> bool:
        """True if the first finding explains a loss that is no part of the inflation."""
        return first in _FINDINGS_OF.get(loss.kind, ())

    def largest(among: Sequence[Loss], fits: Callable[[Loss], bool]) -> Loss:
        """Returns the largest loss, or one of about its size that `fits`."""
        least = _ABOUT_EQUAL * among[0].share
        return next((loss for loss in among if fits(loss) and loss.share >= least), among[0])

    other = largest([loss for loss in found if loss.kind not in CAUSES], is_explained)
    part = largest(inflation, lambda loss: loss.kind == first)
    if is_explained(other):
        share = inflation[0].share
    elif first == part.kind:
        share /= _ABOUT_EQUAL
    if share >= max(thresholds.DISEASE_SHARE, other.share):
        return part
    # A finding may explain several losses, none of which is large: at barriers, threads wait and are idle.
    least_ns = thresholds.DISEASE_SHARE * point.thread_time_ns
    is_large = other.share >= thresholds.DISEASE_SHARE
    return other if is_large or (is_explained(other) and evidence.findings[0].cost_ns >= least_ns) else None


def losses(point: ScalingPoint, evidence: Evidence) -> tuple[Loss, ...]:
    """Returns all causes with their thread-time, largest first; negative times are gains."""
    states, one = point.states, point.one
    # Without a baseline, T_s is W_1, and lacks the time in MPI and in target constructs.
    mpi_ns, offload_ns = (one.mpi_ns, one.offload_ns) if point.has_baseline else (0.0, 0.0)
    price_ns = point.one_thread_overhead_ns - (one.mpi_ns - mpi_ns) - (one.offload_ns - offload_ns)
    tasks_on_one_ns = point.one_time_ns - point.elision_ns if point.elision_ns is not None else 0.0
    handling_ns = states.create_ns + states.schedule_ns - one.create_ns - one.schedule_ns
    fine = (
        any(f.kind in FINE_FINDINGS for f in evidence.findings)
        or tasks_on_one_ns >= thresholds.TASK_OVERHEAD_ON_ONE * point.one_time_ns
        or _fine_altogether(point, evidence.n_tasks, handling_ns)
    )
    if point.elision_ns is not None:
        sync_ns = min(one.sync_ns, max(price_ns - tasks_on_one_ns, 0.0))
        of_tasks_ns = tasks_on_one_ns
    else:
        sync_ns = min(one.sync_ns, max(price_ns, 0.0))
        # The cost of tasks on one thread looks like the cost of another algorithm.
        of_tasks_ns = price_ns - sync_ns if fine else 0.0
    other_ns = price_ns - of_tasks_ns - sync_ns
    fine_inflation_ns = evidence.fine_inflation_ns if fine else 0.0
    parts = {
        "too_fine": (handling_ns + fine_inflation_ns if fine else 0.0) + of_tasks_ns,
        "dispatch": (0.0 if fine else handling_ns) + (0.0 if point.has_baseline else other_ns),
        "too_coarse": states.idle_ns - one.idle_ns,
        "synchronization": states.sync_ns - one.sync_ns + sync_ns,
        "algorithm": other_ns if point.has_baseline else 0.0,
        "mpi": states.mpi_ns - mpi_ns,
        "offload": states.offload_ns - offload_ns,
        "memory_bound": point.work_inflation_ns,
    }
    if evidence.causes:
        parts |= {"memory_bound": 0.0} | {part.kind: part.ns for part in evidence.causes.parts}
    parts["memory_bound"] -= fine_inflation_ns
    total = point.thread_time_ns
    found = [Loss(kind, ns, ns / total if total else 0.0) for kind, ns in parts.items()]
    return tuple(sorted(found, key=lambda loss: -loss.ns))


def _fine_altogether(point: ScalingPoint, n_tasks: int, handling_ns: float) -> bool:
    """True if many small tasks, of all constructs together, cost at least a tenth of their work."""
    if n_tasks < thresholds.FINE_MIN_TASKS or point.states.work_ns >= n_tasks * thresholds.FINE_WORK_NS:
        return False
    if handling_ns > n_tasks * thresholds.PLAUSIBLE_DISPATCH_NS:
        return False
    cost_ns = handling_ns + max(point.one_thread_overhead_ns, 0.0)
    return cost_ns * thresholds.FINE_WORK_PER_COST >= point.states.work_ns


def _finding_of(kind: str, findings: Sequence[Finding]) -> Finding | None:
    """Returns the most expensive finding that supports the verdict, or that qualifies "scales" or "mixed"."""
    if kind in ("scales", "mixed"):
        return next((f for f in findings if f.kind != "disturbed"), None)
    kinds = _FINDINGS_OF.get(kind, (kind,) if kind in CAUSES else ())
    fitting = [f for f in findings if f.kind in kinds]
    return max(fitting, key=lambda f: f.cost_ns, default=None)


def _title(kind: str, finding: Finding | None) -> str:
    """Returns the title of the kind, or of a finding that states the reason more precisely."""
    if kind == "scales" and finding is not None:
        return f"{_TITLES[kind]}; {in_sentence(finding.title)}"
    if kind == "too_fine" and finding is not None and finding.kind != kind:
        return finding.title
    if kind in ("runtime", "synchronization") and finding is not None:
        return finding.title
    if kind != "too_coarse" or finding is None or finding.kind == kind:
        return _TITLES[kind]
    return f"{finding.title}: threads are idle"


def _explain(
    kind: str,
    point: ScalingPoint,
    evidence: Evidence,
    found: Sequence[Loss],
    finding: Finding | None,
    is_decisive: bool,
) -> tuple[str, str]:
    share = {loss.kind: percent(max(loss.share, 0.0)) for loss in found}
    speedup = f"speed-up {point.speedup:.2f} on {point.threads} threads"
    if kind == "scales":
        because = f"{speedup}, {percent(point.efficiency)} of the linear one"
        if point.efficiency >= thresholds.SUPERLINEAR_EFFICIENCY:
            because += ", because the program is slow on one thread"
        return _with_finding(because, "", finding)
    if finding is not None and is_decisive:
        in_crowd = kind in (*_LIMITS, "oversubscribed")
        return f"{speedup}{'' if in_crowd else ' of the parallel regions'}; {finding.because}", finding.cure
    if kind == "oversubscribed":
        return (
            f"{point.threads} threads take turns on {evidence.n_cpus} CPUs, which looks like both "
            "inflation and idle time, so these figures allow no verdict",
            "use at most as many threads as CPUs",
        )
    if kind == "disturbed":
        return (
            f"{speedup}, but {_taken(evidence, share.get('preempted', ''))}. "
            "Threads that could not run look idle, slow to get tasks, or inflated; and if "
            "the run on one thread was disturbed, runs on more threads look fast",
            "measure on a quiet machine; more rounds (--repeat) may find quiet moments",
        )
    if kind == "mixed":
        largest = ", ".join(f"{in_sentence(_TITLES[loss.kind])} {percent(loss.share)}" for loss in found[:2])
        because = (
            f"{speedup}; no cause takes {percent(thresholds.DISEASE_SHARE)} of the thread-time "
            f"(the largest: {largest})"
        )
        return _with_finding(because, "", finding)
    if kind == "algorithm":
        because = "is lost even on one thread"
        if point.serial_ns:
            times = point.one_time_ns / point.serial_ns
            because += f", which takes {times:.2f} times as long as the serial program"
    elif kind in CAUSES:
        because = _inflated(kind, point, evidence.causes)
    else:
        because = _REASONS[kind]
    return _with_finding(f"{speedup}; {share[kind]} of the thread-time {because}", _CURES[kind], finding)


def _taken(evidence: Evidence, preempted: str) -> str:
    """Returns a clause on the time of other programs; for separately recorded runs, `others` is unknown."""
    if evidence.others >= thresholds.SPOILT_SHARE:
        return f"other programs took {percent(evidence.others)} of the time of the run's CPUs"
    return f"for {preempted} of the thread-time, threads waited for CPUs that other programs used"


def _with_finding(because: str, cure: str, finding: Finding | None) -> tuple[str, str]:
    """Returns the reason and the cure; a finding adds its reason and replaces the cure."""
    if finding is None:
        return because, cure
    return f"{because}. The finding of the run: {finding.because}", finding.cure


WORDS: Final = {
    "blocked": "blocked outside of OpenMP",
    "preempted": "preempted by others",
    "page_faults": "page faults",
    "system_calls": "system calls",
    "allocator": "memory allocator",
    "mutex": "locks of the C library",
    "runtime": "OpenMP runtime",
    "library": "a library",
    "replicated_work": "more work",
    "busy_waiting": "waiting loop",
    "atomic_contention": "atomic updates",
    "false_sharing": "shared cache lines",
    "memory_bound": "memory, and the rest",
}
"""The causes of inflation, for tables."""

_REASONS: Final = {
    "too_fine": "goes into creating, dispatching and running many small tasks",
    "too_coarse": "is spent by threads that find no task to run",
    "synchronization": "is spent on locks, barriers and waits",
    "dispatch": "is spent by threads that have no work although tasks are ready",
    "mpi": "is spent in MPI calls",
    "offload": "is spent by threads that wait for target constructs",
    "blocked": "is spent by threads that sleep, or wait for input, locks or threads outside of OpenMP",
    "page_faults": "is spent in the kernel on page faults",
    "system_calls": "is spent in the kernel on system calls",
    "allocator": "is spent in the memory allocator",
    "mutex": "is spent taking and releasing locks of the C library, such as a mutex",
    "runtime": "is spent in the OpenMP runtime, for example to get the next chunk of a loop",
    "library": "is spent in a library",
    "replicated_work": "is spent on work that one thread alone would do once",
    "busy_waiting": "is spent in a loop that only waits for another thread",
    "atomic_contention": "is spent on atomic updates of memory that other threads update too",
    "false_sharing": "is spent on memory whose cache line other threads write",
    "memory_bound": "is spent on memory. Threads share its bandwidth and the caches",
}
"""For each kind of loss, the use of the lost thread-time, as the end of a sentence."""

_CURES: Final = {
    **{name: kind.cure for name, kind in _AS_FINDINGS.items()},
    "too_fine": "create fewer, larger tasks (a cut-off below which the serial code runs)",
    "too_coarse": "create more and smaller tasks, earlier and from more places",
    "synchronization": "wait less often and do less under locks",
    "dispatch": "bind threads, and create tasks on the threads that will run them",
    "algorithm": "use the serial code for the leaves; compare optimised programs with the same algorithm",
    "mpi": "send fewer and larger messages, and let threads work on other tasks meanwhile",
    "offload": "let threads work meanwhile (nowait), and keep data on the device between target constructs",
    "system_calls": "make fewer system calls in the parallel part: larger blocks, fewer sleeps and wake-ups",
    "runtime": "give each thread larger pieces of work: a larger chunk or a static schedule",
    "library": "call it less often from parallel code, or use a version made for threads",
    "replicated_work": "divide this work among the threads: a for, do or sections construct is missing",
    "false_sharing": "keep data of different threads on different cache lines (pad them to 64 bytes), or in "
    "private variables",
    "memory_bound": "touch less memory per task (block the data for the cache), run tasks near their data, "
    "place memory where it is used, keep data of different threads on different cache lines",
}
"""The cure for each kind of loss, unless a finding of the run has a better one."""


def _inflated(kind: str, point: ScalingPoint, causes: Causes | None) -> str:
    factor = point.states.work_ns / point.one.work_ns if point.one.work_ns else 0.0
    text = f"{_REASONS[kind]}: the same work takes {factor:.2f} times as long as on one thread"
    part = causes.of(kind) if causes else None
    if part is not None and part.line is not None:
        growth = part.line.growth
        text += (
            f", {part.line.spot.label} {duration(growth.ns)} instead of {duration(growth.one_ns)}"
            if growth.one_ns
            else f", {part.line.spot.label} {duration(growth.ns)} instead of none"
        )
    if causes is None or not causes.has_samples:
        text += ". Without samples, its causes cannot be separated"
    return text


@dataclass(frozen=True, slots=True)
class Gap:
    """One gap between two curves at one number of threads, in units of speed-up."""

    name: str  # "A", "B", "C", "D"
    upper: str  # names of CURVES
    lower: str
    size: float
    meaning: str


def gaps(point: ScalingPoint) -> tuple[Gap, ...]:
    """Returns the four gaps, from the top of the plot to its bottom."""
    value = {name: point.curve(name) or 0.0 for name in ("linear", "maximal", "idle", "inflation", "actual")}
    serial = "the serial program" if point.has_baseline else "its own work"
    one = point.one_time_ns / point.serial_ns if point.serial_ns else 0.0
    idle = point.states.idle_ns / point.thread_time_ns if point.thread_time_ns else 0.0
    grown = point.inflation_ns / point.one_time_ns if point.one_time_ns else 0.0
    user = point.work_inflation_ns / point.one_time_ns if point.one_time_ns else 0.0
    lost = value["maximal"] - value["actual"]

    def gap(name: str, upper: str, lower: str, meaning: str) -> Gap:
        return Gap(name, upper, lower, value[upper] - value[lower], meaning)

    return (
        gap(
            "A",
            "linear",
            "maximal",
            f"price of being parallel: on one thread the program takes {one:.2f} times as long as {serial}",
        ),
        gap(
            "B",
            "maximal",
            "idle",
            f"idle time, scarce parallelism: threads had no task in {percent(idle)} of the thread-time",
        ),
        gap(
            "C",
            "maximal",
            "inflation",
            f"inflation: busy threads took {_more(grown)} time than one thread: "
            f"{_more(user)} in the program's own code, {_more(grown - user)} in the runtime",
        ),
        gap(
            "D",
            "maximal",
            "actual",
            f"idle time and inflation together: {lost:.2f} of a speed-up of {value['maximal']:.2f} "
            "that the program could have",
        ),
    )


def bends(points: Sequence[ScalingPoint]) -> tuple[str, ...]:
    """Returns sentences on the shapes of the curves; empty without three numbers of threads above one."""
    ordered = sorted((p for p in points if p.threads > 1), key=lambda p: p.threads)
    if len(ordered) < 3:
        return ()
    found = []
    slope = {name: _last_slope(ordered, name) for name in ("maximal", "idle", "inflation")}
    if slope["maximal"] < thresholds.BENT_SLOPE:
        found.append(
            "The maximal curve bends: total work grows with the number of threads, so overhead "
            "grows, too (for instance if a cut-off depends on that number)."
        )
    if slope["inflation"] < 0:
        found.append(
            "The inflation curve falls: more threads slow the program down, for instance by contended "
            "atomics, locks or false sharing."
        )
    elif slope["inflation"] < thresholds.FLAT_SLOPE:
        found.append(
            "The inflation curve flattens: the time of additional threads is lost to inflated work, for "
            "instance when memory is the bottleneck."
        )
    if slope["idle"] < thresholds.FLAT_SLOPE <= slope["maximal"]:
        found.append(
            "The idle-time curve flattens: more threads find no work, so the program lacks parallelism."
        )
    return tuple(found)


def _last_slope(ordered: Sequence[ScalingPoint], name: str) -> float:
    """Returns the slope between the last two points, relative to the first point's speed-up per thread."""
    before, last = ordered[-2], ordered[-1]
    first = (ordered[0].curve(name) or 0.0) / ordered[0].threads
    gained = ((last.curve(name) or 0.0) - (before.curve(name) or 0.0)) / (last.threads - before.threads)
    return gained / first if first else 0.0


def _more(share: float) -> str:
    return f"{percent(abs(share))} {'less' if share < 0 else 'more'}"

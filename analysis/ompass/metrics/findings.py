# SPDX-License-Identifier: Apache-2.0
"""Findings: the problems that slow a run down, in plain language, most expensive first.

Owns the table of all kinds of problems, and the order of judgement. The judges are in *_findings.py, the
thresholds in thresholds.py, the notes on the limits of figures in notes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ompass.latency.findings import memory_contention
from ompass.metrics import (
    library_findings,
    notes,
    processor_findings,
    task_findings,
    team_findings,
    thread_findings,
    thresholds,
)
from ompass.metrics.facts import Evidence, Facts, Finding
from ompass.metrics.library_findings import time_in_mpi
from ompass.samples import findings as sample_findings


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem. The first kind of a family that applies is reported; it explains the others."""

    name: str
    family: str
    title: str
    judge: Callable[[Facts], Iterable[Evidence]]
    cure: str = ""  # empty: depends on the evidence
    even_if_busy: bool = False  # True if its evidence is valid without Facts.calm
    even_if_crowded: bool = True  # False if more threads than processors may cause it
    follows: bool = False  # True if another problem may cause this one, which then becomes a note


CROWD: Final = "oversubscribed"
"""The kind of problem that joins LEADING if many threads share each processor."""
_WAIT_LESS: Final = "wait less often: drop taskwaits and barriers that no data needs (nowait, depend clauses)"

KINDS: Final = (
    Kind(
        "throttled",
        "quota",
        "A quota held the threads back",
        processor_findings.throttled,
        even_if_busy=True,
    ),
    Kind(
        "bound_together",
        "machine",
        "Threads were bound to fewer processors than the process could use",
        processor_findings.bound_together,
        "give each thread a separate place: widen OMP_PLACES, GOMP_CPU_AFFINITY or KMP_AFFINITY, set "
        "OMP_PROC_BIND=spread, or look for code in the program that binds threads",
        even_if_busy=True,
    ),
    Kind(
        "disturbed",
        "machine",
        "Others used the processors",
        processor_findings.disturbed,
        "measure on a quiet machine, or bind the threads to processors that nothing else uses",
        even_if_busy=True,
    ),
    Kind(
        CROWD,
        "crowd",
        "More threads than processors",
        processor_findings.oversubscribed,
        even_if_busy=True,
        follows=True,
    ),
    Kind(
        "allocator",
        "memory work",
        "Memory allocation takes much of the work",
        sample_findings.allocator,
        "allocate less often: reuse memory of each thread, or use an allocator made for threads (jemalloc, "
        "mimalloc, tcmalloc)",
        even_if_busy=True,
    ),
    Kind(
        "blocked",
        "work",
        "Threads sleep or wait outside of OpenMP",
        task_findings.blocked,
        "find what they wait for: hold a lock of the program (a mutex) for a shorter time, or give each "
        "thread data of its own and combine them at the end; move input, output and sleeping out of the "
        "parallel part, or overlap them with computation (a thread for them, detached tasks)",
        even_if_busy=True,
    ),
    Kind(
        "mutex",
        "mutex",
        "Threads take a lock too often",
        sample_findings.mutexes,
        "give each thread data of its own and combine them at the end, take the lock once for many items, or "
        "use several locks, each for a part of the data",
        even_if_busy=True,
    ),
    Kind(
        "system_calls",
        "work",
        "System calls take time",
        sample_findings.system_calls,
        "find the calls with `strace -c -f` or `perf trace -s`, and call less often: read and write larger "
        "blocks, wait for locks and other threads by OpenMP, and keep files and connections open",
        even_if_busy=True,
    ),
    Kind(
        "page_faults",
        "faults",
        "Page faults take time",
        thread_findings.page_faults,
        "allocate memory once, outside of the loop, and reuse it; keep freed memory in the process "
        "(MALLOC_TRIM_THRESHOLD_ and MALLOC_MMAP_THRESHOLD_ in the environment, M_TRIM_THRESHOLD and "
        "M_MMAP_THRESHOLD of mallopt); or use huge pages (madvise with MADV_HUGEPAGE, "
        "GLIBC_TUNABLES=glibc.malloc.hugetlb=1)",
        even_if_busy=True,
    ),
    Kind(
        "small_chunks",
        "handling",
        "Chunks of a loop are too small",
        sample_findings.small_chunks,
        even_if_busy=True,
    ),
    Kind("too_fine", "handling", "Tasks are too fine", task_findings.too_fine, even_if_busy=True),
    Kind(
        "slow_dispatch",
        "handling",
        "Ready tasks reach threads slowly",
        task_findings.slow_dispatch,
        "bind the threads (OMP_PROC_BIND=close, OMP_PLACES=cores), keep them awake between steps "
        "(OMP_WAIT_POLICY=active), and create tasks on the threads that will run them",
    ),
    Kind(
        "priority_inverted",
        "no task",
        "The priorities of tasks are inverted",
        task_findings.priority_inverted,
        "give the highest priority to the tasks that other tasks wait for and to the longest tasks",
        even_if_busy=True,
    ),
    Kind(
        "detached_events",
        "no task",
        "Threads wait for the events of detached tasks",
        task_findings.detached_events,
        "start the work that the events wait for earlier, fulfil them sooner, or create other tasks that "
        "the threads can run meanwhile",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "undeferred",
        "no task",
        "Tasks are not offered to other threads",
        task_findings.undeferred,
        "let the if or final clause cut off later, so that every thread gets several deferred tasks",
        even_if_busy=True,
    ),
    Kind(
        "wait_in_loop",
        "no task",
        "The program waits for each task before it creates the next",
        task_findings.wait_in_loop,
        "move the wait to the end of the loop; if a task needs another's result, use depend clauses",
        even_if_busy=True,
    ),
    Kind(
        "dependence_chain",
        "no task",
        "Dependences make the tasks run one after the other",
        task_findings.dependence_chain,
        "break the chain: depend only on the data that a task needs, reduce into parts that are "
        "joined later, or work on several chains at a time",
        even_if_busy=True,
    ),
    Kind(
        "serial_producer",
        "no task",
        "One thread creates the tasks and cannot keep up",
        task_findings.serial_producer,
        "let several threads create tasks (recursive tasks, a taskloop, tasks created in a worksharing "
        "loop), or move work out of the producer into its tasks",
        even_if_busy=True,
    ),
    Kind(
        "too_coarse",
        "no task",
        "Tasks are too coarse",
        task_findings.too_coarse,
        "split the work into more and smaller tasks, the longest ones first (lower the cut-off, divide the "
        "data into more pieces, give long tasks a priority)",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "starved",
        "no task",
        "Threads ran out of tasks",
        task_findings.starved,
        "create tasks earlier and from more places, wait later (remove a taskwait or barrier), or lower the "
        "cut-off near the root of the recursion",
    ),
    Kind(
        "lock_contention",
        "locks",
        "Threads wait for each other at locks",
        thread_findings.contention,
        "do less under the lock, use one lock per piece of data, give critical sections different names, or "
        "replace the lock by an atomic or a reduction",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "busy_waiting",
        "no share",
        "Threads wait in a loop of the program",
        sample_findings.busy_waiting,
        "let the threads do other work meanwhile, or wait by OpenMP: depend clauses, taskwait, barriers",
    ),
    Kind(
        "slow_wakeups",
        "no share",
        "Threads sleep in short waits",
        processor_findings.slow_wakeups,
    ),
    Kind(
        "fewer_threads",
        "no share",
        "A region has fewer threads than it could have",
        team_findings.fewer_threads,
        "remove the limit: an if or num_threads clause, omp_set_num_threads, OMP_DYNAMIC or OMP_THREAD_LIMIT",
        even_if_busy=True,
    ),
    Kind(
        "smaller_team",
        "team",
        "A team is smaller than requested",
        team_findings.smaller_team,
        even_if_busy=True,
    ),
    Kind(
        "iteration_order",
        "order",
        "Iterations wait for earlier ones",
        thread_findings.iteration_order,
        "do what no other iteration needs before the wait (ordered, depend(sink)) or after the block "
        "(depend(source)), and let iterations that depend on each other run on one thread (another order of "
        "the loops, larger chunks), or use tasks with depend clauses",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "busy_waiting",
        "polling",
        "Threads poll with taskyield",
        thread_findings.polling,
        "wait by a construct that knows the reason: a depend clause, a taskwait or taskgroup, or a detached "
        "task that the other side completes",
        even_if_busy=True,
    ),
    Kind(
        "undivided",
        "no share",
        "One thread does all the work",
        thread_findings.undivided,
        "create tasks: lower the cut-off below which the serial code runs, or parallelise the loop",
        even_if_busy=True,
    ),
    Kind(
        "short_regions",
        "no share",
        "Parallel regions are too short",
        thread_findings.short_regions,
        "merge regions into one (a parallel region around the outer loop), or run small cases serially (an "
        "if clause)",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "synchronization",
        "no share",
        "Waiting together is expensive",
        thread_findings.frequent_barriers,
        _WAIT_LESS,
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "loop_imbalance",
        "no share",
        "A loop gives threads unequal work",
        thread_findings.loop_imbalance,
        "divide it into smaller pieces (schedule(dynamic) or guided), split long sections, or use tasks",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "imbalance",
        "no share",
        "Work is unevenly distributed among threads",
        thread_findings.imbalance,
        "divide the work by its cost instead of its amount, distribute it by a loop with schedule(dynamic), "
        "or use tasks",
        even_if_busy=True,
        even_if_crowded=False,
    ),
    Kind(
        "synchronization",
        "no share",
        "Waiting together is expensive",
        thread_findings.costly_waits,
        _WAIT_LESS,
    ),
    Kind(
        "private_copies",
        "memory",
        "Private copies of variables take time",
        sample_findings.private_copies,
        "make the copies once: enter the region once, and reduce after its last loop; or update the few "
        "elements that change by atomic updates; share data that no thread changes",
        even_if_busy=True,
    ),
    Kind(
        "false_sharing",
        "memory",
        "Threads take each other's cache lines",
        sample_findings.false_sharing,
        "let each thread work on a local variable and store the result once, or keep data of different "
        "threads on different cache lines (pad or align them to 64 bytes)",
        even_if_busy=True,
    ),
    Kind(
        "atomic_contention",
        "memory",
        "Threads contend for atomic updates",
        sample_findings.atomic_contention,
        "give each thread a copy to update, and combine the copies at the end (reduction)",
        even_if_busy=True,
    ),
    Kind(
        "memory_contention",
        "memory",
        "Threads wait for each other's data",
        memory_contention,
        even_if_busy=True,
    ),
    Kind(
        "time_in_mpi",
        "mpi",
        "The rank spends much time in MPI",
        time_in_mpi,
        "read the report on all ranks of the job together: it shows whether they wait for a rank with more "
        "work, or communicate too much",
        even_if_busy=True,
    ),
    Kind(
        "repeated_transfers",
        "device data",
        "The same data goes to a device again and again",
        library_findings.repeated_transfers,
        "keep the data on the device: `target data` around the loop, or `target enter data` before it and "
        "`target exit data` after it, with `target update` of the parts that change",
        even_if_busy=True,
    ),
    Kind(
        "costly_transfers",
        "device data",
        "Transfers take more time than the kernels",
        library_findings.costly_transfers,
        "move less: map only data that a kernel reads (to) or writes (from), use alloc for data that stays "
        "on the device, keep data there between kernels (`target data`), and overlap transfers with kernels "
        "(nowait, depend)",
        even_if_busy=True,
    ),
    Kind(
        "small_launches",
        "device time",
        "Kernels are too small",
        library_findings.small_launches,
        "launch fewer and larger kernels: join target constructs, or move the loop around them into the "
        "kernel",
        even_if_busy=True,
    ),
    Kind(
        "host_waits",
        "device time",
        "The host waits while the device works",
        library_findings.host_waits,
        "add nowait to the target construct, with depend clauses, and let the host work until a later "
        "taskwait",
        even_if_busy=True,
    ),
    Kind(
        "second_runtime",
        "serial",
        "Regions on a second OpenMP runtime are not recorded",
        thread_findings.second_runtime,
        "run the program and its libraries on one runtime: `ompass run --libomp FILE`, where FILE is a "
        "libomp.so.5, or build all of them with one compiler",
        even_if_busy=True,
    ),
    Kind(
        "python_startup",
        "python",
        "Python imports and compiles before the first region",
        thread_findings.python_startup,
        "measure a larger problem, or keep compiled code between runs (numba: cache=True)",
        even_if_busy=True,
    ),
    Kind(
        "serial_fraction",
        "serial",
        "A serial part limits the speed-up",
        thread_findings.serial_fraction,
        "parallelise the code before, between and after the regions (reading input, setting up data, "
        "checking results), or measure a larger problem",
        even_if_busy=True,
    ),
)
"""All kinds of problems, in the order in which the kinds of a family are tried."""


def find_findings(facts: Facts) -> tuple[Finding, ...]:
    """Returns all findings: problems, most expensive first, then notes.

    Findings that affect all others come first: an unrecorded runtime, a wrong binding, heavy crowding.
    """
    found: list[Finding] = []
    if facts.breakdown.thread_time_ns >= thresholds.JUDGED_THREAD_TIME_NS:
        explained: set[str] = set()
        for kind in KINDS:
            if facts.calm or (kind.even_if_busy and (kind.even_if_crowded or not facts.crowded)):
                found += _judged(kind, facts, explained)
    leading = (*LEADING, CROWD) if facts.heavily_crowded else LEADING
    found = [replace(f, leads=f.kind in leading) for f in found]
    found = [_as_note(f) if not f.leads and _follows(f, found) else f for f in found]
    problems = [f for f in found if f.severity == "problem"]
    problems.sort(key=lambda f: (not f.leads, -f.cost_ns, f.kind, f.construct or 0))
    return (*problems, *(f for f in found if f.severity == "note"), *notes.all_notes(facts))


LEADING: Final = ("second_runtime", "bound_together")
"""Kinds of problems that come first, because they distort all other figures."""
NOT_OF_PROGRAM: Final = ("disturbed", "throttled")
"""Kinds of problems that no change of the program cures."""
OF_PROGRAM: Final = (
    "serial_fraction", "time_in_mpi", "python_startup",
    "repeated_transfers", "costly_transfers", "small_launches", "host_waits",
)  # fmt: skip
"""Kinds of problems whose cost may lie outside of parallel regions."""
_FOLLOWS: Final = frozenset(kind.name for kind in KINDS if kind.follows)


def _follows(finding: Finding, found: Sequence[Finding]) -> bool:
    """True if a problem with at least half of its cost may cause this finding."""
    return finding.kind in _FOLLOWS and any(
        2 * other.cost_ns >= finding.cost_ns
        for other in found
        if other.severity == "problem" and other.kind not in (*_FOLLOWS, *NOT_OF_PROGRAM)
    )


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity="note", cost_ns=0)


def _judged(kind: Kind, facts: Facts, explained: set[str]) -> list[Finding]:
    """Returns the judge's findings, unless another kind of the family explains them."""
    if kind.family in explained:
        return []
    found = [
        Finding(
            e.kind or kind.name,
            "note" if e.is_note else "problem",
            e.title or kind.title,
            e.because,
            e.cure or kind.cure,
            0 if e.is_note else e.cost_ns,
            e.construct,
            e.numbers,
            line=e.line,
        )
        for e in kind.judge(facts)
    ]
    if found:
        explained.add(kind.family)
    return found

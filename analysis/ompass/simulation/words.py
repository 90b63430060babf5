# SPDX-License-Identifier: Apache-2.0
"""Advice in words: the change, its reason, and the code to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ompass.simulation.trial import LEAST_GAIN, REVERSED, Change
from ompass.symbols.resolver import Location
from ompass.units import duration, gain, plural

Locate = Callable[[int | None], Location]


@dataclass(frozen=True, slots=True)
class Advice:
    """One change of the program in words. Gains are shares of the predicted time without the change."""

    kind: str
    title: str  # the change, as a sentence without a full stop
    place: str  # file:line (function); empty: no particular place
    also: tuple[str, ...]  # other places that the change concerns
    because: str
    write: str  # instructions for the source code
    wall_ns: int  # predicted time with the change
    gain: float
    low: float  # smallest gain over other costs of the runtime and other random choices
    high: float
    at_most: bool
    at_least: bool

    @property
    def gain_text(self) -> str:
        """The gain, and the times with and without the change."""
        words = gain(self.gain, is_bound=self.at_most, is_least=self.at_least)
        before_ns = self.wall_ns / (1 - self.gain) if self.gain < 1 else 0
        return f"{words} ({duration(self.wall_ns)} instead of {duration(before_ns)})"

    def as_values(self) -> dict[str, Any]:
        """Returns the fields for JSON."""
        return asdict(self)


def advice_of(change: Change, locate: Locate) -> Advice:
    """Returns the change in words; `locate` finds the source of a construct."""
    return Advice(
        kind=change.kind,
        title=TITLES[change.kind](change),
        place=locate(change.construct).label() if change.construct else "",
        also=tuple(dict.fromkeys(locate(construct).label() for construct in change.also)),
        because=_reason(change),
        write=CURES[change.kind](change),
        wall_ns=change.wall_ns,
        gain=change.gain,
        low=change.low,
        high=change.high,
        at_most=change.at_most,
        at_least=change.is_least,
    )


def _address(change: Change) -> str:
    """Returns the address in the tasks' depend clauses, as the end of a sentence."""
    shared = change.shared
    if shared is None:
        return ""
    if 2 * shared.n_tasks < shared.n_dependent:
        return f", through many addresses: the most common one is in {plural(shared.n_tasks, 'task')}"
    every = "all" if shared.n_tasks == shared.n_dependent else f"{shared.n_tasks:,} of"
    what = f"the variable `{shared.name}`" if shared.name else f"the address {shared.address:#x}"
    return f": {every} {plural(shared.n_dependent, 'task')} name {what}"


_WIDE = 0.02
"""Reports omit ranges that are narrower than this."""


def _reason(change: Change) -> str:
    reason = REASONS.get(change.kind)
    low, high = f"{change.low:.0%}", f"{change.high:.0%}"
    parts = (
        reason(change) if reason else "",
        f"{low} to {high} less, {RANGE}" if change.high - change.low >= _WIDE else "",
        LEAST if change.is_least else "",
    )
    return "; ".join(filter(None, parts)) + LIMITS[change.limit](change)


LEAST = "the gain omits the time to pass the lock to another thread, because other programs disturbed the run"
RANGE = "depending on the costs of the runtime (half to twice), and on which threads take which tasks"
"""The meaning of the range of a gain."""


def on_more_threads(change: Change) -> str:
    """Returns the reason why more threads are not advised, as a sentence."""
    threads = plural(change.value, "thread")
    if change.gain < LEAST_GAIN:
        return f"{threads} gain nothing{LIMITS[change.limit](change)}."
    return (
        f"The trace does not show whether {threads} gain anything, because it has no times of memory "
        "accesses; ompass scale measures that."
    )


# The reasons that limit the gain of more threads, as the end of a sentence.
LIMITS: Mapping[str, Callable[[Change], str]] = {
    "": lambda change: "",
    "lock": lambda change: (
        f": the program holds one lock for {duration(change.limit_ns)} in total, so no number of "
        "threads takes less"
    ),
    "chain": lambda change: (
        f": the longest chain of work takes {duration(change.limit_ns)}, so no number of threads takes less"
    ),
    "memory": lambda change: "",
}

TITLES: Mapping[str, Callable[[Change], str]] = {
    "depth": lambda c: f"Cut off below depth {c.value}",
    "time": lambda c: f"Create no tasks for less than {duration(c.value)} of work",
    "grain": lambda c: f"Merge {c.value} of these tasks into one",
    "finer": lambda c: f"Split each of these tasks into {c.value}",
    "producer": lambda c: f"Let {c.value} tasks create these tasks instead of one",
    "taskgraph": lambda c: "Record the graph of these tasks once, and replay it",
    "phases": lambda c: "Wait only for needed tasks instead of all of them",
    "dependences": lambda c: "Wait for needed data instead of all tasks",
    "untied": lambda c: "Make these tasks untied",
    "data": lambda c: "Share the data that each of these tasks copies",
    "priority": lambda c: (
        "Reverse the order of the priorities of these tasks"
        if c.value == REVERSED
        else "Run these tasks before others"
    ),
    "schedule": lambda c: "Distribute this loop more evenly",
    "taskloop": lambda c: f"Make this loop a taskloop of {c.value} tasks",
    "chunk": lambda c: f"Make the chunks of this loop {c.value} times as large",
    "extension": lambda c: "Use the scheduler of libomp_ext.so instead of libomp's",
    "placement": lambda c: f"Place the subtrees of these tasks on {c.value} domains",
    "threads": lambda c: f"Run on {plural(c.value, 'thread')}",
    "split": lambda c: f"Split these tasks into equal parts, the longest into {c.value}",
    "defer": lambda c: "Defer these tasks, which run at once in their creator",
    "waits": lambda c: "Wait once after the loop instead of in each iteration",
    "dependence": lambda c: "Remove the dependence between these tasks if they do not share data through it",
    "pipeline": lambda c: f"Allow {c.value} items in the pipeline instead of {c.count}",
    "iterations": lambda c: "Divide the iterations of this loop",
    "lock": lambda c: "Do less while this lock is held",
    "ordered": lambda c: "Do less in this ordered block",
    "atomic": lambda c: "Give each thread a copy to update, and combine the copies at the end",
    "sharing": lambda c: "Keep the data of each thread on cache lines of its own",
    "order": lambda c: "Do less between waiting for earlier iterations and letting later ones continue",
    "barrier": lambda c: (
        f"Remove {'these barriers' if c.also else 'this barrier'} if no thread needs what others did before"
    ),
    "region": lambda c: "Enter one parallel region instead of many",
    "share": lambda c: "Share the work that one thread of this region does alone",
    "balance": lambda c: "Give all threads of this region equal parts of the work",
    "serial": lambda c: (
        "Run the serial work before this region in parallel"
        if c.count
        else "Run the serial work after this region in parallel"
    ),
}
CURES: Mapping[str, Callable[[Change], str]] = {
    "depth": lambda c: (
        f"pass the depth as an argument, and call the serial function below {c.value}; "
        f"`final(depth >= {c.value})` keeps part of the cost"
    ),
    "time": lambda c: "estimate the work from the problem size, and call the serial function below that size",
    "grain": lambda c: (
        f"write `grainsize({c.iterations})` on the taskloop"
        if c.iterations
        else f"create one task for {c.value} pieces instead of one each, or use a taskloop"
    ),
    "finer": lambda c: f"write `grainsize({c.iterations})` on the taskloop",
    "producer": lambda c: (
        "split the loop that creates the tasks: use a taskloop, or tasks that each create a part"
    ),
    "taskgraph": lambda c: (
        "write `taskgraph` (OpenMP 6.0) around the code that creates the tasks, and pass values that change "
        "between executions by reference; this needs a compiler and a runtime that replay task graphs"
    ),
    "phases": lambda c: "replace the taskwaits between the phases by depend clauses on the tasks",
    "dependences": lambda c: (
        "remove the taskwait, and write `depend(in: ...)` and `depend(out: ...)` on the tasks, for the data "
        "that their kernels declare as read and written"
    ),
    "priority": lambda c: (
        "give high priorities to the tasks that have low ones, for example `priority(most - p)` for p"
        if c.value == REVERSED
        else f"write `priority({c.priority + 1})` on the task construct, and start the program with "
        f"OMP_MAX_TASK_PRIORITY={c.priority + 1}"
    ),
    "schedule": lambda c: (
        "write `schedule(dynamic, n)` or `schedule(guided)` on the loop; if it has such a "
        "schedule, use smaller chunks"
    ),
    "taskloop": lambda c: (
        f"let one thread run the loop as `taskloop num_tasks({c.value})`; the others run its tasks at the "
        "barrier"
    ),
    "chunk": lambda c: (
        f"write a chunk size in the schedule clause: {c.value} times the present one (1 if there is none)"
    ),
    "untied": lambda c: "write `untied` on the task construct",
    "data": lambda c: (
        "write `shared` for large variables, or pass a pointer to them: `firstprivate` copies arrays and "
        "objects for each task; in Fortran, array arguments of a procedure are firstprivate by default"
    ),
    "extension": lambda c: "start the program with `LD_PRELOAD=libomp_ext.so OMP_EXT_SCHEDULE=1`",
    "placement": lambda c: (
        f"call `omp_child_task_affinity(i * {c.value} / n)` before creating the i-th of n tasks, and link "
        "the program with libomp_ext.so"
    ),
    "threads": lambda c: f"set OMP_NUM_THREADS={c.value} on a machine with as many cores",
    "split": lambda c: "write a taskloop over the work, or cut off the recursion at smaller tasks",
    "defer": lambda c: (
        "change the `if` or `final` clause or the cut-off that makes them undeferred: it should concern "
        "small tasks only"
    ),
    "waits": lambda c: (
        "move the taskwait, or the end of the taskgroup, after the loop; if later tasks need the results of "
        "earlier ones, write `depend` clauses instead"
    ),
    "dependence": lambda c: (
        "name in the `depend` clauses only the data that the task itself uses: its block, row or element, "
        "not the whole array or a common variable; let tasks that add to one result use partial results"
    ),
    "pipeline": lambda c: f"use {c.value} buffers: item i takes buffer i modulo {c.value}",
    "iterations": lambda c: (
        "write `collapse(2)`, or loop over smaller parts: no schedule balances so few or unequal iterations"
    ),
    "lock": lambda c: (
        "compute before the lock and only store the result inside; use `atomic`, a `reduction`, or a copy "
        "for each thread; or use one lock for each part of the data"
    ),
    "ordered": lambda c: (
        "move everything that does not need earlier iterations before the block; only store or print the "
        "results in the block"
    ),
    "atomic": lambda c: (
        "write a `reduction` clause, or add to a local variable and update the shared one once"
    ),
    "sharing": lambda c: (
        "let each thread work on a local variable and store the result once, or align the data of each "
        "thread to 64 bytes"
    ),
    "order": lambda c: (
        "move everything that does not need earlier iterations before the wait, and let later iterations "
        "continue as soon as they can; or wait for smaller parts of the iteration"
    ),
    "barrier": lambda c: (
        f"write `nowait` on the construct{'s' if c.also else ''}, remove explicit barriers, or do more work "
        "between two barriers"
    ),
    "region": lambda c: (
        "put `parallel` around the outer loop, and `for` (with `nowait`, where the data allow it) on the "
        "inner ones; or parallelise the outer loop itself"
    ),
    "share": lambda c: (
        "use a loop construct in place of `single` or `masked`, or create tasks for parts of the work"
    ),
    "balance": lambda c: "divide the work by a loop construct with `schedule(dynamic)`, or into equal parts",
    "serial": lambda c: "write a parallel loop or tasks for the serial work",
}
REASONS: Mapping[str, Callable[[Change], str]] = {
    "taskgraph": lambda c: (
        f"the same {plural(c.value, 'task')}, with the same dependences, created "
        f"{plural(c.count, 'more time')} in {duration(c.share_ns)}"
    ),
    "phases": lambda c: f"up to {plural(c.count, 'wait')} in one task, each for all earlier ones",
    "data": lambda c: (
        f"the creation of {plural(c.count, 'task')} took {duration(c.share_ns)}, several times as long as "
        "creations that copy no data"
    ),
    "waits": lambda c: f"{plural(c.count, 'wait')}, each for all tasks so far",
    "dependence": lambda c: f"{plural(c.count, 'dependence')} keep these tasks in order{_address(c)}",
    "pipeline": lambda c: (
        f"an item waits until the item {plural(c.count, 'place')} earlier has left the pipeline"
    ),
    "lock": lambda c: (
        f"held for {duration(c.share_ns)} in {plural(c.count, 'acquisition')}, one thread at a time"
    ),
    "ordered": lambda c: f"{duration(c.share_ns)} in {plural(c.count, 'iteration')}, one at a time",
    "atomic": lambda c: f"{duration(c.share_ns)} on atomic updates, by samples",
    "sharing": lambda c: f"{duration(c.share_ns)} on cache lines that threads share, by samples",
    "order": lambda c: f"threads waited {duration(c.share_ns)} for earlier iterations",
    "barrier": lambda c: f"{plural(c.count, 'barrier')}",
    "region": lambda c: f"{plural(c.count, 'region')}",
    "share": lambda c: f"{duration(c.share_ns)} of work outside of tasks and loops, mostly of one thread",
    "balance": lambda c: f"{duration(c.share_ns)} of work outside of tasks and loops, unequally divided",
    "serial": lambda c: f"{duration(c.share_ns)} outside of parallel regions",
}

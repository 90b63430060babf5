# SPDX-License-Identifier: Apache-2.0
"""A second, slow reader of a trace: applies the definitions to find each task's history and the longest path.

Interprets the records of `read_events` without the core's walker, graph or replay. Every task is a list of
steps. The steps form a graph whose edges are work, creations, dependences and joins. The span is the longest
path of this graph, found by visiting every edge. Implements the rules of docs/task-graph.md independently;
readers_agree.py compares the results.

Traces do not contain which tasks a `taskwait depend` waits for, nor where a taskgroup begins, so this reader
does not know them either. During pauses, threads switch tasks without records, so this reader cannot read
traces with pauses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import count
from pathlib import Path
from typing import Any, Literal

from ompass import _core

KINDS = [name for name, _ in _core.event_kinds()]
# Records without a time stamp (docs/trace-format.md); a creation may have one or not.
UNTIMED = {
    "inline_begin", "inline_end", "inline_code", "inline_ops", "discard", "fulfill", "dependence",
    "implicit_end", "read", "write", "cpu", "counter", "domain", "placed", "read_near", "write_near",
    "preempted", "blocked", "wait_place", "waited_for", "system_use", "depends_on",
}  # fmt: skip
SPANS = ("create_span", "create_span_long")
TASKWAIT, TASKGROUP, TASKWAIT_DEPEND, DETACHED = 5, 6, 63, 4
NEVER_NS = 2**62

Range = tuple[int, int]


@dataclass
class Record:
    """One row of `read_events`."""

    thread: int
    kind: str
    time_ns: int
    construct: int
    task: int
    value: int


@dataclass(eq=False)
class Task:
    """A task as its records show it: deferred, implicit or undeferred (id 0).

    Another task with id 0 per thread stands for the thread's time outside of regions.
    """

    id: int
    construct: int
    creator: Task | None = None
    inline: bool = False  # undeferred: its work belongs to the task in which it runs
    created_ns: int = -1
    is_wrapped: bool = False  # its creation has the begin time of the wrapper
    born: tuple[int, int] = (0, 0)  # `Step.at` of its creation
    start_ns: int = -1
    end_ns: int = NEVER_NS
    ready_after_ns: int = -1  # time from ready to start; -1: not in the trace
    region: int = 0  # id; 0: outside
    n_barriers: int = 0  # barriers of the region that the creating thread had reached at the creation
    detached: bool = False
    predecessors: list[Task] = field(default_factory=list)
    done: list[Step] = field(default_factory=list)
    work_ns: int = 0
    busy_ns: int = 0  # work, and MPI calls
    n_stretches: int = 0

    @property
    def is_deferred(self) -> bool:
        return self.creator is not None and not self.inline

    def owner(self) -> Task:
        """Returns the task that contains its work."""
        task = self
        while task.inline and task.creator is not None:
            task = task.creator
        return task

    def barrier(self) -> int:
        """Returns the number of the barrier of its region that waits for its end."""
        task, creator = self, self.creator
        while creator is not None:
            if not creator.inline:
                if creator.creator is None:
                    return task.n_barriers
                task = creator
            creator = creator.creator
        return task.n_barriers


@dataclass
class Step:
    """An event in a task; `what` determines the meaning of the fields."""

    at: tuple[int, int]  # time in ns, and the order of the records
    what: Literal["work", "begin", "end", "wait", "arrive", "passed", "region", "region_end", "fulfill"]
    begin_ns: int = 0  # begin of work
    frame: Task | None = None  # the task whose wait ended; may be undeferred
    other: Task | None = None  # the task that begins here, has ended, or is completed by its event
    kind: int = 0  # kind of a wait
    region: int = 0
    number: int = 0  # number of a barrier


def records(run_dir: Path) -> list[list[Record]]:
    """Returns the records of each thread, in order."""
    columns = _core.read_events(str(run_dir))
    by_thread: dict[int, list[Record]] = defaultdict(list)
    names = ("thread", "kind", "time_ns", "construct", "task", "value")
    for thread, kind, *others in zip(*(getattr(columns, name).tolist() for name in names), strict=True):
        by_thread[thread].append(Record(thread, KINDS[kind], *others))
    return [by_thread[thread] for thread in sorted(by_thread)]


class Reading:
    """The tasks of a trace, and the longest path through them."""

    def __init__(self, run_dir: Path, end_ns: int | None = None) -> None:
        """Reads a trace. `end_ns`: the end of the run, if it ended normally."""
        self.tasks: dict[int, Task] = {}  # deferred and implicit ones, by id
        self.bases: list[Task] = []  # one per thread, for its time outside of every region
        self.n_undeferred = 0
        self.order = count()
        self.end_ns = end_ns
        self.cut: list[tuple[int, int]] = []  # region and next barrier of threads that never left the region
        threads = records(run_dir)
        for thread in threads:  # first all creations, because records of other threads name the tasks
            counter = 0
            for record in thread:
                if record.kind in ("create", "implicit_begin"):
                    self.tasks[record.task] = Task(record.task, record.construct)
                    counter += 1
        for thread in threads:
            _Thread(self, thread).read()
        for task in self.everyone():
            task.done.sort(key=lambda step: step.at)

    def cut_ns(self) -> int:
        """Returns the longest time that the threads in `cut` may have worked without records.

        Such a thread may have left its last barrier with the others and worked until the end of the region.
        """
        steps = [step for task in self.everyone() for step in task.done]
        ended_ns = {step.region: step.at[0] for step in steps if step.what == "region_end"}
        passed_ns = {(step.region, step.number): step.at[0] for step in steps if step.what == "passed"}
        return sum(
            ended_ns[region] - passed_ns.get((region, n - 1), ended_ns[region]) for region, n in self.cut
        )

    def deferred(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.is_deferred]

    def everyone(self) -> Iterator[Task]:
        yield from self.tasks.values()
        yield from self.bases

    def span_ns(self) -> Range:
        """Returns the smallest and the largest possible length of the longest path.

        The error of an interval of work is below 2 ns: its two times were rounded to nanoseconds, and if it
        ends at a wrapper's begin, a rounded length was subtracted. So the bounds are the longest paths with
        2 ns less and 2 ns more per interval. If a task ended in the same nanosecond as a taskgroup, only the
        upper bound joins it.
        """
        return _longest(self, -2), _longest(self, 2)


class _Thread:
    """Interprets the records of one thread."""

    def __init__(self, reading: Reading, thread: list[Record]) -> None:
        self.reading, self.records = reading, thread
        base = Task(0, 0, start_ns=0)
        reading.bases.append(base)
        self.stack = [base]
        self.waiting: dict[int, bool] = {}  # by id() of the frame
        self.mark_ns, self.working = 0, False
        self.in_call = False  # in an MPI call, which lengthens paths as work does, but is not the task's work
        self.regions: list[tuple[int, bool]] = [(0, True)]  # id, and True on the primary thread
        self.n_barriers: list[int] = [0]

    def read(self) -> None:
        for i, record in enumerate(self.records):
            self.one(i, record)
        if self.reading.end_ns is None:
            return
        if len(self.regions) > 1:
            self.reading.cut.append((self.regions[-1][0], self.n_barriers[-1]))
        elif self.working:
            self.work_until(self.reading.end_ns)

    def owner(self) -> Task:
        """Returns the task that the work belongs to."""
        return self.stack[-1].owner()

    def note(self, what: Any, time_ns: int, **fields: Any) -> None:
        self.owner().done.append(Step((time_ns, next(self.reading.order)), what, **fields))

    def work_until(self, time_ns: int) -> None:
        if self.working and time_ns > self.mark_ns:
            self.note("work", time_ns, begin_ns=self.mark_ns)
            owner = self.owner()
            owner.work_ns += 0 if self.in_call else time_ns - self.mark_ns
            owner.busy_ns += time_ns - self.mark_ns
            owner.n_stretches += 1
        self.mark_ns = max(self.mark_ns, time_ns)
        self.in_call = False

    def go_on(self, time_ns: int) -> None:
        self.mark_ns = time_ns
        self.working = not self.waiting.get(id(self.stack[-1]), False)

    def wrapper_begin(self, i: int) -> int | None:
        """Returns the begin of the wrapper around the creation in record `i`; None without a wrapper."""
        for record in self.records[i + 1 :]:
            if record.kind in SPANS:
                return record.time_ns - record.value
            if record.kind not in ("create", "work_begin", "work_end") and record.kind not in UNTIMED:
                return None
        return None

    def create(self, i: int, record: Record) -> None:
        has_time = i == 0 or record.time_ns > self.records[i - 1].time_ns
        wrapper_ns = self.wrapper_begin(i)
        created_ns = record.time_ns if has_time or wrapper_ns is None else wrapper_ns
        self.work_until(created_ns if wrapper_ns is None else min(wrapper_ns, created_ns))
        task = self.reading.tasks[record.task]
        task.creator, task.created_ns = self.stack[-1], created_ns
        task.is_wrapped = not has_time and wrapper_ns is not None
        outermost = self.owner()
        task.region = self.regions[-1][0]
        task.n_barriers = self.n_barriers[-1]
        self.note("begin", created_ns, other=task)
        task.born = outermost.done[-1].at

    def push(self, task: Task, time_ns: int) -> None:
        self.work_until(time_ns)
        self.stack.append(task)
        self.go_on(time_ns)

    def drop_undeferred(self) -> None:
        while self.stack[-1].inline:
            self.stack.pop()

    def return_to(self, task: Task) -> bool:
        if task not in self.stack:
            return False
        while self.stack[-1] is not task:
            self.stack.pop()
        return True

    def go_on_with(self, record: Record, task: Task | None) -> None:
        if task is None:  # an undeferred task, which has no id: the innermost one
            task = next(task for task in reversed(self.stack) if task.inline)
        if not self.return_to(task):
            self.stack.append(task)
            self.waiting[id(task)] = False  # a waiting task stays on the thread's stack
        self.go_on(record.time_ns)

    def complete(self, record: Record) -> None:
        self.work_until(record.time_ns)
        task = self.stack.pop()
        if task.inline:  # detached: its event completes it
            self.go_on(record.time_ns)
            return
        task.detached = record.kind == "complete" and record.value == DETACHED
        if not task.detached:
            task.end_ns = record.time_ns
        self.go_on(record.time_ns)

    def one(self, i: int, record: Record) -> None:
        now, kind, task = record.time_ns, record.kind, self.reading.tasks.get(record.task)
        if kind == "outside":
            self.mark_ns, self.working = now, record.thread == 0
        elif kind == "create":
            self.create(i, record)
        elif kind in SPANS:
            self.work_until(now - record.value)
            self.mark_ns, self.working = now, True
        elif kind in ("inline_begin", "inline_begin_timed"):
            self.reading.n_undeferred += 1
            self.stack.append(Task(0, record.construct, self.stack[-1], inline=True))
        elif kind in ("inline_end", "inline_end_timed"):
            self.stack.pop()
        elif kind in ("start", "start_ready"):
            assert task is not None and task.start_ns < 0, f"task {record.task} starts twice, or is unknown"
            task.start_ns = now
            task.ready_after_ns = record.value if kind == "start_ready" else -1
            self.push(task, now)
        elif kind == "resume":
            self.work_until(now)
            self.go_on_with(record, task)
        elif kind == "complete":
            self.complete(record)
        elif kind == "complete_to":
            self.complete(record)
            self.go_on_with(record, task)
        elif kind == "dependence":
            after = self.reading.tasks.get(record.value)
            if task and after:
                after.predecessors.append(task)
        elif kind == "wait_begin":
            self.begin_wait(record)
        elif kind in ("wait_end", "barrier_end"):
            self.end_wait(record)
        elif kind == "mutex_acquire":
            self.work_until(now)
        elif kind == "mutex_acquired":
            self.mark_ns = now
        elif kind == "mutex_released":
            self.work_until(now)
        elif kind == "call":
            was_in_call = self.in_call
            self.work_until(now)
            step = record.value & 15
            self.in_call = step == 1 or (step > 1 and was_in_call)  # 0 leaves the call
        elif kind == "depends_on":
            pass  # only the simulator uses depend clauses and priorities
        elif kind == "discard":
            assert task is not None
            task.end_ns = now
        elif kind in ("fulfill", "fulfill_timed"):
            assert task is not None
            self.work_until(now)
            task.end_ns = now
            self.note("fulfill", now, other=task)
        else:
            self.region(record, task)

    def begin_wait(self, record: Record) -> None:
        self.work_until(record.time_ns)
        self.waiting[id(self.stack[-1])] = True
        self.working = False
        if record.value not in (TASKWAIT, TASKGROUP, TASKWAIT_DEPEND) and self.regions[-1][0]:
            self.note("arrive", record.time_ns, region=self.regions[-1][0], number=self.n_barriers[-1])
            self.n_barriers[-1] += 1

    def end_wait(self, record: Record) -> None:
        frame = self.stack[-1]
        self.waiting[id(frame)] = False
        self.go_on(record.time_ns)
        if record.kind == "wait_end":
            self.note("wait", record.time_ns, frame=frame, kind=record.value)
        elif self.regions[-1][0]:
            self.note("passed", record.time_ns, region=self.regions[-1][0], number=self.n_barriers[-1] - 1)

    def region(self, record: Record, task: Task | None) -> None:
        now, kind = record.time_ns, record.kind
        if kind == "region_begin":
            self.work_until(now)
            self.note("region", now, region=record.task)
            self.regions.append((record.task, True))
            self.n_barriers.append(0)
            self.working = False
        elif kind == "implicit_begin":
            assert task is not None
            if record.value and self.regions[-1][0] != record.value:
                self.regions.append((record.value, False))
                self.n_barriers.append(0)
            else:
                self.work_until(now)
            task.region, task.start_ns = self.regions[-1][0], now
            if not task.region:
                self.note("begin", now, other=task)
            self.stack.append(task)
            self.go_on(now)
        elif kind in ("implicit_end", "implicit_leave"):
            if kind == "implicit_leave":
                self.work_until(now)
            self.drop_undeferred()
            ended = self.stack.pop()
            ended.end_ns = now
            self.working = False
            if not ended.region:
                self.note("end", now, other=ended)
            elif kind == "implicit_end":
                self.regions.pop()
                self.n_barriers.pop()
        elif kind == "region_end":
            region, _ = self.regions.pop()
            self.n_barriers.pop()
            self.note("region_end", now, region=region)
            self.go_on(now)


# ---------------------------------------------------------------- the longest path


class _Graph:
    """A graph of moments and the work between them."""

    def __init__(self, slack_ns: int) -> None:
        self.slack_ns = slack_ns  # added to every interval of work
        self.before: dict[object, list[tuple[object, int]]] = defaultdict(list)

    def moment(self, moment: object) -> None:
        self.before.setdefault(moment, [])

    def edge(self, first: object, then: object, work_ns: int = 0) -> None:
        self.moment(first)
        self.before[then].append((first, work_ns))

    def longest(self) -> int:
        order = TopologicalSorter({moment: [m for m, _ in edges] for moment, edges in self.before.items()})
        length: dict[object, int] = {}
        for moment in order.static_order():
            length[moment] = max((length[m] + work for m, work in self.before[moment]), default=0)
        return max(length.values(), default=0)


def _longest(reading: Reading, slack_ns: int) -> int:
    graph = _Graph(slack_ns)
    children: dict[Task, list[Task]] = defaultdict(list)  # by frame
    for task in reading.deferred():
        assert task.creator is not None
        children[task.creator].append(task)
    frames: dict[Task, set[Task]] = defaultdict(set)  # undeferred tasks by the frame in which they ran
    for frame in list(children):
        while frame.inline and frame.creator is not None:
            frames[frame.creator].add(frame)
            frame = frame.creator
    for task in reading.everyone():
        _link_task(graph, task, children, frames)
    _link_barriers(graph, reading)
    return graph.longest()


def _begin(task: Task) -> object:
    return ("begin", id(task))


def _end(task: Task) -> object:
    return ("end", id(task))


def _link_task(
    graph: _Graph,
    task: Task,
    children: dict[Task, list[Task]],
    frames: dict[Task, set[Task]],
) -> None:
    place = _begin(task)
    graph.moment(place)
    for before in task.predecessors:
        graph.edge(_end(before), place)
    if task.region and not task.is_deferred:
        graph.edge(("region", task.region), place)
    for number, step in enumerate(task.done):
        if step.what == "begin" and step.other:
            graph.edge(place, _begin(step.other))
            continue
        if step.what == "arrive":
            graph.edge(place, ("barrier", step.region, step.number))
            continue
        if step.what == "region":
            graph.edge(place, ("region", step.region))
            continue
        if step.what == "fulfill" and step.other:
            graph.edge(place, _end(step.other))
            continue
        following = ("step", id(task), number)
        length_ns = step.at[0] - step.begin_ns + graph.slack_ns if step.what == "work" else 0
        graph.edge(place, following, max(length_ns, 0))
        if step.what == "wait" and step.frame:
            for joined in _joined(step, children, frames, graph.slack_ns > 0):
                graph.edge(_end(joined), following)
        elif step.what == "passed":
            graph.edge(("barrier", step.region, step.number), following)
        elif step.what == "region_end":
            graph.edge(("region_end", step.region), following)
        elif step.what == "end" and step.other:
            graph.edge(_end(step.other), following)
        place = following
    graph.edge(place, _end(task))
    if task.region:
        graph.edge(_end(task), ("region_end", task.region))


def _joined(
    step: Step, children: dict[Task, list[Task]], frames: dict[Task, set[Task]], with_ties: bool
) -> Iterable[Task]:
    """Yields the tasks that a taskwait, or the end of a taskgroup, waits for."""
    assert step.frame is not None
    until_ns = step.at[0] + (1 if with_ties else 0)
    if step.kind == TASKWAIT:
        yield from (task for task in children[step.frame] if task.born < step.at)
        return
    open_frames = [step.frame]
    while open_frames:
        frame = open_frames.pop()
        if step.kind == TASKGROUP:
            open_frames += frames[frame]
        for task in children[frame]:
            if task.end_ns < until_ns:
                yield task
                if step.kind == TASKGROUP:
                    open_frames.append(task)


def _link_barriers(graph: _Graph, reading: Reading) -> None:
    for task in reading.tasks.values():
        if task.is_deferred and task.region:
            graph.edge(_end(task), ("barrier", task.region, task.barrier()))

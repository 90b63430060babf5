# SPDX-License-Identifier: Apache-2.0
"""Makes traces of task programs that never ran: a body of operations, scheduled on a team, written as logs.

One tick is a nanosecond unless given otherwise. This module repeats the byte layout of format.h on purpose: a
test that took the layout from the code under test would not notice a change. `chain_of` computes the span
that a body must have.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CREATE, CREATE_SPAN, START, START_READY, COMPLETE, WAIT_BEGIN, WAIT_END, BARRIER_END = (
    2,
    3,
    12,
    13,
    15,
    20,
    21,
    22,
)
DEPENDENCE, REGION_BEGIN, REGION_END, IMPLICIT_BEGIN, IMPLICIT_END, IMPLICIT_LEAVE, OUTSIDE = (
    19, 25, 26, 27, 28, 29, 30,
)  # fmt: skip
FULFILL, MUTEX_ACQUIRE, MUTEX_ACQUIRED, BLOCKED, MUTEX_RELEASED = 18, 23, 24, 45, 61
INLINE_BEGIN_TIMED, INLINE_END_TIMED, WAIT_PLACE = 6, 8, 46
DEPENDS_ON, PRIORITY_CLAUSE = 62, (1 << 26) - 1
TIME, STAMP = 1, 11
COMPLETED, DETACHED = 1, 4
TASKWAIT, END_OF_REGION = 5, 9
PARALLEL, FIRST_TASK = 1, 2  # constructs
TASK, WAIT, IF_CLAUSE_FALSE = 1, 6, 1 << 21  # kinds of definitions; a flag of tasks
_SHIFT = 40
_BEGIN = 1000


@dataclass(frozen=True)
class Work:
    ns: int


@dataclass(frozen=True)
class Spawn:
    """A deferred task. With `after_last`, it depends on the previous child of its creator.

    With `event_ns`, the task is detached, and its event is fulfilled this long after the task's end. The made
    run ignores `priority`.
    """

    body: Body
    construct: int = FIRST_TASK
    after_last: bool = False
    event_ns: int = 0
    priority: int = 0


@dataclass(frozen=True)
class Wait:
    """A taskwait."""


@dataclass(frozen=True)
class Sleep:
    """Blocked time of a task."""

    ns: int


@dataclass(frozen=True)
class Locked:
    """Work under a lock. `lock` 0: recorded as in older traces, without the lock's number and release."""

    ns: int
    lock: int = 1
    handoff_ns: int = 0  # time from the release until a waiting thread continues
    tried: bool = False  # taken by omp_test_lock: the trace has only the release; the made run does not wait


@dataclass(frozen=True)
class AtOnce:
    """An undeferred task that works, then executes a taskwait at the construct `place`, without children.

    In a team of one, the trace has only the place of the wait.
    """

    ns: int
    construct: int
    place: int


Op = Work | Spawn | Wait | Sleep | Locked | AtOnce
Body = tuple[Op, ...]


def work_of(body: Body) -> int:
    """Returns the work of a body and all its descendants."""
    return sum(
        work_of(op.body) if isinstance(op, Spawn) else 0 if isinstance(op, Wait) else op.ns for op in body
    )


def chain_of(body: Body) -> tuple[int, int]:
    """Returns (length of the body's own chain, longest chain of it and its descendants), by definition.

    The body has only work, tasks without events, and taskwaits.
    """
    now, longest, last_end = 0, 0, 0
    children: list[int] = []
    for op in body:
        if isinstance(op, Work):
            now += op.ns
        elif isinstance(op, Spawn):
            own, of_all = chain_of(op.body)
            begin = max(now, last_end) if op.after_last and children else now
            last_end = begin + own
            children.append(last_end)
            longest = max(longest, begin + of_all)
        else:
            now = max([now, *children])
            children = []
    return now, max(longest, now)


class Log:
    """The events of one thread."""

    def __init__(self) -> None:
        self.words: list[int] = [TIME, _BEGIN]
        self.now = _BEGIN
        self.counter = 0

    def add(self, kind: int, argument: int, time: int | None, *words: int) -> None:
        """Appends an event, which is untimed if `time` is None."""
        delta = 0 if time is None else time - self.now
        assert delta >= 0
        self.words += [delta << 32 | argument << 6 | kind, *words]
        self.now += delta


@dataclass(eq=False)
class Task:
    id: int
    body: Body
    construct: int
    created: int
    parent: Task | None
    predecessor: Task | None = None
    event_ns: int = 0
    place: int = 0
    children: list[Task] = field(default_factory=list)
    started: int | None = None
    ended: int | None = None
    waiting: bool = False
    has_new_children: bool = False
    was_at_barrier: bool = False


@dataclass
class Worker:
    index: int
    log: Log
    stack: list[Task]
    clock: int
    is_initial: bool
    arrived: bool = False


class Schedule:
    """Runs a body on a team; each step advances the thread that is furthest behind."""

    def __init__(
        self, body: Body, n_threads: int = 2, spread: int = 0, wrapper_ns: int = 0, first: int = 0
    ) -> None:
        """Runs the body on the threads from number `first` on. The first one is an initial thread."""
        self.spread = spread  # selects the ready task to run: changes the schedule, never the span
        self.wrapper_ns = wrapper_ns  # length of each creation, recorded after it; 0: no wrappers
        self.tasks: list[Task] = []  # the tasks created so far
        self.queue: list[Task] = []
        self.n_unfinished = 0
        self.region = first << _SHIFT | 1
        self.free_at: dict[int, int] = {}  # by lock: the time of its release
        self.events: list[tuple[int, Task]] = []  # of ended detached tasks, with their times
        self.workers = []
        for index in range(first, first + n_threads):
            log = Log()
            worker = Worker(index, log, [], _BEGIN + 10, is_initial=index == first)
            log.add(OUTSIDE, 0, _BEGIN)
            if worker.is_initial:
                log.counter += 1
                log.add(REGION_BEGIN, PARALLEL, _BEGIN + 5, self.region, 1)
            log.counter += 1
            log.add(IMPLICIT_BEGIN, n_threads, worker.clock, self.region)
            root = Task(self._id(worker), body if worker.is_initial else (), 0, worker.clock, None)
            worker.stack.append(root)
            self.workers.append(worker)
        self._run()

    def _id(self, worker: Worker) -> int:
        return worker.index << _SHIFT | worker.log.counter

    def _run(self) -> None:
        while not (all(w.arrived for w in self.workers) and self.n_unfinished == 0):
            worker = min(self.workers, key=lambda w: (w.clock, w.index))
            if not self._step(worker):
                others = [w.clock for w in self.workers if w is not worker]
                worker.clock = max(worker.clock + 1, min(others, default=0) + 1)
        end = max(w.clock for w in self.workers)
        primary = self.workers[0].log
        last = end - self.workers[0].log.now
        primary.add(BARRIER_END, END_OF_REGION, end, min(last, 1) << 1 | 1)
        primary.add(IMPLICIT_LEAVE, 0, end)
        primary.add(REGION_END, len(self.workers), end + 2, self.region, end << 1 | 1)
        for worker in self.workers[1:]:
            worker.log.add(IMPLICIT_END, 0, None)
        self.end = end + 2

    def _step(self, worker: Worker) -> bool:
        """Executes one operation; returns False if the worker has nothing to do at this time."""
        task = worker.stack[-1]
        self._fulfill(worker)
        if task.waiting:
            mine = [t for t in self.queue if t.parent is task]
            if all(c.ended is not None and c.ended <= worker.clock for c in task.children):
                task.waiting = False
                worker.log.add(WAIT_END, TASKWAIT, worker.clock)
                return True
            return self._start_one(worker, mine)
        if worker.arrived:
            return self._start_one(worker, self.queue)
        if task.place == len(task.body):
            return self._end(worker, task)
        op = task.body[task.place]
        task.place += 1
        if isinstance(op, Work):
            worker.clock += op.ns
        elif isinstance(op, Spawn):
            self._spawn(worker, task, op)
        elif isinstance(op, Sleep):
            worker.log.add(BLOCKED, 0, None, worker.clock, op.ns)
            worker.clock += op.ns
        elif isinstance(op, Locked):
            self._lock(worker, op)
        elif isinstance(op, AtOnce):
            self._run_at_once(worker, op)
        elif task.has_new_children:  # without new children, a taskwait leaves no record
            task.waiting, task.has_new_children = True, False
            worker.log.add(WAIT_BEGIN, TASKWAIT, worker.clock)
        return True

    def _lock(self, worker: Worker, op: Locked) -> None:
        mutex = 1 | op.lock << 8
        if not op.tried:
            worker.log.add(MUTEX_ACQUIRE, 1, worker.clock)
            if (free_at := self.free_at.get(op.lock, 0)) > worker.clock:
                worker.clock = free_at + op.handoff_ns
            worker.log.add(MUTEX_ACQUIRED, mutex, worker.clock)
        worker.clock += op.ns
        self.free_at[op.lock] = worker.clock
        if op.lock:
            worker.log.add(MUTEX_RELEASED, mutex, worker.clock)

    def _run_at_once(self, worker: Worker, op: AtOnce) -> None:
        worker.log.add(INLINE_BEGIN_TIMED, op.construct, worker.clock)
        worker.clock += op.ns
        worker.log.add(WAIT_PLACE, op.place, None)
        if len(self.workers) > 1:
            worker.log.add(WAIT_BEGIN, TASKWAIT, worker.clock)
            worker.log.add(WAIT_END, TASKWAIT, worker.clock)
        worker.log.add(INLINE_END_TIMED, op.construct, worker.clock)

    def _fulfill(self, worker: Worker) -> None:
        """Completes the detached tasks whose events are due."""
        for time, task in [event for event in self.events if event[0] <= worker.clock]:
            worker.log.now = max(worker.log.now, time)
            worker.log.words += [TIME, worker.log.now]
            worker.log.add(FULFILL, task.construct, None, task.id)
            task.ended = worker.log.now
            self.n_unfinished -= 1
            self.events.remove((time, task))

    def _spawn(self, worker: Worker, task: Task, op: Spawn) -> None:
        worker.log.counter += 1
        child = Task(self._id(worker), op.body, op.construct, worker.clock, task, event_ns=op.event_ns)
        worker.log.add(CREATE, op.construct, None if self.wrapper_ns else worker.clock)
        # Only children since the last wait can be predecessors, as in chain_of: earlier ones have completed.
        if op.after_last and task.has_new_children:
            child.predecessor = task.children[-1]
            worker.log.add(DEPENDENCE, 0, None, child.predecessor.id, child.id)
        if op.priority:
            worker.log.add(DEPENDS_ON, PRIORITY_CLAUSE, None, op.priority)
        task.children.append(child)
        task.has_new_children = True
        if self.wrapper_ns:
            worker.clock += self.wrapper_ns
            worker.log.add(CREATE_SPAN, self.wrapper_ns, worker.clock)
        self.tasks.append(child)
        self.queue.append(child)
        self.n_unfinished += 1

    def _start_one(self, worker: Worker, candidates: Sequence[Task]) -> bool:
        ready = [
            t
            for t in candidates
            if t.created <= worker.clock
            and (t.predecessor is None or (t.predecessor.ended or worker.clock + 1) <= worker.clock)
        ]
        if not ready:
            return False
        task = ready[self.spread % len(ready)]
        self.queue.remove(task)
        if task.predecessor is None:
            worker.log.add(START, task.construct, worker.clock, task.id)
        else:
            ended = task.predecessor.ended or 0
            worker.log.add(START_READY, task.construct, worker.clock, task.id, worker.clock - ended)
        worker.stack.append(task)
        task.started = worker.clock
        # While it runs a task, the thread does not wait.
        worker.arrived, task.was_at_barrier = False, worker.arrived
        return True

    def _end(self, worker: Worker, task: Task) -> bool:
        if task.construct == 0:
            worker.arrived = True
            worker.log.add(WAIT_BEGIN, END_OF_REGION, worker.clock)
            return True
        worker.log.add(COMPLETE, DETACHED if task.event_ns else COMPLETED, worker.clock)
        if task.event_ns:
            self.events.append((worker.clock + task.event_ns, task))
        else:
            task.ended = worker.clock
            self.n_unfinished -= 1
        worker.stack.pop()
        worker.arrived = task.was_at_barrier
        worker.clock += 1
        return True


def write_trace(
    directory: Path,
    schedule: Schedule,
    n_constructs: int = 4,
    ticks_per_ns: int = 1,
    *,
    more: Sequence[tuple[int, int]] = (),
    version: int = 2,
    n_dropped: int = 0,
) -> Path:
    """Writes a run directory with the events of a schedule and no profile; returns its path.

    `more`: kinds and flags of definitions after those of tasks. `n_dropped`: lost records of each thread.
    """
    directory.mkdir()
    (directory / "meta.json").write_text(json.dumps({"pid": 1}), encoding="utf-8")
    header = struct.pack(
        "<8s8I10Q4IQ", b"OMPASSPR", version, 4096, 1, 1, 1 if ticks_per_ns > 1 else 2,
        int(schedule.wrapper_ns > 0), 0, 1, 0, 0, (1 << 32) // ticks_per_ns,
        _BEGIN, _BEGIN, 0, _BEGIN, _BEGIN // ticks_per_ns,
        schedule.end, 0, len(schedule.workers), 0, 0, 0, 0,
    )  # fmt: skip
    # The program, the region, task constructs.
    kinds = [(0, 0), (2, 0), *[(TASK, 0)] * n_constructs, *more]
    definitions = b"".join(
        struct.pack("<6IQ", 32, kind, number, flags, 0xFFFFFFFF, 0, 0)
        for number, (kind, flags) in enumerate(kinds)
    )
    (directory / "process.log").write_bytes(header.ljust(4096, b"\0") + _extent(1, definitions))
    for worker in schedule.workers:
        header = struct.pack(
            "<8s6I2Q4I2Q2I2Q", b"OMPASSTH", version, 4096, worker.index, 100 + worker.index,
            0 if worker.is_initial else 1, 0, _BEGIN, worker.log.now, 0, 0, 0, 0, 2**64 - 1, 0,
            0, 0, 0, n_dropped,
        )  # fmt: skip
        words = struct.pack(f"<{len(worker.log.words)}Q", *worker.log.words)
        (directory / f"thread-{worker.index:05}.log").write_bytes(
            header.ljust(4096, b"\0") + _extent(4, words)
        )
    return directory


def _extent(kind: int, contents: bytes) -> bytes:
    n_bytes = -(-(64 + len(contents)) // 4096) * 4096
    return (struct.pack("<2I7Q", 0x58504D4F, kind, n_bytes, 0, *[0] * 5) + contents).ljust(n_bytes, b"\0")

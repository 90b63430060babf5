# SPDX-License-Identifier: Apache-2.0
"""Judges the samples of work: loops that wait, atomic updates, the allocator, the runtime."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from ompass.metrics import thresholds
from ompass.metrics.facts import Evidence, Facts, evidence
from ompass.model import share
from ompass.sampled import ATOMIC, LOCK, MEMORY, MUTEX, OWN, RUNTIME, WAITING
from ompass.samples.metrics import WORKING, Line, LocatedSample, samples_of_work, share_at_common_lines
from ompass.samples.metrics import false_sharing as shared_falsely
from ompass.units import count, duration, percent, plural

_NEARLY_ALL: Final = 0.95  # of the samples of a part; a sentence does not mention the few others


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of the sampled work that a condition selects."""

    n: int
    share: float  # of the samples of work
    construct: int | None  # the construct with most of this part
    line: Line | None  # the line with most of it
    of_line: float  # the line's share of this part

    def lost_ns(self, facts: Facts) -> float:
        return self.share * facts.processor.work_running_ns


def _part(
    facts: Facts,
    condition: Callable[[LocatedSample], bool],
    is_blamed: Callable[[LocatedSample], bool] = lambda _: True,
) -> _Part:
    """Returns the part of the work that satisfies a condition.

    Its line has the most blamed samples; if few samples are blamed, the most samples.
    """
    n_all = 0
    constructs: Counter[int] = Counter()
    lines: Counter[Line | None] = Counter()
    blamed: Counter[Line | None] = Counter()
    for sample in facts.samples:
        if sample.owner.kind not in WORKING:
            continue
        n_all += sample.weight
        if condition(sample):
            constructs[sample.owner.construct] += sample.weight
            lines[sample.own_line] += sample.weight
            if is_blamed(sample):
                blamed[sample.own_line] += sample.weight
    n = constructs.total()
    chosen = blamed if blamed.total() >= thresholds.BLAMED_SHARE * n else lines
    line, n_of_line = next(iter(chosen.most_common(1)), (None, 0))
    return _Part(
        n,
        share(n, n_all),
        constructs.most_common(1)[0][0] if constructs else None,
        line,
        share(n_of_line, n),
    )


_RELEASE: Final = re.compile(r"\w*free\w*|operator delete.*")


def _releases(sample: LocatedSample) -> bool:
    """True if a sample in the memory allocator releases memory."""
    return any(_RELEASE.fullmatch(call.function) for call in sample.calls if call.library != OWN)


def _judged(
    facts: Facts,
    part: _Part,
    lost_ns: float,
    least_share: float,
    where: str,
    remark: str = "",
    *,
    least_samples: int = thresholds.LEAST_SAMPLES,
) -> Iterator[Evidence]:
    """Yields the evidence of a part that takes at least `least_share` of the thread-time.

    This share excludes the time that other programs took, because samples cover only processor time.
    """
    lost = facts.breakdown.share(lost_ns)
    own_ns = facts.breakdown.thread_time_ns - facts.taken_ns
    if part.n < least_samples or share(lost_ns, own_ns) < least_share:
        return
    at = f", {percent(part.of_line)} of it at this line" if part.line and part.of_line < _NEARLY_ALL else ""
    yield evidence(
        f"threads spent {duration(lost_ns)}, {percent(lost)} of the thread-time, {where}{at}{remark}",
        lost_ns,
        part.construct,
        line=part.line,
        samples=part.n,
        work_share=part.share,
    )


def busy_waiting(facts: Facts) -> Iterator[Evidence]:
    """Yields loops of the program that only wait for another thread."""
    part = _part(facts, lambda sample: sample.behaviour == WAITING)
    yielding_ns = facts.system_calls_ns * _share_of_calls(facts, _waits)
    lost_ns = facts.unexplained(part.lost_ns(facts) + yielding_ns)
    where = "in a loop that only loads, tests, pauses or yields"
    # The kernel measures the time of yields, and takes no samples of them.
    least_samples = 1 if 2 * yielding_ns >= lost_ns else thresholds.LEAST_SAMPLES
    yield from _judged(facts, part, lost_ns, thresholds.WAITING_SHARE, where, least_samples=least_samples)


def system_calls(facts: Facts) -> Iterator[Evidence]:
    """Yields system calls that take much of the work, except calls of waits, mutexes and the allocator."""

    def part_of_calls(sample: LocatedSample) -> bool:
        return _is_call(sample) and not _has_own_finding(sample)

    part = _part(facts, part_of_calls)
    lost_ns = facts.system_calls_ns * (1.0 - _share_of_calls(facts, _has_own_finding))
    where = f"in system calls, without page faults{_of_calls(facts, part_of_calls)}"
    yield from _judged(facts, part, lost_ns, thresholds.SYSTEM_CALLS_SHARE, where, least_samples=0)


def mutexes(facts: Facts) -> Iterator[Evidence]:
    """Yields locks of the C library whose calls take much of the work."""
    if facts.n_threads < 2:
        return
    part, lost_ns = _at_mutexes(facts)
    what = "taking and releasing"
    if sleeps_at_mutex(facts):
        lost_ns += facts.processor.work_blocked_ns
        what = "taking, releasing and waiting for"
    where = f"{what} locks of the C library, such as a mutex{_of_calls(facts, _takes_mutex)}"
    yield from _judged(facts, part, lost_ns, thresholds.MUTEX_SHARE, where)


def sleeps_at_mutex(facts: Facts) -> bool:
    """True if the finding on mutexes explains why threads were blocked, for less time than the calls take.

    The blocked constructs must take a lock at the line of that finding.
    """
    part, lost_ns = _at_mutexes(facts)
    constructs = facts.blocking_places.values()
    if facts.n_threads < 2 or facts.crowded or part.line is None or not constructs:
        return False
    line = part.line.file, part.line.line
    is_there = all(
        any(p.kind == LOCK and (p.line.file, p.line.line) == line for p in of) for of in constructs
    )
    is_found = any(_judged(facts, part, lost_ns, thresholds.MUTEX_SHARE, ""))
    return is_there and is_found and facts.processor.work_blocked_ns <= lost_ns


def _at_mutexes(facts: Facts) -> tuple[_Part, float]:
    """Returns the part of the work in calls of locks, and its time."""
    part = _part(facts, _takes_mutex, lambda sample: "unlock" not in sample.called)
    calls_ns = facts.system_calls_ns
    user_ns = part.share * max(facts.processor.work_running_ns - calls_ns, 0.0)
    return part, user_ns + calls_ns * _share_of_calls(facts, _takes_mutex)


def _of_calls(facts: Facts, condition: Callable[[LocatedSample], bool]) -> str:
    """Returns the library functions with most of these samples, in words; empty if they are unknown."""
    counts: Counter[str] = Counter()
    for sample in facts.samples:
        if sample.owner.kind in WORKING and condition(sample):
            counts[sample.called] += sample.weight
    least = thresholds.CALLED_SHARE * counts.total()
    main = [name for name, n in counts.most_common(2) if name and n >= least]
    return f" (mostly in {' and '.join(main)})" if main else ""


def _takes_mutex(sample: LocatedSample) -> bool:
    return sample.library == MUTEX


def _waits(sample: LocatedSample) -> bool:
    return sample.behaviour == WAITING and sample.library != OWN


def _has_own_finding(sample: LocatedSample) -> bool:
    return _waits(sample) or _takes_mutex(sample) or sample.library == MEMORY


def _is_call(sample: LocatedSample) -> bool:
    """True if the sample is in a library that may call the system for the program."""
    return sample.library not in (OWN, RUNTIME)


def _share_of_calls(facts: Facts, condition: Callable[[LocatedSample], bool]) -> float:
    """Returns the share of the samples of library calls in the work that satisfy a condition."""
    calls = [one for one in facts.samples if one.owner.kind in WORKING and _is_call(one)]
    return share(sum(one.weight for one in calls if condition(one)), sum(one.weight for one in calls))


def atomic_contention(facts: Facts) -> Iterator[Evidence]:
    """Yields atomic updates that take much of the work."""
    if facts.n_threads < 2:
        return
    part = _part(facts, lambda sample: sample.behaviour == ATOMIC and sample.library == OWN)
    n, common = share_at_common_lines(one for one in facts.used_data if one.behaviour == ATOMIC)
    where = "on atomic updates"
    if n < max(thresholds.LEAST_SAMPLES, part.n / 2) or common >= thresholds.COMMON_SHARE:
        remark = "; each of them takes the cache line from other threads that update it"
        yield from _judged(facts, part, part.lost_ns(facts), thresholds.ATOMIC_SHARE, where, remark)
        return
    remark = "; samples of different threads are on different cache lines, so the updates rarely wait"
    for found in _judged(facts, part, part.lost_ns(facts), thresholds.UNCONTENDED_SHARE, where, remark):
        yield replace(
            found,
            title="Atomic updates take much of the work",
            cure="let each thread update a part of the data of its own, so that most updates need no atomic",
            numbers=(*found.numbers, ("common_share", common)),
        )


def false_sharing(facts: Facts) -> Iterator[Evidence]:
    """Yields cache lines in which threads use different data, and write them."""
    n_of_thread = samples_of_work(facts.samples)
    found = shared_falsely(facts.used_data, n_of_thread)
    if found is None:
        return
    part = _Part(
        found.n,
        share(found.n, n_of_thread.total()),
        found.construct,
        found.lines[0],
        found.of_line,
    )
    where = (
        f"on {plural(found.n_lines, 'cache line')} (64 bytes) with data of "
        f"{plural(found.n_threads, 'thread')}"
    )
    remark = "; each write takes the line from the other threads, although they use other bytes of it"
    yield from _judged(facts, part, part.lost_ns(facts), thresholds.FALSE_SHARING_SHARE, where, remark)


def private_copies(facts: Facts) -> Iterator[Evidence]:
    """Yields the time in which implicit tasks create, initialise and combine private copies of variables.

    Compilers give this code the line of the directive. Code that enters loops and counts their iterations has
    this line, too. So the time outside of loops is a limit, and short times are no copies.
    """
    if not facts.loops:  # gcc's static loops are unknown
        return
    regions = facts.breakdown.regions
    outside_ns = sum(region.implicit_ns for region in regions) - sum(loop.time_ns for loop in facts.loops)
    n_entered = sum(region.n_parts for region in regions) + sum(loop.n_entered for loop in facts.loops)
    part = _part(
        facts,
        lambda sample: (
            sample.owner.kind == "implicit"
            and (line := sample.own_line) is not None
            and (line.file, line.line) in facts.directives
        ),
    )
    lost_ns = max(0.0, min(part.lost_ns(facts), outside_ns))
    if lost_ns < thresholds.COPY_NS * n_entered:
        return
    where = "on private copies of variables (reduction, firstprivate, lastprivate)"
    yield from _judged(facts, part, lost_ns, thresholds.COPIES_SHARE, where)


def allocator(facts: Facts) -> Iterator[Evidence]:
    """Yields the memory allocator, if it takes much of the work."""
    part = _in_allocator(facts)
    lost_ns = part.lost_ns(facts) + _at_lock_ns(facts, part)
    where = "in the memory allocator (malloc, free, new, delete)"
    yield from _judged(facts, part, lost_ns, thresholds.ALLOCATOR_SHARE, where)


def sleeps_in_allocator(facts: Facts) -> bool:
    """True if the allocator's lock explains why threads were blocked."""
    return _at_lock_ns(facts, _in_allocator(facts)) > 0 and any(allocator(facts))


def _in_allocator(facts: Facts) -> _Part:
    """Returns the part of the work in the allocator."""
    # The place to change is where memory is allocated, even if its release takes longer.
    return _part(facts, lambda sample: sample.library == MEMORY, lambda sample: not _releases(sample))


def _at_lock_ns(facts: Facts, part: _Part) -> float:
    """Returns the time in which the allocator's lock probably blocked threads.

    There are no samples of blocked threads, so this time is in proportion to the allocator's part of the
    work. It is 0 if the program has other calls that block, or if the time blocked elsewhere exceeds the
    allocator's time.
    """
    blocked_ns = facts.processor.work_blocked_ns
    at_lock_ns = part.share * blocked_ns
    is_known = any(place.line.line for places in facts.blocking_places.values() for place in places)
    is_elsewhere = part.lost_ns(facts) + at_lock_ns < blocked_ns - at_lock_ns
    return 0.0 if is_known or is_elsewhere else at_lock_ns


def small_chunks(facts: Facts) -> Iterator[Evidence]:
    """Yields loops whose chunks are so short that getting them takes much of the work."""
    least = thresholds.CHUNKS_PER_THREAD * facts.n_threads
    loops = [o for o in facts.loops if o.n_chunks >= max(thresholds.MANY_CHUNKS, least * o.n_led)]
    loop = max(loops, key=lambda o: (o.n_chunks, -o.construct), default=None)
    if loop is None or facts.breakdown.share(loop.time_ns) < thresholds.CHUNKS_SHARE:
        return
    part = _part(facts, _may_get_chunk)
    chunk_ns = loop.time_ns / loop.n_chunks
    chunk = max(loop.n_iterations / loop.n_chunks, 1.0)
    if part.n >= thresholds.LEAST_SAMPLES:
        lost_ns = min(part.lost_ns(facts), loop.time_ns)
    else:
        lost_ns = loop.time_ns if chunk_ns < thresholds.SHORT_CHUNK_NS else 0.0
    is_long = loop.time_ns - lost_ns >= loop.n_chunks * thresholds.TARGET_CHUNK_NS
    if is_long or facts.breakdown.share(lost_ns) < thresholds.CHUNKS_SHARE:
        return
    each = duration(lost_ns / loop.n_chunks)
    yield evidence(
        f"threads got {count(loop.n_chunks)} chunks of this {loop.kind} "
        f"({plural(round(chunk), 'iteration')} each), one every "
        f"{duration(chunk_ns)}; the runtime took {each} for each: "
        f"{percent(facts.breakdown.share(lost_ns))} of the thread-time",
        lost_ns,
        loop.construct,
        cure=_larger_chunks(chunk, chunk_ns, share(loop.n_iterations, loop.n_led)),
        chunks=loop.n_chunks,
        chunk_ns=chunk_ns,
        cost_per_chunk_ns=lost_ns / loop.n_chunks,
        samples=part.n,
    )


_GETS_CHUNK: Final = re.compile("dispatch|GOMP_(loop|sections)")  # in libomp, and in libgomp


def _may_get_chunk(sample: LocatedSample) -> bool:
    """True if a sample of a region is in a runtime function that hands out chunks, or that has no name.

    Functions that the runtime calls count, too: libomp formats a text for each chunk.
    """
    called = takewhile(lambda call: call.library != OWN, sample.calls)
    names = [call.function for call in called if call.library == RUNTIME and call.function]
    of_runtime = sample.library == RUNTIME and sample.owner.kind == "implicit"
    return of_runtime and (not names or any(map(_GETS_CHUNK.search, names)))


def _larger_chunks(chunk: float, chunk_ns: float, n_iterations: float) -> str:
    """Returns the cure: a chunk with some microseconds of work; a static schedule if no larger one helps.

    `chunk`: current iterations in a chunk; `n_iterations`: iterations in an instance of the loop.
    """
    wanted = round(chunk * thresholds.TARGET_CHUNK_NS / max(chunk_ns, 1.0))
    wanted = max(min(wanted, round(n_iterations / thresholds.CHUNKS_TO_KEEP)), 2)
    if wanted <= chunk:
        return "use schedule(static)"
    return (
        f"raise the chunk to about {count(wanted)} iterations, as in schedule(dynamic, {wanted}), or use "
        "schedule(static)"
    )

# SPDX-License-Identifier: Apache-2.0
"""The samples of a run with owners, calls and lines.

Determines the owner of a sample, and the calls that belong to its task: those inside of the task's function.
Outer calls show only the place where the thread happened to wait.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from ompass.latency.metrics import SampledLoad
from ompass.model import Definition, Run, ThreadRow, share
from ompass.readers.run import Sample, SampledThread, n_sampled, read_samples
from ompass.sampled import ATOMIC, OWN, RUNTIME, TOOL, WAITING
from ompass.samples.metrics import (
    WORKING,
    BlockingPlace,
    Line,
    LocatedSample,
    Owner,
    UsedBytes,
    UsedData,
    is_system_header,
)
from ompass.symbols.libraries import always_waits, group_of, group_of_calls
from ompass.symbols.names import compact_name
from ompass.symbols.operands import Access, accesses
from ompass.symbols.resolver import Location, Resolver
from ompass.symbols.unwinder import Code, Unwinder, code_of
from ompass.units import plural

REFUSED_BY_SANDBOX = 0x10000  # in place of an errno; kRefusedBySandbox of format.h
_IN_SANDBOX = "the program had entered a sandbox (seccomp), which may kill it for the system call"


@dataclass(frozen=True, slots=True)
class SampleContent:
    """The content of reports on the samples of one run."""

    run: Run
    samples: tuple[LocatedSample, ...]
    locations: Mapping[int, Location]  # locations of the constructs, by number
    frequency_hz: int  # requested samples per second; 0: none
    events: tuple[str, ...]  # events that triggered samples
    n_threads: int  # sampled threads
    n_lost: int  # samples that did not fit in the kernel's ring
    n_dropped: int  # samples that could not be written
    n_refused: int  # threads for which the kernel refused sampling
    error: int  # reason of the refusal, as errno
    loads: tuple[SampledLoad, ...] = field(default=())  # the loads, for samples of loads
    used_data: tuple[UsedData, ...] = field(default=())  # at samples of work, if several threads have samples
    wants_loads: bool = False  # True if samples of loads were requested
    loads_error: int = 0  # reason why loads were not sampled, as errno
    window_ns: Mapping[int, int] = field(default_factory=dict)  # SampledThread.window_ns, by thread

    @property
    def n_samples(self) -> int:
        return sum(sample.weight for sample in self.samples)

    def label(self, owner: Owner) -> str:
        """Returns an owner in words: `fib.c:12 (fib)`, `the serial part`, `idle`."""
        location = self.locations.get(owner.construct)
        if owner.kind in ("task", "kernel", "implicit") and location is not None:
            return owner_label(owner.kind, location)
        return {"serial": "the serial part", "outside": "outside of all regions"}.get(owner.kind, owner.kind)

    @property
    def unsampled(self) -> tuple[ThreadRow, ...]:
        """Threads without samples for a time, because only their clocks were read; longest time first.

        Their `by_clock_ns` excludes the time that samples in windows represent.
        """
        if not self.frequency_hz or self.refusal():
            return ()
        threads = (t.replace(by_clock_ns=t.by_clock_ns - self._window_ns_of(t)) for t in self.run.threads)
        found = [thread for thread in threads if thread.by_clock_ns]
        return tuple(sorted(found, key=lambda thread: (-thread.by_clock_ns, thread.thread)))

    def _window_ns_of(self, thread: ThreadRow) -> int:
        return min(self.window_ns.get(thread.thread, 0), thread.by_clock_ns)

    @property
    def unsampled_share(self) -> float:
        """Part of all threads' time that has no samples although they were requested."""
        if not self.n_threads and self.n_refused:
            return 1.0
        return unsampled_share(self.unsampled, self.run.threads)

    def loads_refusal(self) -> str:
        """Returns the reason for missing samples of loads, as a sentence; empty if none are missing."""
        if not self.loads_error:
            return ""
        if self.loads_error == errno.ENODEV:
            return (
                "Loads were not sampled: this processor, or the kernel for it, cannot sample loads "
                "(Intel's mem-loads, AMD's ibs_op); processor time was sampled instead."
            )
        if self.loads_error == REFUSED_BY_SANDBOX:
            return f"Loads were not sampled on all threads: {_IN_SANDBOX}."
        return (
            f"Loads were not sampled: perf_event_open failed: {os.strerror(self.loads_error)}; "
            "processor time was sampled instead."
        )

    def refusal(self) -> str:
        """Returns the reason why the kernel refused samples, as a sentence; empty if it did not."""
        if not self.n_refused:
            return ""
        were = "was" if self.n_refused == 1 else "were"
        who = f"{plural(self.n_refused, 'thread')} {were} not" if self.n_threads else "No thread was"
        if self.error == REFUSED_BY_SANDBOX:
            return f"{who} sampled: {_IN_SANDBOX}."
        return (
            f"{who} sampled: perf_event_open failed: {os.strerror(self.error)}; "
            "it needs kernel.perf_event_paranoid of 2 or less, and a container that allows the call."
        )


def unsampled_share(unsampled: Sequence[ThreadRow], threads: Sequence[ThreadRow]) -> float:
    """Returns the part of the threads' time in which only the clocks of `unsampled` were read."""
    return share(sum(t.by_clock_ns for t in unsampled), sum(t.last_ns - t.first_ns for t in threads))


def owner_label(kind: str, location: Location) -> str:
    """Returns a construct in words: `fib.c:12 (fib)`, `implicit tasks of fib.c:30 (main)`."""
    if kind == "kernel":
        return location.function
    return f"{'implicit tasks of ' if kind == 'implicit' else ''}{location.label()}"


def collect_samples(
    run: Run, locations: Mapping[int, Location], groups: Mapping[int, int], resolver: Resolver
) -> SampleContent:
    """Returns the samples of `run`; `groups` maps each construct to a representative at the same place.

    Raises DamagedRunError.
    """
    locator = _Locator(groups, resolver)
    located: list[LocatedSample] = []
    loads: list[SampledLoad] = []
    used: list[UsedData] = []
    events: set[str] = set()
    window_ns: dict[int, int] = {}
    most = max(_LEAST_USED_DATA, _MOST_USED_DATA // max(1, n_sampled(run.path)))

    def take(thread: SampledThread) -> None:
        events.add(thread.event)
        window_ns[thread.thread] = thread.window_ns
        located.extend(locator.located(thread))
        if thread.period:
            loads.extend(locator.loads(thread))
        else:
            used.extend(locator.used_data(thread, most))

    found = read_samples(run.path, take)
    return SampleContent(
        run,
        with_callers(located),
        locations,
        found.frequency_hz,
        tuple(sorted(events)),
        found.n_threads,
        found.n_lost,
        found.n_dropped,
        found.n_refused,
        found.error,
        tuple(loads),
        tuple(used) if found.n_threads > 1 else (),
        found.wants_loads,
        found.loads_error,
        window_ns,
    )


_MOST_USED_DATA = 50_000
"""Samples whose data are kept in memory, over all threads."""
_LEAST_USED_DATA = 200
"""The same for one thread."""

_NEARLY_ALL = 0.8
"""Cut-off calls get the usual caller if this share of the complete calls belongs to one group (`library`)."""


def with_callers(samples: Sequence[LocatedSample]) -> tuple[LocatedSample, ...]:
    """Returns the samples. If the callers of a library's calls were cut off, adds the usual callers.

    The kernel saves only 1 KiB of the stack; formatted output, for example, fills it. The complete samples
    with the same owner show the usual caller.
    """
    callers: dict[tuple[Owner, str], Counter[tuple[str, tuple[Line, ...]]]] = {}
    for sample in samples:
        own = _first_own(sample)
        if sample.library != OWN and own is not None:
            for module in {call.module for call in sample.calls[:own]}:
                caller = callers.setdefault((sample.owner, module), Counter())
                caller[sample.library, sample.calls[own:]] += sample.weight

    def completed(sample: LocatedSample) -> LocatedSample:
        known = callers.get((sample.owner, sample.calls[0].module)) if sample.calls else None
        if known is None or _first_own(sample) is not None:
            return sample
        libraries: Counter[str] = Counter()
        for (library, _), n in known.items():
            libraries[library] += n
        library, n = libraries.most_common(1)[0]
        if n < _NEARLY_ALL * known.total():
            return sample
        calls = next(calls for (name, calls), _ in known.most_common() if name == library)
        return replace(sample, calls=sample.calls + calls, library=library)

    return tuple(map(completed, samples))


def _first_own(sample: LocatedSample) -> int | None:
    """Returns the index of the innermost call in the program's own code; None if the calls were cut off."""
    return next((k for k, c in enumerate(sample.calls) if group_of(c.module, c.function) == OWN), None)


class _Locator:
    def __init__(self, groups: Mapping[int, int], resolver: Resolver) -> None:
        self._groups = groups
        self._resolver = resolver
        self._lines: dict[tuple[int, int], Line] = {}

    def located(self, thread: SampledThread) -> Iterator[LocatedSample]:
        """Yields the samples of one thread; samples with the same calls and owner are merged."""
        unwinder = Unwinder(thread.machine, self._resolver.rules_at)
        known: dict[int, tuple[tuple[Line, ...], str, str]] = {}
        counts: dict[tuple[Owner, tuple[Line, ...], str, str], int] = {}
        for sample in thread.samples:
            if sample.stack_id not in known:
                frames = unwinder.frames(sample.chain, sample.registers, sample.stack)
                known[sample.stack_id] = self._calls(frames, thread.machine)
            key = (self._owner(sample), *known[sample.stack_id])
            counts[key] = counts.get(key, 0) + sample.weight
        for (owner, calls, library, behaviour), weight in counts.items():
            yield LocatedSample(thread.thread, owner, calls, library, weight, behaviour)

    def loads(self, thread: SampledThread) -> Iterator[SampledLoad]:
        """Yields the sampled loads of one thread; merges equal loads."""
        counts: Counter[tuple[Owner, int, str, bool]] = Counter()
        for s in thread.samples:
            counts[self._owner(s), s.cycles, s.source, s.was_modified] += s.weight
        for (owner, cycles, source, was_modified), weight in counts.items():
            yield SampledLoad(thread.thread, owner, cycles, source, was_modified, weight, thread.period)

    def used_data(self, thread: SampledThread, most: int) -> Iterator[UsedData]:
        """Yields the data that the program's own code accesses at the samples of work of one thread.

        If there are more than `most` samples, takes every second one, or every third, and so on.
        """
        step = -(-len(thread.samples) // most)
        for sample in thread.samples[:: max(step, 1)]:
            code = code_of(sample.chain[0]) if sample.chain and sample.values else None
            owner = self._owner(sample)
            if code is None or owner.kind not in WORKING:
                continue
            if self._line_at(*code).library != OWN:
                continue
            operands = self._resolver.operands(*code, thread.machine)
            used = tuple(self._used(code[0], a) for a in accesses(operands, thread.machine, sample.values))
            if used and all(one.line.library == OWN for one in used):
                behaviour = self._resolver.behaviour(*code, thread.machine)
                yield UsedData(thread.thread, sample.time_ns, sample.weight * step, owner, used, behaviour)

    def _used(self, module: int, access: Access) -> UsedBytes:
        first = access.address | (module + 1 << 48 if access.in_module else 0)
        return UsedBytes(first, first + access.n_bytes, access.stores, self._line_at(module, access.code))

    def _line_at(self, module: int, address: int) -> Line:
        key = module, address
        if key not in self._lines:
            self._lines[key] = _line(_without_headers(self._resolver.locate_code(module, address))[0])
        return self._lines[key]

    def _owner(self, sample: Sample) -> Owner:
        task = self._groups.get(sample.construct, sample.construct)
        if sample.state != "work":
            return Owner(sample.state, task)
        if sample.kernel >= 0:
            return Owner("kernel", self._groups.get(sample.kernel, sample.kernel))
        if sample.construct >= 0:
            return Owner("task", task)
        if sample.region >= 0:
            return Owner("implicit", self._groups.get(sample.region, sample.region))
        return Owner("serial", -1)

    def _calls(self, frames: tuple[Code, ...], machine: str) -> tuple[tuple[Line, ...], str, str]:
        """Returns the lines of the task's calls, the group of the called libraries, and the behaviour."""
        lines: list[Line] = []
        groups: list[str] = []
        behaviour = ""
        for place, (module, address) in enumerate(frames):
            # The instruction after a call may belong to the next statement.
            at = address - (place > 0)
            inlined = self._resolver.locate_code(module, at)
            group = group_of(inlined[-1].module, inlined[-1].function)
            if group in (RUNTIME, TOOL) and OWN in groups:
                break
            if group == OWN and OWN not in groups:
                found = self._resolver.behaviour(module, at, machine)
                behaviour = behaviour or (found if not place or found == WAITING else "")
                if not place and found == ATOMIC:
                    at = self._resolver.update_before(module, at, machine)
                    inlined = self._resolver.locate_code(module, at)
            elif group != OWN and always_waits(inlined[-1].function):
                behaviour = WAITING
            groups.append(group)
            is_first_own = group == OWN and groups.count(OWN) == 1
            lines += map(_line, _without_headers(inlined) if not place or is_first_own else inlined)
        return tuple(lines), group_of_calls(groups), behaviour


def blocking_places(definition: Definition, resolver: Resolver) -> tuple[BlockingPlace, ...]:
    """Returns the calls of a construct that may put a thread to sleep; only the likeliest kind."""
    found = []
    for address, name, kind in resolver.blocking_calls(definition):
        location = _without_headers(resolver.locate_code(definition.module, address))[0]
        found.append(BlockingPlace(_line(location), name, kind))
    return tuple(dict.fromkeys(found))


def _without_headers(inlined: tuple[Location, ...]) -> tuple[Location, ...]:
    """Returns the locations without the inner ones in system headers; all if all are in such headers."""
    for place, location in enumerate(inlined):
        if location.file and not is_system_header(location.file):
            return inlined[place:]
    return inlined


def _line(location: Location) -> Line:
    """Returns the line of a location. If the line is unknown, its place is the file or the module."""
    if location.line:
        place, label = location.place, location.label()
    else:
        place = PurePosixPath(location.file or location.module).name or location.place
        label = f"{place} ({compact_name(location.function, 60)})" if location.function else place
    library = group_of(location.module, location.function)
    return Line(location.function, location.file, location.line, location.module, place, label, library)

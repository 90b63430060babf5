# SPDX-License-Identifier: Apache-2.0
"""Puts the findings of a run into words, with the changes that cure them and their predicted gains.

Also writes the verdict. Owns the order of the findings, the changes of `ompass advise` that cure each kind
of finding, and the merging of findings of one kind in one function.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ompass.metrics.facts import Finding
from ompass.metrics.findings import NOT_OF_PROGRAM
from ompass.metrics.thresholds import FIXED_WORK, LEAST_SAMPLES, LINE_WORK, MAIN_WORK, UNSAMPLED_SHARE
from ompass.model import Run, StateTimes, share
from ompass.packed import shown_path
from ompass.readers.meta import read_meta, traced_run
from ompass.reports.content import ReportContent
from ompass.reports.model import LONG_NAME, Advice
from ompass.samples.metrics import main_work
from ompass.simulation.stored import StoredChange
from ompass.symbols.names import compact_name
from ompass.symbols.resolver import UNKNOWN, Location
from ompass.units import duration, gain, in_sentence, percent, plural

_LEAST_GAIN: Final = 0.05
"""The least gain that counts. A change that cures no finding is shown only if it gains at least this much."""
_LEAST_DISTURBED_GAIN: Final = 0.15
"""The same if other programs disturbed the run: they slow threads unequally, so equal work looks unequal."""
_ALIKE: Final = 0.03
"""Gains that differ by less count as equal. Among changes with equal gains, the report shows the easiest."""
_CUT_OFFS: Final = ("depth", "time", "grain")
CURED_BY: Final = {
    "too_fine": (*_CUT_OFFS, "producer"),
    "copied_data": ("data",),
    "slow_dispatch": _CUT_OFFS,
    "serial_producer": ("producer", "grain"),
    "undeferred": ("defer",),
    "priority_inverted": ("priority",),
    "too_coarse": ("finer", "split", "taskloop", "priority"),
    "starved": ("priority", "finer", "dependences", "waits", "phases", "split", "producer", "untied"),
    "wait_in_loop": ("dependences", "waits", "phases"),
    "dependence_chain": ("dependence", "pipeline"),
    "critical_contention": ("lock",),
    "lock_contention": ("lock",),
    "atomic_contention": ("atomic",),
    "false_sharing": ("sharing",),
    "iteration_order": ("order", "ordered"),
    "synchronization": ("dependences", "waits", "phases", "barrier", "region"),
    "short_regions": ("region",),
    "loop_imbalance": ("schedule", "iterations", "taskloop"),
    "imbalance": ("balance", "share", "schedule", "taskloop"),
    "undivided": ("share",),
    "small_chunks": ("chunk",),
    "memory_contention": ("placement",),
    "serial_fraction": ("serial",),
}
"""The kinds of changes that cure each kind of finding, at any place in the program; the easiest first."""
_ALTERNATIVES: Final = (
    _CUT_OFFS,
    ("dependences", "waits", "phases"),
    ("schedule", "iterations", "taskloop"),
    ("finer", "split"),
    ("share", "balance"),
    ("barrier", "region"),
)
"""Groups of kinds of changes that exclude each other: a report shows only the best one of a group."""
# Only `ompass advise` shows these: changes of the start command, and a change that no released runtime
# supports.
_NO_CHANGE: Final = ("threads", "extension", "taskgraph")
_SPENT: Final = {
    "create": "creating tasks",
    "schedule": "getting ready tasks to run",
    "sync": "waiting for each other",
    "idle": "without a task",
    "mpi": "in MPI",
    "offload": "in target constructs",
}


@dataclass(slots=True)
class Cause:
    """A finding, the other findings of the same kind and function, and the change that cures them."""

    finding: Finding | None  # None: `change` gains time without curing a finding
    places: list[Location] = field(default_factory=list)
    change: StoredChange | None = None
    share: float = 0.0  # cost of the findings or, if larger, gain of the change; part of the thread-time
    cost: float = 0.0  # cost of all findings together; part of the thread-time
    is_disturbed: bool = False  # True if other programs lengthened the run; predictions assume none

    @property
    def kind(self) -> str:
        return self.finding.kind if self.finding else ""

    @property
    def leads(self) -> bool:
        return self.finding is not None and self.finding.leads

    @property
    def is_predicted(self) -> bool:
        change = self.change
        return change is not None and not change.is_doubtful and change.gain >= _LEAST_GAIN

    @property
    def title(self) -> str:
        if self.finding:
            return self.finding.title
        return self.change.title if self.change else ""

    def advice(self) -> Advice:
        """Returns the cause in words."""
        where = _places(self.places)
        if self.finding is None:
            because, cure = (self.change.because, self.change.cure) if self.change else ("", "")
            return Advice(self.gain_text, because, cure, where)
        cure = self.change.cure if self.change else self.finding.cure
        because, n_places = self.finding.because, len(_known(self.places))
        if n_places > 1:  # the sentence is about the first place
            everywhere = "both" if n_places == 2 else f"all {n_places}"
            because += f" ({self.places[0].place}); {everywhere} places: {percent(self.cost)}"
        return Advice(self.title, because, cure, where, gain=self.gain_text)

    @property
    def gain_text(self) -> str:
        return gain_text(self.change, self.is_disturbed)


def gain_text(change: StoredChange | None, is_disturbed: bool = False) -> str:
    """Returns the change in words, and its gain if this is not doubtful. The times assume no other programs.

    Example: "Cut off below depth 8: 80% less time predicted (30 ms instead of 150 ms)".
    """
    if change is None:
        return ""
    if change.is_doubtful:
        return change.title
    words = gain(change.gain, is_bound=change.at_most, is_least=change.at_least)
    times = f"{duration(change.wall_ns)} instead of {duration(change.before_ns)}"
    times += ", without other programs" if is_disturbed else ""
    return f"{change.title}: {words} predicted ({times})"


def causes(content: ReportContent) -> list[Cause]:
    """Returns the problems, and the changes that gain time without curing a problem, most valuable first.

    Causes with a predicted gain precede others, but a change without a finding follows findings that cost
    more than it gains. Findings that lead come first, and NOT_OF_PROGRAM kinds last.
    """
    found: list[Cause] = []
    for finding in content.findings:
        if finding.severity == "problem":
            _add(found, content, finding)
    left = list(content.advice.changes) if content.advice else []
    for cause in found:
        cause.change = _cure(cause, left)
        if cause.change:
            left = [one for one in left if one.kind not in CURED_BY[cause.kind]]
            cause.share = max(cause.share, 0.0 if cause.change.is_doubtful else cause.change.gain)
    # The best change of each kind is enough here; `ompass advise` lists all changes.
    disturbed = any(one.kind in NOT_OF_PROGRAM for one in content.findings)
    least = _LEAST_DISTURBED_GAIN if disturbed else _LEAST_GAIN
    of_kind: dict[str, StoredChange] = {}
    for change in sorted(left, key=lambda one: one.kind == "time" and _by_depth(left, one)):
        if change.kind not in _NO_CHANGE and not change.is_doubtful and change.gain >= least:
            family = next((kinds[0] for kinds in _ALTERNATIVES if change.kind in kinds), change.kind)
            of_kind.setdefault(family, change)
    found += [Cause(None, [one.place], one, _weight(one)) for one in of_kind.values()]
    for cause in found:
        cause.is_disturbed = disturbed
    known = [one.share for one in found if one.kind not in ("", *NOT_OF_PROGRAM) and not one.is_predicted]
    largest = max(known, default=0.0)

    def order(one: Cause) -> tuple[bool, bool, bool, float]:
        precedes = one.is_predicted and (one.finding is not None or one.share >= largest)
        return not one.leads, one.kind in NOT_OF_PROGRAM, not precedes, -one.share

    return sorted(found, key=order)


def _weight(change: StoredChange) -> float:
    """Returns the gain by which changes without a finding are sorted; half of it if it is an upper bound."""
    return change.gain / 2 if change.at_most else change.gain


def _by_depth(changes: Sequence[StoredChange], time: StoredChange) -> bool:
    """True if a cut-off by depth gains about as much as this cut-off by time."""
    return any(one.kind == "depth" and one.gain >= time.gain - _ALIKE for one in changes)


def _add(found: list[Cause], content: ReportContent, finding: Finding) -> None:
    """Adds a finding, or adds its place to the cause of the same kind in the same function."""
    found_at = content.place_of(finding)
    place = [found_at] if found_at != UNKNOWN else []
    part = content.breakdown.share(finding.cost_ns)
    for cause in found:
        if cause.kind == finding.kind and place and cause.places and _siblings(place[0], cause.places[0]):
            cause.places += place
            cause.share += part
            cause.cost += part
            return
    found.append(Cause(finding, place, None, part, part))


def _siblings(one: Location, other: Location) -> bool:
    return bool(one.function) and (one.function, one.file) == (other.function, other.file)


def _cure(cause: Cause, changes: Sequence[StoredChange]) -> StoredChange | None:
    """Returns the best change of a kind that cures the cause; changes in the cause's functions come first."""
    kinds = CURED_BY.get(cause.kind, ())
    near = [one for one in changes if any(_siblings(one.place, place) for place in cause.places)]
    for candidates in (near, changes):
        fit = [one for one in candidates if one.kind in kinds]
        best = max((one.gain for one in fit), default=0.0)
        if fit:
            return min(
                (one for one in fit if one.gain >= best - _ALIKE),
                key=lambda one: (kinds.index(one.kind), -one.gain),
            )
    return None


def _known(places: Sequence[Location]) -> list[str]:
    return list(dict.fromkeys(place.place for place in places))


def _places(places: Sequence[Location]) -> str:
    """Returns the places in one function, such as `a.c:12 and a.c:14 (f)`."""
    if not places:
        return ""
    known = _known(places)
    first = places[0].label()
    if len(known) == 1:
        return first
    return " and ".join([", ".join(known[:-1]), first.replace(known[0], known[-1], 1)])


def verdict(content: ReportContent, found: Sequence[Cause]) -> str:
    """Returns one sentence with the share of work, the largest loss, and its cause."""
    short = next((f for f in content.findings if f.kind in ("too_short", "no_region")), None)
    if short:
        return f"{short.title}: {short.because}."
    unsampled = content.samples.unsampled_share if content.samples else 0.0
    doubt = ""
    if unsampled >= UNSAMPLED_SHARE:
        doubt = f", but {percent(unsampled)} of the time has no samples, so some problems may be missing"
    return verdict_of(content.breakdown.states, content.breakdown.n_threads, found, doubt=doubt)


def verdict_of(
    states: StateTimes, n_threads: int, found: Sequence[Cause], before: Sequence[str] = (), doubt: str = ""
) -> str:
    """Returns the verdict on times by state.

    `before` has the titles of findings to name before the causes; `doubt` states why problems may be missing.
    """
    work = percent(share(states.work_ns, states.total_ns))
    worked = f"{work} of the time of {plural(n_threads, 'thread')} is work"
    if not found and not before:
        return f"No problem found{doubt}: {worked}."
    outside = [one for one in found if one.kind in NOT_OF_PROGRAM]
    inside = [one for one in found if one.kind not in NOT_OF_PROGRAM][:1]
    state = max(_SPENT, key=lambda name: _of(states, name))
    lost = share(_of(states, state), states.total_ns)
    # Other programs lengthen the states, and a change without a finding does not explain them.
    explains = not outside and all(one.finding for one in inside)
    spent = f", {percent(lost)} is spent {_SPENT[state]}" if explains and lost >= _LEAST_GAIN else ""
    named = [*map(in_sentence, before), *map(_because, (*inside, *outside))]
    return f"{worked}{spent}: {', and '.join(named)}."


def _of(states: StateTimes, name: str) -> int:
    return int(getattr(states, f"{name}_ns"))


def _because(cause: Cause) -> str:
    title = f"{'' if cause.finding else 'a change may help: '}{in_sentence(cause.title)}"
    known = [place.place for place in cause.places if place.line]
    return f"{title} ({known[0]})" if known else title


def problem_parts(content: ReportContent) -> Iterator[str | Advice]:
    """Yields the problems, then remarks on missing predictions and on memory."""
    for cause in causes(content):
        yield cause.advice()
    if content.advice and content.advice.doubt:
        yield f"No gains are predicted, because {content.advice.doubt}."
    yield from _memory_words(content)


def _memory_words(content: ReportContent) -> Iterator[str]:
    """Yields advice if accesses to memory dominate the work, and no finding explains the time."""
    if any(cause.finding and cause.kind not in NOT_OF_PROGRAM for cause in causes(content)):
        return
    samples = content.samples.samples if content.samples and not content.samples.loads else ()
    main, n = main_work(samples)
    states = content.breakdown.states
    if states.work_ns < MAIN_WORK * states.total_ns or n < LEAST_SAMPLES:
        return
    if main is None or main.share < MAIN_WORK:
        return
    function = compact_name(main.line.function, LONG_NAME) or "unnamed code"
    where = f"{percent(main.share)} of the work is in {function}, most at {main.line.place}"
    check = "`ompass scale` shows whether this limits the speed-up"
    if main.fixed_share >= FIXED_WORK and content.breakdown.n_threads > 1:
        yield (
            f"{where}, often on data at the same address. This is slow only if other threads write to "
            f"the same cache line (64 bytes): let each thread use a local variable, or a line of "
            f"its own. {check}."
        )
    elif main.memory_share >= MAIN_WORK and main.line_share >= LINE_WORK:
        yield (
            f"{where}, which uses memory. This is slow if the data exceed the caches: let the innermost loop "
            f"go through them in the order of their addresses, and use them again soon. {check}."
        )


def note_parts(content: ReportContent, kinds: Sequence[str] = ()) -> Iterator[str]:
    """Yields the notes of these kinds, or all notes but `cut_short`, which is in the report's head."""
    for finding in content.findings:
        if (
            finding.severity == "note"
            and finding.kind != "cut_short"
            and (not kinds or finding.kind in kinds)
        ):
            cure = f"; {finding.cure}" if finding.cure else ""
            yield f"Note: {finding.title}: {finding.because}{cure}."
    if not kinds:
        yield from (f"Note: {problem}." for problem in content.problems)


def shell_word(path: Path) -> str:
    """Returns the path of a run as a shell word, relative if it is below the working directory."""
    path = Path(shown_path(path))
    with contextlib.suppress(ValueError, OSError):
        path = path.absolute().relative_to(Path.cwd())
    return shlex.quote(str(path))


def next_commands(content: ReportContent) -> tuple[tuple[str, str], ...]:
    """Returns the next commands for the user, each with its purpose."""
    run = content.run
    name = shell_word(run.path)
    meta = read_meta(run.path)
    command = shlex.join(meta.command)
    found = []
    if content.advice_refusal and command:
        found.append((f"ompass run --twice -- {command}", "the gain of changes"))
    if run.mode == "trace" or traced_run(run.path) != run.path:
        found.append((f"ompass view {name}", "timeline in a browser"))
    if meta.rank is not None and (ranks := re.sub(rf"-r{meta.rank}\b.*(?=\.)", "-r*", name)) != name:
        found.append((f"ompass report {ranks}", "all ranks of the job"))
    elif command:
        found.append((f"ompass scale -t {_threads(run)} -- {command}", "speed-up and its limits"))
    found.append((f"ompass report {name} --full", "all tables and notes"))
    return tuple(found)


def _threads(run: Run) -> str:
    """Returns the number of usable processors or, if larger, of threads, after the smaller powers of two."""
    most = max(run.n_usable_cpus, len(run.threads), 2)
    powers = [1 << k for k in range(most.bit_length()) if 1 << k < most]
    return ",".join(map(str, [*powers, most]))

# SPDX-License-Identifier: Apache-2.0
"""The timeline of traces for page/client: rows, legends, tiles, state intervals of a window.

A dimension, such as `construct`, divides work by keys, such as the numbers of constructs. Its legend has the
keys with most time over all runs. A tile has a column for each of these keys, one for the remaining work, and
one for each other state. The core computes all sums.

A row is a run or a thread. This file groups threads by domain, and many threads also by core and number. It
groups many ranks by host.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ompass.figures.style import CONSTRUCT_COLOURS, STATE_COLOURS
from ompass.model import OPENMP_STATES, STATES, WAIT_KINDS, Run, TaskGraph
from ompass.page.excerpts import Excerpts
from ompass.plain_text import visible
from ompass.readers.meta import Meta, read_meta
from ompass.readers.schedule import DIMENSIONS, NO_HOME, Pyramid, TaskLinks, WindowIntervals
from ompass.reports.content import ReportContent
from ompass.symbols.resolver import construct_name

Value = dict[str, Any]
if TYPE_CHECKING:  # numpy starts threads, and `ompass run` must not have any
    import numpy as np
    from numpy.typing import NDArray

    Bins = NDArray[np.uint64]

MOST_KEYS: Final = 12
"""Most entries of a legend, each with its own colour."""
MOST_STRETCHES: Final = 20_000
"""Most state intervals of a window that a page draws one by one."""
_MOST_RECORDS: Final = 2_000_000
"""Most records read for one request, over all threads."""
_BAKED_BYTES: Final = 1_800_000  # for all runs on a self-contained page, before base64
_BAKED_STRETCHES: Final = 12_000
_MOST_DEPENDENCES: Final = 20_000
_CALL: Final = 64  # the core's kind of a wait in an MPI call or a target construct
_WITH_LEGEND: Final = ("construct", "home", "depth", "kernel")
_REST: Final = "#7a8a99"
_IMPLICIT: Final = "#b8c4cf"


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    colour: str


@dataclass(frozen=True, slots=True)
class _Legend:
    entries: tuple[_Entry, ...]
    keys: tuple[Mapping[int, int], ...]  # by run: key of the core -> entry; keys without an entry: the rest


class Timeline:
    """The traces of a page. Several threads may use it at the same time."""

    def __init__(
        self, traces: Sequence[tuple[ReportContent, Pyramid]], *, window: tuple[int, int] = (0, -1)
    ) -> None:
        """Restricts the timeline to `window` (-1: to the end)."""
        self.contents = tuple(content for content, _ in traces)
        self.pyramids = tuple(pyramid for _, pyramid in traces)
        last_ns = max(pyramid.end_ns for pyramid in self.pyramids)
        self.end_ns = min(window[1], last_ns) if window[1] >= 0 else last_ns
        first_ns = min(content.run.trace_begin_ns for content, _ in traces)
        self.begin_ns = min(max(window[0], first_ns), self.end_ns - 1)
        self._legends = {name: self._legend(name) for name in _WITH_LEGEND}
        self._states = self._shown_states()
        self.has_off_cpu = any(pyramid.totals(DIMENSIONS.index("absent")) for pyramid in self.pyramids)

    def number_of(self, content: ReportContent) -> int | None:
        """Returns the number of a run in the timeline; None if it has no trace."""
        return next((k for k, each in enumerate(self.contents) if each is content), None)

    # ------------------------------------------------------------ for the page

    def describe(self) -> Value:
        """Returns everything that the client needs before it draws."""
        return {
            "begin": self.begin_ns,
            "end": self.end_ns,
            "runs": [
                {"name": visible(content.run.path.name), "end": pyramid.end_ns,
                 "finest": pyramid.finest_shift, "constructs": self._names(content)}
                for content, pyramid in zip(self.contents, self.pyramids, strict=True)
            ],
            "rows": rows_of(
                [
                    (content.run, pyramid.cpus)
                    for content, pyramid in zip(self.contents, self.pyramids, strict=True)
                ]
            ),
            "offCpu": self.has_off_cpu,
            "waits": {str(kind): name for kind, name in {**WAIT_KINDS, _CALL: "call"}.items()},
            "states": [
                {"label": STATES[k], "colour": STATE_COLOURS[STATES[k]]} for k in self._states
            ],
            "dimensions": {
                name: {
                    "entries": [{"label": e.label, "colour": e.colour} for e in legend.entries],
                    "rest": {"label": _rest_label(name), "colour": _REST},
                    "keys": [{str(key): entry for key, entry in keys.items()} for keys in legend.keys],
                }
                for name, legend in self._legends.items()
                if legend.entries
            },
        }  # fmt: skip

    def tile(
        self, run: int, dimension: str, shift: int, first: int, n: int, rows: Sequence[Sequence[int]]
    ) -> Bins:
        """Returns nanoseconds by row, bin and column of the legend; for the dimension `state`, by state.

        For the dimension `absent`, returns the preempted and blocked time of each state.
        """
        import numpy as np

        if dimension in ("state", "absent"):
            tile = self.pyramids[run].read_tile(rows, DIMENSIONS.index(dimension), [], shift, first, n)
            per_state = tile.shape[2] // len(STATES)
            columns = [per_state * k + part for k in self._states for part in range(per_state)]
            return np.ascontiguousarray(tile[:, :, columns])
        legend = self._legends[dimension]
        keys = legend.keys[run]
        tile = self.pyramids[run].read_tile(rows, DIMENSIONS.index(dimension), [*keys], shift, first, n)
        n_entries = len(legend.entries)
        values = np.zeros((*tile.shape[:2], n_entries + len(self._states)), dtype=np.uint64)
        for column, entry in enumerate(keys.values()):
            values[:, :, entry] += tile[:, :, column]
        values[:, :, n_entries:] = tile[:, :, [len(keys) + k for k in self._states]]
        return values

    def intervals(
        self, run: int, threads: Sequence[int], begin_ns: int, end_ns: int, limit: int = MOST_STRETCHES
    ) -> Value | None:
        """Returns the state intervals of a window as columns; None if they are too many to draw."""
        rows = self.pyramids[run].read_intervals(threads, begin_ns, end_ns, limit)
        if rows is None:
            return None
        return self._with_states(_columns(rows))

    def links(self, run: int, task: int, thread: int, at_ns: int) -> Value:
        """Returns `task`, which runs on `thread` at `at_ns`, with its predecessors and successors."""
        return _columns(self.pyramids[run].read_links(task, thread, at_ns, _MOST_RECORDS))

    def moment(self, run: int, threads: Sequence[int], at_ns: int) -> Value:
        """Returns, for each of these threads, its activity at a moment and the end of its wait."""
        most = _MOST_RECORDS // max(len(threads), 1)
        return self._with_states(_columns(self.pyramids[run].read_moment(threads, at_ns, most)))

    def dependences(self, run: int) -> list[list[str]]:
        """Returns the predecessor and successor of each dependence of a run; none if they are too many."""
        pairs = self.pyramids[run].read_dependences(_MOST_DEPENDENCES)
        return [[str(before), str(after)] for before, after in pairs or ()]

    def baked(self, sources: bool = False, graphs: Sequence[TaskGraph | None] = ()) -> Value:
        """Returns the data of a self-contained page: every dimension in bins as fine as the space allows.

        `sources`: adds the lines around each construct, for runs whose state intervals the page contains.
        `graphs`: the task graph of each run, for the critical path.
        """
        names = ["state", *(name for name, legend in self._legends.items() if legend.entries)]
        names += ["absent"] * self.has_off_cpu
        n_columns = (
            sum(
                len(self._states) + len(self._legends[n].entries if n in self._legends else ()) for n in names
            )
            + len(self._states) * self.has_off_cpu
        )
        n_threads = sum(len(content.run.threads) for content in self.contents)
        n_bins = max(_BAKED_BYTES // (2 * n_columns * max(n_threads, 1)), 16)
        runs = [self._baked_run(k, names, n_bins) for k in range(len(self.contents))]
        for run, graph in zip(runs, graphs, strict=False):
            run["critical"] = critical_steps(graph) if graph else []
        excerpts = {
            f"{k}.{definition.id}": excerpt
            for k, content in enumerate(self.contents)
            if sources and runs[k]["intervals"]
            for of_run in [Excerpts(content)]
            for definition in content.run.definitions
            if (excerpt := of_run.of(definition.id))
        }
        return {"runs": runs, "excerpts": excerpts}

    # ------------------------------------------------------------ inside

    def _shown_states(self) -> list[int]:
        """Returns the core's numbers of the states to show. The page numbers states by this list."""
        number = DIMENSIONS.index("state")
        present = {key for pyramid in self.pyramids for key, _ in pyramid.totals(number)}
        return [k for k, state in enumerate(STATES) if state in OPENMP_STATES or k in present]

    def _with_states(self, columns: Value) -> Value:
        place = {number: k for k, number in enumerate(self._states)}
        columns["state"] = [place[number] for number in columns["state"]]
        return columns

    def _baked_run(self, run: int, names: Sequence[str], n_bins: int) -> Value:
        threads = [row.thread for row in self.contents[run].run.threads]
        shift = 0
        while ((self.end_ns - 1) >> shift) - (self.begin_ns >> shift) >= n_bins:
            shift += 1
        first = self.begin_ns >> shift
        n = ((self.end_ns - 1) >> shift) - first + 1
        # A value is the part of its bin in 65,535ths, which is precise enough and needs half the space.
        tiles = {
            name: b64encode(
                (
                    self.tile(run, name, shift, first, n, [[thread] for thread in threads])
                    * (65_535 / 2**shift)
                )
                .round()
                .clip(0, 65_535)
                .astype("<u2")
                .tobytes()
            ).decode()
            for name in names
        }
        limit = _BAKED_STRETCHES // len(self.contents)
        intervals = self.intervals(run, threads, self.begin_ns, self.end_ns, limit)
        return {
            "shift": shift,
            "first": first,
            "n": n,
            "threads": threads,
            "tiles": tiles,
            "intervals": intervals,
            "dependences": self.dependences(run) if intervals else [],
        }

    def _legend(self, name: str) -> _Legend:
        number = DIMENSIONS.index(name)
        totals: Counter[str] = Counter()
        labels: list[dict[int, str]] = []
        first_key: dict[str, int] = {}
        for content, pyramid in zip(self.contents, self.pyramids, strict=True):
            of_run: dict[int, str] = {}
            for key, ns in pyramid.totals(number):
                label = _label(name, key, content)
                if not label:
                    continue
                of_run[key] = label
                totals[label] += ns
                first_key.setdefault(label, key)
            labels.append(of_run)
        chosen = [label for label, _ in totals.most_common(MOST_KEYS)]
        if name in ("home", "depth"):
            chosen.sort(key=lambda label: first_key[label])
        if name in ("home", "kernel") and not any(label != _NOWHERE for label in chosen):
            chosen = []
        place = {label: k for k, label in enumerate(chosen)}
        entries = tuple(_Entry(label, _colour(name, k, len(chosen), label)) for label, k in place.items())
        return _Legend(
            entries,
            tuple({key: place[label] for key, label in of.items() if label in place} for of in labels),
        )

    def _names(self, content: ReportContent) -> dict[str, str]:
        numbers = (definition.id for definition in content.run.definitions)
        return {str(number): construct_label(number, content) for number in numbers}


_NOWHERE: Final = "implicit tasks"


def critical_steps(graph: TaskGraph) -> list[list[int]]:
    """Returns [thread, begin, end] of each task on the critical path; end - begin sums up its steps.

    Returns an empty list if the graph has only a part of the path.
    """
    if graph.n_steps > len(graph.critical):
        return []
    lengths: dict[tuple[int, int, int], int] = {}
    for step in graph.critical:
        key = (step.thread, step.start_ns, step.task)
        lengths[key] = lengths.get(key, 0) + step.length_ns
    return [[thread, start, start + ns] for (thread, start, _), ns in lengths.items()]


def _columns(rows: WindowIntervals | TaskLinks) -> Value:
    columns: Value = {name: column.tolist() for name, column in rows.as_dict().items()}
    columns["task"] = [str(task) for task in columns["task"]]  # a number in JavaScript cannot hold 64 bits
    return columns


def construct_label(number: int, content: ReportContent) -> str:
    """Returns the name of a construct in the legend."""
    if number == 0:
        return "outside of regions"
    definition = content.run.definitions[number] if number < len(content.run.definitions) else None
    place = content.location(number)
    return visible(construct_name(definition, place) if definition else place.label())


def _label(name: str, key: int, content: ReportContent) -> str:
    """Returns the name of a key of the core; empty if the key belongs to the rest."""
    if name in ("construct", "kernel"):
        return construct_label(key, content)
    if name == "depth":
        return f"depth {key}"
    if key == NO_HOME:
        return _NOWHERE
    return f"domain {key}" if content.locality else f"by thread {key}"


def _rest_label(name: str) -> str:
    return "work outside of kernels" if name == "kernel" else "other work"


def _colour(name: str, k: int, n: int, label: str) -> str:
    if label == _NOWHERE:
        return _IMPLICIT
    if name == "depth":  # from dark to light
        part = k / max(n - 1, 1)
        return f"hsl({270 - 220 * part:.0f}, 70%, {30 + 32 * part:.0f}%)"
    if name == "home":
        return f"hsl({150 + 140 * k // max(n, 1)}, 60%, {38 + 14 * (k % 2)}%)"
    return CONSTRUCT_COLOURS[k % len(CONSTRUCT_COLOURS)]


Row = dict[str, Any]
_IN_GROUP: Final = 16
_SINGLE: Final = 64  # more threads of a run, or more runs of a page, are grouped


def rows_of(runs: Sequence[tuple[Run, Sequence[int]]]) -> list[Row]:
    """Returns a row for each run with the rows of its threads. `runs`: runs and the CPUs of their threads."""
    metas = [read_meta(run.path) for run, _ in runs]
    rows = [
        _of_run(k, run, cpus, meta, len(runs))
        for k, ((run, cpus), meta) in enumerate(zip(runs, metas, strict=True))
    ]
    if len(rows) <= _SINGLE:
        return rows
    host_of = {row["id"]: visible(meta.host) for row, meta in zip(rows, metas, strict=True)}
    hosts = _parted(rows, lambda row: host_of[row["id"]])
    return [
        {"id": f"runs {name} {part[0]['id']}", "label": f"{name}: {part[0]['label']} …", "rows": part}
        for name, of_host in hosts.items()
        for part in _chunks(of_host)
    ]


def _of_run(number: int, run: Run, cpus: Sequence[int], meta: Meta, n_runs: int) -> Row:
    """Returns a row of all threads, and below it the threads, which may be grouped by place."""
    leaves: list[Row] = [
        {"id": f"{number}.{row.thread}", "label": f"thread {row.thread}", "run": number,
         "threads": [row.thread], "rows": []}
        for row in run.threads
    ]  # fmt: skip
    return {
        "id": f"{number}",
        "label": "all threads" if n_runs == 1 else visible(run.path.name.removesuffix(".ompass")),
        "run": number,
        "threads": [row.thread for row in run.threads],
        "rows": _by_place(number, leaves, *_places(run, cpus, meta)),
        "open": n_runs == 1,
    }


def _places(run: Run, cpus: Sequence[int], meta: Meta) -> tuple[Mapping[int, int], Mapping[int, int]]:
    """Returns the known domains and cores by thread."""
    known = {thread: meta.places[cpu] for thread, cpu in enumerate(cpus) if 0 <= cpu < len(meta.places)}
    domains = {thread: domain for thread, (_, domain) in known.items()}
    # The extension's domains take precedence.
    domains |= {row.thread: row.domain for row in run.regions if row.domain >= 0}
    return domains, {thread: core for thread, (core, _) in known.items()}


def _by_place(run: int, leaves: list[Row], domains: Mapping[int, int], cores: Mapping[int, int]) -> list[Row]:
    def named(of: Mapping[int, int], what: str) -> Callable[[Row], str]:
        return lambda row: (
            f"{what} {of[row['threads'][0]]}" if row["threads"][0] in of else f"several {what}s"
        )

    def split(part: list[Row], ways: Sequence[Callable[[Row], str]], above: str) -> list[Row]:
        if not ways:
            few = [part] if len(part) <= _SINGLE else list(_chunks(part))
            names = [f"{each[0]['threads'][0]} to {each[-1]['threads'][0]}" for each in few]
            return part if len(few) == 1 else [
                _group(run, name, above, each) for name, each in zip(names, few, strict=True)
            ]  # fmt: skip
        groups = _parted(part, ways[0])
        if len(groups) == 1 or max(map(len, groups.values())) == 1:
            return split(part, ways[1:], above)
        return [
            _group(run, name, above, split(each, ways[1:], f"{above}{name}, "))
            for name, each in groups.items()
        ]

    many = len(leaves) > _SINGLE
    by_domain = len(set(domains.values())) > 1
    ways = [named(domains, "domain")] * by_domain + [named(cores, "core")] * (many and bool(cores))
    return split(leaves, ways, "")


def _group(run: int, label: str, above: str, rows: list[Row]) -> Row:
    """Returns a group; `above` makes its id unique."""
    threads = [thread for row in rows for thread in row["threads"]]
    return {"id": f"{run}.{above}{label}", "label": label, "run": run, "threads": threads, "rows": rows}


def _parted(rows: Iterable[Row], name: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Returns the rows by name, in the order of the numbers in the names."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(name(row), []).append(row)
    return dict(sorted(groups.items(), key=lambda item: (not item[0][-1:].isdigit(), len(item[0]), item[0])))


def _chunks(rows: list[Row]) -> Iterable[list[Row]]:
    return (rows[first : first + _IN_GROUP] for first in range(0, len(rows), _IN_GROUP))

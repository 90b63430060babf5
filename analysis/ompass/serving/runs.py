# SPDX-License-Identifier: Apache-2.0
"""Answers the requests of the page that shows runs: tiles and intervals of the timeline, reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from ompass.errors import NothingToShowError
from ompass.figures.render import BrowserScript
from ompass.graph.content import collect_graph
from ompass.jobs.content import job_of_reports
from ompass.page.assemble import FIGURE_SCRIPT, RunPart, html_report
from ompass.page.excerpts import Excerpts
from ompass.page.markup import join
from ompass.page.sections import Part, graph_part, part_markup, reuse_part, run_parts, schedule_part
from ompass.page.summary import bound_tiles
from ompass.page.timeline import Timeline, critical_steps
from ompass.readers.run import open_run, read_task_graph
from ompass.readers.schedule import open_pyramid, schedule_of
from ompass.reports.content import ReportContent, collect
from ompass.reports.job import ranks_to_show
from ompass.reuse.reader import check_has_accesses
from ompass.reuse.report import collect_reuse
from ompass.serving.server import Answer, Question

_IN_WINDOW = ("thread-time", "findings", "tasks", "threads", "regions")
_MOST_STEPS = 100_000
_MOST_TASKS_IN_HEAD = 2_000_000  # reading a larger graph would delay the page


class ServedRuns:
    """Runs and their page. Several threads may request answers at the same time."""

    def __init__(self, contents: Sequence[ReportContent]) -> None:
        """Chooses the runs with a report on the page."""
        self.contents = tuple(contents)
        job = job_of_reports(self.contents)
        self.shown = tuple(ranks_to_show(job, self.contents) if job else self.contents)
        """Runs with a report on the page; only two ranks of a job."""
        self.traces = [each for each in contents if each.run.mode == "trace"]

    @cached_property
    def timeline(self) -> Timeline | None:
        """The timeline of all traces, or None. Its first use builds the pyramids. Raises DamagedRunError."""
        if not self.traces:
            return None
        paths = [content.run.path for content in self.traces]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # reading releases Python's lock
            return Timeline(list(zip(self.traces, pool.map(open_pyramid, paths), strict=True)))

    @cached_property
    def _excerpts(self) -> list[Excerpts]:
        return [Excerpts(content) for content in self.traces]

    def page(self) -> str:
        """Returns the page, which requests slow sections later."""
        later = {"schedule": "Schedule", "graph": "Task graph"}
        parts = []
        for content in self.shown:
            of_run = dict(later) if content.run.mode == "trace" else {}
            if content.run.trace_begin_ns:
                of_run.pop("graph", None)
            if content.kernels and of_run:
                of_run["reuse"] = "Reuse distance of the kernels"
            parts.append(RunPart(content, later=of_run))
        return html_report(parts, compared=self.contents, timeline=self.timeline, served=True)

    @cached_property
    def _figure_script(self) -> Answer:
        return Answer(BrowserScript().text.encode(), "text/javascript; charset=utf-8")

    @property
    def files(self) -> dict[str, Callable[[], Answer]]:
        """Files that the page loads on demand, by name."""
        return {FIGURE_SCRIPT: lambda: self._figure_script}

    @property
    def answers(self) -> dict[str, Callable[[Question], Answer]]:
        """Functions that answer requests, by the name of the request."""
        of_timeline = ("tiles", "intervals", "links", "moment", "excerpt", "critical", "dependences")
        names = (*of_timeline, "window", "part", "bounds")
        return {name: getattr(self, f"_{name}") for name in names}

    # ------------------------------------------------------------ answers

    def _tiles(self, question: Question) -> Answer:
        """Returns the same bins of many rows, in order; rows of one run are read together."""
        import numpy as np

        rows = question["rows"]
        places: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            places.setdefault(int(row["run"]), []).append(place)
        tiles: dict[int, Any] = {}
        for run, own in places.items():
            values = self._lines.tile(
                run,
                str(question["dimension"]),
                int(question["shift"]),
                int(question["first"]),
                int(question["n"]),
                [rows[place]["threads"] for place in own],
            )
            tiles.update(zip(own, values, strict=True))
        tile = np.stack([tiles[place] for place in range(len(rows))])
        small = not tile.size or int(tile.max()) < 1 << 32
        body = tile.astype("<u4" if small else "<f8").tobytes()
        return Answer(body, "application/octet-stream", (("X-Value", "u4" if small else "f8"),))

    def _intervals(self, question: Question) -> Answer:
        found = self._lines.intervals(
            int(question["run"]), question["threads"], int(question["begin"]), int(question["end"])
        )
        return Answer.of_json(found)

    def _links(self, question: Question) -> Answer:
        run, thread, at = int(question["run"]), int(question["thread"]), int(question["at"])
        return Answer.of_json(self._lines.links(run, int(question["task"]), thread, at))

    def _moment(self, question: Question) -> Answer:
        found = self._lines.moment(int(question["run"]), question["threads"], int(question["at"]))
        return Answer.of_json(found)

    def _excerpt(self, question: Question) -> Answer:
        return Answer.of_json(self._excerpts[int(question["run"])].of(int(question["construct"])))

    def _window(self, question: Question) -> Answer:
        """Returns the report on a window of every trace, like `ompass report --source events --window`."""
        window = (int(question["begin"]), int(question["end"]))
        blocks = []
        for number, content in enumerate(self.traces, 1):
            report = collect(open_run(content.run.path, "events", window))
            sections = {part.section.key: part.section for part in run_parts(report, None, None, None)}
            chosen = [Part(sections[key]) for key in _IN_WINDOW if key in sections]
            blocks += [part_markup(part, f"-of-window-{number}")[0] for part in chosen]
        return Answer.of_json({"markup": join(blocks)})

    def _part(self, question: Question) -> Answer:
        content = self.shown[int(question["run"])]
        make = {"schedule": self._schedule, "reuse": self._reuse, "graph": self._graph}[str(question["part"])]
        markup, figures = part_markup(make(content), f"-{int(question['run']) + 1}")
        return Answer.of_json({"markup": markup, "figures": figures})

    def _critical(self, question: Question) -> Answer:
        """Returns the tasks on the critical path, as critical_steps() does."""
        path = self.traces[int(question["run"])].run.path
        steps = critical_steps(read_task_graph(path, depth=1, max_tasks=_MOST_STEPS))
        if not steps:
            raise NothingToShowError("no critical path", f"it has more than {_MOST_STEPS:,} pieces")
        return Answer.of_json(steps)

    def _dependences(self, question: Question) -> Answer:
        return Answer.of_json(self._lines.dependences(int(question["run"])))

    def _bounds(self, question: Question) -> Answer:
        """Returns the figures in a run's head that need its task graph."""
        content = self.shown[int(question["run"])]
        small = content.n_tasks <= _MOST_TASKS_IN_HEAD
        return Answer.of_json({"markup": join(bound_tiles(collect_graph(content.run) if small else None))})

    # ------------------------------------------------------------ inside

    @property
    def _lines(self) -> Timeline:
        if self.timeline is None:
            raise NothingToShowError("no run has a timeline", "they were recorded in profile mode")
        return self.timeline

    def _schedule(self, content: ReportContent) -> Part:
        return schedule_part(schedule_of(self._lines.pyramids[self.traces.index(content)]))

    def _reuse(self, content: ReportContent) -> Part:
        check_has_accesses(content.run)
        return reuse_part(collect_reuse(content.run))

    def _graph(self, content: ReportContent) -> Part:
        return graph_part(collect_graph(content.run), content)

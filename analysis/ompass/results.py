# SPDX-License-Identifier: Apache-2.0
"""The contents of reports for notebooks, which show them as tables and figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from ompass.comparison.content import ComparisonContent
from ompass.comparison.report import comparison_report
from ompass.figures.run import RUN_FIGURES
from ompass.figures.style import Spec
from ompass.metrics.breakdown import Breakdown
from ompass.metrics.constructs import ConstructTotals
from ompass.metrics.facts import Finding
from ompass.page.notebook import report_html
from ompass.reports.content import ReportContent
from ompass.reports.model import Report
from ompass.reports.run import run_report
from ompass.reuse.report import ReuseContent, reuse_report
from ompass.scaling.content import ScalingContent
from ompass.scaling.figure import both
from ompass.scaling.report import scaling_report
from ompass.simulation.advice import AdviceContent
from ompass.simulation.report import advice_report, simulation_report
from ompass.simulation.runs import Simulation

Result = TypeVar("Result")


def shown(kind: type[Result], content: Any) -> Result:
    """Returns `content` as an object of `kind`, a subclass of its class."""
    return kind(**{field.name: getattr(content, field.name) for field in fields(content)})


class _Result(ABC):
    """A result with a report. The text form is short, because a notebook stores both text and HTML."""

    __slots__ = ()

    @abstractmethod
    def _report(self) -> Report:
        """Returns the report that shows the result."""

    def _figures(self) -> Sequence[Spec | None]:
        return ()

    def __repr__(self) -> str:
        return f"<{self._report().title}>"

    def _repr_html_(self) -> str:
        return report_html(self._report(), self._figures())


class RunReport(_Result, ReportContent):
    """The content of `ompass report`."""

    __slots__ = ()

    def _report(self) -> Report:
        return run_report(self)

    def _figures(self) -> Sequence[Spec | None]:
        return (RUN_FIGURES["breakdown"].make([self]),)


class Advised(_Result, AdviceContent):
    """The content of `ompass advise`."""

    __slots__ = ()

    def _report(self) -> Report:
        return advice_report(self)


class Simulated(_Result, Simulation):
    """The content of `ompass simulate`."""

    __slots__ = ()

    def _report(self) -> Report:
        return simulation_report(self)


class Reused(_Result, ReuseContent):
    """The content of `ompass krd`."""

    __slots__ = ()

    def _report(self) -> Report:
        return reuse_report(self)


class Sweep(_Result, ScalingContent):
    """The content of `ompass scale`."""

    __slots__ = ()

    def _report(self) -> Report:
        return scaling_report(self)

    def _figures(self) -> Sequence[Spec | None]:
        return (both(self),)


class Comparison(_Result, ComparisonContent):
    """The content of `ompass compare`."""

    __slots__ = ()

    def _report(self) -> Report:
        return comparison_report(self)


class _Part:
    """A part of the report on a run. The report is computed when the part is shown."""

    _collect: Callable[[], ReportContent]
    _sections: tuple[str, ...]

    def _repr_html_(self) -> str:
        return report_html(run_report(self._collect()), sections=self._sections)


class ThreadTime(_Part, Breakdown):
    """Thread-time by state."""

    _sections = ("thread-time", "threads", "regions")

    @classmethod
    def of(cls, breakdown: Breakdown, content: Callable[[], ReportContent]) -> ThreadTime:
        made = shown(cls, breakdown)
        object.__setattr__(made, "_collect", lambda: replace(content(), breakdown=breakdown))
        return made


class Findings(_Part, tuple[Finding, ...]):
    """Problems, most expensive first, then notes."""

    _sections = ("findings",)

    @classmethod
    def of(cls, content: ReportContent) -> Findings:
        made = cls(content.findings)
        made._collect = lambda: content
        return made


class Constructs(_Part, tuple[ConstructTotals, ...]):
    """Task constructs by cost."""

    _sections = ("tasks", "granularity")

    @classmethod
    def of(cls, content: ReportContent) -> Constructs:
        made = cls(content.tasks)
        made._collect = lambda: content
        return made

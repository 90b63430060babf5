# SPDX-License-Identifier: Apache-2.0
"""The claims about places of tasks, Figures 8 and 18, and about programs measured here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from papers.conditions import count, percent, ratio_text, untested
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.olivier import numbers, plan
from papers.olivier.locality_claims import ALL
from papers.olivier.plan import HEALTH, HEAT, INTEL, NON_STRICT, SPARSELU, STRICT, Program, Scheduler
from papers.olivier.schedules import schedule_key
from papers.timings import ratio

_SCHEDULERS: Final = (INTEL, NON_STRICT, STRICT)
_OTHER_COMPILERS: Final = (
    "It compares compilers of 2011, among them one that is not free. Ours are clang and gcc."
)


def _schedule(values: Values, scheduler: Scheduler) -> dict[str, Any]:
    found: dict[str, Any] = values[schedule_key(scheduler)]
    return found


def _home_share(values: Values, *schedulers: Scheduler) -> Numbers:
    return {one.label: _schedule(values, one)["home_share"] for one in schedulers}


def _not_booted(values: Values) -> str:
    return "" if values["placement"] else "The virtual machine was not installed."


def _machine_claims() -> Iterator[Claim]:
    """Yields claims that the virtual machine checks."""
    yield Claim(
        name="fig8-places",
        sentence="With four domains, Fig. 8's program runs the subtree of each second split in a domain of "
        "its own, in every step",
        place="Fig. 8, section 5.1",
        theirs="0, 1, 2 and 3",
        picture="placement",
        absent=_not_booted,
        ours=lambda values: {"tasks elsewhere": values["placement"]["fig8"][0]},
        holds=lambda found: found[0] == 0,
        show=count,
    )
    yield Claim(
        name="fig8-equal",
        sentence="Each domain gets a quarter of these tasks, within 1%",
        place="Fig. 8, section 5.1",
        theirs="in words",
        picture="placement",
        absent=_not_booted,
        ours=lambda values: {
            f"domain {domain}": number for domain, number in enumerate(values["placement"]["fig8"][1:])
        },
        holds=lambda found: len(found) == plan.N_DOMAINS and max(found) <= 1.01 * min(found),
        show=count,
    )
    yield Claim(
        name="first-touch",
        sentence="With the same placement in both, all pages that tasks initialize lie where later tasks use "
        "them",
        place="Section 4, section 5.1",
        theirs="in words",
        picture="placement",
        absent=_not_booted,
        ours=lambda values: {"pages at home": numbers.placed_share(values, "pages")},
        holds=lambda found: found[0] == 1,
        show=percent,
    )
    yield Claim(
        name="strict-machine",
        sentence="Strict mode disallows migration: every task of Health and Heat runs in its domain",
        place="Section 5.2",
        theirs="in words",
        picture="placement",
        absent=_not_booted,
        ours=lambda values: {
            name: numbers.placed_share(values, f"{name}-strict") for name in ("health", "heat")
        },
        holds=lambda found: min(found) == 1,
        show=percent,
    )
    yield Claim(
        name="non-strict-machine",
        sentence="Without strict mode, tasks may migrate between the domains of both programs",
        place="Section 5.2",
        theirs="in words",
        picture="placement",
        absent=_not_booted,
        ours=lambda values: {
            name: numbers.placed_share(values, f"{name}-not-strict") for name in ("health", "heat")
        },
        holds=lambda found: min(found) > 0 and max(found) < 1,
        show=percent,
    )


def _schedule_claims() -> Iterator[Claim]:
    yield Claim(
        name="oblivious-schedule",
        sentence="Under locality-oblivious scheduling a socket mostly runs tasks whose data lie elsewhere",
        place="Fig. 18(a)",
        theirs=FIGURE_ONLY,
        picture="schedules",
        ours=lambda values: _home_share(values, INTEL),
        holds=lambda found: found[0] < 0.5,
        show=percent,
    )
    yield Claim(
        name="non-strict-schedule",
        sentence="Under non-strict scheduling a socket mostly runs tasks whose data lie there, but also "
        "others",
        place="Fig. 18(b)",
        theirs=FIGURE_ONLY,
        picture="schedules",
        ours=lambda values: _home_share(values, NON_STRICT),
        holds=lambda found: 0.5 < found[0] < 1,
        show=percent,
    )
    yield Claim(
        name="non-strict-late",
        sentence="Under non-strict scheduling more tasks run at home in the first half of a step than in the "
        "second",
        place="Fig. 18(b)",
        theirs="steals from just beyond half way on",
        picture="schedules",
        ours=lambda values: dict(
            zip(
                ("first half", "second half"),
                _schedule(values, NON_STRICT)["home_share_by_half"],
                strict=True,
            )
        ),
        holds=lambda found: found[0] > found[1],
        show=percent,
    )
    yield Claim(
        name="strict-schedule",
        sentence="Under strict scheduling all tasks run where their data lie",
        place="Fig. 18(c)",
        theirs=FIGURE_ONLY,
        picture="schedules",
        ours=lambda values: _home_share(values, STRICT),
        holds=lambda found: found[0] == 1,
        show=percent,
    )
    yield Claim(
        name="local-faster",
        sentence="Under non-strict scheduling a task takes less time at home than elsewhere, by a tenth or "
        "more",
        place="Fig. 18(a), (b)",
        theirs="smaller boxes",
        picture="schedules",
        ours=lambda values: {
            name: _schedule(values, NON_STRICT)[f"{name}_ns"] / 1e3 for name in ("home", "away")
        },
        holds=lambda found: found[0] < 0.9 * found[1],
        show=lambda us: f"{us:.1f} µs",
    )
    yield Claim(
        name="local-faster-oblivious",
        sentence="The same holds under oblivious scheduling",
        place="Fig. 18(a)",
        theirs="smaller boxes",
        picture="schedules",
        ours=lambda values: {name: _schedule(values, INTEL)[f"{name}_ns"] / 1e3 for name in ("home", "away")},
        holds=lambda found: found[0] < 0.9 * found[1],
        show=lambda us: f"{us:.1f} µs",
        cause=(
            "The data of a task are in the L3 of the socket that ran it in the last step, which is rarely "
            "its home. A task finds them in its own L3 as often at home as elsewhere, about once in four:"
        ),
        evidence=lambda values: {"L3": numbers.found_in(values, HEALTH, INTEL, ALL)["L3"]},
        show_evidence=percent,
    )
    yield Claim(
        name="schedule-times",
        sentence="On 32 threads a step of Health takes less time non-strict than oblivious, and least if "
        "strict",
        place="Fig. 18",
        theirs="slightly less; much less",
        picture="speedups",
        ours=lambda values: {one.label: 1 / numbers.speedup(values, HEALTH, one, ALL) for one in _SCHEDULERS},
        holds=lambda found: found[0] > found[1] > found[2],
        show=lambda part: f"{part:.2%} of sequential",
    )


def _late_claims() -> Iterator[Claim]:
    yield Claim(
        name="late-at-home",
        sentence="Under non-strict scheduling tasks at home take longer in the second half of a step",
        place="Fig. 18(b)",
        theirs="require more time near the end",
        picture="schedules",
        ours=lambda values: dict(
            zip(
                ("first half", "second half"),
                (ns / 1e3 for ns in _schedule(values, NON_STRICT)["home_ns_by_half"]),
                strict=True,
            )
        ),
        holds=lambda found: found[0] < found[1],
        show=lambda us: f"{us:.1f} µs",
    )
    yield untested(
        name="strict-short",
        sentence="Under strict scheduling tasks near the beginning and the end of a step are short",
        place="Fig. 18(c)",
        theirs="in words",
        picture="schedules",
        missing=(
            "The simulator cannot record strict schedules, and the threads of the recorded one share two "
            "processors, which makes single tasks longer."
        ),
    )


def _too_uneven(values: Values, program: Program, least: float) -> str:
    """Returns a reason if the times of the serial version are less exact than the claimed share."""
    error = numbers.measured_error(values, program)
    if error - 1 <= least:
        return ""
    return (
        "Other programs used the processors: the two shortest times of a version differ by a ratio of "
        f"{error:.2f}, which is more than this claim. On idle processors the command checks this claim."
    )


def _measured_claims() -> Iterator[Claim]:
    for program, sentence, place, theirs, least in (
        (
            SPARSELU,
            "SparseLU has work time inflation even on one thread, more than 5%",
            "Section 3",
            "evident",
            0.05,
        ),
        (
            HEAT,
            "Work time inflation is 29% of the time of Heat on one thread, or at least 10%",
            "Section 3",
            "29%",
            0.1,
        ),
    ):
        yield Claim(
            name=f"{program.name}-alone",
            sentence=sentence,
            place=place,
            theirs=theirs,
            picture="measured",
            ours=lambda values, name=program.name: {  # type: ignore[misc]
                "1 thread": 1 - ratio(values, name, plan.SERIAL, f"{plan.TASKS} 1")
            },
            holds=lambda found, least=least: found[0] > least,  # type: ignore[misc]
            show=percent,
            cause=(
                "The paper's compiler optimizes the serial version more than the version with tasks. Both of "
                "our versions call the same functions, and clang compiles them alike. The two shortest "
                "times of a version differ by a ratio of"
            ),
            evidence=lambda values, program=program: {  # type: ignore[misc]
                "largest": numbers.measured_error(values, program)
            },
            show_evidence=ratio_text,
            absent=lambda values, program=program, least=least: _too_uneven(  # type: ignore[misc]
                values, program, least
            ),
        )
    yield untested(
        name="ipo",
        sentence="Interprocedural optimization makes the sequential SparseLU nearly 3 times as fast, and the "
        "parallel one by only 60%",
        place="Section 3",
        theirs="3 times, 60%",
        picture="measured",
        missing=_OTHER_COMPILERS,
    )


CLAIMS: Final = (*_machine_claims(), *_schedule_claims(), *_late_claims(), *_measured_claims())

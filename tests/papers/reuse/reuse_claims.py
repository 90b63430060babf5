# SPDX-License-Identifier: Apache-2.0
"""The claims of Pericàs et al. on reuse distances, caches and coherence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import correlation, median
from typing import Final

from papers.conditions import all_positive, by_cores, first_is_largest, first_is_least, percent, rises
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.reuse import numbers
from papers.reuse.distances import COHERENT, MB, beyond, missed, share, shares, within
from papers.reuse.plan import CORE, FMM, MATMUL, MTH, NESTED, POLICIES, PROGRAMS, SHARED, SOCKET, SYMMETRIC

WINDOWS: Final = tuple(2**k for k in range(15, 26))
"""32 KiB to 32 MiB."""
FAR: Final = 32 * MB
"""The paper compares far reuses beyond 32 MB."""
_SHOWN: Final = {MTH: "MTH", NESTED: "TBB", CORE: "QTH/Core", SHARED: "QTH/Socket"}

_RANDOM: Final = (
    "Two simulations of the same policy with different victims differ almost as much as work-first and a "
    "queue per core."
)
_FEW_FAR: Final = (
    "The data of our quick input of fmm have 50 MB. Two last-level caches hold 36 MB, so few accesses are "
    "far under any scheduler. The data of the paper's 1,000,000 bodies are larger."
)
_SHARED_MISSES: Final = (
    "The paper explains its own result by functions of Qthreads that lock the memory bus. The modelled "
    "caches contain declared data only, and the model has no bus, so misses follow the far accesses."
)


def _by_policy(policies: Sequence[str], value: Callable[[str], float]) -> Numbers:
    return {_SHOWN[policy]: value(policy) for policy in policies}


def _range(found: Sequence[float]) -> Numbers:
    """Returns the extremes over the seeds."""
    return {"least": min(found), "largest": max(found)}


def _spread(
    values: Values,
    program: str,
    cores: int,
    policies: Sequence[str] = POLICIES,
    windows: Sequence[int] = WINDOWS,
) -> float:
    """Returns the largest difference between policies of the share that is reused within a window."""
    found = [[within(values, program, policy, cores, window) for policy in policies] for window in windows]
    return max(max(shares) - min(shares) for shares in found)


def _fine(part: float) -> str:
    return f"{part:.2%}"


@dataclass(frozen=True, slots=True)
class _Figure:
    """Figures that claims compare between policies: one for each seed."""

    of: Callable[[Values, str, str, int], Sequence[float]]  # by program, policy and number of cores
    picture: str
    show: Callable[[float], str] = _fine


_MISSED: Final = _Figure(missed, "classes")
_REUSED: Final = _Figure(
    lambda values, program, policy, cores: [1 - part for part in missed(values, program, policy, cores)],
    "matmul-distances",
)
_COLD: Final = _Figure(
    lambda values, program, policy, cores: shares(values, program, policy, cores, "cold"), "classes"
)
_CLOSE: Final = _Figure(
    lambda values, program, policy, cores: shares(values, program, policy, cores, "close"), "fmm-distances"
)
_BEYOND: Final = _Figure(
    lambda values, program, policy, cores: beyond(values, program, policy, cores, FAR), "far"
)
_BEYOND_128: Final = _Figure(
    lambda values, program, policy, cores: beyond(values, program, policy, cores, 128 * MB), "far"
)
_MISSES: Final = _Figure(
    lambda values, program, policy, cores: [
        numbers.misses(values, program, policy, cores) / numbers.misses(values, program, MTH, cores)
    ],
    "hardware",
    lambda ratio: f"{ratio:.3f}",
)


def _compared(
    name: str,
    sentence: str,
    place: str,
    theirs: str,
    figure: _Figure,
    cores: int,
    policies: Sequence[str],
    holds: Callable[[Sequence[float]], bool],
    cause: str = "",
    program: str = MATMUL,
) -> Claim:
    """Returns a claim on the order of policies by a figure of a program."""
    return Claim(
        name=name,
        sentence=sentence,
        place=place,
        theirs=theirs,
        picture=figure.picture,
        ours=lambda values: _by_policy(
            policies, lambda policy: median(figure.of(values, program, policy, cores))
        ),
        holds=holds,
        show=figure.show,
        cause=cause or f"{_RANDOM} Work-first with other seeds has",
        evidence=None if cause else lambda values: _range(figure.of(values, program, MTH, cores)),
    )


def _one_core(program: str) -> Claim:
    return Claim(
        name=f"{program}-one-core",
        sentence=f"On one core the schedulers' reuses in {program} differ by less than 3 points",
        place="Section IV.A",
        theirs="little impact",
        picture=f"{program}-distances",
        ours=lambda values: {"largest difference": _spread(values, program, 1)},
        holds=lambda found: found[0] < 0.03,
        show=percent,
    )


def _same_on_one_core() -> Claim:
    return Claim(
        name="matmul-identical",
        sentence="On one core work-first and help-first have the same distances in matmul, within 0.1 points",
        place="Section IV.A",
        theirs="identical",
        picture="matmul-distances",
        ours=lambda values: {"largest difference": _spread(values, SYMMETRIC, 1, (MTH, CORE))},
        holds=lambda found: found[0] < 0.001,
        show=lambda points: f"{points:.3%}",
    )


def _grows(program: str, begin: int, end: int) -> Claim:
    where = {1: "one core", SOCKET: "one socket", 24: "four sockets"}
    return Claim(
        name=f"{program}-differences-grow-{end}",
        sentence=f"Differences between the schedulers in {program} grow from {where[begin]} to {where[end]}",
        place="Section I.C",
        theirs="increase with cores and sockets",
        picture=f"{program}-distances",
        ours=lambda values: by_cores((begin, end), lambda n: _spread(values, program, n)),
        holds=lambda found: found[0] < found[1],
        show=percent,
        cause=(
            "The largest difference is at a small window, of 256 KB in matmul and 32 KB in fmm, between a "
            "queue per socket and the others, on any number of sockets. At a window of 16 MB the schedulers "
            "differ by"
        ),
        evidence=lambda values: by_cores(
            (begin, end), lambda n: _spread(values, program, n, windows=(16 * MB,))
        ),
    )


def _shared_is_best(program: str, cores: int, where: str) -> Claim:
    def wins(values: Values) -> float:
        found = [
            max(POLICIES, key=lambda policy: within(values, program, policy, cores, window))
            for window in WINDOWS
        ]
        return found.count(SHARED) / len(found)

    return Claim(
        name=f"{program}-shared-best-{cores}",
        sentence=f"On {where} a queue per socket has the most reuses of {program} at over 2/3 of the windows",
        place="Section IV.A",
        theirs="highest at almost all distances",
        picture=f"{program}-distances",
        ours=lambda values: {"32 KiB to 32 MiB": wins(values)},
        holds=lambda found: found[0] > 2 / 3,
        show=percent,
    )


def _fmm_differs_less() -> Claim:
    return Claim(
        name="fmm-differs-less",
        sentence="On one socket the schedulers differ less in fmm than in matmul",
        place="Section IV.A",
        theirs="considerably smaller",
        picture="fmm-distances",
        ours=lambda values: {program: _spread(values, program, SOCKET) for program in (FMM, MATMUL)},
        holds=lambda found: found[0] < found[1],
        show=percent,
    )


def _fmm_alike() -> Claim:
    return Claim(
        name="fmm-others-alike",
        sentence=(
            "On one socket all schedulers but a queue per socket show almost no differences in fmm: less "
            "than 3 points at any window"
        ),
        place="Section IV.A",
        theirs="almost no differences",
        picture="fmm-distances",
        ours=lambda values: {"largest difference": _spread(values, FMM, SOCKET, (MTH, NESTED, CORE))},
        holds=lambda found: found[0] < 0.03,
        show=percent,
    )


def _more_reuses() -> Claim:
    def more(values: Values, window: int) -> float:
        found = [median(beyond(values, MATMUL, policy, 12, window)) for policy in (NESTED, MTH)]
        return found[0] - found[1]

    return Claim(
        name="work-first-more-reuses",
        sentence="On two sockets work-first has more reuses of matmul than TBB at all windows from 16 MB on",
        place="Section IV.B",
        theirs="for all distances beyond 16 MB",
        picture="far",
        ours=lambda values: {f"{mb} MB": more(values, mb * MB) for mb in (16, 32, 64, 128)},
        holds=all_positive,
        show=lambda share: f"{100 * share:+.2f} points",
    )


def _order_on_four_sockets(program: str) -> Iterator[Claim]:
    """Yields the claims on the far and cold accesses of a program on four sockets."""
    for name, sentence, theirs, figure, policies, holds in (
        (
            "shared-far",
            "a queue per socket has the fewest far and cold accesses",
            "best reuse performance",
            _MISSED,
            (SHARED, MTH, CORE, NESTED),
            first_is_least,
        ),
        (
            "work-first-second",
            "work-first has fewer far and cold accesses than a queue per core",
            "closely followed by MTH",
            _MISSED,
            (MTH, CORE),
            rises,
        ),
        (
            "tbb-worst",
            "TBB has the most far and cold accesses",
            "worst for far reuses",
            _MISSED,
            (NESTED, MTH, CORE, SHARED),
            first_is_largest,
        ),
        (
            "cold-lowest",
            "a queue per socket has the fewest cold accesses",
            "lowest ratio",
            _COLD,
            (SHARED, MTH, CORE, NESTED),
            first_is_least,
        ),
        (
            "cold-highest",
            "TBB has the most cold accesses",
            "highest amount",
            _COLD,
            (NESTED, MTH, CORE, SHARED),
            first_is_largest,
        ),
    ):
        yield _compared(
            f"{program}-{name}-24",
            f"In {program} on four sockets {sentence}",
            "Section IV.A",
            theirs,
            figure,
            24,
            policies,
            holds,
            _FEW_FAR if program == FMM else "",
            program,
        )


def _fmm_close() -> Claim:
    return Claim(
        name="fmm-close",
        sentence="On one socket the schedulers' close reuses of fmm differ by at most 3 points",
        place="Section IV.A",
        theirs="3% at most",
        picture="fmm-distances",
        ours=lambda values: _by_policy(POLICIES, lambda policy: share(values, FMM, policy, SOCKET, "close")),
        holds=lambda found: max(found) - min(found) <= 0.03,
        show=percent,
        cause=(
            "Our marks declare the target of a task once. The paper records inputs and outputs of every call "
            "of M2L and P2P, so more of its accesses repeat data of the same task, and are close under any "
            "scheduler."
        ),
    )


def _cold_grows(program: str) -> Claim:
    return Claim(
        name=f"{program}-cold-grows",
        sentence=f"Every scheduler has more cold accesses of {program} on four sockets than on one",
        place="Section IV.A",
        theirs="larger amount",
        picture="classes",
        ours=lambda values: {
            f"{_SHOWN[policy]}, {n} cores": share(values, program, policy, n, "cold")
            for policy in POLICIES
            for n in (SOCKET, 24)
        },
        holds=lambda found: all(a < b for a, b in zip(found[::2], found[1::2], strict=True)),
        show=_fine,
    )


def _few_far() -> Claim:
    return Claim(
        name="few-far",
        sentence=(
            "On two sockets less than a twentieth of matmul's accesses are beyond 32 MB, under any scheduler"
        ),
        place="Section IV.B",
        theirs="3.15% to 4.5%",
        picture="far",
        ours=lambda values: _by_policy(
            POLICIES, lambda policy: median(beyond(values, MATMUL, policy, 12, FAR))
        ),
        holds=lambda found: max(found) < 0.05,
        show=_fine,
        cause=(
            "Larger kernels access the same data less often, so that far accesses are a larger share. Ours "
            "multiply 48 x 48 elements, 636,056 times. The paper has about 1,000,000 kernels, which are 41 x "
            "41 elements. Our share of cold accesses is"
        ),
        evidence=lambda values: _by_policy(
            POLICIES, lambda policy: share(values, MATMUL, policy, 12, "cold")
        ),
    )


def _misses_follow() -> Claim:
    def of(values: Values) -> float:
        runs = [(policy, n) for policy in POLICIES for n in (SOCKET, 12, 24)]
        predicted = [median(missed(values, MATMUL, *run)) for run in runs]
        return correlation(predicted, [numbers.misses(values, MATMUL, *run) for run in runs])

    return Claim(
        name="misses-follow",
        sentence=(
            "Over all schedulers and sockets, far and cold accesses of matmul correlate with misses of the "
            "last cache by 0.9 or more"
        ),
        place="Section IV.B",
        theirs="correlated",
        picture="hardware",
        ours=lambda values: {"12 runs": of(values)},
        holds=lambda found: found[0] >= 0.9,
        show=lambda number: f"{number:.3f}",
        cause=(
            "Both numbers show only the largest differences, between a queue per socket and the others. The "
            "modelled caches also have invalidations, sets, and accesses that overlap in time."
        ),
    )


def _coherence(program: str) -> Claim:
    return Claim(
        name=f"{program}-coherence",
        sentence=f"On four sockets the metric without coherence overlooks invalidated accesses of {program}",
        place="Section V",
        theirs="cannot model them",
        picture="classes",
        ours=lambda values: _by_policy(
            POLICIES, lambda policy: share(values, program, policy, 24, "coherence", COHERENT)
        ),
        holds=lambda found: min(found) > 0,
        show=_fine,
    )


CLAIMS: Final = (
    *map(_one_core, PROGRAMS),
    _same_on_one_core(),
    *(_grows(program, *cores) for program in PROGRAMS for cores in ((1, SOCKET), (SOCKET, 24))),
    _shared_is_best(MATMUL, SOCKET, "one socket"),
    _compared(
        "tbb-one-socket",
        "On one socket TBB reuses more of matmul within the last cache than work-first and a queue per core",
        "Section IV.A",
        "improved reuse",
        _REUSED,
        SOCKET,
        (NESTED, MTH, CORE),
        first_is_largest,
    ),
    _fmm_differs_less(),
    _fmm_close(),
    _compared(
        "fmm-shared-close",
        "On one socket a queue per socket has the most close reuses of fmm",
        "Section IV.A",
        "still better for close reuses",
        _CLOSE,
        SOCKET,
        (SHARED, MTH, NESTED, CORE),
        first_is_largest,
        program=FMM,
    ),
    _fmm_alike(),
    *(_shared_is_best(program, 24, "four sockets") for program in PROGRAMS),
    *(claim for program in PROGRAMS for claim in _order_on_four_sockets(program)),
    *map(_cold_grows, PROGRAMS),
    _few_far(),
    _compared(
        "shared-least-32",
        "On two sockets a queue per socket has fewer accesses of matmul beyond 32 MB than work-first",
        "Section IV.B",
        "3.15% and 3.57%",
        _BEYOND,
        12,
        (SHARED, MTH),
        rises,
    ),
    _compared(
        "tbb-more-32",
        "On two sockets work-first has fewer accesses of matmul beyond 32 MB than TBB",
        "Section IV.B",
        "3.57% and 4.5%",
        _BEYOND,
        12,
        (MTH, NESTED),
        rises,
    ),
    _compared(
        "core-between-32",
        "On two sockets accesses of matmul beyond 32 MB rise from work-first to a queue per core to TBB",
        "Section IV.B",
        FIGURE_ONLY,
        _BEYOND,
        12,
        (MTH, CORE, NESTED),
        rises,
    ),
    _more_reuses(),
    _compared(
        "core-between-128",
        "Beyond 128 MB, too, far reuses rise from work-first to a queue per core to TBB",
        "Section IV.B",
        "clearly observed",
        _BEYOND_128,
        12,
        (MTH, CORE, NESTED),
        rises,
    ),
    _compared(
        "core-between-cold",
        "On two sockets cold accesses of matmul rise from work-first to a queue per core to TBB",
        "Section IV.B",
        "clearly observed",
        _COLD,
        12,
        (MTH, CORE, NESTED),
        rises,
    ),
    _misses_follow(),
    _compared(
        "misses-core-between",
        "On two sockets misses of the last cache rise from work-first to a queue per core to TBB",
        "Tab. I",
        "1, 1.28, 1.53",
        _MISSES,
        12,
        (MTH, CORE, NESTED),
        rises,
        _RANDOM,
    ),
    _compared(
        "misses-shared",
        "On two sockets a queue per socket misses the last cache more than work-first",
        "Tab. I",
        "1.09",
        _MISSES,
        12,
        (MTH, SHARED),
        rises,
        _SHARED_MISSES,
    ),
    *map(_coherence, PROGRAMS),
)

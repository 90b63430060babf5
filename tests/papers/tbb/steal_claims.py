# SPDX-License-Identifier: Apache-2.0
"""The claims of Contreras and Martonosi about random stealing and other policies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from papers.conditions import all_positive, by_cores, falls, gain, percent, rises, times, untested
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.tbb import numbers, plan
from papers.tbb.figures import GAIN_CORES, PAPER_GAINS

_MICRO: Final = ("bitcounter", "lu", "matmult")
_DOUBLINGS: Final = (4, 8, 16, 32)
_WORDS: Final = {
    plan.OCCUPANCY: "Occupancy-based stealing",
    plan.GROUP: "Group-based stealing",
    plan.IDEAL_STEALER: "Ideal stealing, at no cost,",
}
_LONGEST: Final = (
    "The longest vector of a round has a thirteenth of its work, and starts first under each policy. No "
    "speed-up exceeds 13, and the time beyond it depends on the order of the next vectors more than on "
    "failed steals. Speed-ups under random stealing:"
)
_PAUSE: Final = (
    "The gain depends on the length of a failed steal, of which the paper gives only a part. With failed "
    "steals of 5,000 cycles it would be"
)


def _stealing() -> Iterator[Claim]:
    yield from map(_success, _MICRO)
    yield from map(_false_negatives, ("bitcounter", "lu"))
    yield Claim(
        name="imbalanced-lose-more",
        sentence=(
            "The success rate falls by a larger factor from 4 to 32 cores in bitcounter and lu than in "
            "matmult"
        ),
        place="Fig. 7",
        theirs=FIGURE_ONLY,
        picture="stealing",
        ours=lambda values: {
            program: numbers.success(values, program, 4) / numbers.success(values, program, 32)
            for program in ("bitcounter", "lu", "matmult")
        },
        holds=lambda found: min(found[:2]) > found[2],
        show=lambda ratio: f"{ratio:.1f} times",
    )
    yield Claim(
        name="occupancy-succeeds",
        sentence="On 32 cores a thief succeeds more often if it chooses the fullest queue",
        place="VII.B",
        theirs="in words",
        picture="gains",
        ours=lambda values: {
            program: numbers.success(values, program, 32, plan.OCCUPANCY)
            / numbers.success(values, program, 32)
            for program in _MICRO
        },
        holds=lambda found: min(found) > 1,
        show=lambda ratio: f"{ratio:.0f} times",
    )


def _policies() -> Iterator[Claim]:
    for policy in _WORDS:
        for program in PAPER_GAINS:
            yield _policy(policy, program)
    yield Claim(
        name="largest-ideal-gain",
        sentence="On 32 cores ideal stealing makes a program 28% faster or more",
        place="VII.B, Tab. IV",
        theirs="+28.7% (matmult)",
        picture="gains",
        ours=lambda values: _gains_of(values, plan.IDEAL_STEALER),
        holds=lambda found: max(found) >= 0.28,
        show=gain,
        cause=_PAUSE,
        evidence=lambda values: {
            program: numbers.gain(values, plan.with_back_off(program, 5000), plan.IDEAL_STEALER, 32)
            for program in PAPER_GAINS
        },
    )
    yield from map(_effective_on_few, PAPER_GAINS)
    yield Claim(
        name="largest-gain",
        sentence="On 32 cores occupancy-based stealing makes a program 17% faster or more",
        place="Abstract, Tab. IV",
        theirs="+19% (matmult)",
        picture="gains",
        ours=lambda values: _gains_of(values, plan.OCCUPANCY),
        holds=lambda found: max(found) >= 0.17,
        show=gain,
        cause=_PAUSE,
        evidence=lambda values: {
            program: numbers.gain(values, plan.with_back_off(program, 5000), plan.OCCUPANCY, 32)
            for program in PAPER_GAINS
        },
    )
    yield Claim(
        name="least-gain",
        sentence="On 32 cores bitcounter gains least from occupancy-based stealing",
        place="Tab. IV",
        theirs="+3.7%; lu +9.7%, matmult +19.0%",
        picture="gains",
        ours=lambda values: _gains_of(values, plan.OCCUPANCY),
        holds=lambda found: found[0] < min(found[1:]),
        show=gain,
        cause=(
            "Bitcounter and matmult divide their loops in the same way here, and the difference of "
            "their gains is within the spread of the seeds. They are alike, too, if a failed steal "
            "takes 5,000 cycles:"
        ),
        evidence=lambda values: {
            program: numbers.gain(values, plan.with_back_off(program, 5000), plan.OCCUPANCY, 32)
            for program in PAPER_GAINS
        },
    )
    yield Claim(
        name="group-near-occupancy",
        sentence=(
            "Group-based stealing gains as much as occupancy-based, within 2 points, in every cell of "
            "the table"
        ),
        place="Tab. IV",
        theirs="at most 1.4 points",
        picture="gains",
        ours=lambda values: {
            "largest difference": max(
                _difference(values, program, n) for program in PAPER_GAINS for n in GAIN_CORES
            )
        },
        holds=lambda found: found[0] <= 0.02,
        show=lambda share: f"{100 * share:.1f} points",
        cause=(
            "A thief that finds its own group empty looks at one other group, and then pauses. On 32 cores "
            "there are seven groups. The largest difference is"
        ),
        evidence=lambda values: {
            program: max(_difference(values, program, n) for n in GAIN_CORES) for program in PAPER_GAINS
        },
    )
    yield Claim(
        name="ideal-stealer",
        sentence="On 32 cores a steal at no cost gains more than a choice at no cost",
        place="Tab. IV",
        theirs="+7.8%, +20.6%, +28.7%; +3.7%, +8.0%, +21.1%",
        picture="gains",
        ours=lambda values: {
            program: numbers.gain(values, program, plan.IDEAL_STEALER, 32)
            - numbers.gain(values, program, plan.IDEAL_OCCUPANCY, 32)
            for program in PAPER_GAINS
        },
        holds=all_positive,
        show=lambda share: f"{100 * share:+.1f} points",
        cause="The policies run the longest tasks in different orders.",
    )
    yield Claim(
        name="more-cores-more-gain",
        sentence="Occupancy-based stealing gains more on 32 cores than on 16 in bitcounter and matmult",
        place="Tab. IV",
        theirs="bitcounter +2.5% to +3.7%, matmult +9.5% to +19.0%",
        picture="gains",
        ours=lambda values: {
            f"{program}, {n} cores": numbers.gain(values, program, plan.OCCUPANCY, n)
            for program in ("bitcounter", "matmult")
            for n in (16, 32)
        },
        holds=lambda found: found[0] < found[1] and found[2] < found[3],
        show=gain,
        cause=(
            "On 32 cores a loop of bitcounter or matmult has nine tasks or fewer per core. For more of the "
            "time no queue holds a task, so the choice of a victim matters less. Waiting takes"
        ),
        show_evidence=percent,
        evidence=lambda values: {
            f"{program}, {n} cores": numbers.shares(values, program, n)["waiting"]
            for program in ("bitcounter", "matmult")
            for n in (16, 32)
        },
    )
    yield untested(
        name="ideal-occupancy",
        sentence=(
            "A choice of the fullest queue at no cost gains little more than one that looks at all "
            "queues, at most 3 points"
        ),
        place="Tab. IV",
        theirs="at most 2.1 points",
        picture="gains",
        missing=(
            "The simulated policy `occupancy` looks at queues at no cost, so it is the ideal choice "
            "already. Only attempts that fail, and steals, take time."
        ),
    )


def _effective_on_few(program: str) -> Claim:
    return Claim(
        name=f"effective-on-few-{program}",
        sentence=(
            f"Random stealing is effective on few cores in {program}: occupancy-based stealing gains less on "
            "4 cores than on 32"
        ),
        place="Abstract, VII.A",
        theirs="less effective as core counts increase",
        picture="gains",
        ours=lambda values: by_cores((4, 32), lambda n: numbers.gain(values, program, plan.OCCUPANCY, n)),
        holds=rises,
        show=gain,
        cause=_LONGEST if program == "bitcounter" else "",
        evidence=lambda values: by_cores((4, 32), lambda n: numbers.speedup(values, program, n)),
        show_evidence=times,
    )


def _difference(values: Values, program: str, threads: int) -> float:
    occupancy, group = (
        numbers.gain(values, program, policy, threads) for policy in (plan.OCCUPANCY, plan.GROUP)
    )
    return abs(occupancy - group)


def _gains_of(values: Values, policy: str) -> Numbers:
    return {program: numbers.gain(values, program, policy, 32) for program in PAPER_GAINS}


def _success(program: str) -> Claim:
    return Claim(
        name=f"success-{program}",
        sentence=f"The success rate of random stealing falls with the number of cores in {program}",
        place="Fig. 7",
        theirs=FIGURE_ONLY,
        picture="stealing",
        ours=lambda values: by_cores(_DOUBLINGS, lambda n: numbers.success(values, program, n)),
        holds=falls,
        show=percent,
        cause=(
            "Most attempts are made while no queue holds a task, so each of them fails whatever the "
            "victim. Of the attempts that can succeed, fewer succeed on more cores:"
        ),
        evidence=lambda values: by_cores(
            _DOUBLINGS, lambda n: 1 - numbers.false_negatives(values, program, n)
        ),
    )


def _false_negatives(program: str) -> Claim:
    return Claim(
        name=f"false-negatives-{program}",
        sentence=f"False negatives of random stealing rise with the number of cores in {program}",
        place="Fig. 7",
        theirs=FIGURE_ONLY,
        picture="stealing",
        ours=lambda values: by_cores(_DOUBLINGS, lambda n: numbers.false_negatives(values, program, n)),
        holds=rises,
        show=percent,
        cause=(
            "The difference is within the spread of the seeds. Share of the attempts that are made "
            "while a queue holds a task:"
        ),
        evidence=lambda values: by_cores(
            _DOUBLINGS, lambda n: numbers.attempts_with_tasks(values, program, n)
        ),
    )


def _policy(policy: str, program: str) -> Claim:
    def speedups(values: Values) -> Numbers:
        return by_cores(GAIN_CORES, lambda n: numbers.speedup(values, program, n))

    def gains_with_pause(values: Values) -> Numbers:
        paused = plan.with_back_off(program, 5000)
        return by_cores(GAIN_CORES, lambda n: numbers.gain(values, paused, policy, n))

    is_bound = program == "bitcounter"
    return Claim(
        name=f"{policy}-{program}",
        sentence=f"{_WORDS[policy]} makes {program} 1% faster or more on 16, 25 and 32 cores",
        place="Tab. IV",
        theirs=", ".join(gain(one) for one in PAPER_GAINS[program][policy]),
        picture="gains",
        ours=lambda values: by_cores(GAIN_CORES, lambda n: numbers.gain(values, program, policy, n)),
        holds=lambda found: min(found) >= 0.01,
        show=gain,
        cause=_LONGEST if is_bound else _PAUSE,
        evidence=speedups if is_bound else gains_with_pause,
        show_evidence=times if is_bound else gain,
    )


CLAIMS: Final = (*_stealing(), *_policies())

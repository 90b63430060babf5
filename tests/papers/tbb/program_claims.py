# SPDX-License-Identifier: Apache-2.0
"""The claims of Contreras and Martonosi about costs of operations and about programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from papers.conditions import by_cores, count, falls, never, ns, percent, rises, times, untested
from papers.model import FIGURE_ONLY, Claim, Numbers, Values
from papers.recordings import best_trace, stolen_share
from papers.tbb import numbers, plan

_PARSEC: Final = tuple(one.name for one in plan.PARSEC)
_DOUBLINGS: Final = (4, 8, 16, 32)
_DEPTHS: Final = [plan.depth_case(depth).name for depth in plan.DEPTHS]
_GRAINS: Final = [plan.grain_case(grain).name for grain in plan.GRAINS]
_FIG_4: Final = ("bitcounter", "treeadd")
_LARGER_RUN: Final = (
    "The paper's bitcounter of Table II has 5,740 tasks of 5,000 cycles, 29 million cycles of work. "
    "4,000,000 attempts of 200 cycles take 800 million, so the paper counted them in a run with a much "
    "larger input, which it does not describe."
)
_ATOMICS: Final = (
    "The cause is the time of atomic operations on lines that many cores share. The simulation has no "
    "such cost, and more than two processors would be needed to measure it."
)


def _costs() -> Iterator[Claim]:
    yield Claim(
        name="spawn-constant",
        sentence=(
            "The cost of `spawn` stays about the same, within a quarter, or falls as cores are added, up to 4"
        ),
        place="Fig. 4, V.A.1",
        theirs="1 to 4 cores: about constant",
        picture="costs",
        ours=lambda values: {
            f"{program} on {n}": numbers.least_ns(values, program, n, "create")
            for program in _FIG_4
            for n in plan.MEASURED_THREADS
        },
        holds=lambda found: found[1] <= 1.25 * found[0] and found[3] <= 1.25 * found[2],
        show=ns,
        cause=(
            "OpenMP runtimes do not queue the tasks of a team of one thread: each runs at once in its "
            "creator. On two threads the creator also queues the task and wakes the other thread. TBB "
            "queues tasks on one core, too, so its cost does not have this step."
        ),
    )
    yield Claim(
        name="get-constant",
        sentence="The cost of `get_task` stays about the same or falls as cores are added, up to 4",
        place="Fig. 4, V.A.1",
        theirs="1 to 4 cores: about constant",
        picture="costs",
        ours=lambda values: {
            f"{program} on 2": numbers.least_ns(values, program, 2, "take") for program in _FIG_4
        },
        holds=never,
        show=ns,
        missing=(
            "A team of one thread takes no tasks from queues, so two processors give only one measured point."
        ),
    )
    yield Claim(
        name="failed-steal",
        sentence="A failed steal takes less than half of the time of a successful one",
        place="V.A.2",
        theirs="less than 200 cycles, and 560",
        picture="costs",
        ours=lambda values: {
            f"steal, {program} on 2": numbers.least_ns(values, program, 2, "steal") for program in _FIG_4
        },
        holds=never,
        show=ns,
        missing=(
            "The extension checks whether a queue has tasks before it attempts a steal, and counts only "
            "these attempts. With two threads none failed. The simulation takes both costs from the paper."
        ),
    )
    yield Claim(
        name="attempts",
        sentence="On 4 cores bitcounter attempts hundreds of times as many steals as treeadd",
        place="V.A.1",
        theirs="4,000,000 and less than 7,000",
        picture="stealing",
        ours=lambda values: {program: numbers.attempts(values, program, 4) for program in _FIG_4},
        holds=lambda found: found[0] > 100 * found[1],
        show=count,
        missing=_LARGER_RUN,
    )
    yield Claim(
        name="treeadd-attempts",
        sentence="On 4 cores treeadd attempts fewer than 7,000 steals",
        place="V.A.1",
        theirs="less than 7,000",
        picture="stealing",
        ours=lambda values: {"4 cores": numbers.attempts(values, "treeadd", 4)},
        holds=lambda found: found[0] < 7000,
        show=count,
    )
    yield Claim(
        name="bitcounter-attempts",
        sentence="On 4 cores bitcounter attempts about 4 million steals, within a factor of two",
        place="V.A.1",
        theirs="approximately 4 million",
        picture="stealing",
        ours=lambda values: {"4 cores": numbers.attempts(values, "bitcounter", 4)},
        holds=lambda found: 2e6 <= found[0] <= 8e6,
        show=count,
        missing=_LARGER_RUN,
    )
    yield Claim(
        name="relies-on-stealing",
        sentence="On 4 cores threads of bitcounter steal a larger part of their tasks than treeadd's",
        place="V.A.1",
        theirs="rely more on stealing",
        picture="stealing",
        ours=lambda values: {program: stolen_share(values, program, plan.RANDOM, 4) for program in _FIG_4},
        holds=lambda found: found[0] > found[1],
        show=percent,
    )
    yield Claim(
        name="more-calls",
        sentence="With more threads, up to 4, bitcounter and treeadd attempt more steals",
        place="V.A.1",
        theirs="the number of function calls increases",
        picture="stealing",
        ours=lambda values: {
            f"{program} on {n}": numbers.attempts(values, program, n) for program in _FIG_4 for n in (1, 2, 4)
        },
        holds=lambda found: rises(found[:3]) and rises(found[3:]),
        show=count,
    )
    yield Claim(
        name="one-core",
        sentence="On one core no steal is attempted",
        place="V.A.1",
        theirs="one-core results do not include stealing",
        picture="costs",
        ours=lambda values: {program: numbers.measured_attempts(values, program, 1) for program in _FIG_4},
        holds=lambda found: max(found) == 0,
        show=count,
    )
    yield Claim(
        name="steals-of-treeadd",
        sentence=(
            "Steals of treeadd are expensive on 32 cores, but too few to matter: less than 5% of the time"
        ),
        place="V.A.2",
        theirs="1,100 cycles each, little impact",
        picture="overheads",
        ours=lambda values: {"32 cores": numbers.steal_share(values, "treeadd", 32)},
        holds=lambda found: found[0] < 0.05,
        show=percent,
    )
    for name, sentence, theirs, missing in (
        (
            "steal-grows",
            "The cost of a successful steal grows with the number of cores in treeadd, and stays "
            "constant in bitcounter",
            "treeadd: 460 cycles on 4 cores, 1,100 on 32; bitcounter: 560",
            "The cost of a steal is an input of the simulation: its machine file has the paper's "
            "cycles. A measurement on more than two cores would need more processors.",
        ),
        (
            "queue-lock",
            "Locking a queue becomes more expensive with the number of cores in bitcounter, but not in "
            "treeadd",
            FIGURE_ONLY,
            _ATOMICS,
        ),
        (
            "wait-for-all",
            "The cost of `wait_for_all` grows with the number of cores; coherence is 40% of it in bitcounter",
            "40%",
            _ATOMICS,
        ),
    ):
        yield untested(name, sentence, "Fig. 4, V.A.2", theirs, "costs", missing)


def _programs() -> Iterator[Claim]:
    yield Claim(
        name="swaptions-grows",
        sentence="Tasks make swaptions faster with each number of cores, also on 9, 12 and 25",
        place="Fig. 5",
        theirs=FIGURE_ONLY,
        picture="speedups",
        ours=lambda values: by_cores(
            (8, 9, 12, 16, 25, 32), lambda n: numbers.speedup(values, "swaptions", n)
        ),
        holds=rises,
        show=times,
    )
    yield Claim(
        name="static-imbalance",
        sentence=(
            "A static arrangement of swaptions is severely imbalanced on 9, 12 and 25 cores: tasks are "
            "1.1 times as fast or more"
        ),
        place="Fig. 5, VI.A",
        theirs=FIGURE_ONLY,
        picture="speedups",
        ours=lambda values: by_cores(
            (9, 12, 25), lambda n: numbers.speedup(values, "swaptions", n) / numbers.static_speedup(n)
        ),
        holds=lambda found: min(found) >= 1.1,
        show=lambda ratio: f"{ratio:.2f} times",
    )
    yield Claim(
        name="static-on-few",
        sentence="On few cores tasks match or improve the static arrangement of swaptions, within 3%",
        place="Fig. 5, VI.A",
        theirs=FIGURE_ONLY,
        picture="speedups",
        ours=lambda values: by_cores(
            (2, 4, 8), lambda n: numbers.speedup(values, "swaptions", n) / numbers.static_speedup(n)
        ),
        holds=lambda found: min(found) >= 0.97,
        show=lambda ratio: f"{ratio:.3f} times",
    )
    yield Claim(
        name="static-gap",
        sentence=(
            "Tasks of swaptions fall behind the static arrangement as cores are added, where both "
            "divide evenly"
        ),
        place="Fig. 5, VI.A",
        theirs=FIGURE_ONLY,
        picture="speedups",
        ours=lambda values: by_cores(
            _DOUBLINGS, lambda n: numbers.speedup(values, "swaptions", n) / numbers.static_speedup(n)
        ),
        holds=falls,
        show=lambda ratio: f"{ratio:.3f} times",
    )
    yield Claim(
        name="ideal-atomics",
        sentence=(
            "With atomic operations of one cycle, the speed-up of swaptions is 15 on 16 cores and 28 on "
            "32, within a tenth"
        ),
        place="Fig. 6, VI.B",
        theirs="15 and 28",
        picture="speedups",
        ours=lambda values: by_cores((16, 32), lambda n: numbers.speedup(values, "swaptions", n)),
        holds=lambda found: abs(found[0] / 15 - 1) <= 0.1 and abs(found[1] / 28 - 1) <= 0.1,
        show=times,
        missing=(
            "The paper's cores lose an eighth of their time on 32 cores to their caches and their network, "
            "which the simulation lacks. It has only the losses of scheduling and imbalance."
        ),
    )
    yield Claim(
        name="atomics",
        sentence=(
            "With real atomic operations, swaptions is no faster on 32 cores than on 16: "
            "synchronization grows from 3% to 52%"
        ),
        place="Fig. 6, VI.B",
        theirs="speed-ups 14.8 and 14.5",
        picture="overheads",
        ours=lambda values: by_cores((16, 32), lambda n: numbers.speedup(values, "swaptions", n)),
        holds=lambda found: found[1] <= found[0],
        show=times,
        missing=_ATOMICS + " Our speed-ups assume ideal atomic operations.",
    )
    yield untested(
        "micro-atomics",
        "Synchronization degrades the speed of the micro-benchmarks beyond 16 cores",
        "Fig. 5, VI.B",
        FIGURE_ONLY,
        "speedups",
        _ATOMICS,
    )
    yield untested(
        "static-micro",
        "Tasks of matmult and lu fall behind a static arrangement as cores are added",
        "Fig. 5, VI.A",
        FIGURE_ONLY,
        "speedups",
        "The paper does not describe how these programs are divided statically.",
    )
    yield Claim(
        name="most-overhead",
        sentence="On 32 cores the runtime takes up to 47% of the time of a core",
        place="Abstract, Fig. 6",
        theirs="47%",
        picture="overheads",
        ours=lambda values: {"largest": max(numbers.overhead(values, program, 32) for program in _PARSEC)},
        holds=lambda found: found[0] >= 0.4,
        show=percent,
        missing=_ATOMICS,
    )
    yield Claim(
        name="table-3",
        sentence="On 4 processors the runtime takes less than 15% of the time of each program",
        place="Tab. III",
        theirs="swaptions 2.4%, blackscholes 14.0%, fluidanimate 2.6%, streamcluster 11.0% (medium)",
        picture="overheads",
        ours=lambda values: _overheads_on_four(values, _PARSEC),
        holds=lambda found: max(found) < 0.15,
        show=percent,
        cause=(
            "PARSEC's large input of streamcluster has loops of 64 short tasks here, with a serial part "
            "after each, so cores wait. The paper's tasks take 23 million cycles. Waiting takes"
        ),
        evidence=lambda values: {
            program: numbers.shares(values, plan.on_four_processors(program), 4)["waiting"]
            for program in _PARSEC
        },
    )
    yield Claim(
        name="table-3-order",
        sentence=(
            "On 4 processors blackscholes and streamcluster lose more time to the runtime than "
            "swaptions and fluidanimate"
        ),
        place="Tab. III",
        theirs="14.0%, 11.0%; 2.4%, 2.6%",
        picture="overheads",
        ours=lambda values: _overheads_on_four(
            values, ("blackscholes", "streamcluster", "swaptions", "fluidanimate")
        ),
        holds=lambda found: min(found[:2]) > max(found[2:]),
        show=percent,
        cause=(
            "The paper's blackscholes adds up the prices of each round by `parallel_reduce`, which "
            "copies and joins its body. Ours only prices the options, as PARSEC's does, and waits at "
            "the end of each of 75 rounds."
        ),
    )
    yield Claim(
        name="parts-of-streamcluster",
        sentence=(
            "In streamcluster on 4 processors the runtime spends more time waiting for work than stealing, "
            "and the least in the scheduler"
        ),
        place="VI.A",
        theirs="5%, 4%, 3%",
        picture="overheads",
        ours=lambda values: {
            name: numbers.shares(values, "streamcluster", 4)[name]
            for name in ("waiting", "stealing", "scheduler")
        },
        holds=falls,
        show=percent,
        cause=(
            "A task of streamcluster takes 12,000 cycles here, and 23 million in the paper, so the "
            "scheduler takes a larger part of our time."
        ),
    )
    yield Claim(
        name="procedures",
        sentence=(
            "On 2 to 8 cores most of the overhead of each program comes from the use of the runtime's "
            "procedures, not from waiting and synchronization"
        ),
        place="VIII",
        theirs="most of the overhead",
        picture="overheads",
        ours=lambda values: {
            program: min(numbers.procedures_share(values, program, n) for n in (2, 4, 8))
            for program in _PARSEC
        },
        holds=lambda found: min(found) > 0.5,
        show=percent,
        cause=("The end of each loop makes cores wait for the last tasks. The overhead on 8 cores is"),
        evidence=lambda values: {program: numbers.overhead(values, program, 8) for program in _PARSEC},
    )
    yield from map(_grows, _PARSEC)
    yield Claim(
        name="spawn-and-get",
        sentence="Creating, queueing and taking tasks takes less than 0.5% of the time on 32 cores",
        place="VI.B",
        theirs="less than 0.5%",
        picture="overheads",
        ours=lambda values: {
            program: sum(numbers.shares(values, program, 32)[name] for name in ("creation", "scheduler"))
            for program in _PARSEC
        },
        holds=lambda found: max(found) < 0.005,
        show=lambda share: f"{share:.2%}",
        cause=(
            "A task of swaptions takes 25,000 cycles. The machine file has the costs of creating and "
            "taking a task that were measured for the extension, 103 ns or 206 cycles together; the "
            "paper's TBB needs less than 120. Creating alone takes"
        ),
        evidence=lambda values: {
            program: numbers.shares(values, program, 32)["creation"] for program in _PARSEC
        },
    )
    yield Claim(
        name="too-many-tasks",
        sentence="A thousand times as many tasks cost two fifths of the speed-up or more",
        place="VI.B",
        theirs="blackscholes, 6,000 tasks: 19; 6,000,000 tasks: 10",
        picture="grains",
        ours=lambda values: {
            f"treeadd, {best_trace(values, deep)['n_tasks']:,} tasks": numbers.speedup_over(
                values, _DEPTHS[0], deep, 32
            )
            for deep in _DEPTHS
        },
        holds=lambda found: found[1] <= 0.6 * found[0],
        show=times,
    )
    yield Claim(
        name="few-tasks-suffice",
        sentence=(
            "On 8 cores a relatively small number of tasks keeps all processors busy: nine tenths of the "
            "time are work"
        ),
        place="VIII",
        theirs="might be sufficient",
        picture="grains",
        ours=lambda values: {
            f"treeadd, {best_trace(values, _DEPTHS[0])['n_tasks']:,} tasks": numbers.work_share(
                values, _DEPTHS[0], 8
            )
        },
        holds=lambda found: found[0] >= 0.9,
        show=percent,
        cause="Waiting takes",
        evidence=lambda values: {"8 cores": numbers.shares(values, _DEPTHS[0], 8)["waiting"]},
    )
    yield Claim(
        name="shorter-tasks",
        sentence="On 8 cores the overhead increases as tasks get shorter",
        place="Abstract",
        theirs="in words",
        picture="grains",
        ours=lambda values: {
            f"{numbers.task_cycles(values, case):,.0f} cycles": numbers.overhead(values, case, 8)
            for case in _GRAINS
        },
        holds=rises,
        show=percent,
        cause="Waiting takes",
        evidence=lambda values: {case: numbers.shares(values, case, 8)["waiting"] for case in _GRAINS},
    )
    yield Claim(
        name="granularity",
        sentence=(
            "On 32 cores tasks of about 100,000 cycles are long enough for nine tenths of the time to "
            "be work, and shorter ones lose more"
        ),
        place="VIII",
        theirs="about 100K cycles",
        picture="grains",
        ours=lambda values: {
            f"{numbers.task_cycles(values, case):,.0f} cycles": numbers.work_share(values, case, 32)
            for case in _GRAINS
        },
        holds=lambda found: found[0] >= 0.9 and found[0] > found[1] > found[2],
        show=percent,
        cause=(
            "Each task costs about 200 cycles besides its work, 4% of 5,000 cycles, so shorter tasks are "
            "long enough, too. Waiting takes"
        ),
        evidence=lambda values: {
            f"{numbers.task_cycles(values, case):,.0f} cycles": numbers.shares(values, case, 32)["waiting"]
            for case in _GRAINS
        },
    )


def _overheads_on_four(values: Values, programs: Sequence[str]) -> Numbers:
    return {name: numbers.overhead(values, plan.on_four_processors(name), 4) for name in programs}


def _grows(program: str) -> Claim:
    return Claim(
        name=f"grows-{program}",
        sentence=f"The runtime's share of the time of {program} grows with the number of cores",
        place="Fig. 6, VI.A",
        theirs=FIGURE_ONLY,
        picture="overheads",
        ours=lambda values: by_cores((2, *_DOUBLINGS), lambda n: numbers.overhead(values, program, n)),
        holds=rises,
        show=percent,
    )


CLAIMS: Final = (*_costs(), *_programs())

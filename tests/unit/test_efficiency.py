# SPDX-License-Identifier: Apache-2.0
"""The efficiencies of a job: hand-computed examples of each formula, and identities between them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_runs import MS, definition, made_run, region, team
from ompass.metrics.efficiency import (
    Computation,
    Factor,
    IdealNetwork,
    RankTimes,
    additive,
    computation_of,
    computational_scaling,
    efficiencies,
    multiplicative,
    rank_times,
    talp,
)
from ompass.model import OUTSIDE, CallRow

FIRST = RankTimes(
    n_threads=2,
    wall_ns=100 * MS,
    region_ns=60 * MS,
    mpi_outside_ns=30 * MS,
    work_inside_ns=100 * MS,
    work_outside_ns=10 * MS,
    mpi_inside_ns=0,
    unequal_ns=20 * MS,
)
SECOND = RankTimes(
    n_threads=2,
    wall_ns=100 * MS,
    region_ns=80 * MS,
    mpi_outside_ns=10 * MS,
    work_inside_ns=160 * MS,
    work_outside_ns=10 * MS,
    mpi_inside_ns=0,
    unequal_ns=0,
)


def values(factors: Sequence[Factor]) -> dict[str, float]:
    return {factor.key: factor.value for factor in factors if factor.value is not None}


def test_multiplicative_efficiencies_of_two_ranks() -> None:
    # Mean work per thread: 55 and 85 ms of 100 ms. Time outside of MPI: 70 and 90 ms.
    assert values(multiplicative([FIRST, SECOND])) == pytest.approx(
        {
            "parallel": 0.70,
            "load_balance": 70 / 85,
            "communication": 0.85,
            "mpi": 0.80,
            "mpi_load_balance": 80 / 90,
            "mpi_communication": 0.90,
            "openmp": 70 / 80,
            "openmp_load_balance": (70 / 85) / (80 / 90),
            "openmp_communication": 85 / 90,
        }
    )


def test_additive_efficiencies_of_two_ranks() -> None:
    # Losses: 10 and 0 ms in regions, 5 and 5 ms in serial parts, 10 ms of balance, 10 ms of communication.
    assert values(additive([FIRST, SECOND])) == pytest.approx(
        {
            "parallel": 0.70,
            "threads": 0.90,
            "openmp_regions": 0.95,
            "serial_regions": 0.95,
            "processes": 0.80,
            "mpi_load_balance": 0.90,
            "mpi_communication": 0.90,
        }
    )


def test_talp_efficiencies_of_two_ranks() -> None:
    # Thread-time 400 ms, in MPI 80 ms. Idle: 20 ms serial, 20 ms unequal, 0 ms scheduling.
    assert values(talp([FIRST, SECOND])) == pytest.approx(
        {
            "parallel": 280 / 400,
            "mpi": 320 / 400,
            "openmp": 360 / 400,
            "openmp_serialisation": 380 / 400,
            "openmp_load_balance": 360 / 380,
            "openmp_scheduling": 1.0,
        }
    )


def test_a_rank_that_ends_early_waits_for_the_longest_one() -> None:
    short = RankTimes(1, 40 * MS, 0, 0, 0, 40 * MS, 0, 0)
    long = RankTimes(1, 80 * MS, 0, 0, 0, 80 * MS, 0, 0)
    found = values(multiplicative([short, long]))
    assert (found["mpi"], found["mpi_load_balance"], found["mpi_communication"]) == (0.75, 0.75, 1.0)
    assert values(talp([short, long]))["mpi"] == 0.75
    assert values(additive([short, long]))["mpi_load_balance"] == 0.75


def test_mpi_in_regions_counts_for_its_thread_alone() -> None:
    times = RankTimes(4, 100 * MS, 100 * MS, 0, 300 * MS, 0, 40 * MS, 0)
    assert times.mpi_ns == 10 * MS
    assert times.outside_mpi_ns == 90 * MS
    assert times.region_loss_ns == 15 * MS
    found = values(multiplicative([times]))
    assert found["parallel"] == pytest.approx(0.75)
    assert found["openmp"] == pytest.approx(75 / 90)


def test_a_replay_divides_the_communication_into_late_ranks_and_transfers() -> None:
    def found(ns: int) -> dict[str, float]:
        return values(multiplicative([FIRST, SECOND], IdealNetwork(ns, "")))

    known = found(95 * MS)  # the run takes 100 ms, and each rank is outside of MPI for at most 90 ms
    assert known["mpi_serialisation"] == pytest.approx(90 / 95)
    assert known["mpi_transfer"] == pytest.approx(0.95)
    assert found(89 * MS)["mpi_serialisation"] == 1
    assert found(101 * MS)["mpi_transfer"] == 1
    unknown = multiplicative([FIRST, SECOND], IdealNetwork(None, "no messages of MPI_Test"))
    assert [factor.why for factor in unknown if factor.key == "mpi_transfer"] == ["no messages of MPI_Test"]


def test_unknown_efficiencies_have_a_reason_and_no_value() -> None:
    found = {factor.key: factor for factor in efficiencies([FIRST, SECOND]).multiplicative}
    for key in ("mpi_serialisation", "mpi_transfer", "global", "computation"):
        assert found[key].value is None
        assert found[key].why


ranks = st.lists(
    st.builds(
        lambda n, region, mpi, serial, inside, in_mpi, outside, unequal: RankTimes(
            n_threads=n,
            wall_ns=region + mpi + serial,
            region_ns=region,
            mpi_outside_ns=mpi,
            work_inside_ns=int(n * region * inside),
            work_outside_ns=int(serial * outside),
            mpi_inside_ns=int(n * region * (1 - inside) * in_mpi),
            unequal_ns=int(n * region * unequal),
        ),
        st.integers(1, 64),
        *(st.integers(1, 10**9) for _ in range(3)),
        *(st.floats(0, 1) for _ in range(4)),
    ),
    min_size=1,
    max_size=8,
)


@given(ranks)
def test_products_and_sums_of_efficiencies_agree(those: list[RankTimes]) -> None:
    one, other, third = (values(part(those)) for part in (multiplicative, additive, talp))
    assert one["parallel"] == pytest.approx(one["mpi"] * one["openmp"])
    assert one["parallel"] == pytest.approx(one["load_balance"] * one["communication"])
    assert one["mpi"] == pytest.approx(one["mpi_load_balance"] * one["mpi_communication"])
    assert one["openmp"] == pytest.approx(one["openmp_load_balance"] * one["openmp_communication"])
    assert one["parallel"] == pytest.approx(other["parallel"])
    lost = sum(
        1 - other[key]
        for key in ("openmp_regions", "serial_regions", "mpi_load_balance", "mpi_communication")
    )
    assert 1 - other["parallel"] == pytest.approx(lost, abs=1e-9)
    parts = third["openmp_serialisation"] * third["openmp_load_balance"] * third["openmp_scheduling"]
    assert third["openmp"] == pytest.approx(parts)
    assert third["parallel"] == pytest.approx(third["mpi"] + third["openmp"] - 1, abs=1e-9)
    if len({each.n_threads for each in those}) == 1:
        assert third["parallel"] == pytest.approx(one["parallel"], abs=1e-9)


def test_times_of_a_rank_follow_from_its_rows() -> None:
    inside = team(
        0,
        [
            {"work_ns": 50 * MS, "mpi_ns": 5 * MS, "idle_ns": 5 * MS},
            {"work_ns": 30 * MS, "idle_ns": 30 * MS},
        ],
    )
    outside = region(OUTSIDE, 0, work_ns=20 * MS, mpi_ns=20 * MS)
    times = rank_times(made_run([*inside, outside], wall_ns=100 * MS))
    assert times == RankTimes(
        n_threads=2,
        wall_ns=100 * MS,
        region_ns=60 * MS,
        mpi_outside_ns=20 * MS,
        work_inside_ns=80 * MS,
        work_outside_ns=20 * MS,
        mpi_inside_ns=5 * MS,
        unequal_ns=25 * MS,
    )
    assert times.serial_ns == 20 * MS


def test_mpi_init_and_mpi_finalize_are_excluded() -> None:
    names = ("MPI_Init_thread", "MPI_Recv", "MPI_Recv", "MPI_Finalize")
    definitions = [
        definition(0, "program"),
        *(definition(k, "mpi", name=name, flags=1) for k, name in enumerate(names, 1)),
    ]
    times_ms = (200, 30, 10, 50)
    calls = [
        CallRow(construct=k, thread=0, n_calls=1, time_ns=ms * MS, serial_ns=(0 if k == 3 else ms) * MS)
        for k, ms in enumerate(times_ms, 1)
    ]
    rows = [region(OUTSIDE, 0, work_ns=20 * MS, mpi_ns=30 * MS, sync_ns=5 * MS)]
    times = rank_times(made_run(rows, [], definitions, wall_ns=400 * MS, calls=tuple(calls)))
    assert (times.wall_ns, times.mpi_outside_ns) == (150 * MS, 30 * MS)
    # The initial thread also works before OpenMP starts.
    assert times.work_outside_ns == 115 * MS


def test_a_rank_without_regions_has_one_serial_part() -> None:
    times = rank_times(made_run([region(OUTSIDE, 0, work_ns=70 * MS, mpi_ns=30 * MS)], wall_ns=100 * MS))
    assert (times.n_threads, times.region_ns, times.mpi_outside_ns) == (1, 0, 30 * MS)
    assert values(multiplicative([times]))["parallel"] == pytest.approx(0.7)


def test_computational_scaling_is_the_product_of_its_parts() -> None:
    reference = Computation(useful_ns=1000, instructions=4000, cycles=2000)
    job = Computation(useful_ns=1600, instructions=5000, cycles=4000)
    assert computational_scaling(job, reference) == pytest.approx(
        {"computation": 0.625, "processors": 1, "instructions": 0.8, "ipc": 0.625, "frequency": 1.25}
    )


def test_computational_scaling_without_counters_is_known_as_a_whole() -> None:
    found = computational_scaling(Computation(2000), Computation(1000, 5, 5))
    assert found == {
        "computation": 0.5,
        "processors": 1,
        "instructions": None,
        "ipc": None,
        "frequency": None,
    }


def test_instructions_come_from_the_rows_of_regions() -> None:
    rows = [row.replace(counters=(100, 7)) for row in team(0, [{"work_ns": MS}] * 2)]
    run = made_run(rows, counters=("PAPI_TOT_INS", "PAPI_L3_TCM"))
    assert computation_of(run) == Computation(2 * MS, instructions=200)

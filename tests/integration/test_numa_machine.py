# SPDX-License-Identifier: Apache-2.0
"""Placement on four NUMA nodes: a virtual machine boots once, and every test checks a part of its output.

The programs, in tests/programs/numa, ask the kernel where pages and threads are (move_pages, getcpu).
"""

from __future__ import annotations

import re

import pytest

import numa_machine
from ext_programs import compile_with_ext, ext_library
from needs import require
from numa_machine import CPUS_PER_NODE, DISTANCES, N_NODES, Finished, Job
from toolchains import Toolchain

N_PAGES = 128  # pages of each node's part
CPUS_OF = {d: set(range(d * CPUS_PER_NODE, (d + 1) * CPUS_PER_NODE)) for d in range(N_NODES)}
EVERY_CPU = set().union(*CPUS_OF.values())

pytestmark = pytest.mark.timeout(300)


def jobs(toolchain: Toolchain) -> list[Job]:
    placement = compile_with_ext("numa/placement.c", toolchain, "-O1")
    membership = compile_with_ext("numa/membership.c", toolchain, "-O1")
    fig8 = compile_with_ext("ext/fig8.c", toolchain, "-O1")
    every_level = compile_with_ext("numa/every_level.c", toolchain, "-O1")
    strict = {"OMP_EXT_STRICT": "1", "OMP_EXT_TIED": "relaxed"}
    return [
        Job("placement-by-root", placement, [str(N_PAGES)], as_root=True),
        Job("placement", placement, [str(N_PAGES)], {"OMP_EXT_DISPLAY": "1"}),
        Job("fig8", fig8, ["9", "3"], strict),
        Job("every-level", every_level, ["9"], {"OMP_EXT_STRICT": "1"}),
        Job("forbidden", compile_with_ext("numa/forbidden.c", toolchain, "-O1")),
        Job("members", membership, ["8", "4", "2", "6", "8"]),
        Job("members-in-half", membership, ["4"], wrapper="taskset 0x33"),
        Job("members-bound", membership, ["8"], {"OMP_PLACES": "cores", "OMP_PROC_BIND": "close"}),
        Job("members-unbound", membership, ["8"], {"OMP_EXT_BIND": "no"}),
        Job("members-by-core", membership, ["8"], {"OMP_EXT_BIND": "core"}),
    ]


@pytest.fixture(scope="module")
def finished(default_toolchain: Toolchain) -> dict[str, Finished]:
    require("the virtual machine", numa_machine.what_is_missing(), "./run numa-test")
    return numa_machine.run_jobs(jobs(default_toolchain), default_toolchain, [ext_library()])


def output_of(finished: dict[str, Finished], job: str) -> str:
    assert finished[job].returncode == 0, finished[job].output
    return finished[job].output


def claims_in(output: str) -> dict[str, tuple[int, int]]:
    """Returns, for each claim, the number of checks that held and the number of all checks."""
    found = re.findall(r"^CLAIM (\S+) (\d+)/(\d+)$", output, re.MULTILINE)
    return {name: (int(held), int(of)) for name, held, of in found}


class Member:
    """A line in the output of tests/programs/numa/membership.c: one thread of a team."""

    def __init__(self, outer: str, thread: str, domain: str, cpu: str, may: str) -> None:
        self.outer, self.thread, self.domain, self.cpu = int(outer), int(thread), int(domain), int(cpu)
        self.may = {int(number) for number in may.split(",")}


def members_in(output: str, team: str) -> list[Member]:
    """Returns the members of the last team with that name, sorted by thread number."""
    found = re.findall(
        rf"^MEMBER {team} (\d+)\.(\d+) domain=(\d+) cpu=(\d+) may=(\S+)$", output, re.MULTILINE
    )
    members = [Member(*words) for words in found]
    if team != "nested":
        members = members[-int(team) :]
    return sorted(members, key=lambda member: (member.outer, member.thread))


@pytest.mark.parametrize("job", ["placement", "placement-by-root"])
@pytest.mark.parametrize(
    "claim",
    [
        "alloc_ondomain",
        "alloc_interleaved",
        "alloc_first_touch",
        "mem_todomain",
        "mem_todomain_untouched",
        "spread_initialisation",
        "placed_task_runs_there",
        "affinity_clause",
        "affinity_clause_after_move",
    ],
)
def test_pages_and_tasks_are_where_the_program_placed_them(
    finished: dict[str, Finished], job: str, claim: str
) -> None:
    held, of = claims_in(output_of(finished, job))[claim]
    assert of >= N_NODES
    assert held == of


@pytest.mark.parametrize("job", ["placement", "placement-by-root"])
def test_no_task_was_rescued(finished: dict[str, Finished], job: str) -> None:
    assert "RESCUED 0\n" in output_of(finished, job)


@pytest.mark.parametrize("claim", ["tasks", "tasks_that_waited", "pages"])
def test_every_level_of_a_recursion_runs_in_its_domain(finished: dict[str, Finished], claim: str) -> None:
    output = output_of(finished, "every-level")
    held, of = claims_in(output)[claim]
    assert of >= 1022
    assert held == of
    assert "RESCUED 0\n" in output


def test_distances_match_the_firmware(finished: dict[str, Finished]) -> None:
    rows = re.findall(r"^DISTANCES (.*)$", output_of(finished, "placement"), re.MULTILINE)
    measured = [[int(word) for word in row.split()] for row in rows]
    pairs = DISTANCES | {(b, a): value for (a, b), value in DISTANCES.items()}
    assert measured == [[pairs.get((a, b), 10) for b in range(N_NODES)] for a in range(N_NODES)]


def test_programs_work_where_placement_is_forbidden(finished: dict[str, Finished]) -> None:
    output = output_of(finished, "forbidden")
    assert "all held\n" in output
    assert output.count("omp_ext: the system does not place memory (Operation not permitted; containers") == 1
    assert output.count("omp_ext: the system does not report where pages lie (move_pages: Operation not") == 1


def test_the_map_is_displayed(finished: dict[str, Finished]) -> None:
    output = output_of(finished, "placement")
    assert "omp_ext: locality domains: 4, NUMA nodes; unbound threads are bound to their domains" in output
    assert "omp_ext: domain 2: CPUs 4,5; NUMA nodes 2; distances 16 32 10 16" in output


def test_tasks_of_fig8_run_where_the_paper_states(finished: dict[str, Finished]) -> None:
    assert "domains=4 rescued=0 elsewhere=0 in" in output_of(finished, "fig8")


@pytest.mark.parametrize(
    ("team", "domains"),
    [("8", [0, 0, 1, 1, 2, 2, 3, 3]), ("4", [0, 1, 2, 3]), ("2", [0, 2]), ("6", [0, 0, 1, 1, 2, 3])],
)
def test_unbound_threads_are_spread_and_bound(
    finished: dict[str, Finished], team: str, domains: list[int]
) -> None:
    members = members_in(output_of(finished, "members"), team)
    assert [member.domain for member in members] == domains
    for member in members:
        assert member.may == CPUS_OF[member.domain]
        assert member.cpu in member.may


@pytest.mark.parametrize("job", ["members", "members-by-core"])
def test_nested_teams_stay_in_their_part_of_the_machine(finished: dict[str, Finished], job: str) -> None:
    members = members_in(output_of(finished, job), "nested")
    assert [member.domain for member in members] == [0, 1, 2, 3]


def test_a_smaller_cpuset_is_respected(finished: dict[str, Finished]) -> None:
    output = output_of(finished, "members-in-half")
    assert re.findall(r"^DOMAIN .*$", output, re.MULTILINE) == ["DOMAIN 0 0 1", "DOMAIN 1 4 5"]
    assert [member.domain for member in members_in(output, "4")] == [0, 0, 1, 1]
    assert {cpu for member in members_in(output, "4") for cpu in member.may} == {0, 1, 4, 5}


def test_threads_that_the_runtime_bound_stay_bound(finished: dict[str, Finished]) -> None:
    for member in members_in(output_of(finished, "members-bound"), "8"):
        assert member.may == {member.thread}
        assert member.cpu in CPUS_OF[member.domain]


def test_threads_stay_unbound_on_request(finished: dict[str, Finished]) -> None:
    members = members_in(output_of(finished, "members-unbound"), "8")
    assert [member.domain for member in members] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert all(member.may == EVERY_CPU for member in members)


def test_each_thread_gets_a_core_on_request(finished: dict[str, Finished]) -> None:
    members = members_in(output_of(finished, "members-by-core"), "8")
    assert [member.may for member in members] == [{cpu} for cpu in range(8)]

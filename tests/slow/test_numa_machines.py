# SPDX-License-Identifier: Apache-2.0
"""Placement on four NUMA nodes: on every runtime of the matrix, and with transparent huge pages.

tests/integration/test_numa_machine.py is the quick test of the same machine.
"""

from __future__ import annotations

import pytest

import numa_machine
from ext_programs import compile_with_ext, ext_library
from integration.test_numa_machine import claims_in
from needs import require
from numa_machine import N_NODES, Job
from toolchains import Toolchain

pytestmark = pytest.mark.timeout(300)

HUGE_PAGE_PAGES = 512


@pytest.fixture(autouse=True)
def _machine_is_there() -> None:
    require("the virtual machine", numa_machine.what_is_missing(), "./run numa-test")


def test_every_runtime_places_tasks(toolchain: Toolchain) -> None:
    if toolchain.name.startswith("gcc"):
        pytest.skip("gcc 12 and libomp's GOMP_task do not pass on the memory of affinity clauses")
    placement = compile_with_ext("numa/placement.c", toolchain, "-O1")
    fig8 = compile_with_ext("ext/fig8.c", toolchain, "-O1")
    finished = numa_machine.run_jobs(
        [
            Job("placement", placement, ["64"]),
            Job("fig8", fig8, environment={"OMP_EXT_STRICT": "1", "OMP_EXT_TIED": "relaxed"}),
        ],
        toolchain,
        [ext_library()],
    )
    for job in finished.values():
        assert job.returncode == 0, job.output
    claims = claims_in(finished["placement"].output)
    assert len(claims) == 9
    assert {name: held for name, (held, _) in claims.items()} == {
        name: of for name, (_, of) in claims.items()
    }


@pytest.mark.parametrize("n_pages", [128, 4 * HUGE_PAGE_PAGES])
def test_huge_pages_keep_the_requested_placement(default_toolchain: Toolchain, n_pages: int) -> None:
    """A transparent huge page that several parts share lies on the node that touched it first."""
    placement = compile_with_ext("numa/placement.c", default_toolchain, "-O1")
    finished = numa_machine.run_jobs(
        [Job("placement", placement, [str(n_pages)])],
        default_toolchain,
        [ext_library()],
        huge_pages="always",
    )["placement"]
    claims = claims_in(finished.output)
    for name in ("alloc_ondomain", "mem_todomain", "mem_todomain_untouched", "placed_task_runs_there"):
        held, of = claims[name]
        assert held == of, finished.output
    held, of = claims["spread_initialisation"]
    assert of - held <= N_NODES * HUGE_PAGE_PAGES, finished.output

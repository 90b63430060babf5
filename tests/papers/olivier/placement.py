# SPDX-License-Identifier: Apache-2.0
"""A step that checks real placement: programs in a virtual machine with four NUMA nodes (tests/numa-vm).

Its value is empty if the machine's tools or its kernel are missing here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numa_machine
import toolchains
from ext_programs import compile_with_ext
from numa_machine import Finished, Job
from papers.model import Step, Workplace
from papers.recordings import EXTENSION

_PATIENCE_S: Final = 280.0
_FIG8: Final = re.compile(r"^domains=\d+ rescued=(\d+) elsewhere=(\d+) in ([\d ]+)$", re.MULTILINE)
_CLAIM: Final = re.compile(r"^CLAIM (\S+) (\d+)/(\d+)$", re.MULTILINE)
_TASKS: Final = re.compile(r"tasks: \d+ created, (\d+) run, (\d+) in their domain")

_PROGRAMS: Final = {
    "health": "--size 4 --children 18 --people 10 --steps 4 --depth 2",
    "heat": "--size 800 --steps 4 --grain 16",
}
KINDS: Final = {"strict": "1", "not strict": "0"}


def _jobs() -> list[Job]:
    clang = toolchains.toolchain_named(toolchains.DEFAULT_TOOLCHAIN)
    strict = {"OMP_EXT_STRICT": "1"}
    made = [
        Job("fig8", compile_with_ext("ext/fig8.c", clang, "-O1"), ["9", "3"], strict),
        Job("every-level", compile_with_ext("numa/every_level.c", clang, "-O1"), ["9"], strict),
    ]
    for name, options in _PROGRAMS.items():
        program = toolchains.BUILD / "bots" / f"{name}-locality"
        for kind, value in KINDS.items():
            variables = {"OMP_EXT_STRICT": value, "OMP_EXT_STATISTICS": "1"}
            job = f"{name}-{kind.replace(' ', '-')}"
            made.append(Job(job, program, [*options.split(), "--threads", "8"], variables))
    return made


def _run() -> Mapping[str, Finished]:
    """Runs the jobs. Repeats the boot, which can fail while other programs use all processors."""
    for is_last in (False, False, True):
        try:
            clang = toolchains.toolchain_named(toolchains.DEFAULT_TOOLCHAIN)
            return numa_machine.run_jobs(_jobs(), clang, [EXTENSION], timeout_s=_PATIENCE_S)
        except numa_machine.MachineError:
            if is_last:
                raise
    raise AssertionError("the loop returns or raises")


def _placed(_: Workplace) -> Mapping[str, list[int]]:
    """Returns the numbers of tasks or pages at home and in total, by name.

    The counts of fig8 are the tasks elsewhere, then the tasks in each domain.
    """
    if numa_machine.what_is_missing():
        return {}
    done = _run()
    for name, job in done.items():
        if job.returncode:
            raise numa_machine.MachineError(f"{name} ended with {job.returncode}: {job.output}")
    found: dict[str, list[int]] = {}
    if fig8 := _FIG8.search(done["fig8"].output):
        found["fig8"] = [int(fig8[2]), *map(int, fig8[3].split())]
    for name, held, of in _CLAIM.findall(done["every-level"].output):
        found[name] = [int(held), int(of)]
    for name, job in done.items():
        if tasks := _TASKS.search(job.output):
            found[name] = [int(tasks[2]), int(tasks[1])]
    return found


PLACEMENT: Final = Step("placement", _placed)

# SPDX-License-Identifier: Apache-2.0
"""Names the run directory, finds the directories that the program made, and explains why it made none.

Owns the tool's naming rule: NAME.ompass, then NAME-2.ompass and so on, with % patterns in NAME.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ompass.errors import OutputError, UsageError
from ompass.files import folder_problem
from ompass.launch.child import Ending
from ompass.launch.plan import INSTALL_LIBOMP, Plan
from ompass.launch.program import Program
from ompass.launch.python_modules import replacement_for
from ompass.launch.rank_start import LAUNCH, rank_variables
from ompass.launch.runtimes import find_runtimes
from ompass.launch.tool import find_tool_library
from ompass.readers.meta import Meta, read_meta
from ompass.readers.run import foreign_content, is_run_directory
from ompass.runtime_names import is_python
from ompass.units import plural

_SUFFIX = ".ompass"
OF_RANK: Final = "-r%r"
"""The part of a pattern that gives each rank its own directory, before the suffix."""
_PATTERN = re.compile(r"%(.)")
_DUMP = re.compile(r"-dump-\d+$")
_EXPANSIONS = {"e": r"[^/]*", "p": r"\d+", "r": r"\d+", "h": r"[^/]*", "%": "%"}


@dataclass(frozen=True, slots=True)
class ProducedRuns:
    """The run directories of one launch; `main` is None if nothing was recorded."""

    main: Path | None
    others: tuple[Path, ...]
    ranks: tuple[Path, ...] = ()  # the runs of several ranks of one job, by rank; empty otherwise


def choose_directory(program: Path, environ: Mapping[str, str], pid: int, *, ranks: bool = False) -> str:
    """Returns a value of OMPASS_DIR that no other launch uses: the program's name and our process id.

    All processes of the launch share the name; the numbers of their directories differ. `ranks`: a launcher
    starts the program.
    """
    rank = OF_RANK if ranks or is_rank(environ) else ""
    return f"{program.name.replace('%', '%%')}{rank}-{pid}{_SUFFIX}"


def is_rank(environ: Mapping[str, str]) -> bool:
    """True in a process that a launcher of MPI jobs started."""
    return bool(rank_variables(environ)[0])


def absolute_pattern(pattern: str) -> str:
    """Returns the pattern as an absolute path: a program may change its directory before OpenMP starts."""
    if pattern.startswith("/"):
        return pattern
    return f"{str(Path.cwd()).replace('%', '%%')}/{pattern}"


def check_place(pattern: str, named: str) -> None:
    """Raises OutputError if the run directory cannot be made. Called before the program runs.

    `named`: the option or variable that sets the pattern.
    """
    path = Path(pattern)
    for part in (*reversed(path.parents), path):
        if _PATTERN.search(part.name.replace("%%", "")):
            # Only the tool can replace the pattern, so this checks the directory above.
            path = part.parent
            break
    problem = folder_problem(Path(str(path).replace("%%", "%")))
    if problem:
        raise OutputError(f"no run directory can be made by {named}", problem, "name another place with -o")


def remove_existing(pattern: str, environ: Mapping[str, str]) -> None:
    """Removes the run directory of an absolute pattern, for a new run with the same name.

    Raises UsageError if the name has patterns, if several ranks share it, or if the directory is not a run
    directory or contains other files.
    """
    if _PATTERN.search(pattern.replace("%%", "")) or is_rank(environ):
        raise UsageError(
            "--force", "the runs of several processes may have such a name", "remove old runs before the job"
        )
    path = Path(pattern.replace("%%", "%"))
    if not os.path.lexists(path):
        return
    if path.is_symlink() or not is_run_directory(path):
        raise UsageError("--force", f"{path} is not a run directory", "name another place with -o")
    try:
        foreign = foreign_content(path)
        if foreign:
            raise UsageError("--force", f"{path} is not removed: {foreign}", "name another place with -o")
        shutil.rmtree(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be removed", error.strerror or str(error)) from error


def new_launch(environ: Mapping[str, str]) -> str:
    """Returns a value of OMPASS_LAUNCH for child processes: the enclosing launches, and a new one.

    Separate launches may share the name pattern, as on the hosts of an MPI job.
    """
    own = f"{os.getpid():x}.{time.time_ns():x}.{os.urandom(4).hex()}"
    return f"{environ[LAUNCH]}/{own}" if environ.get(LAUNCH) else own


def candidates(pattern: str) -> set[Path]:
    """Returns existing run directories whose names match an absolute pattern."""
    parent, name = os.path.split(pattern.rstrip("/"))
    folder = Path(_PATTERN.sub(lambda m: "%" if m[1] == "%" else m[0], parent))
    stem = name[: -len(_SUFFIX)] if name.endswith(_SUFFIX) else name
    ending = re.escape(_SUFFIX) if stem != name else ""
    pieces = _PATTERN.split(stem)
    # odd pieces are the letters after %
    expression = "".join(
        re.escape(piece) if k % 2 == 0 else _EXPANSIONS.get(piece, re.escape("%" + piece))
        for k, piece in enumerate(pieces)
    )
    wanted = re.compile(expression + r"(-\d+)?" + ending)
    # A pattern in the directory part represents one directory per rank or host: search all of them.
    folders = [folder] if not _PATTERN.search(parent.replace("%%", "")) else _matching_folders(parent)
    return {
        entry
        for place in folders
        if place.is_dir()
        for entry in place.iterdir()
        if wanted.fullmatch(entry.name) and not _is_dump(entry) and is_run_directory(entry)
    }


def _is_dump(path: Path) -> bool:
    stem = path.name.removesuffix(_SUFFIX)
    run = _DUMP.sub("", stem) + path.name[len(stem) :]
    return run != path.name and path.with_name(run).exists()


def dumps_of(run: Path) -> list[Path]:
    """Returns the dumps that the program made of its run, in order.

    Omits dumps of an earlier run with the same name: a dump contains a copy of its run's meta.json.
    """
    stem = run.name.removesuffix(_SUFFIX)
    suffix = run.name[len(stem) :]
    meta = read_meta(run)
    found = (
        path
        for path in run.parent.glob(f"{glob.escape(stem)}-dump-*{suffix}")
        if is_run_directory(path) and read_meta(path) == meta
    )
    return sorted(found, key=_by_numbers)


def _matching_folders(parent: str) -> list[Path]:
    glob = _PATTERN.sub(lambda m: "%" if m[1] == "%" else "*", parent)
    return sorted(Path("/").glob(glob.lstrip("/")))


def find_produced(pattern: str, before: set[Path], pid: int, launch: str) -> ProducedRuns:
    """Returns the runs of this launch that are not in `before`.

    The main run is the largest run of process `pid`, else the run of the first rank, else the largest one.
    Other launches, such as ranks on other hosts, may share the pattern.
    """
    metas = {path: read_meta(path) for path in candidates(pattern) - before}
    new = sorted((path for path, meta in metas.items() if _is_of(meta, pid, launch)), key=_by_numbers)
    if not new:
        return ProducedRuns(None, ())
    ranks = _ranks(new, metas)
    own = [path for path in new if metas[path].pid == pid]
    # A process that replaced itself with exec has several runs; the one with the most data is the main run.
    main = max(own or ranks[:1] or new, key=_bytes_of)
    return ProducedRuns(main, tuple(path for path in new if path != main), ranks)


def _ranks(new: Sequence[Path], metas: Mapping[Path, Meta]) -> tuple[Path, ...]:
    """Returns the largest run of each rank, by rank; empty for fewer than two ranks."""
    of_rank: dict[int, list[Path]] = {}
    for path in new:
        if (rank := metas[path].rank) is not None:
            of_rank.setdefault(rank, []).append(path)
    return tuple(max(of_rank[rank], key=_bytes_of) for rank in sorted(of_rank)) if len(of_rank) > 1 else ()


def _is_of(meta: Meta, pid: int, launch: str) -> bool:
    """True if the run is of process `pid` or of this launch, or lacks meta.json (after a full disk)."""
    theirs = meta.environment.get(LAUNCH, "")
    return meta.pid in (0, pid) or theirs == launch or theirs.startswith(launch + "/")


def _by_numbers(path: Path) -> list[str | int]:
    """Returns a sort key: numbers in names by value, and a name before the same name with a number."""
    parts = re.split(r"(\d+)", path.name.removesuffix(_SUFFIX))
    return [int(part) if k % 2 else part for k, part in enumerate(parts)]


def _bytes_of(path: Path) -> int:
    """Returns the disk space of a run's files, in blocks of 512 bytes."""
    return sum(entry.stat().st_blocks for entry in path.iterdir() if entry.is_file())


def why_nothing(program: Program, plan: Plan, ending: Ending, environ: Mapping[str, str]) -> tuple[str, str]:
    """Returns the most likely reason why no run directory appeared, and its cure."""
    if environ.get("OMPASS_ENABLED", "").strip().lower() in ("off", "0", "false", "no"):
        return f"OMPASS_ENABLED={environ['OMPASS_ENABLED']} switches the tool off", "unset OMPASS_ENABLED"
    if program.is_privileged:
        return (
            f"{program.path} runs with raised privileges, so the loader ignored LD_PRELOAD",
            "record a copy of it without set-user-ID bit and capabilities",
        )
    if program.has_own_tool:
        return (
            f"{program.path} contains an OMPT tool, and only one can be active",
            "link it without that tool",
        )
    if ending.signal:
        return (
            f"the program {ending.describe()} before recording began",
            f"run {program.path} without ompass: if it ends in the same way, the fault is in the "
            "program; otherwise, please report a bug in ompass",
        )
    if plan.runtime is None and (offered := _offer_for_python(program, environ)):
        return offered
    if program.is_script and plan.runtime is None:
        return (
            f"neither {program.path} nor its child processes used an OpenMP runtime of the LLVM family",
            "if it starts a program built with gcc, record that program, or use --libomp FILE",
        )
    if plan.runtime is None:
        return (
            f"{program.path} is not linked with an OpenMP runtime and loaded none of the LLVM family",
            "compile and link it with -fopenmp; for a gcc library loaded at run time, use --libomp FILE",
        )
    if ending.exit_code:
        return (
            f"the program {ending.describe()} before it started the OpenMP runtime {plan.runtime.path}",
            "look at the messages of the program, or of its launcher, above",
        )
    return (
        f"the OpenMP runtime {plan.runtime.path} was never started",
        "check that the program reaches a parallel region or a task with these arguments",
    )


def _offer_for_python(program: Program, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Returns the reason and cure if a Python program's modules bundle gcc's libgomp; else None."""
    interpreter = program.interpreters[-1] if program.is_script else program.path
    if not is_python(interpreter.name):
        return None
    found = replacement_for(interpreter, environ, find_runtimes(environ), find_tool_library(environ))
    if found is None:
        return None
    first, n_more = found.copies[0], len(found.copies) - 1
    more = f" and {plural(n_more, 'other copy', 'other copies')}" if n_more else ""
    reason = f"modules of {interpreter} bundle gcc's libgomp, which has no OMPT: {first}{more}"
    if found.runtime is None:
        return reason, f"{INSTALL_LIBOMP}, and name it with --libomp"
    if found.lacking:
        return f"{reason}; they also call {', '.join(found.lacking[:3])}, which no other runtime has", (
            "use versions of these modules that are built with clang"
        )
    return reason, f"record it with --libomp {found.runtime.path}, which has every function that they call"

# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of an MPI job quickly: one `ompass run` per host, the leader, plans for all ranks there.

The leader writes its plan into a file. The other ranks wait for it, and replace themselves by the program.
They load little else of the package, because hundreds of them may start at once. Imports must stay few.

The plan file belongs to one job on one host. Zero bytes separate its parts:

    claim   pid of the leader                        the leader is working on its plan
    plan    pid, n, n words, path, m, m variables    start the program at `path` with these variables
    fail    pid, exit status                         the leader has reported why there is no plan

The words are the command line up to the program. A variable is two parts, name and value.

A leader that fails leaves its file, because other ranks may read it later. So does a killed leader. The
leaders of later jobs remove such files.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RANKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "", ""),
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"),
    ("MPI_RANKID", "", "MPI_NRANKS"),
    ("ALPS_APP_PE", "", ""),
    ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"),
)
"""Variables of launchers: the rank in the job, the rank on its host, and the number of ranks."""
_OF_SLURM = RANKS[-1]
_JOBS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID")
"""Variables that name the job. Without them, the common parent identifies it."""
LAUNCH = "OMPASS_LAUNCH"
"""Identifies the launch of a process and its descendants; the tool writes it into meta.json."""
_SUFFIX = ".plan"
_CLAIM_S = 2.0
"""A leader that starts together with the other ranks writes its claim within this time."""
_RECENT_S = 30.0
_POLL_S = 0.01


def rank_variables(environ: Mapping[str, str]) -> tuple[str, str, str]:
    """Returns the rank, the rank on this host and the number of ranks; each is empty if it is not known.

    Slurm also sets SLURM_PROCID in batch scripts and interactive shells; these are not ranks. PMIx gives
    no rank on this host; then uses the variables of another launcher that names the same rank.
    """
    for names in RANKS:
        values = [environ.get(name, "") for name in names]
        if values[0].isdigit():
            rank, local, size = (value if value.isdigit() else "" for value in values)
            if names == _OF_SLURM and int(size or 1) == 1:
                continue
            return rank, local or _local_of(environ, rank), size
    return "", "", ""


def _local_of(environ: Mapping[str, str], rank: str) -> str:
    for of_job, on_host, _ in RANKS:
        local = environ.get(on_host, "")
        if local.isdigit() and environ.get(of_job) == rank:
            return local
    return ""


def start_rank(arguments: Sequence[str]) -> None:
    """Starts the program of an `ompass run` if a leader on this host has published its plan; else returns.

    `arguments`: all words of the command line after `ompass`. Also returns in a leader, and in a process that
    is not a rank. Ends the process with the leader's exit status if the leader has reported an error.
    """
    environ = os.environ
    rank, local, _ = rank_variables(environ)
    if not rank or environ.get(LAUNCH):
        return
    if (local or rank).lstrip("0") == "":
        _claim(environ)
        return
    parts = _wait_for_plan(environ)
    if parts is None:
        return
    if parts[0] == "fail":
        sys.stdout.flush()
        os._exit(int(parts[2]))
    n_words = int(parts[2])
    words, (path, n_variables) = parts[3 : 3 + n_words], parts[3 + n_words : 5 + n_words]
    variables = parts[5 + n_words : 5 + n_words + 2 * int(n_variables)]
    # Arguments after the program's name may differ between ranks; the words up to it determine the plan.
    if list(arguments[:n_words]) != words:
        return
    planned = dict(zip(variables[::2], variables[1::2]))  # noqa: B905 (both have the same length)
    try:
        os.execve(path, list(arguments[n_words - 1 :]), {**environ, **planned})
    except OSError:
        return  # `ompass run` without a plan reports the reason


def publish_plan(
    arguments: Sequence[str], command: Sequence[str], path: str, variables: Mapping[str, str]
) -> None:
    """Offers the plan of a leader to the other ranks on this host.

    `arguments`: all words after `ompass`. `command`: the last of these words: the program and its arguments.
    """
    if not _is_leader(os.environ):
        return
    n_words = len(arguments) - len(command) + 1
    flat = [word for pair in variables.items() for word in pair]
    parts = ["plan", str(os.getpid()), str(n_words), *arguments[:n_words], path, str(len(variables)), *flat]
    _write(os.environ, parts)


def publish_failure(status: int) -> None:
    """Ends the other ranks on this host with an exit status, if this process is their leader."""
    if _is_leader(os.environ):
        _write(os.environ, ["fail", str(os.getpid()), str(status)])


def withdraw() -> None:
    """Removes the plan when its leader ends."""
    if _is_leader(os.environ):
        try:
            os.unlink(_file(os.environ))  # noqa: PTH108 (pathlib is slow to import)
        except OSError:
            return


def _is_leader(environ: Mapping[str, str]) -> bool:
    rank, local, _ = rank_variables(environ)
    return bool(rank) and (local or rank).lstrip("0") == "" and not environ.get(LAUNCH)


def _claim(environ: Mapping[str, str]) -> None:
    _remove_old(environ)
    _write(environ, ["claim", str(os.getpid())])


def _remove_old(environ: Mapping[str, str]) -> None:
    """Removes the files of earlier jobs whose leaders have ended."""
    try:
        names = os.listdir(_folder(environ))  # noqa: PTH208
    except OSError:
        return
    for name in names:
        if not (name.startswith(_prefix()) and _SUFFIX in name):
            continue
        path = f"{_folder(environ)}/{name}"
        try:
            status = os.lstat(path)
            is_recent = time.time() - status.st_mtime <= _RECENT_S
            if status.st_uid == os.geteuid() and not is_recent and not _is_led(path):
                os.unlink(path)  # noqa: PTH108
        except OSError:
            continue


def _is_led(path: str) -> bool:
    """True if the leader that wrote this file still runs."""
    parts = _read(path)
    return parts is not None and len(parts) > 1 and _is_alive(parts[1])


def _folder(environ: Mapping[str, str]) -> str:
    return environ.get("TMPDIR") or "/tmp"


def _prefix() -> str:
    return f"ompass-{os.geteuid()}-"


def _file(environ: Mapping[str, str]) -> str:
    known = [environ[name] for name in _JOBS if environ.get(name)]
    job = "-".join(known) if known else f"of{os.getppid()}"
    name = "".join(c if c.isalnum() or c in "-." else "_" for c in job)
    return f"{_folder(environ)}/{_prefix()}{name[:150]}{_SUFFIX}"


def _write(environ: Mapping[str, str], parts: Sequence[str]) -> None:
    """Writes the file completely or not at all; without it, every rank plans for itself."""
    path = _file(environ)
    attempt = f"{path}.{os.getpid()}"
    try:
        descriptor = os.open(attempt, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            content = os.fsencode("\0".join(parts))
            while content:
                content = content[os.write(descriptor, content) :]
        finally:
            os.close(descriptor)
        os.rename(attempt, path)  # noqa: PTH104
    except OSError:
        pass


def _wait_for_plan(environ: Mapping[str, str]) -> list[str] | None:
    """Returns the parts of the leader's file once it has a plan or a failure; None if there is no leader.

    Ignores the files of earlier jobs: accepts a plan only if its leader still runs, a failure only if recent.
    """
    path = _file(environ)
    started_s = time.monotonic()
    while True:
        waited_s = time.monotonic() - started_s
        parts = _read(path)
        is_led = parts is not None and len(parts) > 1 and _is_alive(parts[1])
        if parts and (parts[0] == "fail" or (parts[0] == "plan" and is_led)):
            return parts
        if not is_led and waited_s > _CLAIM_S:
            return None
        time.sleep(max(_POLL_S, waited_s / 8))  # pauses grow, because all ranks on the host wait here


def _read(path: str) -> list[str] | None:
    """Returns the parts of a file that belongs to this user; None if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            return None
        parts = os.fsdecode(os.read(descriptor, status.st_size)).split("\0")
        is_old = parts[0] == "fail" and time.time() - status.st_mtime > _RECENT_S
        return None if is_old else parts
    finally:
        os.close(descriptor)


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (OSError, ValueError):
        return False
    return True

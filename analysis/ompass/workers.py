# SPDX-License-Identifier: Apache-2.0
"""Analyses runs in this process, in local processes, or on a Dask cluster's workers.

Each result depends only on its run directory. Owns the processes, and the messages about unusable clusters.
Loads Dask only with --dask.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import ompass
from ompass.errors import IncompleteInstallationError, OmpassError, UsageError

Content = TypeVar("Content")

_WORTH_PROCESSES_BYTES: Final = 64 << 20
"""Least total size of logs for several processes: one process reads less before another has started."""

_CONNECT_S: Final = 5


class WorkerFailedError(OmpassError):
    """A process or a cluster was lost while it analysed runs."""


@dataclass(frozen=True, slots=True)
class Workers:
    """The place of an analysis: the Dask scheduler at `dask`, or else local `processes` (0: one per CPU)."""

    dask: str = ""
    processes: int = 0

    def map(self, work: Callable[[Path], Content], paths: Sequence[Path]) -> list[Content]:
        """Returns the results of `work` for every run directory, in the order of `paths`.

        `work` must be picklable (a module's function, or a partial of one) and return a dataclass with a
        field `run`. Raises the first error of a worker.
        """
        if self.dask:
            return [_called(content, path) for content, path in zip(
                _map_on_cluster(self.dask, work, paths), paths, strict=True
            )]  # fmt: skip
        n_processes = self._n_processes(paths)
        if n_processes < 2:
            return [work(path) for path in paths]
        return _map_in_processes(n_processes, work, paths)

    def processors_each(self, paths: Sequence[Path]) -> int:
        """Returns the number of processors for each run in map(); 0: all processors of the Dask worker."""
        if self.dask:
            return self.processes and max(1, self.processes // len(paths))
        return max(1, self._n_processors // self._n_processes(paths))

    @property
    def _n_processors(self) -> int:
        return self.processes or len(os.sched_getaffinity(0))

    def _n_processes(self, paths: Sequence[Path]) -> int:
        worth = self.processes > 1 or sum(map(_log_bytes, paths)) >= _WORTH_PROCESSES_BYTES
        return min(self._n_processors, len(paths)) if worth else 1


def _called(content: Content, path: Path) -> Content:
    """Returns the content with the run's path as the user gave it; a cluster uses an absolute path."""
    there: Any = content
    named: Content = replace(there, run=there.run.replace(path=path))
    return named


def _log_bytes(path: Path) -> int:
    """Returns the disk space of a run's files; 0 for an unreadable run, which `work` reports."""
    try:
        return sum(512 * entry.stat().st_blocks for entry in path.iterdir())
    except OSError:
        return 0


def _map_in_processes(
    n_processes: int, work: Callable[[Path], Content], paths: Sequence[Path]
) -> list[Content]:
    import multiprocessing  # only here: most commands read few runs and need no process
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Not forked, because libraries may have started threads in this process.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
            return list(pool.map(work, paths))
    except BrokenProcessPool as error:
        raise WorkerFailedError(
            "an analysing process was killed", "perhaps because memory ran out", "try --jobs 1"
        ) from error


def _version_there() -> str:
    return ompass.__version__


def _map_on_cluster(address: str, work: Callable[[Path], Content], paths: Sequence[Path]) -> list[Content]:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise IncompleteInstallationError(
            "--dask needs the package distributed", str(error), "install it with `pip install 'ompass[dask]'`"
        ) from error
    try:
        client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--dask {address}",
            f"no Dask scheduler answers there ({error})",
            "give the address that `dask scheduler` prints, such as tcp://node1:8786",
        ) from error
    with client:
        _check_workers(client, address)
        # pure=False prevents caching: a new run may have the same directory name.
        absolute = [path.absolute() for path in paths]
        futures = client.map(work, absolute, pure=False)
        try:
            results: list[Content] = client.gather(futures)
        except (distributed.KilledWorker, distributed.CancelledError, OSError) as error:
            raise WorkerFailedError(
                f"the Dask cluster at {address} lost its workers", str(error), "see their logs"
            ) from error
    return results


def _check_workers(client: Any, address: str) -> None:
    """Raises an error if there are no workers, or if one has another version of ompass."""
    try:
        there: dict[str, str] = client.run(_version_there)
    except ImportError as error:
        raise IncompleteInstallationError(
            f"the Dask workers at {address} cannot load ompass", str(error), "install ompass where they run"
        ) from error
    if not there:
        raise UsageError(f"--dask {address}", "the scheduler has no workers", "start some with `dask worker`")
    others = sorted({version for version in there.values() if version != ompass.__version__})
    if others:
        raise UsageError(
            f"--dask {address}",
            f"its workers have ompass {', '.join(others)}; this machine has {ompass.__version__}",
            "install the same version everywhere, because results may differ",
        )

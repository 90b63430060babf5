# SPDX-License-Identifier: Apache-2.0
"""Packed runs: a run directory as one file, NAME.ompass.zst, which is a tar archive compressed by zstd.

Owns the names of the files of a run, and the directories into which this process has unpacked runs.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final

from ompass.errors import DamagedRunError, IncompleteInstallationError, OutputError

if TYPE_CHECKING:
    import tarfile

SUFFIX: Final = ".zst"
TRACE: Final = "trace.ompass"
"""The traced run of the same program, in the run directory of a profile that `ompass run` made."""
CACHES: Final = re.compile(r"pyramid\.cache(\..*)?|names\.json\.gz\.\d+")
"""Files of a run that Ompass can recreate."""
RUN_FILES: Final = re.compile(
    r"meta\.json|topology\.xml|(process|kept)\.log|thread-\d+\.(log|samples)|linux-vdso\.so\.1|names\.json\.gz|advice\.json"
)
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_LEVEL: Final = 9
_origins: Final[dict[Path, Path]] = {}  # packed file of each unpacked run
_known: Final[dict[Path, Path]] = {}  # unpacked run of each packed file


def is_packed(path: Path) -> bool:
    """True if the path is a file that zstd compressed."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def is_packed_run(path: Path) -> bool:
    """True if the first member of a packed file is a file of a run.

    Raises IncompleteInstallationError without zstd.
    """
    try:
        return is_packed(path) and bool(first_file(path))
    except DamagedRunError:
        return False


def meta_text(path: Path) -> str:
    """Returns the meta.json of a packed run; empty if the run has none. Raises DamagedRunError."""
    name, content = first_file(path)
    return content.decode("utf-8", "replace") if name.endswith("/meta.json") else ""


def pack_run(directory: Path, target: Path) -> None:
    """Writes the files of a run, without its caches, into one file. Raises OutputError.

    Replaces an existing file only after everything is written.
    """
    # A listing of runs reads only the first file, which names the program.
    files = [*_files_of_run(directory), *_files_of_run(directory / TRACE)]
    import tarfile  # only here, because most commands do not need it

    attempt = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        with (
            _zstd().open(attempt, "wb", level=_LEVEL) as packed,
            tarfile.open(fileobj=packed, mode="w|") as tar,
        ):
            for path in files:
                name = f"{directory.resolve().name}/{path.relative_to(directory)}"
                tar.add(path, name, filter=_anonymous)
        attempt.replace(target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written", error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            attempt.unlink()


def _files_of_run(directory: Path) -> list[Path]:
    """Returns the files of a run, meta.json first; none if there is no such directory."""
    if not directory.is_dir() or directory.is_symlink():
        return []
    found = (path for path in directory.iterdir() if RUN_FILES.fullmatch(path.name) and path.is_file())
    return sorted(found, key=lambda path: (path.name != "meta.json", path.name))


def unpacked(path: Path) -> Path:
    """Returns a directory with the files of a packed run; the directory lasts as long as this process.

    Returns other paths unchanged. Raises DamagedRunError, OutputError.
    """
    if not is_packed(path):
        return path
    import tempfile

    key = path.resolve()
    if key not in _known:
        try:
            place = Path(tempfile.mkdtemp(prefix="ompass-"))
        except OSError as error:
            raise _no_room(path, error.strerror or str(error)) from error
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        _known[key] = _unpack(path, place)
        _origins[_known[key]] = path
    return _known[key]


def shown_path(path: Path) -> str:
    """Returns the path of a run for people: the packed file, if the run was unpacked from one."""
    return str(_origins.get(path, path))


def shown_text(text: str) -> str:
    """Returns a text for people, with the names of packed files instead of their unpacked copies."""
    for place, origin in _origins.items():
        text = text.replace(str(place), str(origin))
    return text


def first_file(path: Path) -> tuple[str, bytes]:
    """Returns the name and content of the first file in a packed run, without reading the others.

    Raises DamagedRunError.
    """
    with _members(path) as members:
        for name, _, content in members:
            return name, content.read()
    raise DamagedRunError(f"{path} cannot be read", "it contains no run")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _zstd() -> Any:
    """Returns the zstd module of Python 3.14, or its backport for earlier versions."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise IncompleteInstallationError(
            "packed runs cannot be read or written", str(error), "install the package backports.zstd"
        ) from error
    return zstd


@contextlib.contextmanager
def _members(path: Path) -> Iterator[Iterator[tuple[str, int, IO[bytes]]]]:
    """Opens a packed run; iterates over names, sizes and contents. Raises DamagedRunError."""
    import tarfile

    zstd = _zstd()
    try:
        with zstd.open(path, "rb") as packed, tarfile.open(fileobj=packed, mode="r|") as tar:
            yield _checked(path, tar)
    except (zstd.ZstdError, tarfile.TarError, EOFError) as error:
        raise DamagedRunError(
            f"{path} cannot be unpacked",
            str(error) or "it ends early",
            "pack the run again, or copy it again",
        ) from error


def _checked(path: Path, tar: tarfile.TarFile) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yields the members. Raises DamagedRunError unless all are files in the directory of one run."""
    folders: set[str] = set()
    for member in tar:
        parts = PurePosixPath(member.name).parts
        content = tar.extractfile(member) if member.isfile() else None
        folders.update(parts[:1])
        if (
            content is None
            or len(parts) < 2
            or parts[0] in ("/", "..")
            or parts[1:-1] not in ((), (TRACE,))
            or len(folders) > 1
            or not RUN_FILES.fullmatch(parts[-1])
        ):
            raise DamagedRunError(
                f"{path} cannot be unpacked",
                f"its member {member.name} is not a file of a run",
                "name a file that `ompass pack` wrote",
            )
        yield member.name, member.size, content


def _unpack(path: Path, place: Path) -> Path:
    run: Path | None = None
    with _members(path) as members:
        for name, size, content in members:
            if size > shutil.disk_usage(place).free:
                raise _no_room(path, f"{place.parent} has too little free space")
            try:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                with (place / name).open("wb") as file:
                    shutil.copyfileobj(content, file, 1 << 20)
            except OSError as error:
                raise _no_room(path, error.strerror or str(error)) from error
            run = place / PurePosixPath(name).parts[0]
    if run is None:
        raise DamagedRunError(f"{path} cannot be read", "it contains no run")
    return run


def _no_room(path: Path, why: str) -> OutputError:
    return OutputError(f"{path} cannot be unpacked", why, "set TMPDIR to a folder with more space")

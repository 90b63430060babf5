# SPDX-License-Identifier: Apache-2.0
"""Makes bare Debian systems in folders and runs commands in them.

The systems use the host's mirror and pip settings. Nothing else of the host is visible to them.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RELEASES = {"12": "bookworm", "13": "trixie"}
"""Debian's releases and their names."""

_MIRROR = "http://deb.debian.org/debian"
_CERTIFICATES = "/etc/host-certificates.crt"
_CERTIFICATE_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
_PIP_FILES = ("/etc/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")
_UNSHARED = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CCACHE = {
    "CCACHE_DIR": "/ccache",
    "CCACHE_BASEDIR": "/srv/ompass",
    "CCACHE_NOHASHDIR": "1",
    "CMAKE_C_COMPILER_LAUNCHER": "ccache",
    "CMAKE_CXX_COMPILER_LAUNCHER": "ccache",
    "CC": "gcc",
    "CXX": "g++",
    # The option of ./run test. With other options, ccache would not find the object files of ./run test.
    "SKBUILD_CMAKE_DEFINE": "OMPASS_WERROR=ON",
}


class StepError(Exception):
    """A command in a system failed; the text is the end of its output."""


@dataclass(frozen=True)
class System:
    """A Debian system in the folder `root`. The folder `caches` keeps downloads of apt and pip.

    `compiled` is a folder of ccache on the host; without it, the system compiles everything.
    """

    root: Path
    caches: Path
    compiled: Path | None = None

    def run(self, command: str, *, path: str = "", environment: Mapping[str, str] | None = None) -> str:
        """Runs a shell command as root in /srv, with `path` before PATH; returns its stdout.

        Raises StepError if it fails. Ends all processes of the command.
        """
        binds = {self.caches / "apt": "var/cache/apt/archives", self.caches / "pip": "root/.cache/pip"}
        if self.compiled:
            binds[self.compiled] = "ccache"
        mounts = [
            f"mount -t proc proc {self._quoted('proc')}",
            f"mount -t tmpfs tmpfs {self._quoted('dev/shm')}",
        ]
        for folder, place in binds.items():
            folder.mkdir(parents=True, exist_ok=True)
            (self.root / place).mkdir(parents=True, exist_ok=True)
            mounts.append(f"mount --bind {shlex.quote(str(folder))} {self._quoted(place)}")
        inside = f"exec chroot {self._quoted('')} bash -c {shlex.quote('set -e; cd /srv; ' + command)}"
        ended = subprocess.run(
            [*_UNSHARED, " && ".join([*mounts, inside])],
            env={
                "PATH": f"{path}:{_PATH}" if path else _PATH,
                "HOME": "/root",
                "DEBIAN_FRONTEND": "noninteractive",
                **_pip_variables(),
                **(_CCACHE if self.compiled else {}),
                **(environment or {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if ended.returncode != 0:
            raise StepError(f"{command}: status {ended.returncode}\n{(ended.stdout + ended.stderr)[-6000:]}")
        return ended.stdout

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _quoted(self, place: str) -> str:
        return shlex.quote(str(self.root / place))


def fresh_system(release: str, name: str, folder: Path, compiled: Path | None = None) -> System:
    """Makes a system of this release, with Debian's essential packages and apt only.

    Keeps a copy for later calls in `folder`.
    """
    home = folder / release
    base = home / "base"
    if not (base / "etc/debian_version").exists():
        _make_base(RELEASES[release], base)
    system = System(home / name, home / "caches", compiled)
    system.remove()
    subprocess.run(["cp", "--archive", base, system.root], check=True)
    _copy_settings(system.root)
    (system.root / "srv").mkdir(exist_ok=True)
    return system


def _make_base(suite: str, base: Path) -> None:
    """Fetches the packages of a minimal system."""
    shutil.rmtree(base, ignore_errors=True)
    made = base.with_name("new")
    shutil.rmtree(made, ignore_errors=True)
    made.parent.mkdir(parents=True, exist_ok=True)
    command = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", suite, str(made), _mirror()]
    subprocess.run(command, check=True)
    made.rename(base)


def _mirror() -> str:
    """Returns the mirror that this host uses for its own Debian release, else Debian's own."""
    sources = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)"],
        capture_output=True, text=True, check=False,
    ).stdout.split("\n")  # fmt: skip
    named = [line.split() for line in sources if line]
    return next((uri for uri, codename in named if codename in RELEASES.values()), _MIRROR)


def _copy_settings(root: Path) -> None:
    """Copies the host's settings of name service, apt's proxy and pip."""
    for name in ("/etc/resolv.conf", "/etc/hosts"):
        if Path(name).exists():
            shutil.copyfile(name, root / name[1:])
    proxies = subprocess.run(
        ["apt-config", "dump", "Acquire::http::Proxy", "Acquire::https::Proxy"],
        capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip
    if proxies.strip():
        (root / "etc/apt/apt.conf.d/90host").write_text(proxies)
    for name in _PIP_FILES:
        file = Path(name).expanduser()
        if file.exists():
            inside = root / name.replace("~", "root").lstrip("/")
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, inside)
    if certificates := _certificates():
        shutil.copyfile(certificates, root / _CERTIFICATES[1:])


@functools.cache
def _certificates() -> str:
    """Returns the file of certificates that the host's pip trusts, or nothing if pip has no such setting."""
    command = ["python3", "-m", "pip", "config", "get", "global.cert"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return next(
        (
            name
            for name in (*map(os.environ.get, _CERTIFICATE_VARIABLES), configured)
            if name and Path(name).is_file()
        ),
        "",
    )


def _pip_variables() -> dict[str, str]:
    """Returns the host's variables of pip. Variables with paths point to copies in the system."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if (name.startswith("PIP_") and not value.startswith("/"))
        or name.lower() in ("https_proxy", "http_proxy")
    }
    if _certificates():
        variables |= dict.fromkeys(_CERTIFICATE_VARIABLES, _CERTIFICATES)
    return variables

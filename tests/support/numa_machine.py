# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with four NUMA nodes that runs test programs and returns their output.

Owns the machine's topology and contents: qemu's processor emulation (no KVM needed), a kernel that
tests/numa-vm/fetch-kernel fetches, and an initramfs of the programs with every library that they load.
Placement is real there: first touch, mbind, move_pages, processor affinity. Time is not.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolchains import REPOSITORY, Toolchain

HOME = REPOSITORY / "tests" / "numa-vm"
KERNEL = REPOSITORY / "build" / "numa-vm" / "vmlinuz"

N_NODES = 4
CPUS_PER_NODE = 2
# The distances between four nodes in a square: opposite corners are twice as far apart.
DISTANCES = {(0, 1): 16, (0, 2): 16, (0, 3): 32, (1, 2): 32, (1, 3): 16, (2, 3): 16}

_NODE_MEMORY_MB = 256  # below 96 MB, a node cannot hold its share of a spread initialisation
_LOADED_LATER = ("libgcc_s.so.1", "libhwloc.so.15")  # by dlopen, so ldd does not list them
_BOOT_ARGUMENTS = (
    "console=ttyS0 quiet panic=-1 numa_balancing=disable mitigations=off nokaslr "
    "tsc=reliable clocksource=tsc random.trust_cpu=on"
)
_REPORT = re.compile(r"^=== (\S+) ended with (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """One program run inside the machine."""

    name: str
    program: Path
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    as_root: bool = False
    wrapper: str = ""  # a command in front of the program, for example "taskset 0x3"

    @property
    def file_name(self) -> str:
        return f"{self.name}.{'root' if self.as_root else 'user'}"


@dataclass(frozen=True)
class Finished:
    """The result of a job: its exit status, and its stdout and stderr together."""

    returncode: int
    output: str


class MachineError(AssertionError):
    """The machine did not boot or did not report all jobs; the message includes its output."""


def what_is_missing() -> list[str]:
    """Returns the tools and files that the machine needs and that are missing here."""
    tools = ("qemu-system-x86_64", "busybox", "cpio")
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if not KERNEL.is_file():
        absent.append(str(KERNEL.relative_to(REPOSITORY)))
    return absent


def run_jobs(
    jobs: Sequence[Job],
    toolchain: Toolchain,
    libraries: Sequence[Path] = (),
    *,
    huge_pages: str = "never",
    timeout_s: float = 240.0,
) -> dict[str, Finished]:
    """Boots the machine, runs every job, powers off; returns the results by job name.

    Root's jobs run first, then the user's, each group in the order of its names. `libraries` are copied to
    the machine's library directory, in addition to those that the programs link. `huge_pages` is the kernel's
    setting of transparent huge pages. Raises MachineError if the machine does not report all jobs in time.
    """
    with tempfile.TemporaryDirectory(prefix="numa-vm-", dir=KERNEL.parent) as scratch:
        folder = Path(scratch)
        _write_initramfs(folder / "root", jobs, toolchain, libraries, huge_pages)
        _pack(folder / "root", folder / "initramfs")
        report = _boot(folder, timeout_s)
    headings = list(_REPORT.finditer(report))
    ends = [match.start() for match in headings[1:]] + [report.index("=== all done")]
    finished = {
        match[1].rsplit(".", 1)[0]: Finished(int(match[2]), report[match.end() + 1 : end])
        for match, end in zip(headings, ends, strict=True)
    }
    lost = [job.name for job in jobs if job.name not in finished]
    if lost:
        raise MachineError(f"no report of {', '.join(lost)}:\n{report}")
    return finished


def _write_initramfs(
    root: Path, jobs: Sequence[Job], toolchain: Toolchain, libraries: Sequence[Path], huge_pages: str
) -> None:
    for name in ("bin", "dev", "proc", "sys", "tmp", "lib", "lib64", "etc", "jobs", "programs"):
        (root / name).mkdir(parents=True)
    shutil.copy(HOME / "init", root / "init")
    busybox = shutil.which("busybox")
    assert busybox is not None
    shutil.copy(busybox, root / "bin" / "busybox")
    (root / "bin" / "sh").symlink_to("busybox")
    (root / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    (root / "jobs" / "transparent-huge-pages").write_text(huge_pages)
    programs = {job.program for job in jobs}
    for program in programs:
        shutil.copy(program, root / "programs" / program.name)
    for library in libraries:
        shutil.copy(library, root / "lib" / library.name)
    for place, path in _needed_libraries([*programs, *libraries], toolchain).items():
        if not (root / place).exists():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, root / place)
    for job in jobs:
        settings = {"LD_LIBRARY_PATH": "/lib", **job.environment}
        words = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
        command = shlex.join([f"/programs/{job.program.name}", *job.arguments])
        script = f"exec {job.wrapper} env {' '.join(words)} {command}\n"
        (root / "jobs" / job.file_name).write_text(script)


def _needed_libraries(files: Sequence[Path], toolchain: Toolchain) -> dict[str, Path]:
    """Returns the files of all libraries that `files` link or open later, by their places in the machine."""
    found: dict[str, Path] = {}
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    later = [
        Path(match[1])
        for name in _LOADED_LATER
        if (match := re.search(rf"{re.escape(name)} \(libc6,x86-64\) => (\S+)", cache))
    ]
    for file in [*files, *later]:
        listing = subprocess.run(
            ["ldd", str(file)], env=toolchain.run_environment(), capture_output=True, text=True, check=True
        ).stdout
        for name, path in re.findall(r"^\s*(\S+)(?: => (/\S+))? \(", listing, re.MULTILINE):
            if name.startswith("/"):  # the loader, which the program names by its path
                found[name[1:]] = Path(name)
            elif path:
                found.setdefault(f"lib/{name}", Path(path))  # programs come first: theirs may be newer
    found.update({f"lib/{path.name}": path for path in later})
    return found


def _pack(root: Path, archive: Path) -> None:
    names = "\n".join([".", *sorted(str(path.relative_to(root)) for path in root.rglob("*"))]) + "\n"
    with archive.open("wb") as packed:
        subprocess.run(
            ["cpio", "--quiet", "--create", "--format=newc", "--owner=+0:+0"],
            input=names.encode(),
            stdout=packed,
            cwd=root,
            check=True,
        )


def _boot(folder: Path, timeout_s: float) -> str:
    """Runs the machine to its end; returns its output on the second serial port."""
    n_cpus = N_NODES * CPUS_PER_NODE
    command = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
    # Emulation works in containers, too. -cpu max has no AVX-512, so guests use x86-64-v3 at most.
    command += ["-machine", "pc", "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]
    command += ["-smp", f"{n_cpus},sockets={N_NODES},cores={CPUS_PER_NODE},threads=1"]
    command += ["-m", f"{N_NODES * _NODE_MEMORY_MB}M"]
    for node in range(N_NODES):
        first = node * CPUS_PER_NODE
        command += ["-object", f"memory-backend-ram,id=m{node},size={_NODE_MEMORY_MB}M"]
        command += ["-numa", f"node,nodeid={node},memdev=m{node},cpus={first}-{first + CPUS_PER_NODE - 1}"]
    for (first, second), distance in DISTANCES.items():
        command += ["-numa", f"dist,src={first},dst={second},val={distance}"]
    command += ["-kernel", str(KERNEL), "-initrd", str(folder / "initramfs"), "-append", _BOOT_ARGUMENTS]
    console, report = folder / "console", folder / "report"
    command += ["-serial", f"file:{console}", "-serial", f"file:{report}"]
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired:
        pass  # the check below finds the incomplete report
    except subprocess.CalledProcessError as error:
        raise MachineError(f"qemu ended with {error.returncode}: {error.stderr}") from error
    text = report.read_text(errors="replace") if report.exists() else ""
    if "=== all done" not in text:
        seen = console.read_text(errors="replace") if console.exists() else ""
        raise MachineError(f"no complete report within {timeout_s:.0f} s:\n{text}\nconsole:\n{seen[-4000:]}")
    return text

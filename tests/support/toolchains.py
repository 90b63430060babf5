# SPDX-License-Identifier: Apache-2.0
"""The matrix of compilers and OpenMP runtimes with which test programs are built and recorded.

Pairs compilers with runtimes, compiles test programs (once, cached in build/tests) and runs them with the
tool loaded. tests/fetch-runtimes downloads the runtimes, conftest.py makes fixtures.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "tests" / "programs"
BUILD = REPOSITORY / "build" / os.environ.get("OMPASS_BUILD_PRESET", "release")
RUNTIMES = REPOSITORY / "build" / "runtimes"
COMPILERS = REPOSITORY / "build" / "compilers"
COMPILED = REPOSITORY / "build" / "tests"

SYSROOT = REPOSITORY / "build" / "aarch64" / "sysroot"
IS_EMULATED = BUILD.is_relative_to(SYSROOT.parent)
"""True if the libraries under test are for AArch64: an emulator then runs all programs."""

DEFAULT_TOOLCHAIN = "clang-19-aarch64" if IS_EMULATED else "clang-19"

_C_SUFFIXES = {".c"}
_CXX_SUFFIXES = {".cpp", ".cc", ".cxx"}
_FORTRAN_SUFFIXES = {".f90", ".F90", ".f95", ".F95"}
_HEADER_PATTERNS = ("*.h", "*.hpp", "*.inc")
# Variables that control a runtime, a tool or the loader; runs must not inherit them from the tests' shell.
_STEERING_PREFIXES = ("OMP_", "KMP_", "GOMP_", "LIBOMP_", "OMPASS_", "LD_")
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MPI_LOCALRANKID")


@dataclass(frozen=True)
class Toolchain:
    """A compiler family and the runtime on which its programs run."""

    name: str
    cc: str
    cxx: str
    fc: str | None
    runtime_dir: Path  # goes first in LD_LIBRARY_PATH when a program runs
    runtime_library: Path  # the file of the runtime; symbolic links not resolved
    compile_flags: tuple[str, ...]  # enable OpenMP; find the headers of the runtime's version first
    link_flags: tuple[str, ...] = ()
    libc_flags: tuple[str, ...] = ()  # the link flags that programs without OpenMP need, too
    fortran_flags: tuple[str, ...] = ("-fopenmp",)
    target_flags: tuple[str, ...] = ()  # flags of every compilation that select another processor
    is_quick: bool = True  # True if quick test runs include it

    def run_environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Returns the environment in which a program of this toolchain uses this runtime, plus `extra`."""
        environment = neutral_environment()
        environment["LD_LIBRARY_PATH"] = str(self.runtime_dir)
        environment.update(extra or {})
        return environment

    def run(
        self,
        command: Sequence[str],
        extra: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
        timeout_s: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program of this toolchain on this runtime, with variables `extra` and no input."""
        return subprocess.run(
            command,
            env=self.run_environment(extra),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def missing(self) -> list[str]:
        """Returns the programs and files that this toolchain lacks here; an empty list if it is complete."""
        absent = [tool for tool in (self.cc, self.cxx, self.fc) if tool and shutil.which(tool) is None]
        if not self.runtime_library.is_file():
            absent.append(str(self.runtime_library).removeprefix(f"{REPOSITORY}/"))
        return absent


@dataclass(frozen=True)
class EmulatedToolchain(Toolchain):
    """A compiler for AArch64 whose programs run in qemu's user-mode emulator."""

    def run(
        self,
        command: Sequence[str],
        extra: Mapping[str, str] | None = None,
        *,
        cwd: Path | None = None,
        timeout_s: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program. Only the program gets the loader's variables: the emulator is a native program."""
        loader = {k: v for k, v in self.run_environment(extra).items() if k.startswith("LD_")}
        settings = [word for item in loader.items() for word in ("-E", "=".join(item))]
        return subprocess.run(
            ["qemu-aarch64", "-L", str(SYSROOT), *settings, *command],
            env={k: v for k, v in self.run_environment(extra).items() if k not in loader},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10 * timeout_s,
            check=False,
        )


class Recorded(NamedTuple):
    """A finished program and the run directory that it wrote."""

    process: subprocess.CompletedProcess[str]
    run_dir: Path


class CompileOptions(TypedDict, total=False):
    """Options of `compile_source`."""

    opt_level: str
    flags: Sequence[str]
    extra_sources: Sequence[Path]
    openmp: bool


class RunOptions(TypedDict, total=False):
    """Options of `run_with_tool`."""

    mode: str
    threads: int | None
    preload: bool
    environment: Mapping[str, str] | None
    timeout_s: float
    check: bool


class RecordOptions(CompileOptions, RunOptions, total=False):
    """Options of the fixture `record`."""

    toolchain: Toolchain


class CompileProgram(Protocol):
    """The type of the fixture `compile_program`; see `compile_source`."""

    def __call__(
        self, source: str | Path, toolchain: Toolchain | None = None, **options: Unpack[CompileOptions]
    ) -> Path: ...


class RunRecorded(Protocol):
    """The type of the fixture `run_recorded`; see `run_with_tool`."""

    def __call__(
        self,
        program: Path,
        toolchain: Toolchain | None = None,
        *arguments: str,
        **options: Unpack[RunOptions],
    ) -> Recorded: ...


class Record(Protocol):
    """The type of the fixture `record`."""

    def __call__(self, source: str | Path, *arguments: str, **options: Unpack[RecordOptions]) -> Recorded: ...


def _clang(
    major: int,
    runtime_major: int | None = None,
    *,
    fc: str | None = None,
    name: str | None = None,
    is_quick: bool = True,
) -> Toolchain:
    home = RUNTIMES / f"llvm-{runtime_major or major}"
    return Toolchain(
        name=name or f"clang-{major}" + (f"-libomp-{runtime_major}" if runtime_major else ""),
        cc=f"clang-{major}",
        cxx=f"clang++-{major}",
        fc=fc,
        runtime_dir=home / "lib",
        runtime_library=home / "lib" / "libomp.so.5",
        compile_flags=("-fopenmp", f"-I{RUNTIMES / f'llvm-{major}' / 'include'}"),
        link_flags=(f"-L{RUNTIMES / f'llvm-{major}' / 'lib'}",),
        is_quick=is_quick,
    )


def _fetched_clang(major: int) -> Toolchain:
    """Returns a clang of tests/fetch-runtimes; its programs run on the libc that their runtime needs."""
    home, compilers = RUNTIMES / f"llvm-{major}", COMPILERS / f"llvm-{major}" / "bin"
    libc = home / "libc"
    libc_flags = (
        *(f"-L{libc}", "-l:libc.so.6", "-Wl,--allow-shlib-undefined"),
        f"-Wl,--dynamic-linker={libc / 'ld-linux-x86-64.so.2'}",
        # Sets DT_RPATH: unlike DT_RUNPATH, it also applies to libraries that other libraries need.
        *("-Wl,--disable-new-dtags", f"-Wl,-rpath,{libc}"),
    )
    clang = _clang(major, is_quick=False)
    return replace(
        clang,
        cc=str(compilers / "clang"),
        cxx=str(compilers / "clang++"),
        fc=str(compilers / "flang"),
        link_flags=(*clang.link_flags, *libc_flags),
        libc_flags=libc_flags,
    )


_INTEL = RUNTIMES / "intel" / "lib"
_LIBGOMP = RUNTIMES / "libgomp-llvm-19" / "lib"

_LLVM_AARCH64 = SYSROOT / "usr" / "lib" / "llvm-19"
AARCH64 = EmulatedToolchain(
    name="clang-19-aarch64",
    cc="clang-19",
    cxx="clang++-19",
    fc=None,
    runtime_dir=_LLVM_AARCH64 / "lib",
    runtime_library=_LLVM_AARCH64 / "lib" / "libomp.so.5",
    compile_flags=("-fopenmp", f"-I{_LLVM_AARCH64 / 'lib/clang/19/include'}"),
    link_flags=(f"-L{_LLVM_AARCH64 / 'lib'}",),
    target_flags=("--target=aarch64-linux-gnu", f"--sysroot={SYSROOT}", "-fuse-ld=lld-19"),
)

NATIVE_TOOLCHAINS: tuple[Toolchain, ...] = (
    _clang(14),
    _clang(16, is_quick=False),
    _clang(19, fc="flang-new-19"),
    # Compiled against the headers and library of 19, run on 15: a newer compiler with an older runtime.
    _clang(19, 15, is_quick=False),
    # An older compiler with newer runtimes.
    _clang(19, 20, is_quick=False),
    _clang(19, 21, is_quick=False),
    _clang(19, 22),
    _fetched_clang(23),
    Toolchain(
        name="clang-19-libiomp5",
        cc="clang-19",
        cxx="clang++-19",
        fc=None,
        runtime_dir=_INTEL,
        runtime_library=_INTEL / "libiomp5.so",
        compile_flags=("-fopenmp=libiomp5", f"-I{RUNTIMES / 'llvm-19' / 'include'}"),
        link_flags=(f"-L{_INTEL}",),
    ),
    # libgomp has no OMPT, so gcc's programs run on libomp under libgomp's file name. libomp also has GOMP_*.
    Toolchain(
        name="gcc-12-libomp-19",
        cc="gcc-12",
        cxx="g++-12",
        fc="gfortran-12",
        runtime_dir=_LIBGOMP,
        runtime_library=_LIBGOMP / "libgomp.so.1",
        compile_flags=("-fopenmp",),
    ),
)

TOOLCHAINS = (AARCH64,) if IS_EMULATED else NATIVE_TOOLCHAINS


_LLVM_19 = Path("/usr/lib/llvm-19")
OFFLOAD = Toolchain(
    name="clang-19-offload",
    cc=str(_LLVM_19 / "bin" / "clang"),
    cxx=str(_LLVM_19 / "bin" / "clang++"),
    fc=None,
    runtime_dir=_LLVM_19 / "lib",
    runtime_library=_LLVM_19 / "lib" / "libomptarget.so.19.1",
    compile_flags=("-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"),
    link_flags=(f"-L{_LLVM_19 / 'lib'}",),
)
"""Runs target regions on devices of the host plugin. clang calls other programs in its folder."""
OFFLOAD_LINKER = _LLVM_19 / "bin" / "clang-linker-wrapper"


def toolchain_named(name: str) -> Toolchain:
    """Returns the toolchain of that name. Raises KeyError if the matrix has none."""
    return {toolchain.name: toolchain for toolchain in TOOLCHAINS}[name]


def matrix_is_required() -> bool:
    """True if a missing toolchain is an error, as under ./run test, and not a reason to skip."""
    return os.environ.get("OMPASS_REQUIRE_MATRIX") == "1"


def neutral_environment() -> dict[str, str]:
    """Returns the environment without variables that control a runtime, a tool, the loader or a rank."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_STEERING_PREFIXES) and name not in _RANK_VARIABLES
    }


def compile_source(
    source: str | Path,
    toolchain: Toolchain,
    *,
    opt_level: str = "-O2",
    flags: Sequence[str] = (),
    extra_sources: Sequence[Path] = (),
    openmp: bool = True,
) -> Path:
    """Compiles and links a program if its inputs have changed; returns the executable.

    `source` is absolute or relative to tests/programs; its suffix selects the compiler. `extra_sources` of
    the same language come first on the command line (Fortran modules must). The flags always contain -g and
    the include directories of ompass.h, omp_ext.h and tests/programs. Raises AssertionError with the
    compiler's message if the compiler fails.
    """
    source = PROGRAMS / source
    include_dirs = [
        REPOSITORY / "ompt_tool" / "include",
        REPOSITORY / "omp_ext" / "include",
        PROGRAMS,
        source.parent,
    ]
    compiler, openmp_flags = _compiler_for(source, toolchain)
    command = [compiler, opt_level, "-g", *toolchain.target_flags, *(openmp_flags if openmp else ()), *flags]
    if source.suffix in _FORTRAN_SUFFIXES:
        libraries: list[str] = []
    else:
        command += [f"-I{directory}" for directory in include_dirs]
        libraries = ["-lpthread", "-lm", "-ldl"]
    sources = [str(path) for path in (*extra_sources, source)]
    libraries = [*(toolchain.link_flags if openmp else toolchain.libc_flags), *libraries]

    key = hashlib.sha256("\0".join([_compiler_version(compiler), *command, *sources, *libraries]).encode())
    for path in (*extra_sources, source, *_headers_in(include_dirs)):
        key.update(path.read_bytes())
    directory = COMPILED / f"{Path(compiler).name}{opt_level}"  # toolchains may share programs
    executable = directory / f"{source.stem}-{key.hexdigest()[:12]}"
    if executable.exists():
        return executable

    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:  # also receives Fortran module files
        built = Path(scratch) / source.stem
        finished = subprocess.run(
            [*command, *sources, "-o", str(built), *libraries],
            cwd=scratch,
            env=neutral_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, f"{source.name} under {toolchain.name}:\n{finished.stderr}"
        if not executable.exists():  # another process may have built it, and a test may record it
            built.replace(executable)
    return executable


def run_with_tool(
    program: Path,
    toolchain: Toolchain,
    *arguments: str,
    library: Path,
    run_dir: Path,
    mode: str = "profile",
    threads: int | None = 2,
    preload: bool = False,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
    check: bool = True,
) -> Recorded:
    """Runs `program` with the tool loaded; returns the finished process and the run directory.

    `preload` loads the tool by LD_PRELOAD (with wrappers) instead of OMP_TOOL_LIBRARIES (without).
    `check` requires exit status 0. `threads` None leaves OMP_NUM_THREADS unset. `environment` overrides all.
    """
    settings = {
        "LD_PRELOAD" if preload else "OMP_TOOL_LIBRARIES": str(library),
        "OMPASS_MODE": mode,
        "OMPASS_DIR": str(run_dir),
        "OMPASS_SUMMARY": "off",
    }
    if threads is not None:
        settings["OMP_NUM_THREADS"] = str(threads)
    settings.update(environment or {})
    command = [str(program), *arguments]
    process = toolchain.run(command, settings, cwd=run_dir.parent, timeout_s=timeout_s)
    if check:
        assert process.returncode == 0, (
            f"{program.name} {' '.join(arguments)} on {toolchain.name} ended with {process.returncode}:\n"
            f"{process.stdout}{process.stderr}"
        )
    return Recorded(process, run_dir)


def _compiler_for(source: Path, toolchain: Toolchain) -> tuple[str, tuple[str, ...]]:
    if source.suffix in _C_SUFFIXES:
        return toolchain.cc, toolchain.compile_flags
    if source.suffix in _CXX_SUFFIXES:
        return toolchain.cxx, toolchain.compile_flags
    assert source.suffix in _FORTRAN_SUFFIXES, f"no compiler for {source.name}"
    assert toolchain.fc is not None, f"{toolchain.name} has no Fortran compiler"
    return toolchain.fc, toolchain.fortran_flags


@cache
def _compiler_version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def _headers_in(directories: Sequence[Path]) -> list[Path]:
    return sorted(
        {
            path
            for directory in directories
            for pattern in _HEADER_PATTERNS
            for path in directory.glob(pattern)
        }
    )

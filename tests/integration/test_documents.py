# SPDX-License-Identifier: Apache-2.0
"""Checks that every command, query and piece of Python in README.md and docs/ gives the shown output.

The examples of a page run in order in a new directory. It contains the programs and recorded runs that the
page names but does not make. NOT_RUN lists the commands that this test does not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command import call
from documents import Example, all_examples, examples_in, kind_of, lines_without_likeness, page_path
from ext_programs import ext_library
from needs import require_commands
from toolchains import REPOSITORY, CompileProgram, Toolchain

EXAMPLES = all_examples()
PATIENCE_S = 60

# The beginning of a command, and the reason why this test does not run it.
NOT_RUN = {
    "./run demo": "installs packages and builds everything; the demo is ./run's own test",
    "./run test": "runs this test",
    "./run build": "builds everything",
    "./run diseases": "records programs for an hour; tests/integration/test_diseases.py records some of them",
    "ompass check ": "ends with 2 on a busy machine; tests/integration/test_command_check.py runs it",
    "./run suite": "takes minutes; tests/integration/test_suite_survives.py runs small ones",
    "build/release/bots/sort-tasks --threads 2": "takes ten seconds; the next line runs it on a small input",
    "dask scheduler": "needs a cluster; tests/integration/test_ranks.py has one",
    "ompass view ": "serves until the page is closed, as in tests/integration/test_view.py",
    "ompass top ": "needs a terminal; tests/integration/test_top.py has one",
    "srun ": "needs Slurm",
    "ompass latency ": "needs a processor that samples loads; tests/unit/test_loads.py has synthetic ones",
    "cmake -S . -B build -D": "needs a program; tests/integration/test_installation.py builds one this way",
    "ompass graph solver-r*.ompass": "needs traces only; tests/integration/test_ranks.py has some",
    "ompass krd solver-r*.ompass": "needs traces only; tests/integration/test_ranks.py has some",
    "ompass scale -t 1,2 --ranks ": "records many jobs; tests/unit/test_job_scaling.py reads them",
    "ompass scale --from batch": "needs batch jobs; tests/unit/test_job_scaling.py has some",
    "ompass compare before/ after/": "needs many runs; tests/unit/test_comparison.py has some",
    "ompass report solver-r*.ompass --dask": "needs a cluster; tests/integration/test_ranks.py has one",
}
LIBRARY_PATHS = ("/path/to/libompass.so", "/path/libompass.so")
EXT_LIBRARY_PATH = "/path/to/libomp_ext.so"
TUTORIAL = REPOSITORY / "docs" / "tutorial.c"
PYTHON_PRELUDE = "import polars\n"


def reason_not_to_run(example: Example) -> str | None:
    return next((why for begin, why in NOT_RUN.items() if example.text.startswith(begin)), None)


class Folder:
    """A directory in which the examples of one page run."""

    def __init__(self, path: Path, library: Path, toolchain: Toolchain, programs: dict[str, Path]) -> None:
        self.path, self.library = path, library
        commands = path / "bin"
        commands.mkdir()
        for name in ("bin/ompass", "run"):
            shim = path / name
            drop = "shift; " if name == "run" else ""  # ./run ompass ARGUMENTS
            shim.write_text(f'#!/bin/sh\n{drop}exec {shlex.quote(sys.executable)} -m ompass "$@"\n', "utf-8")
            shim.chmod(0o755)
        for name, program in programs.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, path / name)
        self.environment = toolchain.run_environment(
            {
                "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
                "OMPASS_LIBRARY": str(library),
                "OMP_NUM_THREADS": "2",
                "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "OMPI_MCA_rmaps_base_oversubscribe": "1",
                "OMPI_MCA_hwloc_base_binding_policy": "none",
            }
        )

    def record(self, name: str, **environment: str) -> None:
        """Records a trace of the example program under this name."""
        arguments = ("run", "-q", "--mode", "trace", "-o", name, "--", "./program")
        call({**self.environment, **environment}, self.path, *arguments)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def try_out(self, example: Example) -> subprocess.CompletedProcess[str]:
        if example.kind == "sql":
            return self.run(str(self.path / "bin" / "ompass"), "query", "t.ompass", example.text)
        if example.kind == "python":
            return self.run(sys.executable, "-c", PYTHON_PRELUDE + example.text)
        command = example.text
        for path in LIBRARY_PATHS:
            command = command.replace(path, str(self.library))
        command = command.replace(EXT_LIBRARY_PATH, str(ext_library()))
        return self.run("bash", "-c", command)


@pytest.fixture
def folder(
    tmp_path: Path,
    libompass: Path,
    default_toolchain: Toolchain,
    compile_program: CompileProgram,
    bots_dir: Path,
) -> Folder:
    program = compile_program("documents/example.c", default_toolchain)
    serial = compile_program("documents/example.c", default_toolchain, openmp=False)
    programs = dict.fromkeys(("program", "my_program", "solver", "sort-tasks"), program)
    for step in range(5):
        flags = [f"-DSTEP={step}"]
        programs[f"tutorial-{step}"] = compile_program(
            TUTORIAL, default_toolchain, opt_level="-O2", flags=flags
        )
    programs |= {"sort-serial": serial, "build/release/bots/sort-tasks": bots_dir / "sort-tasks"}
    return Folder(tmp_path, libompass, default_toolchain, programs)


def prepare(folder: Folder, examples: list[Example]) -> None:
    """Records the runs that a page names but does not record itself."""
    text = "\n".join(example.text for example in examples)
    for name in ("t.ompass", "my_program-4711.ompass", "fib-1234.ompass", "solver.ompass"):
        if (name in text and f"-o {name}" not in text) or (name == "t.ompass" and "SELECT" in text):
            folder.record(name)
    if "solver-r*" in text:
        for rank in ("0", "1"):
            folder.record(f"solver-r{rank}-99.ompass", OMPI_COMM_WORLD_RANK=rank)


def joined(examples: list[Example]) -> list[Example]:
    """Joins the Python of a page into one program, because later pieces use names of earlier ones."""
    pieces = [example for example in examples if example.kind == "python"]
    if not pieces:
        return examples
    text = "\n".join(piece.text for piece in pieces)
    whole = Example(pieces[0].page, pieces[0].line, "python", text)
    return [example for example in examples if example.kind != "python"] + [whole]


@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_work(page: str, folder: Folder) -> None:
    examples = [example for example in EXAMPLES[page] if not reason_not_to_run(example)]
    if any(example.text.startswith("mpirun") for example in examples):
        require_commands("mpirun")
    prepare(folder, examples)
    failed = []
    for example in joined(examples):
        done = folder.try_out(example)
        where = f"{page}:{example.line}: {example.text}"
        if done.returncode != 0:
            failed.append(f"{where}\nended with {done.returncode}: {done.stderr[-1000:]}")
        failed += [f"{where}\ndoes not print: {line}"
                   for line in lines_without_likeness(example.shown, done.stdout + done.stderr)]  # fmt: skip
    assert not failed, "\n\n".join(failed)


def test_the_tutorial_shows_its_program() -> None:
    program = TUTORIAL.read_text(encoding="utf-8").splitlines()
    pieces = re.findall(r"^```c\n(.+?)^```", page_path("tutorial.md").read_text("utf-8"), re.M | re.S)
    assert len(pieces) >= 7
    assert [line for piece in pieces for line in piece.splitlines() if line not in program] == []


def test_examples_that_no_test_runs_still_exist() -> None:
    commands = [example.text for examples in EXAMPLES.values() for example in examples]
    assert [begin for begin in NOT_RUN if not any(text.startswith(begin) for text in commands)] == []
    assert sum(reason_not_to_run_text is None for reason_not_to_run_text in map(_reason, commands)) >= 20


def _reason(text: str) -> str | None:
    return reason_not_to_run(Example("", 0, "console", text))


def test_examples_are_found_by_their_form() -> None:
    page = """\
Text.

```console
$ ompass report a.ompass      # explained
work    12.5 s
$ OMPASS_MODE=trace ./a b
```

    ompass info a.ompass        explained

More text.

    SELECT 1

And more.

    N * T  =  work
"""
    found = examples_in("page", page)
    assert [(one.line, one.kind, one.text, one.shown) for one in found] == [
        (4, "console", "ompass report a.ompass", ["work    12.5 s"]),
        (6, "console", "OMPASS_MODE=trace ./a b", []),
        (9, "console", "ompass info a.ompass", []),
        (13, "sql", "SELECT 1", []),
    ]
    assert kind_of(["N * T  =  work"]) == "other"
    assert lines_without_likeness(["work    12.5 s"], "all\n  1.0 s of work\n") == []
    assert lines_without_likeness(["work    12.5 s"], "idle 12.5 s\n") == ["work    12.5 s"]

# SPDX-License-Identifier: Apache-2.0
"""Runs the unit tests that enter changed code, on a copy of the package with one change.

Owns the map of the functions that each test enters, and updates it for changed test files.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import ompass
from mutants import entered
from mutants.changes import Change

ROOT: Final = Path(__file__).resolve().parents[2]
UNIT: Final = ROOT / "tests" / "unit"
OF_CORE: Final = frozenset(
    f"test_{name}.py"
    for name in ("child", "made_wrappers", "one_walker", "pyramid", "pyramid_tasks", "reuse_distance")
)
"""Slow tests of the compiled core and of processes, which are not run for changes of the Python package."""

LIMIT_S: Final = 600
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def digest(*files: Path) -> str:
    """Returns a digest of the contents of files."""
    total = hashlib.sha1(usedforsecurity=False)
    for file in files:
        total.update(file.read_bytes())
    return total.hexdigest()


class PythonTests:
    """Judges changes of the package. `job` numbers the parallel judges; each has its own copy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._map = folder / "entered.json"
        self._times = itertools.count(1)

    def prepare(self, jobs: int, changes: Collection[Change]) -> None:
        """Copies the package for each job, and brings the map of tests up to date."""
        del changes
        for job in range(jobs):
            fresh_copy(self._folder / str(job))
        known = json.loads(self._map.read_text(encoding="utf-8")) if self._map.exists() else {}
        tests = [file for file in sorted(UNIT.glob("test_*.py")) if file.name not in OF_CORE]
        files = {str(file.relative_to(ROOT)): digest(file) for file in tests}
        stale = [file for file, value in files.items() if known.get(file, {}).get("digest") != value]
        if stale:
            print(f"recording the functions that the tests of {len(stale)} files enter", file=sys.stderr)
            made = self._enter(stale)
            for file in stale:
                entered_by = {test: entry for test, entry in made.items() if test.startswith(f"{file}::")}
                known[file] = {"digest": files[file], "tests": entered_by}
            known = {file: known[file] for file in files}
            self._map.write_text(json.dumps(known), encoding="utf-8")
        self.entered = {test: entry for part in known.values() for test, entry in part["tests"].items()}

    def digest(self) -> str:
        """Returns a digest of the tests. If it differs, the campaign judges survivors again."""
        return digest(*sorted(UNIT.glob("*.py")))

    def judge(self, change: Change, job: int) -> tuple[str, str]:
        """Returns noticed, survived or timeout, and the test that failed."""
        chosen = self.chosen(change)
        if not chosen:
            return "survived", "no test enters this code"
        package = self._folder / str(job) / "ompass"
        target = package / Path(change.file).relative_to("analysis/ompass")
        original = (ROOT / change.file).read_bytes()
        self._write(target, change.apply(original))
        try:
            return self._run(package.parent, chosen)
        finally:
            self._write(target, original)

    def _write(self, target: Path, content: bytes) -> None:
        """Writes a file with a unique time, because Python detects stale bytecode by time and size."""
        target.write_bytes(content)
        time_s = next(self._times)
        os.utime(target, (time_s, time_s))

    def chosen(self, change: Change) -> list[str]:
        """Returns the tests that enter the changed code, the shortest first.

        Code that runs only in processes that tests start counts as not entered.
        """
        functions = set(functions_with(change))
        found = [
            (entry["seconds"], test)
            for test, entry in self.entered.items()
            if not functions.isdisjoint(entry["functions"])
        ]
        return [test for _, test in sorted(found)]

    def _run(self, path: Path, chosen: list[str]) -> tuple[str, str]:
        names = path / "chosen"
        names.write_text("\n".join(chosen), encoding="utf-8")
        environment = _environment(path) | {entered.CHOSEN: str(names)}
        files = sorted({test.partition("::")[0] for test in chosen})
        command = [*_pytest("-x", "-p", "no:xdist", "--tb=no"), *files]
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if done.returncode in (-signal.SIGINT, -signal.SIGKILL, -signal.SIGTERM):
            raise RuntimeError(f"the tests of a change were ended by signal {-done.returncode}")
        failed = FAILED.search(done.stdout)
        return ("noticed" if done.returncode else "survived"), failed[1] if failed else ""

    def _instrumented_package(self) -> Path:
        package = fresh_copy(self._folder / "instrumented")
        for file in package.rglob("*.py"):
            name = str(file.relative_to(package))
            file.write_text(entered.instrumented(name, file.read_text(encoding="utf-8")), encoding="utf-8")
        return package.parent

    def _enter(self, files: list[str]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            environment = _environment(self._instrumented_package()) | {entered.ENTERED: folder}
            command = [*_pytest("-n", str(os.cpu_count()), "--tb=short"), *files]
            done = subprocess.run(
                command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
            )
            if done.returncode:
                print(f"{done.stdout}\nTests that fail without a change are not used.", file=sys.stderr)
            parts = [json.loads(part.read_text(encoding="utf-8")) for part in Path(folder).glob("*.json")]
        return {test: entry for part in parts for test, entry in part.items()}


def fresh_copy(path: Path) -> Path:
    """Returns a new copy of the installed package, in a folder."""
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(Path(ompass.__file__).parent, path / "ompass")
    return path / "ompass"


def _pytest(*options: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutants.entered", *options]


def _environment(*first: Path) -> dict[str, str]:
    path = [*map(str, first), str(ROOT / "tests")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(path)}


def functions_with(change: Change) -> Iterator[str]:
    """Yields the changed function as FILE:NAME.

    For a change outside of functions, yields all functions that use the changed name.
    """
    module = _Module.of(ROOT / change.file)
    file = change.file.removeprefix("analysis/ompass/")
    name = module.function_at(change.line)
    if name:
        yield f"{file}:{name}"
        return
    names = module.names_at(change.line)
    modules = [_Module.of(path) for path in sorted((ROOT / "analysis" / "ompass").rglob("*.py"))]
    while True:
        users = {target for other in modules for target, used in other.targets if used & names}
        if users <= names:
            break
        names |= users
    for other in modules:
        for function, used in other.functions:
            if used & names:
                yield f"{other.name}:{function}"


class _Module:
    """The functions and assigned names of a file."""

    _known: Final[dict[Path, _Module]] = {}

    def __init__(self, path: Path) -> None:
        self.name = str(path.relative_to(ROOT / "analysis" / "ompass"))
        self._tree = ast.parse(path.read_bytes())

    @classmethod
    def of(cls, path: Path) -> _Module:
        if path not in cls._known:
            cls._known[path] = cls(path)
        return cls._known[path]

    def function_at(self, line: int) -> str:
        """Returns the name of the innermost function that contains a line, or an empty string."""
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno).name if around else ""

    def names_at(self, line: int) -> set[str]:
        """Returns the names of the assignment and of the class at a line outside of functions."""
        classes = [(node, node.name) for node in ast.walk(self._tree) if isinstance(node, ast.ClassDef)]
        return {
            name
            for node, name in [*self._assignments(), *classes]
            if node.lineno <= line <= (node.end_lineno or 0)
        }

    @cached_property
    def functions(self) -> list[tuple[str, set[str]]]:
        """Returns all functions with the names that they use."""
        return [
            (node.name, _names(node)) for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)
        ]

    @cached_property
    def targets(self) -> list[tuple[str, set[str]]]:
        """Returns the names that assignments outside of functions define, each with the names used there."""
        return [(target, _names(node)) for node, target in self._assignments()]

    def _assignments(self) -> Iterator[tuple[ast.stmt, str]]:
        statements = list(self._tree.body)
        for node in statements:
            if isinstance(node, ast.ClassDef):
                statements += node.body
            targets: list[ast.expr] = []
            if isinstance(node, ast.AnnAssign):
                targets = [node.target]
            elif isinstance(node, ast.Assign):
                targets = node.targets
            yield from ((node, target.id) for target in targets if isinstance(target, ast.Name))


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} | {
        part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)
    }

# SPDX-License-Identifier: Apache-2.0
"""The places that `./run mutants` changes, the choice among them, and the tests that it runs."""

from __future__ import annotations

from pathlib import Path

from mutants.__main__ import ROOT, SOURCES, equivalent, files_of
from mutants.changes import all_changes, choose, cpp_changes, python_changes
from mutants.entered import instrumented
from mutants.python_tests import PythonTests, functions_with


def changed(text: str, suffix: str = "py") -> set[str]:
    """Returns all changed versions of a line of source."""
    found = (python_changes if suffix == "py" else cpp_changes)(f"a.{suffix}", text.encode())
    return {change.apply(text.encode()).decode() for change in found}


def test_comparisons_signs_constants_and_logical_operators_of_python_change() -> None:
    assert changed("x = a < b and c + 'd'") == {"x = a <= b and c + 'd'", "x = a < b or c + 'd'"}
    assert changed("x = 3 - y") == {"x = 4 - y", "x = 3 + y"}
    assert changed("x = 1000 if y is not z else 0.5") == {
        "x = 1500 if y is not z else 0.5",
        "x = 1000 if y is not z else 0.75",
    }
    assert changed("x: Final = f'{a}' + 'b'  # 1 < 2") == set()


def test_hints_of_cpp_do_not_change() -> None:
    assert changed("if (__builtin_expect(f(a, 2) > b, 0)) return 1;", "cpp") == {
        "if (__builtin_expect(f(a, 3) > b, 0)) return 1;",
        "if (__builtin_expect(f(a, 2) >= b, 0)) return 1;",
        "if (__builtin_expect(f(a, 2) > b, 0)) return 2;",
    }


def test_tokens_of_cpp_change_outside_of_comments_and_types() -> None:
    assert changed("if (a < b && c) d += 2;", "cpp") == {
        "if (a <= b && c) d += 2;",
        "if (a < b || c) d += 2;",
        "if (a < b && c) d -= 2;",
        "if (a < b && c) d += 3;",
    }
    assert changed('std::array<int, 3> a; // 1 < 2 "4"', "cpp") == set()


def test_a_change_is_shown_in_its_line_and_chosen_again_in_later_versions(tmp_path: Path) -> None:
    file = tmp_path / "a.py"

    def chosen(text: str) -> list[str]:
        file.write_text(text, encoding="utf-8")
        return list(choose(dict(all_changes(tmp_path, [file])), 3, seed=1))

    lines = [f"x{k} = a{k} < b{k}\n" for k in range(20)]
    before = chosen("".join(lines))
    assert len(before) == 3
    assert all(" [< -> <=] " in shown for shown in before)
    assert chosen("# another line\n\n" + "".join(lines)) == before
    assert choose(dict(all_changes(tmp_path, [file])), 3, seed=2).keys() != set(before)


def test_calls_that_could_do_harm_are_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("os.kill(pid, 0)\nos.getpgid(0)\n", encoding="utf-8")
    assert [shown for shown, _ in all_changes(tmp_path, [file])] == ["a.py: os.getpgid([0 -> 1])"]


def test_an_instrumented_module_records_each_function() -> None:
    text = '"""Doc."""\nfrom __future__ import annotations\ndef f():\n    """Doc."""\n    return 1\n'
    lines = instrumented("m.py", text).splitlines()
    assert lines[1:3] == [
        "from __future__ import annotations",
        "from mutants.entered import enter as _note_entry",
    ]
    assert "    _note_entry('m.py:f')" in lines


def test_tests_of_a_changed_threshold_are_those_of_the_functions_that_use_it() -> None:
    changes = dict(all_changes(ROOT, files_of("python", "metrics/thresholds.py")))
    lock = next(change for shown, change in changes.items() if "LOCK_SHARE" in shown)
    assert set(functions_with(lock)) == {"metrics/thread_findings.py:_is_costly"}
    changes = dict(all_changes(ROOT, files_of("python", "metrics/significance.py")))
    inside = next(change for shown, change in changes.items() if "order[rank" in shown)
    assert set(functions_with(inside)) == {"metrics/significance.py:adjusted_for_many"}
    changes = dict(all_changes(ROOT, files_of("python", "simulation/machine.py")))
    default = next(change for shown, change in changes.items() if "task: float" in shown)
    assert "simulation/machine.py:_recording" in set(functions_with(default)), (
        "_recording makes objects of the changed class"
    )


def test_the_shortest_tests_come_first(tmp_path: Path) -> None:
    tests = PythonTests(tmp_path)
    name = "metrics/significance.py:adjusted_for_many"
    tests.entered = {
        "slow": {"seconds": 2.0, "functions": [name]},
        "quick": {"seconds": 1.0, "functions": ["a.py:f", name]},
        "other": {"seconds": 0.1, "functions": ["a.py:f"]},
    }
    changes = dict(all_changes(ROOT, files_of("python", "metrics/significance.py")))
    inside = next(change for shown, change in changes.items() if "order[rank" in shown)
    assert tests.chosen(inside) == ["quick", "slow"]


def test_all_source_folders_have_changes_and_equivalent_changes_have_their_form() -> None:
    for language, folders in SOURCES.items():
        found = {change.file for _, change in all_changes(ROOT, files_of(language, ""))}
        assert all(any(file.startswith(folder) for file in found) for folder in folders)
    assert all(" -> " in shown and ": " in shown for shown in equivalent())

# SPDX-License-Identifier: Apache-2.0
"""Texts of --help: they fit on a screen, begin with the most useful lines, and do not wrap examples."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from command import loaded_modules
from ompass.commands.help import epilog_sections
from ompass.commands.main import COMMANDS, GROUPS, application
from ompass.commands.options import FORMER_OPTIONS
from unit.test_commands import EVENTS, MakeCore, MakeDirectory, call, error_of, ompass, trace_profile

BY_NAME: dict[str, Any] = vars(typer.main.get_command(application()))["commands"]


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_first_screen_names_every_command_on_24_lines_of_80_columns() -> None:
    lines = call("--help").stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    rows = [next(line for line in lines if line.startswith(f"  {heading} ")) for heading in GROUPS]
    named = [set(re.findall(r"\w+", row.removeprefix(f"  {h}"))) for h, row in zip(GROUPS, rows, strict=True)]
    assert named == [set(names) for names in GROUPS.values()]


def test_ompass_alone_shows_the_first_screen() -> None:
    result = call()
    assert (result.exit_code, result.stdout) == (2, call("--help").stdout)


def test_help_describes_every_command_and_the_exit_codes() -> None:
    text = call("help").stdout
    assert [name for name in COMMANDS if not re.search(rf"^  {name} +[A-Z]", text, re.MULTILINE)] == []
    assert re.search(r"^  127  ", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80


def test_help_with_a_command_prints_the_same_as_its_help_option() -> None:
    assert call("help", "report").stdout == call("report", "--help").stdout
    assert error_of(call("help", "repotr")).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_page_of_a_command_has_no_python_types_and_does_not_break_examples(name: str) -> None:
    lines = call(name, "--help").stdout.splitlines()
    page = "\n".join(lines)
    assert not re.search(
        r"<(bool|int|str|float|path|list|[\w|]+\|\w+)\b|default: -1|default: None", page, re.I
    )
    examples = [
        line.strip().partition("   ")[0]
        for heading, text in epilog_sections(BY_NAME[name].epilog or "")
        for line in text
        if heading == "Examples"
    ]
    assert [each for each in examples if not any(line.strip().startswith(each) for line in lines)] == []
    assert [line for line in lines if len(line) > 80 and not any(each in line for each in examples)] == []
    if examples:
        assert lines.index("Examples:") < min(
            map(lines.index, filter(re.compile("Options:|Other").match, lines))
        )


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "help"])
def test_page_of_a_command_has_examples(name: str) -> None:
    assert "Examples:" in call(name, "--help").stdout


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_first_screen_does_not_load_slow_modules(words: tuple[str, ...]) -> None:
    slow = {"elftools", "email", "numpy", "ompass._core", "polars", "pydantic", "rich"}
    assert slow & loaded_modules(*words) == set()


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("report",), ["DIR", "ompass report --help"]),
        (("report", "--nosuch", "x"), ["--nosuch", "ompass report --help"]),
        (("scale", "--threads"), ["--threads", "--help"]),
        (("report", "x", "--scope", "all"), ["--scope", "regions", "program"]),
        (("dump", "x", "--limit", "many"), ["--limit"]),
    ],
)
def test_one_line_answers_a_mistake_in_a_command_line(words: tuple[str, ...], parts: list[str]) -> None:
    done = ompass(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("ompass: error: ")
    assert [part for part in parts if part not in done.stderr] == []


def parameters(name: str) -> list[Any]:
    return [each for each in BY_NAME[name].params if not getattr(each, "hidden", False)]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_has_one_name_and_one_meaning_in_all_commands(name: str) -> None:
    """Options with the same name take the same kind of value; --output may name a file or a directory."""
    kinds: dict[str, set[str | None]] = {
        "--jobs": {"N"}, "--threads": {"N", "N,..."}, "--thread": {"N"}, "--repeat": {"N"},
        "--limit": {"N", "SIZE"}, "--window": {"FROM:TO"}, "--scope": {"regions|program"}, "--html": {"FILE"},
        "--figure": {"FILE"}, "--json": {None}, "--csv": {None}, "--output": {"FILE", "DIR"},
        "--topology": {"SYNTHETIC"}, "--colour": {"construct|home"}, "--libomp": {"FILE"}, "--quiet": {None},
    }  # fmt: skip
    short = {
        "--yes": "-y",
        "--jobs": "-j",
        "--threads": "-t",
        "--output": "-o",
        "--repeat": "-r",
        "--quiet": "-q",
    }
    for option in (each for each in parameters(name) if each.param_type_name == "option"):
        longs = [each for each in option.opts if each.startswith("--")]
        assert len(longs) == 1, option.opts
        assert option.metavar in kinds.get(longs[0], {option.metavar}), longs
        assert [each for each in option.opts if each not in longs] == [
            short[each] for each in longs if each in short
        ]
        assert option.is_flag or option.metavar, f"{longs} shows no kind of value"


@pytest.mark.parametrize(
    ("name", "former"), [(c, o) for c, names in FORMER_OPTIONS.items() for o in names if c]
)
def test_former_names_belong_to_options_and_are_not_shown(name: str, former: str) -> None:
    shown = {option for each in parameters(name) for option in each.opts}
    assert f"--{FORMER_OPTIONS[name][former]}" in shown
    assert f"--{former}" not in shown


@pytest.mark.parametrize(
    ("former", "current"),
    [
        (("report", "--from", "events", "--svg"), ("report", "--source", "events", "--figure")),
        (("report", "--processes"), ("report", "--jobs")),
        (("plot", "--color"), ("plot", "--colour")),
        (("graph", "--time"), ("graph", "--clock")),
        (("check", "--time"), ("check", "--time-limit")),
        (("krd", "--sample"), ("krd", "--share")),
        (("query", "--rows"), ("query", "--limit")),
        (("run", "--limit-mb"), ("run", "--limit")),
        (("run", "--json"), ("run", "--report-json")),
        (("simulate", "--machine"), ("simulate", "--topology")),
        (("timeline", "--png"), ("timeline", "--figure")),
    ],
)
def test_former_names_are_understood(former: tuple[str, ...], current: tuple[str, ...]) -> None:
    """The last option lacks its value, so the message shows its current name."""
    answer = ompass(*former).stderr
    assert "requires an argument" in answer
    assert answer == ompass(*current).stderr


def test_former_window_options_select_the_same_events(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    directory = run_directory("a")
    shown = call("dump", directory, "--window", "200ns:0.9us").stdout
    assert shown and call("dump", directory, "--from", "200ns", "--to", "0.9us").stdout == shown
    assert error_of(call("dump", directory, "--window", "1:2", "--from", "1")).exit_code == 2


def test_several_threads_are_shown_in_order_of_time(
    fake_core: MakeCore, run_directory: MakeDirectory
) -> None:
    fake_core(a=trace_profile()).events = EVENTS
    directory = run_directory("a")
    every = call("dump", directory).stdout
    assert call("dump", directory, "--thread", 0, "--thread", 1).stdout == every
    assert len(call("dump", directory, "--thread", 1).stdout.splitlines()) == 2

# SPDX-License-Identifier: Apache-2.0
"""The pages of papers have the required form and match the measurements; stopped campaigns resume."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ompass.errors import UsageError
from papers import campaign, priority
from papers.campaign import read_results, run_steps
from papers.collection import PAPERS
from papers.model import Claim, Paper, Picture, Step, Verdict, Workplace
from papers.page import page, page_file, picture_file

SETTINGS: dict[str, Any] = {"paper": "made", "size": "quick", "machine": {"cpu": "made", "n_cpus": 2}}
CLAIMS = [(paper, claim) for paper in PAPERS.values() for claim in paper.claims]
RESULTS = {name: read_results(name) for name in PAPERS}

papers = pytest.mark.parametrize("paper", PAPERS.values(), ids=lambda paper: paper.name)
claims = pytest.mark.parametrize(("paper", "claim"), CLAIMS, ids=lambda one: one.name)


@papers
def test_the_page_matches_the_measurements(paper: Paper) -> None:
    assert page_file(paper.name).read_text() == page(paper, RESULTS[paper.name])


@papers
def test_every_figure_is_drawn(paper: Paper) -> None:
    for picture in paper.pictures:
        assert picture.make(RESULTS[paper.name]["values"])["concat"]
        assert picture_file(paper, picture.name).read_text().startswith("<svg")


@papers
def test_names_are_unique(paper: Paper) -> None:
    names = [claim.name for claim in paper.claims]
    assert len(set(names)) == len(names)


@claims
def test_a_claim_has_numbers_a_verdict_and_a_figure(paper: Paper, claim: Claim) -> None:
    values = RESULTS[paper.name]["values"]
    assert claim.sentence and claim.place and claim.theirs
    assert claim.picture in {picture.name for picture in paper.pictures}
    verdict = claim.verdict(values)
    assert re.search(r"\d", claim.shown(values)) or verdict is Verdict.MISSING
    assert verdict is not Verdict.DIFFERS or claim.cause


@claims
def test_a_claim_can_be_false(paper: Paper, claim: Claim) -> None:
    if claim.missing:
        return
    found = list(claim.ours(RESULTS[paper.name]["values"]).values())
    others = [found[::-1], sorted(found), sorted(found)[::-1], [abs(number) + 0.01 for number in found]]
    factors = (0, -1, 0.001, 1000, *(1.1**k for k in range(-20, 21)))
    others += [[factor * number for number in found] for factor in factors]
    others += [
        [*found[:k], factor * number, *found[k + 1 :]]
        for k, number in enumerate(found)
        for factor in (0.001, 1000)
    ]
    others.append([1.0] * len(found))  # equal times
    outcomes = {claim.holds(one) for one in (found, *others)}
    assert outcomes == {True, False}


def step(key: str, value: int, calls: list[str]) -> Step:
    def run(place: Workplace) -> int:
        calls.append(key)
        return value + sum(place.values.values())

    return Step(key, run)


def failing(_: Workplace) -> None:
    raise KeyboardInterrupt


def test_a_stopped_campaign_resumes(tmp_path: Path) -> None:
    calls: list[str] = []
    first, second = step("first", 1, calls), step("second", 10, calls)
    with pytest.raises(KeyboardInterrupt):
        run_steps([first, Step("second", failing)], SETTINGS, tmp_path, lambda *_: None)
    assert run_steps([first, second], SETTINGS, tmp_path, lambda *_: None) == {"first": 1, "second": 11}
    assert calls == ["first", "second"]


def test_measurements_of_older_code_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_steps([step("first", 1, [])], SETTINGS, tmp_path, lambda *_: None)
    monkeypatch.setattr(campaign, "measuring_code", lambda: "newer")
    with pytest.raises(UsageError, match="of an older version"):
        run_steps([step("first", 1, [])], SETTINGS, tmp_path, lambda *_: None)


@pytest.mark.parametrize("changed", [{"size": "full"}, {"machine": {"cpu": "other", "n_cpus": 2}}])
def test_measurements_of_other_settings_are_not_mixed(changed: dict[str, Any], tmp_path: Path) -> None:
    run_steps([step("first", 1, [])], SETTINGS, tmp_path, lambda *_: None)
    with pytest.raises(UsageError, match="another machine, size or paper"):
        run_steps([step("first", 1, [])], SETTINGS | changed, tmp_path, lambda *_: None)


def made_claim(name: str, **changed: Any) -> Claim:
    parts: dict[str, Any] = {
        "name": name,
        "sentence": f"The {name} one is above one",
        "place": "Fig. 1",
        "theirs": "2",
        "picture": "only",
        "ours": lambda values: {"ours": values["number"]},
        "holds": lambda found: found[0] > 1,
        "show": lambda number: f"{number:.1f}",
        "cause": "Ours is small.",
    }
    return Claim(**(parts | changed))


def made_page(number: float) -> str:
    paper = Paper(
        name="made",
        title="A made paper",
        citation="A. Author, 2026.",
        introduction="It has one number.",
        programs=(),
        duration={"quick": "a second"},
        steps=lambda size: (),
        method=lambda values: "Nothing.",
        pictures=[Picture("only", "Fig. 1", "a line", "Made", "One line.", lambda values: {})],
        claims=[made_claim("first"), made_claim("second", missing="It needs a large machine.")],
    )
    return page(paper, {**SETTINGS, "values": {"number": number}})


def test_a_claim_that_holds_agrees() -> None:
    text = made_page(2.0)
    assert "1 of 2 claims agree, 0 differ, and 1 cannot be tested here." in text
    assert "| ours: 2.0 | agrees |" in text
    assert "Ours is small." not in text


def test_a_claim_that_does_not_hold_differs_and_shows_its_cause() -> None:
    text = made_page(0.5)
    assert "| ours: 0.5 | differs |" in text
    assert "## Differences\n\n- **1** *The first one is above one.* Ours is small." in text


def test_a_claim_that_cannot_be_measured_is_not_judged() -> None:
    assert "- **2** *The second one is above one.* It needs a large machine." in made_page(0.5)
    assert made_page(2.0).count("| cannot be tested here |") == 1


@pytest.mark.parametrize("raises", [True, False])
def test_only_commands_that_raise_the_priority_are_used(
    raises: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("chrt", "nice"):
        (tmp_path / name).write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
        (tmp_path / name).chmod(0o755)
    if raises:
        made = '#!/bin/sh\nshift 2\nexec "$1" -c "raise SystemExit(0)"\n'  # reports success
        (tmp_path / "nice").write_text(made)
    monkeypatch.setenv("PATH", str(tmp_path))
    priority.prefix.cache_clear()
    try:
        assert priority.prefix() == (("nice", "-n", "-10") if raises else ())
        assert priority.described().startswith("raised priority" if raises else "the usual priority")
    finally:
        priority.prefix.cache_clear()

# SPDX-License-Identifier: Apache-2.0
"""Only one file of the core interprets kinds of events: analysis/core/events/walker.h."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "analysis/core"
WALKER = "events/walker.h"
WRITER = "simulation/recorder.cpp"  # writes simulated runs, and reads no events
# Files that use kinds for encoding only: the decoder unpacks short forms and counts ids; dump expands
# undeferred tasks into rows and counts them one by one.
ENCODING = {
    "events/decoder.h": {
        "kEnd", "kTime", "kCreate", "kImplicitBegin", "kRegionBegin", "kInlineCode", "kRead", "kWrite",
        "kReadNear", "kWriteNear", "kStart", "kStartShort", "kStartNear", "kCompleteShort",
        "kAbsentNear", "kPreempted", "kBlocked",
    },
    "analyses/event_columns.cpp": {
        "kInlineOps", "kInlineBegin", "kInlineBeginTimed", "kInlineEnd", "kInlineEndTimed",
    },
}  # fmt: skip


def event_kinds() -> set[str]:
    return set(re.findall(r"\bX\((k\w+), \d", (ROOT / "ompt_tool/format/format.h").read_text()))


def kinds_named_in(path: Path) -> set[str]:
    return set(re.findall(r"\bformat::(k\w+)\b", path.read_text())) & event_kinds()


def test_only_the_walker_interprets_kinds_of_events() -> None:
    named = {
        path.relative_to(CORE).as_posix(): kinds_named_in(path)
        for path in CORE.rglob("*")
        if path.suffix in (".h", ".cpp")
    }
    assert len(named) > 20
    for path, kinds in named.items():
        if path not in (WALKER, WRITER):
            assert kinds <= ENCODING.get(path, set()), f"{path} interprets {kinds}"


def test_the_walker_knows_every_kind_of_event() -> None:
    assert event_kinds() - {"kEventKinds"} <= kinds_named_in(CORE / WALKER)


def test_contributing_names_the_walker() -> None:
    assert f"analysis/core/{WALKER}" in (ROOT / "CONTRIBUTING.md").read_text()

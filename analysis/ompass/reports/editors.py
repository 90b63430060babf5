# SPDX-License-Identifier: Apache-2.0
"""Findings in the formats that editors and code hosts read.

- SARIF 2.1.0, which Visual Studio Code and code hosts show at the lines
- compiler messages, `file:line: note: …`, which every editor understands
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Final
from urllib.parse import quote

from ompass import __version__
from ompass.installation import documents_directory
from ompass.metrics.findings import KINDS
from ompass.plain_text import visible
from ompass.reports.model import sentence
from ompass.reports.remarks import NOTE, WARNING, Remark, SourceTree

_ROOT: Final = "SRCROOT"
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PAGE: Final = "findings.md"
_SECTION: Final = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[([^]]+)\]\([^)]+\)")
_EXAMPLES: Final = re.compile(r"^- `.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)  # a list of test programs


def gcc_messages(remarks: Sequence[Remark], tree: SourceTree) -> str:
    """Returns a warning for each problem with a line, and notes for its cure and for other findings."""
    lines = []
    for remark in remarks:
        if not remark.location.line:
            continue
        place = f"{tree.relative(remark.location.file)}:{remark.location.line}"
        lines.append(f"{place}: {remark.level}: {_because(remark)} [{remark.kind}]")
        if remark.cure and remark.level == WARNING:
            lines.append(f"{place}: {NOTE}: {remark.cure}")
    return "".join(f"{visible(line)}\n" for line in lines)


def _because(remark: Remark) -> str:
    whole = " (whole program)" if remark.of_whole else ""
    return f"{remark.title}{whole}: {remark.because}"


def sarif(remarks: Sequence[Remark], tree: SourceTree) -> dict[str, Any]:
    """Returns a SARIF log. Notes without a line are notifications, because they concern the recording."""
    shown = [remark for remark in remarks if remark.level == WARNING or remark.location.line]
    rules = _rules(shown)
    order = {rule["id"]: k for k, rule in enumerate(rules)}
    notes = [_notification(remark) for remark in remarks if remark not in shown]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "Ompass", "semanticVersion": _semantic(__version__), "rules": rules}},
        "originalUriBaseIds": {_ROOT: {"uri": f"{tree.root.as_uri()}/"}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [_result(remark, order[remark.kind], tree) for remark in shown],
        "columnKind": "utf16CodeUnits",
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _semantic(version: str) -> str:
    """Returns the version if it is a semantic version; otherwise 0.0.0."""
    return version if re.fullmatch(r"\d+\.\d+\.\d+(\+[\w.]+)?", version) else "0.0.0"


def _result(remark: Remark, rule: int, tree: SourceTree) -> dict[str, Any]:
    cure = f" {sentence(remark.cure)}" if remark.cure else ""
    result: dict[str, Any] = {
        "ruleId": remark.kind,
        "ruleIndex": rule,
        "level": remark.level,
        "message": {"text": visible(f"{sentence(_because(remark))}{cure}")},
        "partialFingerprints": {"ompassFinding/v1": _fingerprint(remark, tree)},
        "properties": {
            "cost_ns": remark.cost_ns,
            "share": round(remark.share, 6),
            "whole_program": remark.of_whole,
            "source": visible(remark.source),
            "numbers": dict(remark.numbers),
        },
    }
    if remark.level == WARNING:
        result["rank"] = round(100 * min(remark.share, 1.0), 2)
    if location := _location(remark, tree):
        result["locations"] = [location]
    return result


def _location(remark: Remark, tree: SourceTree) -> dict[str, Any]:
    """Returns the known parts of the location: the line, the function, or both."""
    location = remark.location
    found: dict[str, Any] = {}
    if location.line:
        found["physicalLocation"] = {
            "artifactLocation": _artifact(tree.relative(location.file)),
            "region": {"startLine": location.line},
        }
    if location.function:
        name = visible(location.function)
        found["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "function"}]
    return found


def _artifact(path: PurePath) -> dict[str, str]:
    if path.is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path.as_posix()), "uriBaseId": _ROOT}


def _fingerprint(remark: Remark, tree: SourceTree) -> str:
    """Returns a name of the remark that stays the same when its line moves or its figures change."""
    location = remark.location
    file = tree.relative(location.file).as_posix() if location.file else ""
    return hashlib.sha256("\0".join((remark.kind, file, location.function)).encode()).hexdigest()[:32]


def _notification(remark: Remark) -> dict[str, Any]:
    cure = f" {sentence(remark.cure)}" if remark.cure else ""
    return {
        "descriptor": {"id": remark.kind},
        "level": remark.level,
        "message": {"text": visible(f"{sentence(_because(remark))}{cure}")},
    }


def _rules(remarks: Sequence[Remark]) -> list[dict[str, Any]]:
    """Returns the rules: one for each kind of problem, and one for each other kind among the remarks."""
    texts = finding_texts()
    rules = {kind.name: _rule(kind.name, kind.title, kind.cure, WARNING, texts) for kind in reversed(KINDS)}
    for remark in remarks:
        if remark.kind not in rules:
            rules[remark.kind] = _rule(remark.kind, remark.title, remark.cure, remark.level, texts)
    return [rules[name] for name in sorted(rules)]


def _rule(name: str, title: str, cure: str, level: str, texts: Mapping[str, str]) -> dict[str, Any]:
    text = texts.get(name, "")
    plain = re.sub(r"[*`†]", "", text) or sentence(f"{title}. {cure}" if cure else title)
    rule: dict[str, Any] = {
        "id": name,
        "shortDescription": {"text": sentence(title)},
        "fullDescription": {"text": sentence(f"{title}: {cure}" if cure else title)},
        "help": {"text": plain, "markdown": text or plain},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["performance", "openmp"]},
    }
    if text:
        rule["helpUri"] = f"{(documents_directory() / _PAGE).resolve().as_uri()}#{name}"
    return rule


def finding_texts() -> dict[str, str]:
    """Returns the text on each kind of finding in the documents, a line per paragraph, without links.

    Empty if the documents are not installed.
    """
    try:
        page = (documents_directory() / _PAGE).read_text(encoding="utf-8")
    except OSError:
        return {}
    return {name: _unwrapped(_EXAMPLES.sub("", text)) for name, text in _SECTION.findall(page)}


def _unwrapped(text: str) -> str:
    paragraphs = _LINK.sub(r"\1", text).strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

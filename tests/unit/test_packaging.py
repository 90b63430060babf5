# SPDX-License-Identifier: Apache-2.0
"""The recipes of docs/packaging name the version and the needed packages of pyproject.toml."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "docs" / "packaging"


def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return settings


def without_markers(requirement: str) -> str:
    """Returns a requirement in the syntax of conda, without its condition."""
    return re.sub(r"(?<=\w)(?=[<>=])", " ", requirement.partition(";")[0].strip(), count=1)


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text(encoding="utf-8"))
    settings = project()
    assert recipe["context"]["version"] == settings["project"]["version"]
    needed = {
        without_markers(requirement)
        for requirement in settings["project"]["dependencies"]
        if "python_version < '3.11'" not in requirement
    }
    assert needed <= set(recipe["requirements"]["run"])
    build = {without_markers(requirement) for requirement in settings["build-system"]["requires"]}
    assert build <= set(recipe["requirements"]["host"])


def test_the_spack_recipe_has_this_version() -> None:
    recipe = (PACKAGING / "spack/packages/ompass/package.py").read_text(encoding="utf-8")
    assert re.findall(r'version\("(.*?)"\)', recipe) == [project()["project"]["version"]]

# SPDX-License-Identifier: Apache-2.0
"""Writes a figure as SVG, PDF, PNG, or Vega-Lite JSON; the suffix of the file's name selects the format.

vl-convert contains Vega and downloads nothing. It is large, so this module loads it only to draw.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from ompass.errors import IncompleteInstallationError, OutputError, UsageError
from ompass.figures.style import Spec
from ompass.plain_text import visible_values

_VEGA_LITE: Final = "6.4"
_BUNDLE: Final = (
    "import sys, vl_convert;"
    "sys.stdout.buffer.write(vl_convert.javascript_bundle(vl_version=sys.argv[1]).encode())"
)
_PNG_SCALE: Final = 2.0  # twice the pixels, for paper and dense screens


def _vega() -> Any:
    import vl_convert

    return vl_convert


def _on_white(spec: Spec) -> Spec:
    return {**spec, "background": "white"}


def svg_of(spec: Spec) -> bytes:
    """Returns the figure as SVG with a white background."""
    return str(_vega().vegalite_to_svg(json.dumps(_on_white(spec)), vl_version=_VEGA_LITE)).encode()


def _pdf(spec: Spec) -> bytes:
    return bytes(_vega().vegalite_to_pdf(json.dumps(_on_white(spec)), vl_version=_VEGA_LITE))


def _png(spec: Spec) -> bytes:
    converted: Any = _vega().vegalite_to_png(
        json.dumps(_on_white(spec)), vl_version=_VEGA_LITE, scale=_PNG_SCALE
    )
    return bytes(converted)


def _json(spec: Spec) -> bytes:
    return (json.dumps(spec, indent=2, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure that notebooks display as a picture; `spec` is its Vega-Lite specification."""

    spec: Spec

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {
            "image/svg+xml": svg_of(self.spec).decode(),
            "text/plain": str(self.spec.get("description", "")),
        }


FORMATS: Final[dict[str, Callable[[Spec], bytes]]] = {
    ".svg": svg_of,
    ".pdf": _pdf,
    ".png": _png,
    ".json": _json,
}


def render(spec: Spec, path: Path) -> None:
    """Writes the figure in the format of the file's name. Raises UsageError, OutputError."""
    convert = FORMATS.get(path.suffix.lower())
    if convert is None:
        raise UsageError(f"{path}", "the format is unknown", f"name a file that ends in {', '.join(FORMATS)}")
    picture = convert(visible_values(spec))
    try:
        path.write_bytes(picture)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written", error.strerror or str(error), "name another file"
        ) from error


class BrowserScript:
    """The JavaScript that draws specifications in a browser: window.vegaEmbed, with its dependencies.

    Another process builds it in the background, because this takes seconds. If possible, the user's cache
    directory keeps the script.
    """

    def __init__(self) -> None:
        """Starts the build, unless the script is cached."""
        cache = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME', '')}/.cache"
        self._kept = Path(cache) / "ompass" / f"figures-{version('vl-convert-python')}-{_VEGA_LITE}.js"
        self._maker: subprocess.Popen[bytes] | None = None
        if not self._kept.is_file():
            words = [sys.executable, "-c", _BUNDLE, _VEGA_LITE]
            self._maker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    @cached_property
    def text(self) -> str:
        """Waits until the script is built, and returns it. Raises IncompleteInstallationError."""
        if self._maker is None:
            return self._kept.read_text(encoding="utf-8")
        made, _ = self._maker.communicate()
        if self._maker.returncode != 0:
            raise IncompleteInstallationError(
                "the script of figures cannot be built", "vl-convert failed", "install the package again"
            )
        if self._kept.is_absolute():
            with suppress(OSError):  # the next run builds it again
                self._kept.parent.mkdir(parents=True, exist_ok=True)
                own = self._kept.with_suffix(f".{os.getpid()}")
                own.write_bytes(made)
                own.replace(self._kept)
        return made.decode()

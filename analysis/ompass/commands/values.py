# SPDX-License-Identifier: Apache-2.0
"""Converts the values of a command line that need no check; typer converts all others.

typer 0.29 always loads pydantic to convert values, which takes 80 ms. Earlier versions convert values without
pydantic, and do not use this file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args, get_origin

_PATH_CHECKS: Final = ("allow_dash", "exists", "parser", "path_type", "resolve_path", "writable")
"""Settings of a parameter that only typer knows to apply."""


class _NeedsTyperError(Exception):
    """Only typer can convert the value, or explain why it is wrong."""


class PlainValues:
    """A base of typer's commands that converts plain values without typer: text, defaults, paths."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            by_typer = getattr(parameter, "get_runtime_param", None)
            if by_typer and "get_runtime_param" not in vars(parameter):
                parameter.get_runtime_param = partial(_Conversion, by_typer)
        return parameters


class _Conversion:
    """The conversion of a parameter, with typer's interface; calls typer's conversion when needed."""

    def __init__(self, by_typer: Callable[[], Any]) -> None:
        self._by_typer = by_typer

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        described = param.type_descriptor
        try:
            if value is None:
                return () if param.multiple or param.nargs == -1 else None
            return _plain(value, described.annotation, described.parameter_info)
        except _NeedsTyperError:
            return self._by_typer().coerce(value, param=param, ctx=ctx)


def _plain(value: Any, kind: Any, info: Any) -> Any:
    """Returns the value as typer would. Raises _NeedsTyperError."""
    if get_origin(kind) is list and isinstance(value, (list, tuple)):
        return [_plain(each, get_args(kind)[0], info) for each in value]
    if kind is Path and isinstance(value, str):
        return _path(value, info)
    if info.parser is None and isinstance(kind, type) and isinstance(value, kind):
        return value
    raise _NeedsTyperError


def _path(value: str, info: Any) -> Path:
    is_checked = not (info.file_okay and info.dir_okay) or any(getattr(info, name) for name in _PATH_CHECKS)
    is_unreadable = info.readable and os.path.exists(value) and not os.access(value, os.R_OK)  # noqa: PTH110
    if is_checked or is_unreadable:
        raise _NeedsTyperError
    return Path(value)

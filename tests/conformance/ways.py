# SPDX-License-Identifier: Apache-2.0
"""The ways to load the tool and the extension, each with its name and variables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

_MODES: Final = ("profile", "trace")
_LOADINGS: Final = ("OMP_TOOL_LIBRARIES", "LD_PRELOAD")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to load the tool, the extension or both."""

    mode: str = ""  # of the tool; empty: no tool
    loading: str = ""  # the variable that loads the tool
    domains: int = 0  # of the extension; 0: no extension
    strict: bool = False

    @property
    def name(self) -> str:
        tool = f"{self.mode} by {'preload' if self.loading == 'LD_PRELOAD' else self.loading}"
        extension = f"{self.domains} domain{'s' * (self.domains > 1)}{' strict' * self.strict}"
        parts = [tool] * bool(self.mode) + [extension] * bool(self.domains)
        return ", ".join(parts)

    def settings(self, tool: Path, extension: Path, run_dir: Path) -> dict[str, str]:
        """Returns the variables of this way. The tool records into `run_dir`."""
        settings: dict[str, str] = {}
        preloaded: list[str] = []
        if self.domains:
            preloaded.append(str(extension))
            settings |= {
                "OMP_EXT_SCHEDULE": "1",
                "OMP_EXT_DOMAINS": str(self.domains),
                "OMP_EXT_STRICT": str(int(self.strict)),
            }
        if self.mode:
            settings |= {"OMPASS_MODE": self.mode, "OMPASS_DIR": str(run_dir), "OMPASS_SUMMARY": "off"}
            if self.loading == "LD_PRELOAD":
                preloaded.append(str(tool))
            else:
                settings[self.loading] = str(tool)
        if preloaded:
            settings["LD_PRELOAD"] = " ".join(preloaded)
        return settings


_TOOL: Final = tuple(Way(mode, loading) for mode, loading in product(_MODES, _LOADINGS))
_EXTENSION: Final = tuple(Way(domains=n, strict=strict) for n, strict in product((1, 2), (False, True)))
_BOTH: Final = tuple(
    Way(tool.mode, tool.loading, extension.domains, extension.strict)
    for tool, extension in zip(_TOOL, _EXTENSION, strict=True)
)
WAYS: Final = (*_TOOL, *_EXTENSION, *_BOTH)

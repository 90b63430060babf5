# SPDX-License-Identifier: Apache-2.0
"""Ompass, the analysis side: reads a recorded OpenMP run and says where its thread-time went.

Layers, dependencies in one direction only:
commands -> reports -> metrics -> model <- readers; symbols and launch serve reports and commands.
"""

from importlib import metadata

try:
    __version__ = metadata.version("ompass")
except metadata.PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+source"

__all__ = ["__version__"]

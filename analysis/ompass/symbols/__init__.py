# SPDX-License-Identifier: Apache-2.0
"""Symbols: from recorded (module, address) to function, file and line in the source."""

from ompass.symbols.names import readable_name
from ompass.symbols.resolver import Location, Resolver

__all__ = ["Location", "Resolver", "readable_name"]

# SPDX-License-Identifier: Apache-2.0
"""Symbols: from (module, address) as recorded to function, file and line as written."""

from ompass.symbols.names import readable_name
from ompass.symbols.resolver import Location, Resolver

__all__ = ["Location", "Resolver", "readable_name"]

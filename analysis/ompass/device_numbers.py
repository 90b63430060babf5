# SPDX-License-Identifier: Apache-2.0
"""Names of OMPT's numbers about devices. A number that is not listed is shown as a number."""

from __future__ import annotations

from typing import Final

# OMPT's numbers (OpenMP 6.0, sections 33.33 and 33.35), and our own: 64 and 65 outside of constructs.
_KINDS: Final = {
    1: "target", 2: "enter data", 3: "exit data", 4: "update", 9: "target nowait", 10: "enter data nowait",
    11: "exit data nowait", 12: "update nowait", 64: "call", 65: "load",
}  # fmt: skip
_OPERATIONS: Final = {
    1: "alloc", 2: "to device", 3: "from device", 4: "delete", 5: "associate", 6: "disassociate",
    7: "transfer", 8: "memset", 9: "rectangle", 254: "load of code",
}  # fmt: skip
_ASYNC: Final = {number + 16: number for number in (1, 2, 3, 4, 7, 8, 9)}
"""The synchronous form of an asynchronous operation."""
_DIRECTIONS: Final = ("", " to device", " from device", " between devices")
_NOWAIT: Final = frozenset({9, 10, 11, 12})


def kind_name(flags: int) -> str:
    """Returns the name of the kind in the flags of a target construct."""
    return _KINDS.get(flags & 0xFF, f"kind {flags & 0xFF}")


def is_nowait(flags: int) -> bool:
    """True if the encountering thread does not wait for the construct."""
    return flags & 0xFF in _NOWAIT


def operation_name(number: int) -> str:
    """Returns the name of a data operation; `number` may hold a direction."""
    plain, direction = number & 0xFF, number >> 8
    if plain in _OPERATIONS:
        return _OPERATIONS[plain] + _DIRECTIONS[direction]
    if plain in _ASYNC:
        return f"{_OPERATIONS[_ASYNC[plain]]}{_DIRECTIONS[direction]} (async)"
    return f"operation {plain}{_DIRECTIONS[direction]}"


def direction_of(number: int) -> int:
    """Returns the direction of a data operation: 1 to a device, 2 from it, 3 between devices, 0 none."""
    return {2: 1, 18: 1, 3: 2, 19: 2}.get(number & 0xFF, number >> 8)


def device_of(flags: int) -> int:
    """Returns the device in the flags of a target construct; -1: unknown."""
    return (flags >> 8 & 0xFF) - 1


def device_name(number: int) -> str:
    return f"device {number}" if number >= 0 else "unknown device"

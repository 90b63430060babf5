# SPDX-License-Identifier: Apache-2.0
"""The memory operands of sampled instructions, and the addresses of the data that they access."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Final

GENERAL: Final[Mapping[str, tuple[str, ...]]] = {
    "x86_64": (
        *("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"),
        *(f"r{n}" for n in range(8, 16)),
    ),
    "aarch64": (*(f"x{n}" for n in range(31)), "sp"),
}
"""The general registers by machine, in the order of the values of a sample (ompt_tool/format/samples.h)."""
NO_VALUE: Final = (1 << 64) - 1
"""The value of an unknown register: kNoValue of samples.h."""
_ADDRESSES: Final = (1 << 64) - 1
MODULE: Final = "module"
"""The base of operands whose distance is an ELF virtual address in the module of the instruction."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A memory operand, base + scale * index + distance; an empty name stands for no register."""

    base: str
    index: str
    scale: int
    distance: int
    n_bytes: int
    stores: bool
    code: int  # ELF virtual address of its instruction


@dataclass(frozen=True, slots=True)
class Access:
    """An access to memory at a sample."""

    address: int  # an ELF virtual address if in_module; else an address in the process
    n_bytes: int
    stores: bool
    in_module: bool
    code: int  # ELF virtual address of the instruction


def accesses(operands: Iterable[Operand], machine: str, values: bytes) -> Iterator[Access]:
    """Yields the accesses of these operands; `values`: of the registers GENERAL[machine], as in a sample."""
    words = (value if value != NO_VALUE else None for value in memoryview(values).cast("Q"))
    known = dict(zip(GENERAL.get(machine, ()), words, strict=False))
    for operand in operands:
        in_module = operand.base == MODULE
        base = 0 if in_module or not operand.base else known.get(operand.base)
        index = known.get(operand.index) if operand.index else 0
        if base is not None and index is not None:
            address = (base + operand.scale * index + operand.distance) & _ADDRESSES
            yield Access(address, operand.n_bytes, operand.stores, in_module, operand.code)


def operand_text(operand: Operand) -> str:
    """Returns an operand as a text that `parse_operand` reads."""
    base, index, *numbers = astuple(operand)
    return " ".join([base or "-", index or "-", *(str(int(number)) for number in numbers)])


def parse_operand(text: str) -> Operand:
    """Returns the operand of a text by `operand_text`. Raises ValueError."""
    base, index, *numbers = text.split(" ")
    scale, distance, n_bytes, stores, code = map(int, numbers)
    base, index = (name.removeprefix("-") for name in (base, index))
    return Operand(base, index, scale, distance, n_bytes, bool(stores), code)

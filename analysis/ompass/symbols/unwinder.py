# SPDX-License-Identifier: Apache-2.0
"""Derives call chains from registers and a part of the stack, with the tables in `.eh_frame`.

The package `symbolic` reads the tables of a module and writes them as text (Breakpad's `STACK CFI`). Owns the
evaluation of that text for a sample; decodes no tables itself.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

Code = tuple[int, int]
"""Number of the module, ELF virtual address."""

_ADDRESS_BITS: Final = 48
_ADDRESS: Final = (1 << _ADDRESS_BITS) - 1
_STACK: Final = 0xFFFF
_MOST_FRAMES: Final = 64
_REGISTERS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "x86_64": (("$rbx", "$rbp", "$rsp", "$rip", "$r12", "$r13", "$r14", "$r15"), "$rsp"),
    "aarch64": ((*(f"x{n}" for n in range(19, 31)), "sp", "pc"), "sp"),
}
"""For each machine: the registers of a sample, in order, and its stack pointer."""

Rules = Mapping[str, tuple[str, ...]]
"""A postfix term for each register of the caller, including `.cfa` and `.ra`."""


def code_of(word: int | None) -> Code | None:
    """Returns the code location in a word of a sample; None if it contains none."""
    if word is None or not 0 < word >> _ADDRESS_BITS < _STACK:
        return None
    return (word >> _ADDRESS_BITS) - 1, word & _ADDRESS


class FrameTable:
    """The rules of one module, by address. Decodes a function's rules at their first use."""

    def __init__(self, text: str) -> None:
        # Each part begins with `begin length rules`; lines `STACK CFI address changes` follow.
        parts = text.split("STACK CFI INIT ")[1:]
        functions = [(int(part[: part.index(" ")], 16), part) for part in parts]
        functions.sort(key=lambda function: function[0])
        self._begins = [begin for begin, _ in functions]
        self._parts = [part for _, part in functions]
        self._known: dict[int, Rules | None] = {}

    @classmethod
    def of_file(cls, path: Path) -> FrameTable:
        """Returns the tables of an executable or library; empty if it has none or they are unreadable."""
        try:
            from symbolic.cfi import CfiCache
            from symbolic.debuginfo import Archive

            objects = list(Archive.open(str(path)).iter_objects())
            text = CfiCache.from_object(objects[0]).open_stream().read() if objects else b""
        # symbolic raises a family of exceptions without a public common base
        except Exception:
            text = b""
        return cls(text.decode("ascii", "replace"))

    def function_at(self, address: int) -> tuple[int, int] | None:
        """Returns the start and end of the function around `address`; None if it is unknown."""
        place = bisect.bisect_right(self._begins, address) - 1
        if place < 0:
            return None
        begin = self._begins[place]
        end = begin + int(self._parts[place].split(" ", 2)[1], 16)
        return (begin, end) if address < end else None

    def rules_at(self, address: int) -> Rules | None:
        """Returns the rules of the instruction at `address`; None if its function is unknown."""
        if address not in self._known:
            self._known[address] = self._find(address)
        return self._known[address]

    def _find(self, address: int) -> Rules | None:
        if self.function_at(address) is None:
            return None
        first, *changes = self._parts[bisect.bisect_right(self._begins, address) - 1].splitlines()
        rules = parse_rules(first.split(" ", 2)[2])
        for line in changes:
            begin, _, changed = line.removeprefix("STACK CFI ").partition(" ")
            if int(begin, 16) > address:
                break
            rules |= parse_rules(changed)
        return rules


def parse_rules(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the terms, by name, of a text such as `.cfa: $rsp 16 + .ra: .cfa -8 + ^`."""
    rules: dict[str, tuple[str, ...]] = {}
    name = ""
    for word in text.split():
        if word.endswith(":"):
            name = word[:-1]
            rules[name] = ()
        elif name:
            rules[name] += (word,)
    return rules


def rules_text(rules: Rules) -> str:
    """Returns rules in the form that parse_rules reads."""
    return " ".join(f"{name}: {' '.join(term)}" for name, term in rules.items())


class Unwinder:
    """Derives the call chains of samples on one machine.

    `rules_at` returns the rules of an instruction by its module's number and its address. Not thread-safe.
    """

    def __init__(self, machine: str, rules_at: Callable[[int, int], Rules | None]) -> None:
        self._names, self._stack_pointer = _REGISTERS.get(machine, ((), ""))
        self._rules_at = rules_at

    def frames(
        self, chain: Sequence[int], registers: Sequence[int], stack: Mapping[int, int]
    ) -> tuple[Code, ...]:
        """Returns the thread's location, then the return address of each call, innermost first.

        Follows the unwind tables through the saved stack, then `chain`, the calls that frame pointers show.
        """
        by_pointers = [code for code in map(code_of, chain) if code is not None]
        if not by_pointers or len(registers) != len(self._names):
            return tuple(by_pointers)
        found = self._by_tables(by_pointers[0], dict(zip(self._names, registers, strict=True)), stack)
        if len(found) == 1:
            return tuple(by_pointers)
        if found[-1] in by_pointers[1:]:
            found += by_pointers[by_pointers.index(found[-1]) + 1 :]
        return tuple(found)

    def _by_tables(self, where: Code, values: dict[str, int], stack: Mapping[int, int]) -> list[Code]:
        found = [where]
        while len(found) < _MOST_FRAMES:
            module, address = found[-1]
            # A return address may belong to the next function.
            rules = self._rules_at(module, address - (len(found) > 1))
            cfa = _value(rules[".cfa"], values, stack) if rules and ".cfa" in rules else None
            if rules is None or cfa is None:
                break
            caller = {**values, self._stack_pointer: cfa}
            for name, term in rules.items():
                if name not in (".cfa", ".ra"):
                    caller[name] = _value(term, {**values, ".cfa": cfa}, stack) or 0
            back = _value(rules.get(".ra", ()), {**values, ".cfa": cfa}, stack)
            code = code_of(back)
            if code is None:
                break
            found.append(code)
            values = caller
        return found


def _value(term: Sequence[str], values: Mapping[str, int], stack: Mapping[int, int]) -> int | None:
    """Returns the value of a postfix term; None if it needs a value that the sample lacks."""
    operands: list[int] = []
    for word in term:
        if word in ("+", "-") and len(operands) > 1:
            right = operands.pop()
            operands[-1] += right if word == "+" else -right
        elif word == "^" and operands:
            place = operands.pop()
            if place >> _ADDRESS_BITS != _STACK:
                return None
            kept = stack.get(place & _ADDRESS)
            if kept is None:
                return None
            operands.append(kept)
        elif word in values:
            if not values[word]:
                return None
            operands.append(values[word])
        elif word.lstrip("-").isdigit():
            operands.append(int(word))
        else:
            return None
    return operands[0] if len(operands) == 1 else None

# SPDX-License-Identifier: Apache-2.0
"""Classifies a sampled instruction by the loop around it: a wait, an atomic update, a use of memory.

capstone decodes the instructions; this file owns their interpretation. A value *varies* in a loop if its next
value depends on its previous one, as a counter's does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ompass.elf import NotElfError, code_between, imported_functions, read_functions
from ompass.sampled import ATOMIC, COMPUTE, FIXED, MEMORY_USE, UNKNOWN, WAITING
from ompass.symbols.operands import MODULE, Operand

_MOST_CODE: Final = 1 << 16  # bytes of the largest function to decode
_AHEAD: Final = 8  # instructions
_NEAR: Final = 64  # bytes
_SHORT_LOOP: Final = 16  # instructions; a loop this short takes less time than one contended update
_YIELDS: Final = re.compile(
    r"sched_yield|pthread_yield|thrd_yield|u?sleep|(clock_)?nanosleep|thrd_sleep|omp_taskyield|GOMP_taskyield"
    r"|__kmpc_omp_taskyield|__kmpc_flush|pthread_(mutex|spin)_trylock|(omp|__kmpc)_test_(nest_)?lock"
)
_PAUSES: Final = frozenset({"pause", "tpause", "umwait", "yield", "wfe", "wfet", "isb"})
_ARM_ATOMIC: Final = re.compile(
    r"(ld|st)(add|clr|eor|set|[su]max|[su]min)a?l?[bh]?|swpa?l?[bh]?|casp?a?l?[bh]?|(ld|st)[al]?x[rp][bh]?"
)
_EXCHANGES: Final = re.compile(r"(cmp)?xchg.*|cas.*|swp.*|(ld|st)[al]?x[rp][bh]?")
_LOADED: Final = "(memory)"  # the origin of loaded values
_X86_ALIASES: Final = {
    **{f"{p}{r}x": f"r{r}x" for r in "abcd" for p in ("r", "e", "")},
    **{f"{r}{h}": f"r{r}x" for r in "abcd" for h in "lh"},
    **{f"{p}{r}": f"r{r}" for r in ("si", "di", "bp", "sp") for p in ("r", "e", "")},
    **{f"{r}l": f"r{r}" for r in ("si", "di", "bp", "sp")},
    **{f"r{n}{s}": f"r{n}" for n in range(8, 16) for s in ("", "d", "w", "b")},
    **{f"{k}mm{n}": f"xmm{n}" for n in range(32) for k in "xyz"},
}
_NO_VALUES: Final = frozenset(
    {"rsp", "rip", "eip", "rflags", "flags", "eflags", "sp", "pc", "nzcv", "xzr", "wzr", "fpsw"}
)


@dataclass(slots=True)
class _Step:
    """One instruction."""

    address: int
    end: int
    name: str
    reads: frozenset[str]  # registers and stack slots from which it computes its value
    writes: frozenset[str]
    bases: tuple[frozenset[str], ...]  # the registers of each memory address, except on the stack
    stores: bool  # True if it writes to one of these addresses
    is_atomic: bool
    sources: frozenset[str] = frozenset()  # the registers that it writes to memory
    expected: frozenset[str] = frozenset()  # the register that a compare-and-exchange compares with memory
    loads: bool = False  # True if it reads from one of the addresses
    target: int = 0  # address that it jumps to; 0: none, or unknown
    is_jump: bool = False
    goes_on: bool = True  # False if the next instruction never follows: a return, an unconditional jump
    operands: tuple[Operand, ...] = ()
    returns: bool = False
    callee: int = 0  # address of the function that it calls; 0: none, or unknown
    called: str | None = None  # name of the function that it calls; empty: unknown; None: calls none
    copies: bool = False  # True if it moves a value without changing it
    counts: bool = False  # True if it adds a constant to a register or stack slot
    multiplies: bool = False  # or divides


Dependences = dict[str, dict[str, bool]]
"""For each place (register or stack slot): the places at the start of the loop that its value comes from,
with True if the value was changed on the way."""


@dataclass(slots=True)
class _Loop:
    steps: Sequence[_Step]
    varying: frozenset[str]
    at: list[Dependences]  # before each step
    constant: frozenset[str]  # registers with a constant value when the loop begins

    def varies(self, k: int, registers: Iterable[str]) -> bool:
        """True if one of the registers varies before step k."""
        return any(not self.varying.isdisjoint(self.at[k].get(r, {r: False})) for r in registers)

    @property
    def waits(self) -> bool:
        """True if the loop does nothing but wait."""
        steps = self.steps
        calls = [s.called for s in steps if s.called is not None]
        if not all(_YIELDS.fullmatch(name) for name in calls):
            return False
        if any(s.stores and not s.is_atomic for s in steps):
            return False
        for k, step in enumerate(steps):
            if step.is_atomic and self._updates(k):
                return False
            if any(self.varies(k, base) for base in step.bases):
                return False
        if calls or any(s.name in _PAUSES for s in steps):
            return True
        return any(s.bases for s in steps) and self._only_counts

    @property
    def _only_counts(self) -> bool:
        """True if the loop is short and computes nothing from one iteration to the next, except counters."""
        if not self.varying:
            return True
        is_simple = len(self.steps) <= _SHORT_LOOP and not any(s.multiplies for s in self.steps)
        return is_simple and not _varying(_flow(self.steps, lambda s: s.copies or s.counts)[-1])

    @property
    def is_of_update(self) -> bool:
        """True if the loop is short and has an atomic update, such as a repeated compare-and-exchange."""
        return len(self.steps) <= _SHORT_LOOP and any(s.is_atomic for s in self.steps)

    def _updates(self, k: int) -> bool:
        """True if step k updates memory with a computed value.

        False for an exchange with a fixed value, and for a compare-and-exchange that expects or stores a
        constant: it takes a lock.
        """
        step = self.steps[k]
        name = step.name.removeprefix("lock ")
        if not _EXCHANGES.fullmatch(name):
            return True
        stored = [self.at[k].get(r, {r: False}) for r in step.sources - step.expected]
        if step.expected:
            expected = [self.at[k].get(r, {r: False}) for r in step.expected]
            return not any(self.constant.issuperset(origins) for origins in (*expected, *stored))
        return any(i.get(_LOADED, False) or not self.varying.isdisjoint(i) for i in stored)


class Instructions:
    """The instructions of one module. Not thread-safe."""

    def __init__(
        self, machine: str, path: Path, function_at: Callable[[int], tuple[int, int] | None]
    ) -> None:
        """Reads code when needed; `function_at` returns the start and end of the function around an address.

        `function_at` must return None if the file is not the recorded one.
        """
        self._machine = machine
        self._path = path
        self._function_at = function_at
        self._decoder = _decoder(machine)
        self._functions: dict[int, list[_Step]] = {}
        self._loops: dict[tuple[int, int, int], _Loop] = {}
        self._known: dict[int, str] = {}

    @cached_property
    def _called(self) -> dict[int, str]:
        """The names of the file's functions, and of the functions that its stubs call, by address."""
        try:
            own = {start: name for start, _, name in read_functions(self._path).functions}
            return {**own, **imported_functions(self._path)}
        except NotElfError:
            return {}

    def behaviour(self, address: int) -> str:
        """Returns WAITING, ATOMIC, FIXED, MEMORY_USE, COMPUTE or UNKNOWN for a sample at `address`.

        A sample often names the instruction after the slow one, so the preceding instruction counts, too.
        """
        if address not in self._known:
            self._known[address] = self._classify(address)
        return self._known[address]

    def update_before(self, address: int) -> int:
        """Returns the address of the atomic update whose time a sample at `address` measures.

        An interrupt waits until an update ends, so its sample names the next instruction. Returns `address`
        if the last instruction before it is not an update.
        """
        found = self._place_of(address)
        if found is None:
            return address
        begin, steps, place = found
        around = self._loop_around(begin, steps, place)
        scope, at = (around[1].steps, place - around[0]) if around else (steps, place)
        before = _suspects(scope, at)[0] if around or place else at
        return scope[before].address if before != at and scope[before].is_atomic else address

    def operands(self, address: int) -> tuple[Operand, ...]:
        """Returns the memory operands of the instruction at `address` and of the one that ran before it.

        A sample often names the instruction after the slow one. After a call, the instruction before is the
        last one of the called function. Omits operands whose registers that instruction changes. Adds later
        writes near these operands.
        """
        found = self._place_of(address)
        if found is None:
            return ()
        begin, steps, place = found
        around = self._loop_around(begin, steps, place)
        scope, at = (around[1].steps, place - around[0]) if around else (steps, place)
        before = scope[_suspects(scope, at)[0]] if around or place else None
        if before is not None and before.callee:
            before = self._last_of(before.callee)
        operands = steps[place].operands
        if before is not None and before.goes_on and before.called is None:
            operands += tuple(o for o in before.operands if before.writes.isdisjoint((o.base, o.index)))
        return operands + tuple(_writes_ahead(steps[place : place + _AHEAD], operands))

    def _last_of(self, function: int) -> _Step | None:
        """Returns the step before the return of a function; None if the function has several returns."""
        found = self._place_of(function)
        returns = [k for k, step in enumerate(found[1]) if step.returns] if found else []
        return found[1][returns[0] - 1] if found and len(returns) == 1 and returns[0] else None

    def _place_of(self, address: int) -> tuple[int, list[_Step], int] | None:
        """Returns the start of the function, its steps, and the place of an address among them."""
        bounds = self._function_at(address) if self._decoder is not None else None
        if bounds is None or not 0 < bounds[1] - bounds[0] <= _MOST_CODE:
            return None
        steps = self._steps(*bounds)
        place = next((k for k, s in enumerate(steps) if s.address <= address < s.end), None)
        return None if place is None else (bounds[0], steps, place)

    def _classify(self, address: int) -> str:
        known = self._place_of(address)
        if known is None:
            return UNKNOWN
        begin, steps, place = known
        found = self._loop_around(begin, steps, place)
        loop = found[1] if found else None
        if loop is not None and loop.waits:
            return WAITING
        first = found[0] if found else place
        suspects = _suspects(loop.steps, place - first) if loop else [k for k in (place - 1, place) if k >= 0]
        scope = loop.steps if loop else steps
        if any(scope[k].is_atomic for k in suspects) or (loop is not None and loop.is_of_update):
            return ATOMIC
        if loop is None:
            return MEMORY_USE if any(s.bases for s in steps) else UNKNOWN
        if any(not loop.varies(k, base) for k in suspects for base in loop.steps[k].bases):
            return FIXED
        return MEMORY_USE if any(s.bases or s.called is not None for s in loop.steps) else COMPUTE

    def _steps(self, begin: int, end: int) -> list[_Step]:
        if begin not in self._functions:
            try:
                code = code_between(self._path, begin, end)
            except NotElfError:
                code = b""
            decoded = list(self._decoder.disasm(code, begin))
            on_stack = _stack_registers(decoded)
            self._functions[begin] = [self._step(i, on_stack) for i in decoded]
        return self._functions[begin]

    def _loop_around(self, begin: int, steps: Sequence[_Step], place: int) -> tuple[int, _Loop] | None:
        """Returns the smallest loop around steps[place], and the place of its first step."""
        address = steps[place].address
        best: tuple[int, int] | None = None
        for last, step in enumerate(steps):
            if not step.target or not steps[0].address <= step.target <= step.address:
                continue
            # Includes the jump back: a sample may name it instead of the slow instruction before it.
            if not step.target <= address <= step.address:
                continue
            first = next((k for k, s in enumerate(steps) if s.address == step.target), None)
            if first is None or not _returns_to(steps, first, last):
                continue
            if best is None or last - first < best[1] - best[0]:
                best = first, last
        if best is None:
            return None
        key = (begin, *best)
        if key not in self._loops:
            inside = steps[best[0] : best[1] + 1]
            *at, after = _flow(inside, lambda step: step.copies)
            varying = _varying(after)
            self._loops[key] = _Loop(inside, varying, at, _constants(steps[: best[0]]) - varying)
        return best[0], self._loops[key]

    def _step(self, insn: Any, on_stack: frozenset[str]) -> _Step:
        """Returns the step of an instruction. Memory at registers of `on_stack` is a stack slot."""
        import capstone

        machine = self._machine
        read, written = ({_place(insn.reg_name(r)) for r in group} for group in insn.regs_access())
        name = insn.mnemonic
        bases: list[frozenset[str]] = []
        stores = loads = False
        of_address: set[str] = set()
        operands: list[Operand] = []
        is_atomic = name.startswith(("lock", "xchg")) or _ARM_ATOMIC.fullmatch(name) is not None
        is_lea = name.startswith("lea")
        for operand in insn.operands:
            if operand.type != capstone.CS_OP_MEM or is_lea:
                continue
            base = {_place(insn.reg_name(r)) for r in (operand.mem.base, operand.mem.index) if r}
            of_address |= base
            is_store = bool(operand.access & capstone.CS_AC_WRITE)
            is_load = bool(operand.access & capstone.CS_AC_READ)
            if machine == "aarch64":
                is_store, is_load = name.startswith("st"), name.startswith("ld")
            if not getattr(operand.mem, "segment", 0) and not name.startswith(("nop", "prefetch", "prfm")):
                operands += _operand(insn, operand, is_store=is_store or is_atomic)
            if base and base <= on_stack:
                slot = f"[{sorted(base)[0]}{operand.mem.disp:+}]"
                read |= {slot} if is_load else set()
                written |= {slot} if is_store else set()
                continue
            if name.startswith(("nop", "prefetch", "prfm")):
                continue
            if is_atomic:
                is_store = is_load = True  # capstone does not report this for all atomics
            bases.append(frozenset(base - _NO_VALUES) or frozenset({"constant"}))
            stores, loads = stores or is_store, loads or is_load
        is_zero = (
            name.lstrip("v") in ("xor", "pxor", "xorps", "xorpd", "sub")
            and len({o.reg for o in insn.operands if o.type == capstone.CS_OP_REG}) == 1
            and all(o.type == capstone.CS_OP_REG for o in insn.operands)
        )
        is_call = capstone.CS_GRP_CALL in insn.groups
        is_jump = capstone.CS_GRP_JUMP in insn.groups and not is_call
        target = callee = 0
        for operand in insn.operands:
            if operand.type == capstone.CS_OP_IMM and (is_call or is_jump):
                target = operand.imm
        called: str | None = None
        if is_call:
            callee = target
            called, target = self._called.get(target, ""), 0
            written |= set(_CHANGED_BY_CALLS[machine])
            read = set()
        n_constants = sum(o.type == capstone.CS_OP_IMM for o in insn.operands)
        adds = name.startswith(("inc", "dec", "add", "sub")) and not bases
        sources = {
            _place(insn.reg_name(o.reg)) for o in insn.operands if o.type == capstone.CS_OP_REG
        } - of_address
        expected: set[str] = set()
        if "cmpxchg" in name:
            written.add("rax")
            expected = {"rax"}
        elif name.startswith("cas"):
            expected = {_place(insn.reg_name(insn.operands[0].reg))}
        if name.startswith("lock") and not bases:  # a fence: an update of the stack without effect
            read, written = set(), set()
        return _Step(
            address=insn.address,
            end=insn.address + insn.size,
            name=name,
            reads=frozenset() if is_zero else frozenset(read - _NO_VALUES),
            writes=frozenset(written - _NO_VALUES),
            bases=tuple(bases),
            stores=stores,
            is_atomic=is_atomic and bool(bases),
            sources=frozenset(sources) if stores else frozenset(),
            expected=frozenset(expected),
            loads=loads,
            target=target if is_jump else 0,
            is_jump=is_jump,
            goes_on=name not in ("jmp", "b", "br", "ud2", "hlt", "brk")
            and capstone.CS_GRP_RET not in insn.groups,
            operands=tuple(operands),
            returns=capstone.CS_GRP_RET in insn.groups,
            callee=callee,
            called=called,
            counts=adds and (n_constants == 1 or name.startswith(("inc", "dec"))),
            multiplies="mul" in name or "div" in name,
            copies=name.startswith(("mov", "vmov", "str", "ldr", "stur", "ldur", "ldp", "stp")) and not bases,
        )


_CHANGED_BY_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "x86_64": (
        "rax",
        "rcx",
        "rdx",
        "rsi",
        "rdi",
        *(f"r{n}" for n in range(8, 12)),
        *(f"xmm{n}" for n in range(32)),
    ),
    "aarch64": (*(f"x{n}" for n in range(19)), *(f"v{n}" for n in range(32) if not 8 <= n < 16)),
}
"""Registers that a call may change; all others count as preserved."""


def _writes_ahead(steps: Sequence[_Step], operands: Sequence[Operand]) -> Iterator[Operand]:
    """Yields writes of the steps after the first one within 64 bytes of one of these operands.

    Ends at a jump or call. Omits operands whose registers change on the way.
    """
    written: set[str] = set()
    for last, step in pairwise(steps):
        if last.is_jump or last.called is not None or not last.goes_on:
            return
        written |= last.writes
        yield from (
            o
            for o in step.operands
            if o.stores
            and o not in operands
            and written.isdisjoint((o.base, o.index))
            and any(
                (o.base, o.index, o.scale) == (p.base, p.index, p.scale)
                and abs(o.distance - p.distance) < _NEAR
                for p in operands
            )
        )


def _operand(insn: Any, operand: Any, *, is_store: bool) -> Iterator[Operand]:
    """Yields the operand; nothing for an index that is extended from 32 bits."""
    memory = operand.mem
    base, index = (_place(insn.reg_name(r)) if r else "" for r in (memory.base, memory.index))
    distance = memory.disp
    if hasattr(memory, "scale"):  # x86-64
        scale, n_bytes = memory.scale, operand.size
    elif operand.ext:
        return
    else:
        base = "sp" if base == "rsp" else base
        scale, n_bytes = 1 << operand.shift.value, _arm_bytes(insn)
    if base == "rip":
        base, distance = MODULE, distance + insn.address + insn.size
    yield Operand(base, index, scale, distance, n_bytes, is_store, insn.address)


def _stack_registers(insns: Sequence[Any]) -> frozenset[str]:
    """Returns the stack pointer, and the frame pointer if the function sets one up.

    Without a frame pointer, compilers use its register for any value.
    """
    import capstone

    found = {"rsp", "sp"}
    for insn in insns:
        is_load = any(operand.type == capstone.CS_OP_MEM for operand in insn.operands)
        if insn.mnemonic in ("mov", "add") and not is_load:
            read, written = ({_place(insn.reg_name(r)) for r in group} for group in insn.regs_access())
            found |= written & {"rbp", "x29"} if not read.isdisjoint({"rsp", "sp"}) else set()
    return frozenset(found)


def _arm_bytes(insn: Any) -> int:
    """Returns the number of bytes that an instruction of AArch64 loads or stores."""
    name = insn.mnemonic
    if found := re.fullmatch(r"(?:ld|st)\w*?(sw|s?b|s?h)", name):
        return {"b": 1, "h": 2, "w": 4}[found[1][-1]]
    letter = insn.reg_name(insn.operands[0].reg)[:1] if insn.operands else "x"
    n_bytes = {"w": 4, "s": 4, "x": 8, "d": 8, "q": 16, "b": 1, "h": 2}.get(letter, 8)
    return 2 * n_bytes if name.startswith(("ldp", "stp", "ldnp", "stnp")) else n_bytes


def _place(register: str) -> str:
    """Returns the whole register that a name belongs to."""
    if found := _X86_ALIASES.get(register):
        return found
    if register[:1] == "w" and register[1:].isdigit():
        return f"x{register[1:]}"
    if register[:1] in "bhsdqv" and register[1:].isdigit():
        return f"v{register[1:]}"
    return register


def _decoder(machine: str) -> Any:
    import capstone  # only programs with samples need it

    modes = {
        "x86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "aarch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN),
    }
    if machine not in modes:
        return None
    decoder = capstone.Cs(*modes[machine])
    decoder.detail = True
    decoder.skipdata = False
    return decoder


def _returns_to(steps: Sequence[_Step], first: int, last: int) -> bool:
    """True if code from steps[first] can reach steps[last], which jumps back, without leaving this range."""
    place_of = {steps[k].address: k for k in range(first, last + 1)}
    seen: set[int] = set()
    ahead = [first]
    while ahead:
        k = ahead.pop()
        if k == last:
            return True
        if k in seen or k > last:
            continue
        seen.add(k)
        ahead += [k + 1] if steps[k].goes_on else []
        ahead += [place_of[steps[k].target]] if steps[k].target in place_of else []
    return False


def _suspects(steps: Sequence[_Step], place: int) -> list[int]:
    """Returns the sampled step and the last step before it in the loop that is not a jump."""
    before = place
    for _ in steps:
        before = (before - 1) % len(steps)
        if not steps[before].is_jump:
            break
    return [before, place]


def _flow(steps: Sequence[_Step], keeps: Callable[[_Step], bool]) -> list[Dependences]:
    """Returns the dependences before each step and after the last one.

    `keeps(step)` is True if the step only moves a value. Follows the steps in order, as if none were skipped.
    """
    now: Dependences = {}
    found: list[Dependences] = []
    for step in steps:
        found.append(dict(now))
        value: dict[str, bool] = {_LOADED: False} if step.loads else {}
        for place in step.reads:
            for origin, changed in now.get(place, {place: False}).items():
                value[origin] = value.get(origin, False) or changed or not keeps(step)
        for place in step.writes:
            now[place] = dict(value)
    return [*found, now]


def _constants(steps: Sequence[_Step]) -> frozenset[str]:
    """Returns the registers that hold a constant after these steps."""
    found: dict[str, bool] = {}
    for step in reversed(steps):
        is_constant = not step.reads and not step.loads and step.called is None
        for place in step.writes:
            found.setdefault(place, is_constant)
    return frozenset(place for place, is_constant in found.items() if is_constant)


def _varying(after: Dependences) -> frozenset[str]:
    """Returns the places whose next value is computed from their last one, and those that depend on these."""
    reach = {place: dict(origins) for place, origins in after.items()}
    for _ in range(len(reach)):
        grown = False
        for origins in reach.values():
            for origin, changed in list(origins.items()):
                for further, again in after.get(origin, {origin: False}).items():
                    if changed or again or further not in origins:
                        value = origins.get(further, False) or changed or again
                        if origins.get(further) is not value:
                            origins[further] = value
                            grown = True
        if not grown:
            break
    cycles = {place for place, origins in reach.items() if origins.get(place)}
    dependent = {place for place, origins in reach.items() if not cycles.isdisjoint(origins)}
    return frozenset(cycles | dependent)

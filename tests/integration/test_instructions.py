# SPDX-License-Identifier: Apache-2.0
"""Checks that Ompass recognises the behaviour of loops in their machine code."""

from __future__ import annotations

import platform
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import capstone
import pytest

from ompass.elf import code_between, imported_functions, read_functions
from ompass.sampled import ATOMIC, COMPUTE, FIXED, MEMORY_USE, WAITING
from ompass.symbols.instructions import Instructions
from ompass.symbols.libraries import always_waits
from ompass.symbols.operands import Operand
from ompass.symbols.unwinder import FrameTable
from toolchains import CompileProgram, toolchain_named

MACHINE = "x86_64"
EXPECTED = {"waits": WAITING, "atomic": ATOMIC, "fixed": FIXED, "memory": MEMORY_USE, "compute": COMPUTE}


def behaviours(program: Path) -> dict[str, Counter[str]]:
    """Counts the behaviours of the addresses in each function whose name begins with a behaviour."""
    instructions = Instructions(MACHINE, program, FrameTable.of_file(program).function_at)
    return {
        name: Counter(instructions.behaviour(address) for address in range(start, start + size))
        for start, size, name in read_functions(program).functions
        if name.partition("_")[0] in EXPECTED
    }


@pytest.mark.parametrize("toolchain", ["clang-19", "gcc-12-libomp-19"])
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
def test_loops_have_the_behaviour_that_their_names_promise(
    compile_program: CompileProgram, toolchain: str, level: str
) -> None:
    program = compile_program("samples/behaviour.c", toolchain_named(toolchain), opt_level=level)
    found = behaviours(program)
    assert len(found) >= 17
    wrong = {}
    for name, counts in found.items():
        promised = EXPECTED[name.partition("_")[0]]
        others = set(counts) - {promised}
        # Code around a loop, and cold instructions in it, may have another behaviour, but never wait.
        if not counts[promised] or (WAITING in others):
            wrong[name] = counts
    assert wrong == {}


@pytest.mark.parametrize("toolchain", ["clang-19", "gcc-12-libomp-19"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_instruction_after_an_atomic_update_measures_it(
    compile_program: CompileProgram, toolchain: str, level: str
) -> None:
    program = compile_program("samples/behaviour.c", toolchain_named(toolchain), opt_level=level)
    instructions = Instructions(MACHINE, program, FrameTable.of_file(program).function_at)
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    n_updates = 0
    for start, size, name in read_functions(program).functions:
        if name not in ("atomic_sum", "waits_for_exchange"):
            continue
        update = 0  # address of the last instruction if it is an atomic update
        for at in decoder.disasm(code_between(program, start, start + size), start):
            assert instructions.update_before(at.address) == (update or at.address), f"{name}: {at}"
            n_updates += update > 0
            update = at.address if at.mnemonic.startswith(("lock", "xchg")) else 0
    assert n_updates >= 2
    assert instructions.update_before(0) == 0


@pytest.mark.parametrize("toolchain", ["clang-19", "gcc-12-libomp-19"])
def test_waiting_loops_are_recognised_without_optimisation(
    compile_program: CompileProgram, toolchain: str
) -> None:
    program = compile_program("samples/behaviour.c", toolchain_named(toolchain), opt_level="-O0")
    for name, counts in behaviours(program).items():
        assert (WAITING in counts) == name.startswith("waits"), name


def test_stubs_have_the_names_of_the_functions_that_they_call(compile_program: CompileProgram) -> None:
    program = compile_program("samples/behaviour.c", toolchain_named("clang-19"))
    assert {"sched_yield", "__kmpc_omp_taskyield", "__kmpc_flush"} <= set(
        imported_functions(program).values()
    )


def test_code_of_a_file_without_functions_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no code")
    instructions = Instructions(MACHINE, tmp_path / "text", FrameTable.of_file(tmp_path / "text").function_at)
    assert instructions.behaviour(0x1000) == ""
    assert Instructions("s390x", tmp_path / "text", lambda _: (0, 100)).behaviour(50) == ""


def test_library_functions_that_wait_are_known() -> None:
    assert always_waits("sched_yield")
    assert not always_waits("pthread_mutex_lock")


def test_operands_of_aarch64_have_addresses_and_sizes(tmp_path: Path) -> None:
    """Decodes ldr, an atomic ldadd, a store with an index, loads that change or extend it, stp and strb."""
    codes = (0xF9400420, 0xB8210062, 0x3CA27820, 0xB8404420, 0xB862D820, 0xA9BF7BFD, 0x39000440)
    text = b"".join(code.to_bytes(4, "little") for code in codes)
    instructions = Instructions("aarch64", tmp_path / "text", lambda _: None)
    steps = [instructions._step(insn, frozenset({"sp"})) for insn in capstone_steps(text)]
    assert [step.operands for step in steps] == [
        (Operand("x1", "", 1, 8, 8, False, 0),),
        (Operand("x3", "", 1, 0, 4, True, 4),),
        (Operand("x1", "x2", 16, 0, 16, True, 8),),
        (Operand("x1", "", 1, 0, 4, False, 12),),
        (),
        (Operand("sp", "", 1, -16, 16, True, 20),),
        (Operand("x2", "", 1, 1, 1, True, 24),),
    ]


def capstone_steps(text: bytes) -> list[Any]:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)
    decoder.detail = True
    return list(decoder.disasm(text, 0))


OPERANDS = """
    .globl loop, apart, after, callee
    .type loop, @function
loop:
    mov %eax, (%rdi)
1:  mov (%rsi,%rdx,8), %rcx
    dec %rdx
    add %ecx, 8(%r8)
    jne 1b
    ret
    .size loop, . - loop
    .type apart, @function
apart:
    mov 0x100(%rdi), %eax
    mov %eax, 0x120(%rdi)
    mov %eax, 0x140(%rdi)
    ret
    .size apart, . - apart
    .type callee, @function
callee:
    add %eax, 4(%rdi)
    ret
    .size callee, . - callee
    .type after, @function
after:
    call callee
    nop
    ret
    .size after, . - after
    .globl main
main:
    xor %eax, %eax
    ret
    .section .note.GNU-stack,"",@progbits
"""


def test_operands_belong_to_the_instruction_that_ran_before(tmp_path: Path) -> None:
    if platform.machine() != MACHINE:
        pytest.skip("the assembly is of x86-64")
    (tmp_path / "a.s").write_text(OPERANDS)
    program = tmp_path / "a"
    subprocess.run(["clang-19", "-no-pie", tmp_path / "a.s", "-o", program], check=True)
    functions = read_functions(program).functions
    starts = {name: start for start, _, name in functions}

    def function_at(address: int) -> tuple[int, int] | None:
        return next(((start, start + n) for start, n, _ in functions if start <= address < start + n), None)

    instructions = Instructions(MACHINE, program, function_at)

    def places(name: str, offset: int) -> list[tuple[str, int, bool]]:
        found = instructions.operands(starts[name] + offset)
        return [(operand.base, operand.distance, operand.stores) for operand in found]

    assert places("loop", 2) == [("rsi", 0, False), ("r8", 8, True)], (
        "the end of the body ran before its start"
    )
    assert places("apart", 0) == [("rdi", 0x100, False), ("rdi", 0x120, True)], "0x140 is another cache line"
    assert places("after", 5) == [("rdi", 4, True)], "the callee wrote last"

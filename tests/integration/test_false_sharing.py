# SPDX-License-Identifier: Apache-2.0
"""Samples show the addresses of a program's data, and so the cache lines that threads share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import ompass
from marked_programs import lines_of
from ompass.readers.run import open_run
from ompass.reports.content import collect
from ompass.samples import content
from ompass.samples.metrics import false_sharing, samples_of_work
from ompass.symbols.operands import GENERAL, accesses
from ompass.symbols.resolver import Resolver
from ompass.symbols.unwinder import code_of
from recorded_run import check_sound
from sampled_run import require_samples, sampled_threads
from toolchains import CompileProgram, RunRecorded, Toolchain, toolchain_named

SOURCE = "samples/neighbours.c"


def recorded(
    distance: int, compile_program: CompileProgram, run_recorded: RunRecorded, toolchain: Toolchain
) -> Path:
    """Records the program for a third of a second. Skips the test if the kernel refuses samples."""
    program = compile_program(SOURCE, toolchain)
    environment = {"OMPASS_SAMPLE": "1000"}
    for _ in range(5):  # on a busy machine, a thread may get no processor
        run = run_recorded(program, toolchain, str(distance), threads=2, environment=environment).run_dir
        check_sound(run)
        require_samples(run)
        if min(len(thread.samples) for thread in sampled_threads(run)) > 50:
            break
    return run


@pytest.mark.parametrize("toolchain", ["clang-19", "gcc-12-libomp-19"])
def test_samples_have_the_addresses_of_each_threads_data(
    toolchain: str, compile_program: CompileProgram, run_recorded: RunRecorded
) -> None:
    run = recorded(24, compile_program, run_recorded, toolchain_named(toolchain))
    resolver = Resolver.of_run(open_run(run))
    used: dict[int, set[int]] = {}
    n_with_data = n = 0
    for thread in sampled_threads(run):
        for sample in thread.samples:
            assert len(sample.values) == 8 * len(GENERAL[thread.machine])
            code = code_of(sample.chain[0]) if sample.chain else None
            if sample.state != "work" or code is None:
                continue
            n += 1
            found = {
                access.address
                for access in accesses(
                    resolver.operands(*code, thread.machine), thread.machine, sample.values
                )
                if access.stores and access.n_bytes == 4
            }
            n_with_data += bool(found)
            used.setdefault(thread.thread, set()).update(found)
    assert n_with_data > 0.5 * n
    assert len(used) == 2
    one, other = used.values()
    assert len(one) == len(other) == 1, "each thread writes to one datum"
    assert abs(one.pop() - other.pop()) == 24


@pytest.mark.parametrize(("distance", "is_false"), [(4, True), (56, True), (0, False), (64, False)])
def test_data_of_two_threads_on_one_cache_line_are_a_finding(
    distance: int,
    is_false: bool,
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
) -> None:
    run = recorded(distance, compile_program, run_recorded, default_toolchain)
    report = json.loads(ompass("report", str(run), "--json").stdout)
    found = [finding for finding in report["findings"] if finding["kind"] == "false_sharing"]
    assert bool(found) == is_false
    if found:
        assert found[0]["line"] == lines_of(SOURCE)["count"]
        assert found[0]["cost_ns"] > 100e6


def test_many_samples_are_thinned_out_before_their_data_are_kept(
    compile_program: CompileProgram,
    run_recorded: RunRecorded,
    default_toolchain: Toolchain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = open_run(recorded(8, compile_program, run_recorded, default_toolchain))
    whole = collect(run).samples
    monkeypatch.setattr(content, "_MOST_USED_DATA", 60)
    monkeypatch.setattr(content, "_LEAST_USED_DATA", 20)
    few = collect(run).samples
    assert whole is not None and few is not None
    assert 20 <= len(few.used_data) <= 60 < len(whole.used_data)
    assert false_sharing(few.used_data, samples_of_work(few.samples)) is not None
    n_whole, n_few = (sum(one.weight for one in samples.used_data) for samples in (whole, few))
    assert n_few == pytest.approx(n_whole, rel=0.3)

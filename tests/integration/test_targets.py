# SPDX-License-Identifier: Apache-2.0
"""Target constructs on the host plugin: bytes and counts are exact; kernels count as device code."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from command import ompass
from needs import require, require_toolchain
from ompass.metrics.library_calls import devices_of, target_totals
from ompass.model import Run, device_of, kind_name
from ompass.readers.run import open_run
from ompass.reports.content import collect
from recorded_run import check_facts, check_sound, counted, facts_in
from toolchains import OFFLOAD, OFFLOAD_LINKER, Record, Recorded, Toolchain

BOTH_WAYS = pytest.mark.parametrize("preload", [False, True], ids=["tool", "preload"])
BOTH_MODES = pytest.mark.parametrize("mode", ["profile", "trace"])
FIGURES = (
    *("n_runs", "n_launches", "n_to", "to_bytes", "n_from", "from_bytes", "n_alloc", "alloc_bytes"),
    "n_repeated",
)

RecordTarget = Callable[..., Recorded]


@pytest.fixture(scope="module")
def offload() -> Toolchain:
    """Returns clang 19 with the host plugin."""
    require("offload", [] if OFFLOAD_LINKER.exists() else [str(OFFLOAD_LINKER)])
    return require_toolchain(OFFLOAD)


@pytest.fixture
def record_target(offload: Toolchain, record: Record, tmp_path: Path) -> RecordTarget:
    def run(
        source: str, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
    ) -> Recorded:
        # The host plugin leaves its kernels as files in TMPDIR.
        folder = {"TMPDIR": str(tmp_path), **(environment or {})}
        return record(f"target/{source}", *arguments, toolchain=offload, environment=folder, **options)

    return run


def expected_in(stdout: str) -> list[dict[str, Any]]:
    """Returns the figures that the program states for its constructs."""
    return [
        json.loads(line.removeprefix("EXPECT ")) for line in stdout.splitlines() if line.startswith("EXPECT ")
    ]


def figures_of(run: Run) -> dict[tuple[int, str, int], dict[str, int]]:
    """Returns the recorded figures by line, kind and device."""
    content = collect(run, with_samples=False)
    return {
        (content.location(total.construct).line or 0, total.kind, total.device): {
            name: getattr(total, name) for name in FIGURES
        }
        for total in content.targets
        if total.n_runs
    }


def check_expected(recorded: Recorded) -> Run:
    """Checks every construct of the program in the profile and, in trace mode, also in the trace."""
    check_sound(recorded.run_dir)
    run = open_run(recorded.run_dir)
    expected = {
        (each.pop("line"), each.pop("kind"), each.pop("device")): each
        for each in expected_in(recorded.process.stdout)
    }
    assert figures_of(run) == expected
    if run.mode == "trace":
        assert figures_of(open_run(recorded.run_dir, source="events")) == expected
        ompass("validate", recorded.run_dir)
    return run


@BOTH_WAYS
@BOTH_MODES
def test_bytes_and_counts_of_all_maps_are_exact(
    mode: str, preload: bool, record_target: RecordTarget
) -> None:
    # In optimized code, constructs without a kernel have no exact line.
    run = check_expected(record_target("maps.c", mode=mode, preload=preload, opt_level="-O0"))
    for row in run.targets:
        assert row.time_ns == row.transfer_ns + row.launch_ns + row.wait_ns
        assert row.max_ns <= row.time_ns


@BOTH_MODES
def test_calls_that_move_data_are_counted_at_their_lines(mode: str, record_target: RecordTarget) -> None:
    check_expected(record_target("calls.c", mode=mode, preload=True))


@BOTH_WAYS
@BOTH_MODES
def test_nowait_is_counted_and_its_helper_threads_are_in_no_figure(
    mode: str, preload: bool, record_target: RecordTarget
) -> None:
    recorded = record_target("nowait.c", mode=mode, preload=preload)
    run = check_expected(recorded)
    check_facts(facts_in(recorded.process.stdout), run)
    helpers = {t.thread for t in run.threads if t.kind == "helper"}
    assert helpers
    assert not helpers & {row.thread for row in run.regions}
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    assert report["threads"] == 2
    assert [region["max_team_size"] for region in report["regions"]] == [2]
    assert "too_coarse" not in {finding["kind"] for finding in report["findings"]}


@BOTH_MODES
def test_each_device_has_its_own_figures(mode: str, record_target: RecordTarget) -> None:
    recorded = record_target("devices.c", mode=mode)
    run = check_expected(recorded)
    (line,) = (each for each in recorded.process.stdout.splitlines() if each.startswith("DEVICES "))
    n_devices = int(line.split()[1])
    assert n_devices > 1
    assert [device.number for device in devices_of(run)] == list(range(n_devices))


@pytest.mark.parametrize("environment", [{}, {"OMP_TARGET_OFFLOAD": "DISABLED"}], ids=["if", "disabled"])
@BOTH_MODES
def test_constructs_that_run_on_the_host_are_regions_of_the_host(
    mode: str, environment: Mapping[str, str], record_target: RecordTarget
) -> None:
    recorded = record_target("fallback.c", mode=mode, environment=environment)
    run = check_expected(recorded)
    content = collect(run, with_samples=False)
    on_host = {content.location(row.construct).line for row in run.regions if row.construct >= 0}
    source = (Path(__file__).parents[1] / "programs/target/fallback.c").read_text().splitlines()
    lines = [k for k, line in enumerate(source, 1) if "omp target" in line]
    assert on_host == set(lines if environment else lines[:1])


@pytest.mark.parametrize("levels", ["1", "3"])
@BOTH_WAYS
@BOTH_MODES
def test_threads_that_use_devices_at_the_same_time_are_counted_exactly(
    mode: str, preload: bool, levels: str, record_target: RecordTarget
) -> None:
    recorded = record_target(
        "threads.c", mode=mode, preload=preload, environment={"OMP_MAX_ACTIVE_LEVELS": levels}
    )
    run = check_expected(recorded)
    check_facts(facts_in(recorded.process.stdout), run)
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    assert report["threads"] == 4
    assert [region["max_team_size"] for region in report["regions"]] == [4]


@pytest.mark.parametrize("opt_level", ["-O0", "-O2", "-O3"])
def test_a_construct_with_a_kernel_has_its_line_and_function_at_any_optimization(
    opt_level: str, record_target: RecordTarget
) -> None:
    recorded = record_target("kernels.c", opt_level=opt_level)
    check_expected(recorded)
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    assert {target["function"].partition(".")[0] for target in report["targets"]} == {"main"}


@BOTH_WAYS
@BOTH_MODES
def test_kernels_of_the_host_plugin_are_not_regions_of_the_host(
    mode: str, preload: bool, record_target: RecordTarget
) -> None:
    recorded = record_target("kernels.c", mode=mode, preload=preload)
    run = check_expected(recorded)
    check_facts(facts_in(recorded.process.stdout), run)
    kernel_ns = int(recorded.process.stdout.partition("KERNEL_NS ")[2].split()[0])
    first, inside = sorted(target_totals(run), key=lambda total: -total.n_runs)[:2]
    assert first.launch_ns >= first.n_launches * kernel_ns
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    assert report["threads"] == 2
    assert report["offload_ns"] >= kernel_ns
    assert report["offload_ns"] == pytest.approx(inside.time_ns, rel=0.01)


def test_all_results_show_the_target_constructs(record_target: RecordTarget, tmp_path: Path) -> None:
    recorded = record_target("maps.c", mode="trace", preload=True)
    run_dir = recorded.run_dir
    report = json.loads(ompass("report", run_dir, "--json").stdout)
    expected = expected_in(recorded.process.stdout)
    assert sum(target["to_bytes"] for target in report["targets"]) == sum(e["to_bytes"] for e in expected)
    assert {target["kind"] for target in report["targets"]} == {e["kind"] for e in expected}
    assert not any(device["traced"] for device in report["devices"])
    table = ompass("report", run_dir, "--csv", "--table", "targets").stdout
    rows_of_csv = list(csv.DictReader(table.splitlines()))
    assert sum(int(row["to_bytes"]) for row in rows_of_csv) == sum(e["to_bytes"] for e in expected)
    text = ompass("report", run_dir, "--full").stdout
    assert "Target constructs" in text
    assert "the runtime offers no device tracing" in text

    query = "SELECT kind, device, SUM(to_bytes) AS bytes FROM targets WHERE n_runs > 0 GROUP BY kind, device"
    rows = [json.loads(line) for line in ompass("query", run_dir, query, "--json").stdout.splitlines()]
    assert sum(row["bytes"] for row in rows) == sum(e["to_bytes"] for e in expected)
    query = "SELECT SUM(bytes) AS bytes FROM target_steps WHERE data AND operation = 2"
    row = json.loads(ompass("query", run_dir, query, "--json").stdout)
    assert row["bytes"] == sum(e["to_bytes"] for e in expected)

    timeline = tmp_path / "timeline.pftrace"
    ompass("timeline", run_dir, "--perfetto", timeline)
    packets = timeline.read_bytes()
    assert b"device 0" in packets
    assert b"to device maps.c" in packets
    archive = tmp_path / "archive"
    ompass("timeline", run_dir, "--otf2", archive)
    assert b"device 0" in (archive / "traces.def").read_bytes()
    figure = tmp_path / "devices.svg"
    ompass("plot", "devices", run_dir, "-o", figure)
    assert "to device" in figure.read_text()
    page = tmp_path / "page.html"
    ompass("report", run_dir, "--html", page)
    assert "Target constructs" in page.read_text()


def test_kinds_and_devices_are_in_the_definitions(record_target: RecordTarget) -> None:
    run = open_run(record_target("devices.c").run_dir)
    flags = {d.flags for d in run.definitions if d.kind == "target"}
    assert {kind_name(f) for f in flags} == {"target", "load"}
    assert min(map(device_of, flags)) == 0
    assert counted(run)["regions"] == 0


@pytest.mark.parametrize(
    "disease", ["repeated_transfers", "costly_transfers", "small_launches", "host_waits"]
)
def test_the_problem_of_a_program_is_the_first_finding(disease: str, record_target: RecordTarget) -> None:
    recorded = record_target("diseases.c", disease, preload=True)
    report = json.loads(ompass("report", recorded.run_dir, "--json").stdout)
    problems = [f for f in report["findings"] if f["severity"] == "problem" and f["kind"] != "disturbed"]
    assert problems[0]["kind"] == disease
    assert problems[0]["file"].endswith("diseases.c")

# SPDX-License-Identifier: Apache-2.0
"""Ompass finds the quota of control groups in synthetic trees: versions 1 and 2, and all kinds of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ompass import _core
from ompass.metrics.processors import describe_processors

V2 = "30 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_CPU = "33 1 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n"
V1_CPUSET = "34 1 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"


class Tree:
    """A directory that represents the root of the file system."""

    def __init__(self, root: Path, groups: str, mounts: str) -> None:
        self.root = root
        self.write("proc/self/cgroup", groups)
        self.write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/root rw\n" + mounts)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="ascii")

    def v2(self, folder: str, quota: str, n: int = 0, usec: int = 0, cpus: str = "") -> None:
        at = f"sys/fs/cgroup{folder}"
        if quota:
            self.write(f"{at}/cpu.max", quota + "\n")
        self.write(f"{at}/cpu.stat", f"usage_usec 9\nnr_periods 9\nnr_throttled {n}\nthrottled_usec {usec}\n")
        if cpus:
            self.write(f"{at}/cpuset.cpus.effective", cpus + "\n")

    def v1(self, folder: str, quota: int, period: int, n: int = 0, ns: int = 0) -> None:
        at = f"sys/fs/cgroup/cpu,cpuacct{folder}"
        self.write(f"{at}/cpu.cfs_quota_us", f"{quota}\n")
        self.write(f"{at}/cpu.cfs_period_us", f"{period}\n")
        self.write(f"{at}/cpu.stat", f"nr_periods 9\nnr_throttled {n}\nthrottled_time {ns}\n")

    def limits(self) -> _core.GroupLimits:
        return _core.read_group_limits(str(self.root))


def values(limits: _core.GroupLimits) -> tuple[int, int, int, int]:
    return limits.quota_us, limits.period_us, limits.n_throttled, limits.throttled_ns


def test_smallest_quota_on_the_way_to_the_root_counts_and_all_levels_throttle(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/slice/pod/leaf\n", V2)
    tree.write("sys/fs/cgroup/cpu.stat", "usage_usec 9\n")
    tree.v2("/slice", "400000 100000", 1, 10, "0-7")
    tree.v2("/slice/pod", "30000 20000", 5, 200, "0-3,6")
    tree.v2("/slice/pod/leaf", "max 100000", 0, 0)
    limits = tree.limits()
    assert values(limits) == (30_000, 20_000, 6, 210_000)
    assert (limits.n_cpus, limits.is_known) == (5, True)


def test_container_in_a_namespace_sees_its_group_as_the_root(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/\n", V2)
    tree.v2("", "150000 100000", 3, 7)
    assert values(tree.limits()) == (150_000, 100_000, 3, 7_000)


@pytest.mark.parametrize("group", ["/docker/4f", "/docker/4f/inner", "/../../elsewhere", "/other"])
def test_mount_in_a_container_without_a_namespace_begins_at_its_group(tmp_path: Path, group: str) -> None:
    tree = Tree(tmp_path, f"4:cpu,cpuacct:{group}\n0::/\n", V1_CPU.replace(" / /sys", " /docker/4f /sys"))
    tree.v1("", 50_000, 100_000, 4, 900)
    assert values(tree.limits()) == (50_000, 100_000, 4, 900)


def test_groups_above_are_read_if_the_group_itself_has_no_directory(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "4:cpuacct,cpu:/docker/4f\n", V1_CPU)
    tree.v1("", 200_000, 100_000, 2, 5)
    assert values(tree.limits()) == (200_000, 100_000, 2, 5)


def test_both_versions_may_be_mounted(tmp_path: Path) -> None:
    groups = "5:cpuset:/a\n4:cpu,cpuacct:/a/b\n1:name=systemd:/s\n0::/a\n"
    unified = V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")
    tree = Tree(tmp_path, groups, V1_CPU + V1_CPUSET + unified)
    tree.write("sys/fs/cgroup/unified/a/cpu.stat", "usage_usec 3\n")
    tree.v1("/a", -1, 100_000, 0, 0)
    tree.v1("/a/b", 100_000, 50_000, 8, 77)
    tree.write("sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "2-3\n")
    limits = tree.limits()
    assert values(limits) == (100_000, 50_000, 8, 77)
    assert limits.n_cpus == 2


def test_mount_points_may_hold_spaces(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/\n", V2.replace("/sys/fs/cgroup", "/my\\040groups"))
    tree.write("my groups/cpu.max", "10000 100000\n")
    assert tree.limits().quota_us == 10_000


def test_no_limit_means_no_quota(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "0::/a\n", V2)
    tree.v2("/a", "max 100000")
    assert values(tree.limits()) == (0, 0, 0, 0)
    assert tree.limits().is_known


@pytest.mark.parametrize(
    ("groups", "mounts", "quota"),
    [
        ("", "", "1 1"),
        ("0::/a", "nonsense", "1 1"),
        ("0:", V2, "1 1"),
        (":::\n0::", V2, "1 1"),
        ("0::a", V2, "1 1"),
        ("0::/a\n", V2, "x y"),
        ("0::/a\n", V2, "99999999999999999999999 100000"),
        ("0::/a\n", V2, "100000 0"),
        ("0::/a\n", V2, "-5 100000"),
        ("0::/a\n", V2, ""),
    ],
)
def test_invalid_text_is_not_a_quota(tmp_path: Path, groups: str, mounts: str, quota: str) -> None:
    tree = Tree(tmp_path, groups, mounts)
    tree.v2("/a", quota, cpus="3-1,x")
    limits = tree.limits()
    assert (limits.quota_us, limits.period_us, limits.n_cpus) == (0, 0, 0)


def test_missing_files_mean_unknown(tmp_path: Path) -> None:
    assert not _core.read_group_limits(str(tmp_path)).is_known


def test_usable_processors_are_shown_as_a_part_of_all() -> None:
    assert describe_processors(2, 100_000, 100_000) == "1.0 of 2"
    assert describe_processors(2, 25_000, 100_000) == "0.25 of 2"
    assert describe_processors(2, 0, 0) == "2"
    assert describe_processors(2, 400_000, 100_000) == "2"
    assert describe_processors(0, 150_000, 100_000) == "1.5"
    assert describe_processors(0, 0, 0) == ""

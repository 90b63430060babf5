# SPDX-License-Identifier: Apache-2.0
"""Cache groups and cache sizes of the recorded machine, or of a machine that a synthetic string describes.

hwloc converts its synthetic strings to XML; this file parses the XML.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ompass.errors import IncompleteInstallationError, UsageError
from ompass.files import read_small_file

_DATA_CACHE = re.compile(r"L([1-5])Cache")
_ASSUMED_L2_BYTES = 1 << 20
_LARGEST_CPU = 1 << 20
_ASSUMED_LLC_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """The CPUs that share one last-level cache."""

    name: str
    cpus: tuple[int, ...]  # CPU numbers of the operating system
    l2_bytes: int  # 0: unknown
    llc_bytes: int  # 0: unknown

    def with_sizes(self, l2_bytes: int = 0, llc_bytes: int = 0) -> CacheGroup:
        """Returns a copy with the given sizes. For a size of 0, keeps the known size or assumes one."""
        llc_bytes = llc_bytes or self.llc_bytes or _ASSUMED_LLC_BYTES
        return replace(
            self, l2_bytes=l2_bytes or self.l2_bytes or min(_ASSUMED_L2_BYTES, llc_bytes), llc_bytes=llc_bytes
        )


@dataclass(frozen=True, slots=True)
class Caches:
    """The data caches of one level."""

    level: int
    size_bytes: int  # size of one cache; 0: unknown
    of_cpu: tuple[int, ...]  # number of each CPU's cache, in the order of Topology.cpus


@dataclass(frozen=True, slots=True)
class Topology:
    """The cache groups of a machine, and all its CPUs in hwloc's order, with neighbours adjacent."""

    description: str  # "recorded machine", or the synthetic string
    groups: tuple[CacheGroup, ...]
    cpus: tuple[int, ...]
    caches: tuple[Caches, ...] = ()  # first level first; only levels that every CPU has
    nodes: tuple[int, ...] = ()  # memory node of each CPU, in the order of `cpus`
    xml: str = field(default="", repr=False, compare=False)  # hwloc's XML

    def group_of_thread(self, n_threads: int, place: str = "compact") -> list[int]:
        """Returns the index of each thread's group. If there are more threads than CPUs, CPUs repeat.

        Without CPUs, all threads belong to the first group.
        `place`: "compact" fills one group after the other; "scatter" alternates between groups.
        """
        by_cpu = self.group_of_cpu()
        order = [by_cpu[cpu] for cpu in self.cpus]
        if place == "scatter":
            rank = {cpu: k for group in self.groups for k, cpu in enumerate(group.cpus)}
            order = [by_cpu[cpu] for cpu in sorted(self.cpus, key=lambda cpu: (rank[cpu], by_cpu[cpu]))]
        return [order[thread % len(order)] if order else 0 for thread in range(n_threads)]

    def group_of_cpu(self) -> list[int]:
        """Returns the index of the group by CPU number; 0 for numbers without a group."""
        by_cpu = [0] * (max(self.cpus, default=-1) + 1)
        for index, group in enumerate(self.groups):
            for cpu in group.cpus:
                by_cpu[cpu] = index
        return by_cpu


def recorded_topology(directory: Path) -> Topology:
    """Returns the machine of a run, from its topology.xml; one group of unknown size if it is unreadable."""
    try:
        return _topology_of_xml(read_small_file(directory / "topology.xml"), "recorded machine")
    except (OSError, ElementTree.ParseError, ValueError, RecursionError):
        return Topology("not recorded: one cache assumed", (CacheGroup("machine 0", (), 0, 0),), ())


def synthetic_topology(text: str, option: str = "--topology") -> Topology:
    """Returns the machine of an hwloc synthetic string. Raises UsageError, which names `option`."""
    library = _hwloc()
    topology = ctypes.c_void_p()
    if library.hwloc_topology_init(ctypes.byref(topology)) != 0:
        raise IncompleteInstallationError("hwloc cannot be initialised", "hwloc_topology_init failed")
    try:
        if (
            library.hwloc_topology_set_synthetic(topology, text.encode()) != 0
            or library.hwloc_topology_load(topology) != 0
        ):
            raise UsageError(
                f"{option} {text!r}",
                "hwloc cannot read it as a synthetic topology",
                'write it like "pack:4 l3:1 core:6 pu:1", sizes like "l3:1(size=18874368)"',
            )
        buffer, length = ctypes.c_char_p(), ctypes.c_int()
        if (
            library.hwloc_topology_export_xmlbuffer(
                topology, ctypes.byref(buffer), ctypes.byref(length), ctypes.c_ulong(0)
            )
            != 0
            or buffer.value is None
        ):
            raise IncompleteInstallationError("hwloc cannot export a topology", "no XML support")
        try:
            return _topology_of_xml(buffer.value.decode(), text)
        finally:
            library.hwloc_free_xmlbuffer(topology, buffer)
    finally:
        library.hwloc_topology_destroy(topology)


def _hwloc() -> ctypes.CDLL:
    name = ctypes.util.find_library("hwloc") or "libhwloc.so.15"
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise IncompleteInstallationError(
            "--topology needs the library hwloc", str(error), "install it (Debian: libhwloc15)"
        ) from error


def _topology_of_xml(text: str, description: str) -> Topology:
    root = ElementTree.fromstring(text)
    cpus_of: dict[ElementTree.Element, list[int]] = {}
    l2_bytes: dict[ElementTree.Element, int] = {}
    cpus = []
    chains = []
    for cpu, above in _cpus(root, []):
        chains.append(above)
        caches = [element for element in above if _DATA_CACHE.fullmatch(element.get("type", ""))]
        packages = [element for element in above if element.get("type") == "Package"]
        # The list begins at the machine, so its first cache is the last-level cache.
        shared = (caches or packages or [root])[0]
        cpus_of.setdefault(shared, []).append(cpu)
        cpus.append(cpu)
        for cache in caches:
            if cache.get("type") == "L2Cache":
                l2_bytes[shared] = int(cache.get("cache_size", "0"))
    if not cpus or max(cpus) > _LARGEST_CPU:
        raise ValueError("no CPU in the topology, or one with an impossible number")
    groups = tuple(
        CacheGroup(
            f"{_short_name(shared)} {index}",
            tuple(members),
            l2_bytes.get(shared, 0),
            int(shared.get("cache_size", "0")),
        )
        for index, (shared, members) in enumerate(cpus_of.items())
    )
    return Topology(description, groups, tuple(cpus), _caches(chains), _nodes(chains), text)


def _caches(chains: list[list[ElementTree.Element]]) -> tuple[Caches, ...]:
    levels = []
    for level in range(1, 6):
        mine = [next((e for e in chain if e.get("type") == f"L{level}Cache"), None) for chain in chains]
        found = [cache for cache in mine if cache is not None]
        if len(found) == len(chains):
            size = int(found[0].get("cache_size", "0"))
            levels.append(Caches(level, size, _numbered(found)))
    return tuple(levels)


def _nodes(chains: list[list[ElementTree.Element]]) -> tuple[int, ...]:
    """Returns the memory node of each CPU. In hwloc's XML, the parent of a node encloses the node's CPUs."""

    def with_memory(chain: list[ElementTree.Element]) -> ElementTree.Element:
        near = (e for e in reversed(chain) if any(c.get("type") == "NUMANode" for c in e.findall("object")))
        return next(near, chain[0])

    return _numbered([with_memory(chain) for chain in chains])


def _numbered(elements: list[ElementTree.Element]) -> tuple[int, ...]:
    numbers: dict[ElementTree.Element, int] = {}
    return tuple(numbers.setdefault(element, len(numbers)) for element in elements)


def _cpus(
    element: ElementTree.Element, above: list[ElementTree.Element]
) -> Iterator[tuple[int, list[ElementTree.Element]]]:
    """Yields the number and the enclosing objects (outermost first) of every CPU, in hwloc's order."""
    for child in element.findall("object"):
        if child.get("type") == "PU":
            yield int(child.get("os_index", "0")), above
        else:
            yield from _cpus(child, [*above, child])


def _short_name(element: ElementTree.Element) -> str:
    kind = element.get("type", "machine")
    return kind.removesuffix("Cache") if kind.endswith("Cache") else kind.lower()

# SPDX-License-Identifier: Apache-2.0
"""Names of the groups of sampled code (by library), and of the kinds of its instructions."""

from __future__ import annotations

from typing import Final

OWN: Final = ""
"""The group of the program's own code, including its own libraries."""
RUNTIME: Final = "OpenMP runtime"
MPI: Final = "MPI"
MEMORY: Final = "malloc"
MUTEX: Final = "mutex"
"""The group of functions that take and release locks of the C library."""
IO: Final = "input and output"
TOOL: Final = "Ompass"

SLEEP: Final = "sleep"
"""A call that sleeps for a given time. Calls of the kinds SLEEP, WAIT, LOCK, DISK and IO may block."""
WAIT: Final = "wait"
"""A call that waits for another thread or process."""
LOCK: Final = "lock"
DISK: Final = "disk"
"""A call that waits until the disk has written data."""

WAITING: Final = "waiting loop"
"""A loop that only loads, tests, pauses or yields until another thread changes the memory."""
ATOMIC: Final = "atomic update"
"""An instruction that holds its cache line while it reads and writes a value there."""
FIXED: Final = "fixed address"
"""An access whose address is the same in each iteration: slow only if other threads take its cache line."""
MEMORY_USE: Final = "memory"
"""Any other access to memory, or a loop with one."""
COMPUTE: Final = "computation"
"""A loop without access to memory, except to the stack."""
UNKNOWN: Final = ""

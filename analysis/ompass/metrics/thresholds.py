# SPDX-License-Identifier: Apache-2.0
"""The thresholds above which figures become findings, each with its reason.

A share is a part of the thread-time of the scope, 0 to 1.
"""

from __future__ import annotations

from typing import Final

SHOWN_SHARE: Final = 0.02
"""Reports for people omit waits and loops below this part of the thread-time."""

JUDGED_THREAD_TIME_NS: Final = 1_000_000
"""Below a millisecond of thread-time, start-up dominates: no problem is reported."""

OFF_PROCESSOR_SHARE: Final = 0.02
"""Reports omit off-CPU time below this part: every machine interrupts threads sometimes."""

FINE_WORK_PER_COST: Final = 10.0
"""A task's work should be at least ten times the cost of its creation and dispatch (10% overhead)."""

TARGET_WORK_PER_COST: Final = 20.0
"""The granularity that the advice recommends: about 5% overhead, with a margin for error."""

FINE_WORK_NS: Final = 100_000
"""A task of this length is not too fine. If its dispatch is expensive, there is another cause."""

PLAUSIBLE_DISPATCH_NS: Final = 5_000
"""A runtime dispatches a ready task in well under a microsecond. If threads waited longer than this for each
task, the cause is something else, such as the lack of a free core."""

FINE_MIN_TASKS: Final = 100
"""With fewer tasks, a construct cannot explain a total, and its means are noise."""

FINE_SHARE: Final = 0.05
"""Creation and dispatch of a construct's tasks are not worth a change below 5% of the thread-time."""

IDLE_SHARE: Final = 0.10
"""Lack of parallelism is reported if idle time reaches this part of the thread-time."""

COARSE_TASKS_PER_THREAD: Final = 4.0
"""With fewer tasks per thread and region instance, threads cannot finish a region at the same time."""

COARSE_BOUND: Final = 0.95
"""The longest task limits the speed-up if work / longest task is below this part of the threads."""

PRIORITY_GAIN: Final = 0.05
"""Other priorities are worth a change if the program would take 5% less time."""

UNDEFERRED_SHARE: Final = 0.9
"""If this part of the tasks is undeferred, idle threads found no task to run."""

PRODUCER_CREATED: Final = 0.9
"""A thread that created this part of all tasks is a single producer ..."""

PRODUCER_BUSY: Final = 0.5
"""... and a bottleneck if it spent this part of its time on creation and on its own code."""

PRODUCER_FINE: Final = 0.5
"""If creation of too fine tasks takes this part of a producer's time, fine tasks are the cause."""

COUNTED_WORK_NS: Final = 500_000
"""Tasks that are shorter on average include a visible cost of reading counters: twice 50 us at worst."""

PREEMPTED_SHARE: Final = 0.05
"""Threads are disturbed if other programs used their processors for this part of their time: each thread that
waits for a delayed thread multiplies the delay."""

THROTTLED_SHARE: Final = 0.05
"""The same limit for threads that a control group's quota throttled."""

CROWDED: Final = 1.05
"""Thread-time that exceeds the processors' time by this factor shows that threads share processors."""

HEAVILY_CROWDED: Final = 8
"""With this many threads for each processor, `oversubscribed` comes first, whatever other findings cost: a
thread that waits for another thread mostly waits until that thread gets a processor."""

CROWDED_SHARE: Final = 0.05
"""`oversubscribed` is only a note if threads without work use less than this part of the processors' time,
and waits take less than CROWDED_WAITS."""

BLOCKED_SHARE: Final = 0.10
"""Blocked user code (outside of OpenMP) is reported if it takes this part of the thread-time."""

PAGE_FAULT_SHARE: Final = 0.10
"""Page faults are reported if they take this part of the thread-time, or, outside of regions, of the run."""

SYSTEM_CALLS_SHARE: Final = 0.10
"""System calls are reported if they take this part of the thread-time."""

MOST_FAULT_NS: Final = 4_000
"""A fault of a small page takes the kernel 0.3 to 2 us, and longer if threads contend. System time beyond
this time per fault belongs to other system calls."""

TICK_NS: Final = 4_000_000
"""Kernels that do not measure system time sample each thread's position every 1 to 10 ms. The error of n
samples is the square root of n."""

ACTIVE_PART: Final = 0.9
"""With fewer active threads than this part of the processors, processors lack work."""

SERIALISED_ACTIVE: Final = 1.25
"""If at most this many threads are active on average, threads run one after the other."""

CHAINED_PART: Final = 0.8
"""If this part of the tasks has unfinished predecessors at creation, dependences determine the order."""

WAIT_LEAST: Final = 20
"""A place with fewer waits probably does not wait in a loop."""

TASKS_PER_WAIT: Final = 1.5
"""With fewer tasks per wait, threads wait for nearly each task separately."""

SERIAL_SHARE: Final = 0.05
"""Amdahl's bound is shown if the serial part reaches this part of all work (5%: at most 20x)."""

SERIAL_LINE: Final = 0.80
"""If this part of the serial samples share a line among their calls, the finding names that line."""

SERIAL_COST: Final = 0.10
"""A serial part is a problem if this part of the threads' capacity is lost to it."""

SERIAL_FLOOR_NS: Final = 10_000_000
"""Starting a program and its runtime takes some milliseconds, which no change of the program removes."""

IMBALANCE_RATIO: Final = 1.2
"""A region is imbalanced if the largest work of a thread exceeds the mean by this factor."""

IMBALANCE_SHARE: Final = 0.10
"""Imbalance of a region or loop is reported if it costs this part of the thread-time. On shared hosts, equal
work often takes one processor 15% longer than another, which costs 7%."""

UNDIVIDED_PART: Final = 0.95
"""If one thread does this part of the work of a region without tasks, the region is undivided."""

UNDIVIDED_SHARE: Final = 0.05
"""An undivided region is reported if the other threads wait for this part of the thread-time."""

LOCK_SHARE: Final = 0.05
"""Contention is reported if locks and critical sections take this part of the thread-time."""

SYNC_SHARE: Final = 0.10
"""Barriers and waits, without locks, are reported if they take this part of the thread-time."""

WAKING_SHARE: Final = 0.10
"""Slow wake-ups are reported if sleeping threads need this part of the thread-time to run again."""

SPUN_SHARE: Final = 0.05
"""Findings advise to let waiting threads sleep if these spin for this part of the processors' time."""

SHORT_REGION_NS: Final = 50_000
"""In regions with less work per thread, fork and join take about as long as the work."""

SHORT_STEP_NS: Final = 50_000
"""With less work between two barriers, the barriers take about as long as the work."""

SCHEDULE_SHARE: Final = 0.10
"""Dispatch of ready tasks is reported if it takes this part of the thread-time."""

OTHER_DOMAIN_SHARE: Final = 0.30
"""Locality is mentioned if this part of the tasks ran outside of their creators' memory domain."""

BY_CLOCK_SHARE: Final = 0.10
"""Time without records of switches is mentioned if it is this part of the recorded time."""

UNSAMPLED_SHARE: Final = 0.50
"""A report without problems mentions time without samples if it reaches this part of the threads' time."""

BY_CLOCK_NAMED: Final = 0.01
"""The report on samples mentions time without samples if it reaches this part of the threads' time."""

SCALES_EFFICIENCY: Final = 0.85
"""A program scales well if its speed-up reaches this part of the number of threads."""

SUPERLINEAR_EFFICIENCY: Final = 1.5
"""From this part of the linear speed-up on, the run on one thread is unusually slow: caches explain less."""

DISEASE_SHARE: Final = 0.10
"""A cause is reported if it takes this part of P * T_P: removing it raises the speed-up by at least 10%."""

TASK_OVERHEAD_ON_ONE: Final = 0.10
"""Tasks are too fine if the program without tasks (its elision) takes this part less time on one thread."""

FLAT_SLOPE: Final = 0.25
"""A curve is flat if another thread gains less than this part of the first point's speed-up per thread."""

BENT_SLOPE: Final = 0.75
"""The maximal curve should be straight: below this slope, overhead grows with the number of threads."""

UNLIKE_PROGRAM: Final = 0.05
"""Reports on parallel regions add the whole program's time if its speed-up or change differs by this part."""

RECORDING_COST: Final = 1.05
"""Reports mention the cost of recording if recorded runs are slower by this factor."""

DISTURBED_SHARE: Final = 0.05
"""A run is disturbed if other programs used this part of its CPUs' time. Sweeps prefer quieter rounds."""

SPOILT_SHARE: Final = 0.20
"""If other programs used this part of its CPUs' time, a run allows no conclusion about its program."""

READABLE_GROUPS: Final = 40
"""Task graphs with more nodes cannot be read at a glance, and are folded further."""

NOISE_PER_EVENT_NS: Final = 50
"""Recording one event adds this to the interval that the event ends (docs/cost.md: 44 ns in a profile).
Recording alone may change a figure by up to this time for each of its events."""

EVENTS_PER_TASK: Final = 4
"""The events of a task: creation, its wrapper, start and completion."""

LATE_RANK_SHARE: Final = 0.05
"""The rank that others wait for is reported if its time outside of MPI exceeds the mean by this part of
the job's time."""

COMMUNICATION_SHARE: Final = 0.10
"""Communication is reported if even the rank with the least time in MPI spends this part of the job's
time there."""

MPI_INSIDE_SHARE: Final = 0.05
"""MPI in regions is reported if threads spend this part of their time in MPI, and as much without a task."""

IN_MPI_SHARE: Final = 0.10
"""Time of a single rank in MPI is reported if it reaches this part of the run."""

LONG_CALL_NS: Final = 1_000_000
"""Networks deliver a small message in microseconds, and a megabyte in a tenth of a millisecond. A call that
is longer on average waits for another rank."""

LEAST_LOADS = 100
"""Constructs with fewer sampled loads are not judged: at 100, the error of a share is 5 points."""

SLOWED_PART = 0.25
"""Contended loads are reported if modified lines and other nodes take this part of the load cycles."""

LOADS_SHARE = 0.1
"""Contended loads are reported if their cycles, added up, are this part of the thread-time."""

UNKNOWN_CORE_HZ = 2e9
"""Rate of the cores in runs without a time stamp counter. Most busy cores are faster, so times that are
computed from their cycles stay upper bounds."""

LEAST_SAMPLES = 10
"""Fewer samples of a part of a run allow no conclusion about the part."""

BLAMED_SHARE: Final = 0.25
"""If at least this part of the allocator's samples allocate, the finding names a line that allocates."""

TOUCHING_SAMPLES: Final = 5
"""Page faults are attributed to a line with half of the samples of memory use, and at least this number."""

MAIN_WORK: Final = 0.5
"""Least share of the work in one function for which reports describe its accesses to memory."""
FIXED_WORK: Final = 0.3
"""Least share of the work at fixed addresses. The share is near 0 in a loop that sums in a register."""
LINE_WORK: Final = 0.8
"""Least share of the work at one line that uses memory. Loops with more to do have several hot lines."""

WAITING_SHARE: Final = 0.10
"""Loops of the program that only wait are reported if they take this part of the thread-time."""

ATOMIC_SHARE: Final = 0.20
"""Atomic updates without contention take less than this part of the time of most programs."""

FALSE_SHARING_SHARE: Final = 0.10
"""Data of several threads in one cache line are reported if threads spend this part of their time on them."""

CALLED_SHARE: Final = 0.25
"""A finding names a called function with this part of the samples."""

COPIES_SHARE: Final = 0.15
"""Private copies of variables are reported if threads spend this part of their time on them."""

COPY_NS: Final = 2000
"""Entering a region or loop takes less than this time, if it copies nothing."""

COMMON_SHARE: Final = 0.10
"""Threads contend for atomic updates if this part of the samples is on cache lines of several threads.

Measured: 0% for updates of large arrays, 90 to 100% for few counters."""

UNCONTENDED_SHARE: Final = 0.40
"""Atomic updates of different cache lines are reported if they take this part of the time."""

FREE_LOCK_NS: Final = 100
"""Taking a free lock takes less time than this, even while it is recorded."""

FREE_LOCK_LONG_SHARE: Final = 0.01
"""Largest share of long waits at locks that are mostly free."""

FREE_LOCKS_SHARE: Final = 0.20
"""Locks that are mostly free are reported if taking them takes this part of the time."""

MUTEX_SHARE: Final = 0.20
"""The same as ATOMIC_SHARE, for calls that take and release locks of the C library."""

ALLOCATOR_SHARE: Final = 0.20
"""The same for the memory allocator."""

MANY_CHUNKS: Final = 1000
"""Loops with fewer chunks are not judged."""

CHUNKS_SHARE: Final = 0.10
"""Getting chunks is reported if it takes this part of the thread-time."""

SHORT_CHUNK_NS: Final = 500
"""Without samples, chunks below this length are too short: getting one takes up to 400 ns."""

TARGET_CHUNK_NS: Final = 20_000
"""The recommended length of a chunk: then getting it takes less than 3%."""

CHUNKS_TO_KEEP: Final = 64
"""The recommended chunk leaves this many chunks in each instance of a loop, so that threads still balance."""

COPYING_CREATE_NS: Final = 3_000
"""A creation takes less than a microsecond unless it copies data."""

COPYING_DEPENDENT_CREATE_NS: Final = 15_000
"""The same limit for tasks that wait for others: their creation takes up to some 5 us without a copy."""

COPIED_BYTES: Final = 16 << 10
"""Copying this much for a task takes a microsecond, longer than a creation without a copy."""

WORK_PER_COPY: Final = 20.0
"""A task with such a copy needs more work per cost: the work also takes longer on a thread that does not have
the copy in its cache."""

PLAIN_CREATE_NS: Final = 500
"""A creation that copies no data takes about this time."""

FEWER_SHARE: Final = 0.10
"""A region with fewer threads than asked for is reported if the missing threads cost this part of the
thread-time of a full team."""

SPLIT_CHUNKS: Final = 8
"""With this many chunks per thread, single iterations cause imbalance, not the size of chunks."""

CROWDED_WAITS: Final = 0.05
"""A part of the thread-time; see CROWDED_SHARE."""

BARRIERS_INSIDE: Final = 4
"""In a short region with more inner barriers, the barriers are the problem. A reduction adds up to three."""

CHUNKS_PER_THREAD: Final = 8
"""Loops with fewer chunks per thread and instance are not judged: the loop itself is short."""

DEVICE_MIN_NS: Final = 10_000_000
"""Start-up of a device and its first kernel take milliseconds, which no change of the program saves."""
TRANSFER_SHARE: Final = 0.10
"""Transfers of a construct are worth a change if they take a tenth of the wall time of the run."""
TRANSFER_PART: Final = 0.5
"""Transfers dominate a construct if they take half of its host time."""
REPEATED_MIN: Final = 10
"""Fewer repetitions of a transfer may be intended."""
REPEATED_PART: Final = 0.5
"""Repetitions matter if they are half of the bytes that a construct moves to the device."""
REPEATED_SHARE: Final = 0.05
"""Repeated transfers are worth a change if they take 5% of the wall time of the run."""
LAUNCHES_MIN: Final = 100
"""With fewer launches, their cost is too small to matter: a millisecond."""
SMALL_LAUNCH_NS: Final = 50_000
"""A launch costs up to some 10 us on GPUs, a notable part of a kernel that takes less than 50 us."""
LAUNCH_SHARE: Final = 0.10
"""Launches are worth a change if they take a tenth of the wall time of the run."""
HOST_WAIT_SHARE: Final = 0.20
"""Overlap of host and device is worth a change if the host waits for a fifth of the wall time of the run."""

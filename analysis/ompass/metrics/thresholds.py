# SPDX-License-Identifier: Apache-2.0
"""Every number above which a figure becomes a finding, in one place, with the reason for each.

A share is a part of the thread-time of the scope, 0 to 1.
"""

from __future__ import annotations

from typing import Final

SHOWN_SHARE: Final = 0.02
"""Waits and loops that cost less than this part of the thread-time are left out of the report for people."""

JUDGED_THREAD_TIME_NS: Final = 1_000_000
"""Below a millisecond of thread-time, start-up costs drown everything: no problem is named."""

OFF_PROCESSOR_SHARE: Final = 0.02
"""Every machine interrupts its threads now and then: below this part, that is not worth a line."""

FINE_WORK_PER_COST: Final = 10.0
"""A task should do at least ten times the work that creating and dispatching it costs (10% overhead)."""

TARGET_WORK_PER_COST: Final = 20.0
"""The granularity that the advice asks for: overhead about 5%, with room for error."""

FINE_WORK_NS: Final = 100_000
"""A task of this length is not fine, whatever its dispatch costs: something else is wrong then."""

PLAUSIBLE_DISPATCH_NS: Final = 5_000
"""Handing out a ready task costs a runtime well under a microsecond: threads that waited longer than this
for each task were held up by something else (no free core, say), which says nothing about the tasks."""

FINE_MIN_TASKS: Final = 100
"""Fewer tasks of a construct cannot be blamed for a total; their means are noise."""

FINE_SHARE: Final = 0.05
"""Creation and dispatch of a construct below 5% of the thread-time are not worth a change."""

IDLE_SHARE: Final = 0.10
"""Idle time from which lack of parallelism is named."""

COARSE_TASKS_PER_THREAD: Final = 4.0
"""With fewer tasks than this per thread and region instance, the end of a region cannot be balanced."""

COARSE_BOUND: Final = 0.95
"""The longest task limits the speed-up when work / longest task is below this part of the threads."""

UNDEFERRED_SHARE: Final = 0.9
"""With this part of the tasks undeferred, idle threads could not have been given any."""

PRODUCER_CREATED: Final = 0.9
"""One thread that created this part of all tasks is a single producer ..."""

PRODUCER_BUSY: Final = 0.5
"""... and a bottleneck when it spent this part of its own time on creating and on its own code."""

PRODUCER_FINE: Final = 0.5
"""A producer that spends this part of that time on creating tasks that are too fine suffers from these."""

COUNTED_WORK_NS: Final = 500_000
"""Tasks that are shorter on average hold a visible part of the reading of counters: twice 50 us at worst."""

PREEMPTED_SHARE: Final = 0.05
"""Threads that waited for this part of their time for a processor which others used are disturbed: one wait
of a thread is multiplied by all that wait for it."""

THROTTLED_SHARE: Final = 0.05
"""The same of threads that the quota of a control group held back."""

CROWDED: Final = 1.05
"""This much more thread-time than the processors have is that of more threads than processors."""

CROWDED_SHARE: Final = 0.05
"""Part of the processors' time that threads burn in waits, while others of their own wait for a processor."""

BLOCKED_SHARE: Final = 0.10
"""Thread-time in user code that sleeps or waits outside of OpenMP from which it is named."""

ACTIVE_PART: Final = 0.9
"""Fewer active threads than this part of the processors leave a processor without work."""

SERIALISED_ACTIVE: Final = 1.25
"""With no more active threads than this, on average, one runs after the other."""

CHAINED_PART: Final = 0.8
"""With this part of the tasks waiting for predecessors when they are created, dependences rule the order."""

WAIT_LEAST: Final = 20
"""Fewer waits than this are no wait in a loop."""

TASKS_PER_WAIT: Final = 1.5
"""A wait for fewer tasks than this, on average, is a wait for each task."""

SERIAL_SHARE: Final = 0.05
"""Serial part of all work from which Amdahl's bound is shown (5%: never more than 20x)."""

SERIAL_COST: Final = 0.10
"""Part of what the threads could have done, lost to a serial part, from which that is a problem."""

SERIAL_FLOOR_NS: Final = 10_000_000
"""Starting a program and its runtime takes a few milliseconds, which no change to the program removes."""

IMBALANCE_RATIO: Final = 1.2
"""Largest work of a thread over the mean from which a region is called imbalanced."""

IMBALANCE_SHARE: Final = 0.05
"""Thread-time lost to the imbalance of a region from which it is named."""

UNDIVIDED_PART: Final = 0.95
"""With this part of the work of a region without tasks, one thread does all of it."""

LOCK_SHARE: Final = 0.05
"""Thread-time in locks and critical sections from which contention is named."""

SYNC_SHARE: Final = 0.10
"""Thread-time in barriers and waits, locks left out, from which their cost is named."""

SHORT_REGION_NS: Final = 50_000
"""Regions in which a thread works for less than this pay as much for fork and join as for their content."""

SHORT_STEP_NS: Final = 50_000
"""Threads that work for less than this between two barriers pay as much for the barriers."""

SCHEDULE_SHARE: Final = 0.10
"""Thread-time spent on getting ready tasks to threads from which it is named."""

OTHER_DOMAIN_SHARE: Final = 0.30
"""Part of the tasks run outside the memory domain of their creator from which locality is mentioned."""

BY_CLOCK_SHARE: Final = 0.10
"""Part of the recorded time without records of switches from which that is mentioned."""

BY_CLOCK_NAMED: Final = 0.01
"""Part of the time of threads without samples from which the report on samples says so."""

SCALES_EFFICIENCY: Final = 0.85
"""Speed-up from this part of the number of threads on is called good scaling."""

DISEASE_SHARE: Final = 0.10
"""A cause that takes this part of P * T_P is named as what keeps a program from scaling: without it, speed-up
would be at least a tenth higher."""

TASK_OVERHEAD_ON_ONE: Final = 0.10
"""One thread that spends this part of its time on what the elision leaves out has tasks that are too fine."""

FLAT_SLOPE: Final = 0.25
"""A curve that gains less than this part of what a thread first gained, per further thread, has flattened."""

BENT_SLOPE: Final = 0.75
"""The maximal curve should be a straight line: below this slope its overhead grows with the threads."""

RECORDING_COST: Final = 1.05
"""From this factor on, what recording costs is pointed out beside the figures of recorded runs."""

DISTURBED_SHARE: Final = 0.05
"""A run whose CPUs other programs used for more than this is disturbed, and left out while others remain."""

SPOILT_SHARE: Final = 0.20
"""From this part on a disturbed run says nothing of its program."""

READABLE_GROUPS: Final = 40
"""A task graph with more nodes than this cannot be taken in at a glance, and is folded further."""

NOISE_PER_EVENT_NS: Final = 50
"""What recording one event adds to the stretch of time that it ends (docs/cost.md: 17 to 42 ns), rounded up.
A change that is smaller for all events of a figure together may be recording's own."""

EVENTS_PER_TASK: Final = 4
"""Creation, its bracket, start and completion."""

LEAST_LOADS = 100
"""Sampled loads of a construct below which they are not judged: the error of a share is 5 points at 100."""

SLOWED_PART = 0.25
"""Part of the cycles of loads that goes into other cores' lines and other nodes from which it is named."""

LOADS_SHARE = 0.1
"""Part of the thread-time that these cycles take, if none of them overlap."""

LEAST_SAMPLES = 10
"""Samples of the serial part below which it is not said what ran there."""

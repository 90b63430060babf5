// SPDX-License-Identifier: Apache-2.0
// Derives programs with less order: without some waits, dependences, locks or barriers, or with the work of one thread
// divided among its team. A trace does not show the order that the data require, so most of these programs only bound a
// gain. Pure functions, as in transform.h.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Removes all taskwaits and ends of taskgroups at the construct `wait`, except the last in each task. The result is
// like a wait after a loop instead of in the loop.
TaskProgram merge_waits(const TaskProgram &program, uint16_t wait);

// Removes all dependences of tasks of construct `after` on tasks of construct `before`.
TaskProgram without_dependences(const TaskProgram &program, uint16_t before, uint16_t after);

// Allows `factor` times as many items in flight in a pipeline. Where the n-th task of construct `after` depends on task
// n - depth of another construct, it then depends on task n - depth * factor.
TaskProgram deepen(const TaskProgram &program, uint16_t after, uint32_t depth, uint32_t factor);

// Removes all acquisitions of the lock. Work under the lock takes as long as before, but may run at any time.
TaskProgram without_lock(const TaskProgram &program, uint32_t lock);

// Removes all barriers at the construct `barrier`, except the last of each region.
TaskProgram merge_barriers(const TaskProgram &program, uint16_t barrier);

// Merges successive regions of the construct with equal team sizes and only work in between. Removes all their barriers
// except the last.
TaskProgram merge_regions(const TaskProgram &program, uint16_t construct);

// Removes the recorded waits for locks without numbers and for earlier iterations at the construct `place`.
TaskProgram without_blocking(const TaskProgram &program, uint16_t place);

// Divides the work of the implicit tasks of the construct's regions equally between the threads, from each barrier to
// the next. Does not move work inside worksharing loops and under locks.
TaskProgram share_region(const TaskProgram &program, uint16_t construct);

// Divides the serial work between regions of the constructs `before` and `after` by n_threads. A `before` of 0 is the
// beginning of the program, an `after` of 0 its end.
TaskProgram share_serial(const TaskProgram &program, uint16_t before, uint16_t after, uint32_t n_threads);

// The waits for tasks at one construct.
struct WaitShape {
    uint64_t n_waits = 0;
    uint64_t most_in_task = 0; // waits of one task
};
std::map<uint16_t, WaitShape> waits_of(const TaskProgram &program);

// The dependences of tasks of one construct on tasks of another one.
struct DependenceShape {
    uint64_t n = 0;
    uint64_t depth = 0; // in 90% of the dependences, the n-th task depends on task n - depth; 0: no such number
};
// Returns them by the constructs (before, after).
std::map<std::pair<uint16_t, uint16_t>, DependenceShape> dependences_of(const TaskProgram &program);

// A lock, by its number.
struct LockShape {
    uint64_t n_acquired = 0;
    uint64_t held_ns = 0; // work of tasks while they hold it
    uint16_t place = 0; // construct at which it is acquired most often
};
std::vector<LockShape> locks_of(const TaskProgram &program);

// The barriers at one construct.
struct BarrierShape {
    uint64_t n = 0; // in all regions
    uint64_t most_in_region = 0;
};
std::map<uint16_t, BarrierShape> barriers_of(const TaskProgram &program);

// The parallel regions of one construct.
struct RegionShape {
    uint64_t n = 0;
    uint64_t work_ns = 0; // work that share_region() divides
    uint64_t longest_ns = 0; // sum, over the times between barriers, of the slowest thread's work
    uint64_t alone_ns = 0; // part of work_ns between barriers where one thread has at least 90% of the work
    uint16_t most_of = 0; // construct with most of work_ns: the region's own, or one of undeferred tasks
};
std::map<uint16_t, RegionShape> regions_of(const TaskProgram &program);

// Returns the work outside of regions, in ns, by the constructs of the regions before and after it.
std::map<std::pair<uint16_t, uint16_t>, uint64_t> serial_parts_of(const TaskProgram &program);

// Returns the recorded waits for locks without numbers and for earlier iterations, in ns, by construct.
std::map<uint16_t, uint64_t> blocking_of(const TaskProgram &program);

} // namespace ompass::simulation

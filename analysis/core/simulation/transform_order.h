// SPDX-License-Identifier: Apache-2.0
// Derives programs with less order: without some waits, dependences, locks or barriers, or with the work of one thread
// divided among its team. A trace does not show which order the data require, so most of these programs bound a gain.
// Pure functions, as in transform.h.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Removes all taskwaits and ends of taskgroups at `wait`, a construct, except the last in each task. The result is like
// a wait after the loop instead of in the loop.
TaskProgram merge_waits(const TaskProgram &program, uint16_t wait);

// Removes all dependences of tasks of construct `after` on tasks of construct `before`.
TaskProgram without_dependences(const TaskProgram &program, uint16_t before, uint16_t after);

// Lets `factor` times as many items be in flight in a pipeline: the n-th task of construct `after` depends on the tasks
// n - depth of other constructs.
TaskProgram deepen(const TaskProgram &program, uint16_t after, uint32_t depth, uint32_t factor);

// Removes all acquisitions of the lock. Work under the lock takes as long as before, but may run at any time.
TaskProgram without_lock(const TaskProgram &program, uint32_t lock);

// Removes all barriers at `barrier`, a construct, except the last of each region.
TaskProgram merge_barriers(const TaskProgram &program, uint16_t barrier);

// Merges successive regions of the construct with only work in between, and removes all their barriers except the last.
TaskProgram merge_regions(const TaskProgram &program, uint16_t construct);

// Removes the recorded waits for locks without numbers, and for earlier iterations, at `place`, a construct.
TaskProgram without_blocking(const TaskProgram &program, uint16_t place);

// Divides the work of the implicit tasks of the construct's regions equally between the threads, from each barrier to
// the next. Work inside worksharing loops and under locks stays where it is.
TaskProgram share_region(const TaskProgram &program, uint16_t construct);

// Divides the serial work between regions of the constructs `before` and `after` by n_threads. `before` 0 is the begin
// of the program, `after` 0 its end.
TaskProgram share_serial(const TaskProgram &program, uint16_t before, uint16_t after, uint32_t n_threads);

// Waits for tasks at one construct.
struct WaitShape {
    uint64_t n_waits = 0;
    uint64_t most_in_task = 0; // waits of one task
};
std::map<uint16_t, WaitShape> waits_of(const TaskProgram &program);

// Dependences of tasks of one construct on tasks of another one: (before, after).
struct DependenceShape {
    uint64_t n = 0;
    uint64_t depth = 0; // the n-th task depends on task n - depth, in nine of ten dependences; 0: no such number
};
std::map<std::pair<uint16_t, uint16_t>, DependenceShape> dependences_of(const TaskProgram &program);

// A lock, by its number.
struct LockShape {
    uint64_t n_acquired = 0;
    uint64_t held_ns = 0; // work of tasks that hold it
    uint16_t place = 0; // construct at which it is acquired most often
};
std::vector<LockShape> locks_of(const TaskProgram &program);

// Barriers at one construct.
struct BarrierShape {
    uint64_t n = 0; // in all regions
    uint64_t most_in_region = 0;
};
std::map<uint16_t, BarrierShape> barriers_of(const TaskProgram &program);

// The parallel regions of one construct.
struct RegionShape {
    uint64_t n = 0;
    uint64_t work_ns = 0; // work that share_region() divides
    uint64_t longest_ns = 0; // work of the slowest thread between barriers, in total
    uint64_t alone_ns = 0; // part of work_ns where one thread has nine tenths of it
    uint16_t most_of = 0; // construct with most of that work: the region, or undeferred tasks
};
std::map<uint16_t, RegionShape> regions_of(const TaskProgram &program);

// Work outside of regions, in ns, by the regions (before, after) between which it lies.
std::map<std::pair<uint16_t, uint16_t>, uint64_t> serial_parts_of(const TaskProgram &program);

// Recorded waits for locks without numbers and for earlier iterations, in ns, by their places.
std::map<uint16_t, uint64_t> blocking_of(const TaskProgram &program);

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Derives programs with fewer constraints on order: without some waits, dependences, locks or barriers, or with one
// thread's work divided among its team. A trace does not show the order that the data require, so the gain of most of
// these programs is only an upper bound. Pure functions, as in transform.h.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Removes all taskwaits and ends of taskgroups at the construct `wait`, except the last in each task. A wait in a loop
// thus becomes a wait after the loop.
TaskProgram merge_waits(const TaskProgram &program, uint16_t wait);

// Removes all dependences of tasks of construct `after` on tasks of construct `before`.
TaskProgram without_dependences(const TaskProgram &program, uint16_t before, uint16_t after);

// Allows `factor` times as many items in flight in a pipeline. If the n-th task of construct `after` depends on task
// n - depth of another construct, makes it depend on task n - depth * factor instead.
TaskProgram deepen(const TaskProgram &program, uint16_t after, uint32_t depth, uint32_t factor);

// Removes all acquisitions of the lock. Work under the lock takes as long as before, but may run at any time.
TaskProgram without_lock(const TaskProgram &program, uint32_t lock);

// The time that recording adds to the work of implicit tasks, in ns: to each task, and for each barrier and loop in it.
struct RegionRecording {
    uint32_t fork, barrier, loop;
};

// Returns the program without this time.
TaskProgram without_region_recording(const TaskProgram &program, RegionRecording added);

// Removes all barriers at the construct `barrier`, except the last of each region.
TaskProgram merge_barriers(const TaskProgram &program, uint16_t barrier);

// Merges successive regions of the construct with equal team sizes and only work in between. Removes all their barriers
// except the last.
TaskProgram merge_regions(const TaskProgram &program, uint16_t construct);

// Removes the recorded waits at the construct `place`: those for locks without numbers and for earlier iterations.
TaskProgram without_blocking(const TaskProgram &program, uint16_t place);

// Divides the work of implicit tasks equally between the threads of each region of the construct, from each barrier to
// the next. Leaves work inside worksharing loops or under locks with its thread.
TaskProgram share_region(const TaskProgram &program, uint16_t construct);

// Divides the serial work between a region of construct `before` and the next region, of construct `after`, by
// n_threads. A `before` of 0 is the beginning of the program, an `after` of 0 its end.
TaskProgram share_serial(const TaskProgram &program, uint16_t before, uint16_t after, uint32_t n_threads);

// The waits for tasks at one construct.
struct WaitShape {
    uint64_t n_waits = 0;
    uint64_t most_in_task = 0; // waits of one task
};
std::map<uint16_t, WaitShape> waits_of(const TaskProgram &program);

// The dependences of tasks of one construct on tasks of the same or another construct.
struct DependenceShape {
    uint64_t n = 0;
    uint64_t depth = 0; // in at least 90% of them, the n-th task depends on task n - depth; 0: no such number
};
// Returns all dependences, by the constructs (before, after).
std::map<std::pair<uint16_t, uint16_t>, DependenceShape> dependences_of(const TaskProgram &program);

// One lock. locks_of() returns locks by number.
struct LockShape {
    uint64_t n_acquired = 0;
    uint64_t held_ns = 0; // work of tasks while they hold it
    uint64_t passing_ns = 0; // time to pass it between threads, if each acquisition waits for another thread
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
    uint64_t longest_ns = 0; // sum of the slowest thread's work from each barrier to the next
    uint64_t alone_ns = 0; // part of work_ns between barriers where one thread does at least 90% of the work
    uint16_t most_of = 0; // construct with most of work_ns: the region's own, or one of undeferred tasks
};
std::map<uint16_t, RegionShape> regions_of(const TaskProgram &program);

// Returns the work outside of regions, in ns, by the constructs of the regions before and after it.
std::map<std::pair<uint16_t, uint16_t>, uint64_t> serial_parts_of(const TaskProgram &program);

// Returns the recorded waits for locks without numbers and for earlier iterations, in ns, by construct.
std::map<uint16_t, uint64_t> blocking_of(const TaskProgram &program);

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Runs a task program on a machine under a policy: discrete events, one per thread at a time, in order of time. The same
// input and seed give the same run, to the nanosecond.
//
//   work + create + schedule + sync + idle  =  threads x wall time, in integer nanoseconds
//   work  =  the program's work (each piece divided by the machine's clock ratio; without Changes, and without memory)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine.h"
#include "policies.h"
#include "task_program.h"

namespace ompass::simulation {

// What a user could change in the program.
struct Changes {
    std::vector<double> speed; // by number in TaskProgram::constructs: how many times faster; empty: none
    uint32_t max_depth = 0; // tasks deeper than this run inside their creator; 0: none
    uint64_t min_ns = 0; // so do tasks with less work than this, descendants included
    bool serial_below = false; // such tasks are no tasks at all: a plain call of a serial function
    bool untied = false; // all tasks are
    uint32_t untraced_task_ns = 0; // taken off each task's work: what recording added to it
    uint32_t untraced_creation_ns = 0; // and off its creator's
    // The same of tasks that were recorded in a team of one, unless such a team is simulated and its times are kept.
    // Below 0: recording them elsewhere would have added more.
    int32_t serialised_task_ns = 0;
    int32_t serialised_creation_ns = 0;
    uint32_t serialised_create_ns = 0; // what their creation takes elsewhere, unless it is given
    bool as_recorded = false; // a team of one takes them as they were recorded
};

struct Simulated {
    uint64_t wall_ns = 0, work_ns = 0, create_ns = 0, schedule_ns = 0, sync_ns = 0, idle_ns = 0;
    uint64_t serial_ns = 0; // outside of parallel regions
    uint64_t n_tasks = 0; // that were queued or ran inside their creator
    uint64_t n_inlined = 0; // of these, the latter
    uint64_t n_steals_attempted = 0, n_steals_successful = 0, n_steals_false_negative = 0;
    uint64_t n_remote = 0; // tasks that ran in another domain than they were placed in
    // How often each operation of the runtime happened, and what that took.
    struct OperationCount {
        uint64_t n = 0, ns = 0;
        void add(uint64_t cost) { n++, ns += cost; }
    };
    struct {
#define OMPASS_SIMULATED_COST(name, meaning) OperationCount name;
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    } operations;
    MemoryCounts memory; // without levels: it was not modelled
    std::string problem; // empty: the program ran to its end
};

class Recorder;

struct Team {
    uint32_t n_threads = 1;
    uint64_t seed = 1;
    // Called now and then with the number of tasks that have completed; returns whether to go on.
    std::function<bool(uint64_t)> progress;
    // Called at each completion of a task, in order of time: for tests.
    std::function<void(uint32_t task, uint32_t thread, uint64_t time)> completed;
    Recorder *recorder = nullptr; // hears of everything; only with policies that it can record
};

// Any thread of control may call it, several at once on one program. Memory: 64 bytes per task that is created and
// not complete, or has children that are not.
Simulated simulate(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
                   const Changes &changes = {});

// Work of each task with all its descendants, ns; what exceeds 2^32 - 1 is that.
std::vector<uint32_t> inclusive_work(const TaskProgram &program);

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Simulates a task program on a machine under a policy, as discrete events in order of time. Each thread has at most
// one pending event. The same input and seed give the same run, to the nanosecond.
//
//   work + create + schedule + sync + idle  =  threads x wall time, in integer nanoseconds
//   work  =  the program's work, each kWork divided by the machine's clock ratio (without Changes and a memory model)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine.h"
#include "policies.h"
#include "task_program.h"

namespace ompass::simulation {

// Changes that a user could make in the program, and corrections of recorded times.
struct Changes {
    std::vector<double> speed; // speed-up, by number in TaskProgram::constructs; empty: none
    uint32_t max_depth = 0; // tasks deeper than this run inside their creator; 0: no limit
    // Tasks with less work than this, all descendants included, run inside their creator, unless they depend on others.
    uint64_t min_ns = 0;
    bool serial_below = false; // tasks deeper than max_depth or shorter than min_ns become plain function calls
    bool untied = false; // all tasks become untied
    uint32_t untraced_task_ns = 0; // cost of recording, to subtract from each task's work
    uint32_t untraced_creation_ns = 0; // cost of recording, to subtract from the work of each task's creator
    uint32_t untraced_create_ns = 0; // cost of recording, to subtract from the creation of each task
    uint32_t least_create_ns = 0; // least time of a creation after the subtraction
    // The same costs for tasks recorded in a team of one. A negative cost is added to the work: recording costs more in
    // a larger team, and the simulated run may keep this cost.
    int32_t serialised_task_ns = 0;
    int32_t serialised_creation_ns = 0;
    // Cost of creating such a task in a larger team. Unused if the machine has a cost of creation.
    uint32_t serialised_create_ns = 0;
    bool as_recorded = false; // a simulated team of one keeps the recorded times of such tasks
};

struct Simulated {
    uint64_t wall_ns = 0, work_ns = 0, create_ns = 0, schedule_ns = 0, sync_ns = 0, idle_ns = 0;
    uint64_t serial_ns = 0; // outside parallel regions
    uint64_t n_tasks = 0; // tasks that were queued or ran inside their creator
    uint64_t n_inlined = 0; // tasks that ran inside their creator
    uint64_t n_steals_attempted = 0, n_steals_successful = 0, n_steals_false_negative = 0;
    uint64_t n_remote = 0; // tasks that ran outside the domain in which they were placed
    // Number and total time of each operation of the runtime.
    struct OperationCount {
        uint64_t n = 0, ns = 0;
        void add(uint64_t cost) { n++, ns += cost; }
    };
    struct {
#define OMPASS_SIMULATED_COST(name, meaning) OperationCount name;
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    } operations;
    MemoryCounts memory; // without levels: not modelled
    std::string problem; // empty: the program ran to its end
};

class AccessLog;
class Recorder;

struct Team {
    uint32_t n_threads = 1;
    uint64_t seed = 1;
    // Called at intervals with the number of completed tasks; returns false to stop the simulation.
    std::function<bool(uint64_t)> progress;
    // Called at each completion of a task, in order of time; for tests.
    std::function<void(uint32_t task, uint32_t thread, uint64_t time)> completed;
    Recorder *recorder = nullptr; // records the run; only with policies for which can_record() is true
    AccessLog *accesses = nullptr; // keeps the accesses of the run
};

// Simulates a run of the program. Callable from several threads at once, even for one program. Memory: 64 bytes per
// created task that is incomplete or has incomplete children.
Simulated simulate(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
                   const Changes &changes = {});

// Returns the work of each task with all its descendants in ns, at most 2^32 - 1.
std::vector<uint32_t> inclusive_work(const TaskProgram &program);

} // namespace ompass::simulation

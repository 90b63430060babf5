// SPDX-License-Identifier: Apache-2.0
// The simulated machine: the domain of each thread, the costs of the runtime's operations, and the memory system.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory.h"

namespace ompass::simulation {

inline uint64_t whole(double value) { return static_cast<uint64_t>(std::llround(value)); }

// A cost in ns for some numbers of threads, interpolated linearly between them.
struct Cost {
    std::vector<std::pair<uint32_t, double>> points; // threads and ns, sorted. Empty: `create` as recorded, others 0

    uint64_t at(uint32_t threads) const {
        if (points.empty()) return 0;
        const auto above = std::ranges::find_if(points, [&](const auto &point) { return point.first >= threads; });
        if (above == points.begin()) return whole(above->second);
        if (above == points.end()) return whole(points.back().second);
        const auto &[low, low_ns] = *(above - 1);
        const double share = static_cast<double>(threads - low) / static_cast<double>(above->first - low);
        return whole(low_ns + share * (above->second - low_ns));
    }
};

// X(name, meaning)
#define OMPASS_SIMULATED_COSTS(X)                                                                                      \
    X(create, "to allocate and prepare a task; not given: the recorded time of each creation")                         \
    X(depend, "added to the creation of a task with depend clauses that ran at once in a recorded team of one")        \
    X(replay, "to start a task again from the record of a graph (taskgraph), in place of its creation")                \
    X(contended, "added to a creation while another thread looks for tasks to steal; part of recorded creations")      \
    X(enqueue, "to put a task into a queue")                                                                           \
    X(dequeue, "to take a task from the thread's own queue")                                                           \
    X(complete, "to complete a task")                                                                                  \
    X(between, "between two tasks in one wait, where libomp yields the processor")                                     \
    X(steal, "to take a task from another thread's queue")                                                             \
    X(failed_steal, "to examine a queue without a task to take")                                                       \
    X(inlined, "to run a task at once inside its creator, undeferred")                                                 \
    X(wait, "to enter and leave a taskwait or taskgroup")                                                              \
    X(wake, "until a waiting thread notices that its wait is over")                                                    \
    X(lock, "time for which each operation locks a shared queue")                                                      \
    X(chunk, "to fetch a chunk of a loop with a dynamic schedule; part of the recorded work")                          \
    X(fork, "to start a parallel region")                                                                              \
    X(barrier, "to leave a barrier after the last thread has arrived")

struct Costs {
#define OMPASS_SIMULATED_COST(name, meaning) Cost name;
    OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
};

struct Machine {
    uint32_t n_domains = 1;
    std::vector<uint32_t> domain_of_thread; // empty: all in domain 0
    double clock_ratio = 1; // speed of a core relative to the recorded machine
    Costs costs;
    MemorySystem memory;
    const RecordedMemory *recorded = nullptr; // memory is modelled if this is set and `memory` has levels
};

} // namespace ompass::simulation

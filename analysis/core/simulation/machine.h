// SPDX-License-Identifier: Apache-2.0
// The machine that a simulation runs on: which threads share a domain, and what each operation of a runtime costs there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory.h"

namespace ompass::simulation {

inline uint64_t whole(double value) { return static_cast<uint64_t>(std::llround(value)); }

// A cost in ns that may grow with the number of threads: known at some numbers, on a line between them.
struct Cost {
    std::vector<std::pair<uint32_t, double>> points; // threads, ns; by threads. Empty: as recorded, or else nothing

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
    X(create, "to allocate a task and prepare it; not given: what each creation took in the recorded run")             \
    X(enqueue, "to put a task into a queue")                                                                           \
    X(dequeue, "to take a task out of one's own queue")                                                                \
    X(complete, "to complete a task")                                                                                  \
    X(between, "between two tasks of one wait, where libomp yields the processor")                                     \
    X(steal, "to take a task out of another thread's queue")                                                           \
    X(failed_steal, "to look into a queue that holds nothing to take")                                                 \
    X(inlined, "to run a task at once inside its creator, undeferred")                                                 \
    X(wait, "to enter and leave a taskwait or taskgroup")                                                              \
    X(wake, "until a thread that waits notices what it waited for")                                                    \
    X(lock, "for which a shared queue is closed to others by each operation on it")                                    \
    X(chunk, "to come by a chunk of a loop with a dynamic schedule: part of the work that was recorded")               \
    X(fork, "to start a parallel region")                                                                              \
    X(barrier, "to leave a barrier after the last thread has come")

struct Costs {
#define OMPASS_SIMULATED_COST(name, meaning) Cost name;
    OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
};

struct Machine {
    uint32_t n_domains = 1;
    std::vector<uint32_t> domain_of_thread; // of as many threads as are simulated; empty: all in domain 0
    double clock_ratio = 1; // speed of a core, that of the recorded machine being 1
    Costs costs;
    MemorySystem memory;
    const RecordedMemory *recorded = nullptr; // of the program; memory is modelled when both are there
};

} // namespace ompass::simulation

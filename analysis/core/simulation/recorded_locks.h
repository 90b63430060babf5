// SPDX-License-Identifier: Apache-2.0
// The locks of a trace: their numbers in the task program, their places, and their handoffs (from a release to the
// acquisition by a thread that waited).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/run_files.h"
#include "task_program.h"

namespace ompass::simulation {

class RecordedLocks {
public:
    explicit RecordedLocks(const RunClock &clock) : clock_(clock) {}

    // Notes that `thread` asked for a lock and got it (times in ticks). preempted_ns: its preempted time in between.
    // Returns the lock's number in the program; `lock` is its number in the trace.
    uint32_t acquired(uint32_t lock, uint16_t construct, uint32_t thread, uint64_t asked, uint64_t got,
                      uint64_t preempted_ns);
    // Notes a release. Returns the lock's number in the program; nothing if no thread acquired it before.
    std::optional<uint32_t> released(uint32_t lock, uint32_t thread, uint64_t now);
    // Stores the number of locks, their places and the mean times of their handoffs in the program.
    void describe(TaskProgram &program) const;

private:
    struct Lock {
        uint32_t number = 0; // in the program
        uint32_t released_by = 0; // thread
        uint64_t released = 0; // time of the latest release, in ticks
        std::vector<uint64_t> handoffs_ns; // without preempted time
        std::map<uint16_t, uint64_t> acquired_at; // acquisitions by construct
    };

    const RunClock &clock_;
    std::unordered_map<uint32_t, Lock> locks_; // by number in the trace
};

// Removes each acquisition without a release in the same task, and each release without an acquisition. Two locks
// may share a number. If a task nests two such locks, removes the inner one, which would wait for the outer one.
void pair_locks(std::vector<Operation> &operations);

} // namespace ompass::simulation

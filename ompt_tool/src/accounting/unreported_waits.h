// SPDX-License-Identifier: Apache-2.0
// Waits in runtime calls that OMPT does not report, such as doacross and taskyield. Wrappers measure these calls. A
// call in which the thread waited counts as a wait for a lock.
#pragma once

#include "accounting/state_intervals.h"

namespace ompass {

// One wrapped call that OMPT does not report. The time of a short call remains work. A call is not counted if other
// events in it closed state intervals (the thread ran tasks), because these events have counted its time.
class UnreportedCall {
public:
    // Starts the measurement, before the call. `recording`: the calling thread; null: measures nothing. `kind`: a mutex
    // kind of format.h. `address`: the program's return address.
    UnreportedCall(ThreadState *recording, uint32_t kind, const void *address);
    ~UnreportedCall();
    UnreportedCall(const UnreportedCall &) = delete;
    UnreportedCall &operator=(const UnreportedCall &) = delete;

    // Counts the call, after it. A program may repeat taskyield until a condition holds. Consecutive taskyields at one
    // place count as one wait, unless another event or more than kExitNanoseconds separates two of them.
    void count();

private:
    bool is_uninterrupted() const;
    void count_poll(uint64_t now);

    ThreadState *thread_; // null: not measured
    const uint32_t kind_;
    const void *const address_;
    const TaskState *outer_ = nullptr;
    uint64_t begin_ = 0;
    bool was_dirty_ = false; // untimed tasks ran before the call in the same interval of work
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Waits inside calls of the runtime that OMPT does not report, such as doacross and taskyield. Their wrappers measure
// the calls; a call in which the thread waited counts like a wait for a lock.
#pragma once

#include "accounting/state_intervals.h"

namespace ompass {

// One such call. The time of a call remains work if it was short. A call in which other events closed state intervals
// (tasks that the thread ran) is not counted, because these events have counted its time.
class UnreportedCall {
public:
    // Called before the call. `recording`: the calling thread; null if nothing is measured. `kind`: a mutex kind of
    // format.h. `address`: the program's return address.
    UnreportedCall(ThreadState *recording, uint32_t kind, const void *address);
    ~UnreportedCall();
    UnreportedCall(const UnreportedCall &) = delete;
    UnreportedCall &operator=(const UnreportedCall &) = delete;

    // Called after the call. A program repeats taskyields until a condition holds; consecutive ones at one place are one
    // wait, unless more than kExitNanoseconds or another event separates two of them.
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

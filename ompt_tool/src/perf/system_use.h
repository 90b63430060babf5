// SPDX-License-Identifier: Apache-2.0
// The page faults of a thread and its time in the operating system's kernel, from getrusage(2). A reading takes some
// 0.3 us. So a thread reads them only at the start and end of regions, and at most every kStepNanoseconds. It also
// reads them at pauses and at its own end.
#pragma once

#include <cstdint>

#include "format/format.h"

namespace ompass {

class SystemUseReader {
public:
    // Starts at the recorded time `now`. Only the thread that called begin() may call the other functions.
    void begin(uint64_t now);
    bool is_used() const { return step_ != 0; }
    // True if the last reading is old enough for another one.
    bool is_due(uint64_t now) const { return now >= due_; }
    uint64_t last_time() const { return due_ - step_; }
    // Returns the use since the last reading.
    format::SystemUse take(uint64_t now);

private:
    uint64_t due_ = ~uint64_t{0}, step_ = 0;
    format::SystemUse last_ = {};
};

} // namespace ompass

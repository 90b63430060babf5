// SPDX-License-Identifier: Apache-2.0
// Writes the run directory of a simulated run: logs of computed events, with one tick per nanosecond and the
// definitions of a recorded run. The tool has other writers, whose files survive a kill.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "run_profile.h"

namespace ompass {

// The events of one thread, in order of time.
class MadeLog {
public:
    static constexpr uint64_t kBegin = 1; // 0 means that there is no time

    MadeLog() : words_{format::kTime, kBegin} {}
    // Adds an event. If it is earlier than the last event, it gets the time of that event.
    void add(format::EventKind kind, uint32_t argument, uint64_t now_ns, std::initializer_list<uint64_t> words = {}) {
        uint64_t delta = 0;
        if (format::kEventTraits[kind].timed && kBegin + now_ns > now_) {
            delta = kBegin + now_ns - now_;
            now_ += delta;
            if (delta >> 32) {
                words_.insert(words_.end(), {format::kTime, now_});
                delta = 0;
            }
        }
        words_.push_back(format::pack_event(kind, argument, delta));
        words_.insert(words_.end(), words);
    }
    // Adds an event without a time, such as a creation. The events around it determine its time.
    void add_untimed(format::EventKind kind, uint32_t argument) {
        words_.push_back(format::pack_event(kind, argument, 0));
    }
    uint64_t new_id(uint32_t thread) { return uint64_t{thread} << format::kThreadShift | ++counter_; }
    uint64_t now() const { return now_; }
    const std::vector<uint64_t> &words() const { return words_; }

private:
    std::vector<uint64_t> words_;
    uint64_t now_ = kBegin, counter_ = 0;
};

// Writes process.log and the threads' logs into an existing directory, with the definitions of `like`.
Problem write_run(const std::string &directory, const RunFiles &like, const std::vector<MadeLog> &logs,
                  uint64_t wall_ns);

// Adds statistics, computed from the events, to the logs that write_run() wrote.
Problem write_accounts(const std::string &directory, const RunFiles &run, const std::vector<ThreadAccount> &accounts);

} // namespace ompass

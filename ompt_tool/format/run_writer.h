// SPDX-License-Identifier: Apache-2.0
// Writes a run directory that nobody recorded: the logs of threads whose events the analysis made up, one tick a nanosecond,
// with the definitions of a recorded run. The tool has writers of its own, which survive a killed program.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "run_profile.h"

namespace ompass {

// The events of one thread, in order of time.
class MadeLog {
public:
    static constexpr uint64_t kBegin = 1; // 0 is no time

    MadeLog() : words_{format::kTime, kBegin} {}
    // Untimed events take no time; an event before the last one happens with it.
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
    // Of a creation that the next event dates.
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

// Writes process.log and the threads' logs into a directory that exists, with definitions as those of `like`.
Problem write_run(const std::string &directory, const RunFiles &like, const std::vector<MadeLog> &logs,
                  uint64_t wall_ns);

// Adds to the logs of such a run, which is open, the account that its events give.
Problem write_accounts(const std::string &directory, const RunFiles &run, const std::vector<ThreadAccount> &accounts);

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Whom a thread robs: one method for each Steals of policies.h. A new way to choose is a value there and a case here.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "policies.h"
#include "ready_tasks.h"

namespace ompass::simulation {

struct Victim {
    uint32_t queue = kNoQueue; // that holds a task which the thread may run; kNoQueue: there is none
    uint64_t n_failed = 0; // attempts at other queues before
};

class Victims {
public:
    Victims(const Policy &policy, const ReadyTasks &ready, uint32_t n_domains, Random &random);
    Victim choose(const Thread &thread);
    // How often each of `n_looking` threads, which all try at random, fails until the first of them finds a task.
    uint64_t n_failed_of(uint32_t n_looking) { return failures(n_looking * log_miss_[ready_.holding(0).size()]); }

private:
    Victim choose_in(const Thread &thread, const NumberSet &queues);
    Victim at_random(const Thread &thread, const NumberSet &queues);
    Victim nearest(const Thread &thread, const NumberSet &queues);
    Victim fullest_of_group(const Thread &thread, const NumberSet &queues);
    template <typename Counts>
    uint32_t fullest(const Thread &thread, const NumberSet &queues, Counts counts) const;
    bool suits(const Thread &thread, uint32_t queue) const {
        return thread.current == kNone || ready_.find_allowed(thread, queue, false) != kNoQueue;
    }
    // Before the first attempt that succeeds, given the logarithm of the chance that one fails.
    uint64_t failures(double log_miss) {
        return log_miss < 0 ? static_cast<uint64_t>(std::log1p(-random_.share()) / log_miss) : 0;
    }

    const Policy &policy_;
    const ReadyTasks &ready_;
    const uint32_t n_domains_;
    Random &random_;
    std::vector<double> log_miss_; // by number of queues that hold tasks: chance to look into another one; 0: none
};

} // namespace ompass::simulation

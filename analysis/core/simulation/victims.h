// SPDX-License-Identifier: Apache-2.0
// Chooses the victim of a steal by the policy's rule (omp_ext/src/scheduler/steal_policies.h).
#pragma once

#include <cstdint>
#include <vector>

#include "policies.h"
#include "ready_tasks.h"

namespace ompass::simulation {

struct Victim {
    uint32_t queue = kNoQueue; // a queue with a task that the thread may run; kNoQueue: none
    uint64_t n_failed = 0; // failed attempts at other queues before this one
};

class Victims {
public:
    Victims(const Policy &policy, const ReadyTasks &ready, uint32_t n_domains, Random &random);
    Victim choose(const Thread &thread);
    // Chooses at random a queue that still has a task at `arrival`: fewer thieves are on their way to it than it has
    // tasks, or the last of them arrives later.
    Victim choose_unclaimed(const Thread &thread, uint64_t arrival);
    // Draws the number of times that each of n_looking threads fails until one of them finds a task. The threads choose
    // queues at random.
    uint64_t n_failed_of(uint32_t n_looking) { return failures(per_log_miss_[ready_.holding(0).size()] / n_looking); }

private:
    struct Search;

    // Calls choose_among(queues) for the queues of each domain from which the thread may steal, its own domain first,
    // until a victim is found.
    template <typename ChooseAmong>
    Victim choose_by(const Thread &thread, ChooseAmong choose_among);
    Victim choose_in(const Thread &thread, const NumberSet &queues);
    uint64_t n_failed_of(const NumberSet &queues) { return failures(per_log_miss_[queues.size()]); }
    // Draws the number of failures before the first success. per_log_miss: -1 / logarithm of the chance to fail.
    uint64_t failures(double per_log_miss) {
        return per_log_miss > 0 ? static_cast<uint64_t>(random_.exponential() * per_log_miss) : 0;
    }

    const Policy &policy_;
    const ReadyTasks &ready_;
    const uint32_t n_domains_;
    Random &random_;
    // By number of queues with tasks: -1 / logarithm of the chance to choose a queue without tasks; 0 for none or all.
    std::vector<double> per_log_miss_;
};

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Describes schedulers by their queues, their behaviour at waits, their choice of victims, and the order of creator and
// child.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/steal_policies.h"

namespace ompass::simulation {

enum class Queues : uint8_t {
    kPerThread, // the owner takes the newest task, others the oldest
    kPerDomain, // all threads of a domain take the newest task
    kPlaced, // kPerThread, and an inbox per domain for tasks that are placed in it
};

// The behaviour of a thread when its task waits.
enum class Waiting : uint8_t {
    kNests, // keeps the task on its stack and runs others on top: descendants (libomp, tied tasks), or any (TBB)
    kAside, // leaves the task, runs any other, and continues it when the wait is over (policy "strict")
    kAnywhere, // leaves the task; the thread that ends the wait queues it again (Cilk, MassiveThreads, Qthreads)
};

using omp_ext::StealPolicy;

struct Policy {
    std::string name;
    std::string meaning;
    Queues queues = Queues::kPerThread;
    Waiting waiting = Waiting::kAnywhere;
    StealPolicy steals = StealPolicy::kRandom;
    bool child_first = false; // work-first: the rest of the creator is queued
    bool strict = false; // placed tasks run only in their domain
    bool free_choice = false; // choosing a victim takes no time
    bool free_steals = false; // stealing takes no time
    uint32_t queue_limit = 0; // a thread with this many queued tasks runs new ones at once; 0: no limit
    bool inline_when_alone = false; // a team of one thread runs all tasks at once
    bool priorities = false; // tasks with a priority have their own queue and are taken first
    bool nests_any = false; // with kNests: a waiting thread runs any task, not only descendants
};

inline constexpr uint32_t kMaxThreads = 4096;

const std::vector<Policy> &policies();
// Returns null if no policy has the name.
const Policy *find_policy(const std::string &name);

} // namespace ompass::simulation

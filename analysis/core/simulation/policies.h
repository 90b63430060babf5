// SPDX-License-Identifier: Apache-2.0
// What schedulers differ in: which of creator and child runs first, where tasks queue, what becomes of a task that waits,
// and from whom a thread steals. The names of steal policies are those of omp_ext/src/scheduler/steal.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ompass::simulation {

enum class Queues : uint8_t {
    kPerThread, // its owner takes the newest task, others the oldest
    kPerDomain, // all threads of a domain take the newest
    kPlaced, // per thread, and a mailbox of each domain for tasks that were placed in it
};

// What the thread does with a task that waits.
enum class Waiting : uint8_t {
    kNests, // keeps it on the stack, and runs descendants of it on top (libomp, tied tasks)
    kAside, // leaves it for any other task, and goes on with it once it may (omp_ext)
    kAnywhere, // leaves it; the thread that ends what it waits for goes on with it (Cilk, MassiveThreads, Qthreads)
};

enum class Steals : uint8_t {
    kRandom, // any other thread, whether or not it has tasks
    kOccupancy, // the fullest queue
    kGroup, // the fullest of the thread's group of 5, then of a group at random
    kNearest, // the last victim, then the neighbours by their numbers
};

struct Policy {
    std::string name;
    std::string meaning;
    Queues queues = Queues::kPerThread;
    Waiting waiting = Waiting::kAnywhere;
    Steals steals = Steals::kRandom;
    bool child_first = false; // work-first: the creator's rest is queued
    bool strict = false; // placed tasks run in their domain only
    bool free_choice = false; // choosing a victim takes no time
    bool free_steals = false; // nor does stealing
    uint32_t queue_limit = 0; // a thread with so many queued tasks runs new ones at once; 0: none
    bool inline_when_alone = false; // a team of one thread runs all tasks at once
    bool priorities = false; // tasks with a priority queue apart, and are taken first
};

inline constexpr uint32_t kMaxThreads = 4096;
inline constexpr uint32_t kGroupSize = 5;

const std::vector<Policy> &policies();
// Null when there is none of that name.
const Policy *find_policy(const std::string &name);

} // namespace ompass::simulation

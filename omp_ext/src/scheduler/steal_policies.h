// SPDX-License-Identifier: Apache-2.0
// The steal policies of libomp_ext.so (OMP_EXT_STEAL) and of the simulator (--policy): their names, meanings and rules.
// Contreras and Martonosi (IISWC 2008) compare all but kNearest, which is for threads bound in order of their numbers.
#pragma once

namespace omp_ext {

inline constexpr int kStealGroup = 5; // threads in a group; the largest group of the paper

// X(constant, name, meaning)
#define OMP_EXT_STEAL_POLICIES(X)                                                                                      \
    X(kNearest, "nearest", "the last victim, then the nearest thread by number")                                       \
    X(kRandom, "random", "TBB 2.0: any other thread at random")                                                        \
    X(kOccupancy, "occupancy", "the fullest queue")                                                                    \
    X(kGroup, "group", "the fullest queue of the thread's group of 5, then of a random group")

enum class StealPolicy : unsigned char {
#define OMP_EXT_CONSTANT(constant, name, meaning) constant,
    OMP_EXT_STEAL_POLICIES(OMP_EXT_CONSTANT)
#undef OMP_EXT_CONSTANT
};

// Searches by the rule of `policy`. Each function of `search` looks at queues from which the thief may steal, and
// returns a task or its queue, or a value that converts to false:
//   last_victim()                the queue from which the thief stole last
//   nearest()                    the first queue that holds tasks, from the thief's number on
//   random()                     any queue that holds tasks, from a random number on
//   fullest()                    the queue with the most tasks
//   fullest_of(group)            the same among kStealGroup threads: search.own_group() or search.random_group()
template <typename Search>
auto search_by(StealPolicy policy, Search &search) -> decltype(search.nearest()) {
    switch (policy) {
    case StealPolicy::kNearest:
        // The last victim often has more tasks.
        if (const auto found = search.last_victim()) return found;
        return search.nearest();
    case StealPolicy::kRandom: return search.random();
    case StealPolicy::kOccupancy: return search.fullest();
    case StealPolicy::kGroup:
        if (const auto found = search.fullest_of(search.own_group())) return found;
        return search.fullest_of(search.random_group());
    }
    return {};
}

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
// Searches for tasks: in the thread's deque, the inboxes of its domain, the deques of other threads. Owns their order;
// task_waits.cpp decides when to search. Each function is called by the thread of `Search::worker`, which runs the
// returned task or puts it back.
#pragma once

#include <cstdint>

#include "scheduler/idle.h"
#include "scheduler/team.h"

namespace omp_ext {

// How a thread searches. A constrained search accepts descendants of `within` only.
struct Search {
    Worker &worker;
    Task *within;
    bool is_constrained;
    const Idle *idle = nullptr; // idle state of the wait; null: may steal the last task of a deque at once

    bool fits(const QueueEntry *entry) const {
        return !is_constrained || is_descendant(static_cast<const Task *>(entry), within);
    }
};

// The task that a thief looks for: the oldest task of another worker in `domain`. That worker must have more than
// n_left tasks, and the tag (depth) of the task must be at least min_tag.
struct StealTarget {
    int domain;
    uint16_t min_tag;
    int64_t n_left;
};

// Steals a task by the policy of OMP_EXT_STEAL (steal.cpp). Null: it found none.
Task *steal(Worker &thief, const StealTarget &target);

// Finds a task in the deque, the domain's queues and, unless in strict mode, other domains. Null: there is none.
Task *find(const Search &search);

// Finds a task for a thread that waits in `within` and may suspend `within`. Prefers deep tasks, which can run on top
// of `within`.
Task *find_for_suspendable(const Search &search);

// Time without a task after which a constrained wait takes queue entries even against strict mode. It takes an entry
// only if all threads of the entry's domain are blocked in constrained waits.
inline constexpr int64_t kRescueAfterNs = 200'000;
// Time after which such a wait takes entries of any domain. A wait that can suspend its task first checks that the
// team's other threads neither use nor want a processor: then something outside of OpenMP blocks them.
inline constexpr int64_t kRescueAnywayAfterNs = 1'000'000'000;
// Time after which such a wait skips that check, because other threads may spin until the waiting task does something.
inline constexpr int64_t kRescueFromWorkAfterNs = 60'000'000'000;

// Observes, for a waiting thread, whether the other threads of the team make progress.
class Watch {
public:
    explicit Watch(const Worker &worker) : worker_(worker) {}
    // True if these threads used almost no processor time for a second, and want none. False within the first second.
    bool sees_standstill(int64_t at_ns);

private:
    const Worker &worker_;
    int64_t asked_ns_ = 0, processor_ns_ = 0;
};

// Finds a task for a thread that has found none since `since_ns`, even against strict mode, because the program could
// otherwise hang. Tries children first: deeper descendants need a search, and only taskgroups wait for them. `anyway`:
// searches even if the threads of the task's domain are not blocked.
Task *rescue(const Search &search, int64_t since_ns, int64_t &next_search_ns, bool anyway);

// Puts a task back into a queue in which others find it.
void put_back(Worker &worker, Task &task);

} // namespace omp_ext

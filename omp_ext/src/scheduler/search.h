// SPDX-License-Identifier: Apache-2.0
// Finding a task for a thread that looks for one: in its deque, its domain's inboxes, the deques of others. Owns the
// order in which they are asked; when a thread looks is task_waits.cpp's. All functions are called by the thread of
// `Search::worker`; the task that they return is its to run, or to put back.
#pragma once

#include <cstdint>

#include "scheduler/idle.h"
#include "scheduler/team.h"

namespace omp_ext {

// How a thread looks for tasks. In a constrained search only descendants of `within` fit.
struct Search {
    Worker &worker;
    Task *within;
    bool is_constrained;
    const Idle *idle = nullptr; // of the wait, when it waits until something is found

    bool fits(const QueueEntry *entry) const {
        return !is_constrained || is_descendant(static_cast<const Task *>(entry), within);
    }
};

Task *find(const Search &search);

// A task for a thread that waits in `within` and may step aside: if possible one that can run on its stack.
Task *find_for_suspendable(const Search &within);

// A constrained wait that found nothing for so long takes entries that strict mode denies it, if the domain's threads wait
// likewise.
inline constexpr int64_t kRescueAfterNs = 200'000;
// Any wait takes them, whatever the domain's threads do, after the first of these times if the other threads of the team use
// no processor and want none: then they are blocked by something that is not of OpenMP. After the second in any case: they may spin on
// something that the waiting task has to do. (In constrained waits after the first.)
inline constexpr int64_t kRescueAnywayAfterNs = 1'000'000'000;
inline constexpr int64_t kRescueFromWorkAfterNs = 60'000'000'000;

// Whether the other threads of the team get anything done, asked again and again by one that waits.
class Watch {
public:
    explicit Watch(const Worker &worker) : worker_(worker) {}
    // Did they use next to no processor for a second, and do they want none? False within the first.
    bool sees_standstill(int64_t at_ns);

private:
    const Worker &worker_;
    int64_t asked_ns_ = 0, processor_ns_ = 0;
};

// For a thread that found nothing since `since_ns`: a task that strict mode denies it and without which it, or the
// program, waits for ever. Children first; deeper descendants matter to taskgroups only, and need a search.
// `anyway`: whatever the domains' threads do.
Task *rescue(const Search &search, int64_t since_ns, int64_t &next_search_ns, bool anyway);

// Back to where others find it.
void put_back(Worker &worker, Task &task);
// The same for a thread that may not come to it itself: within reach of its parent too.
void send_back(Worker &worker, Task &task);

} // namespace omp_ext

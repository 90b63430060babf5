// SPDX-License-Identifier: Apache-2.0
// The steal policies.
#include "scheduler/steal.h"

#include "tools/observer.h"

namespace omp_ext {

namespace {

constexpr int kGroupSize = 5; // the largest group of the paper

uint32_t next_random(Worker &worker) {
    uint32_t x = worker.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return worker.random = x;
}

int random_below(Worker &worker, int n) { return static_cast<int>(next_random(worker) % static_cast<uint32_t>(n)); }

Task *try_victim(Worker &thief, Worker &victim, uint16_t min_tag) {
    thief.statistics.n_steal_attempts.add();
    Task *task = nullptr;
    notify(&omp_ext_observer::steal_begins);
    const StealResult result = victim.deque.steal(&task, min_tag);
    notify(&omp_ext_observer::steal_ends, result == StealResult::kTaken);
    switch (result) {
    case StealResult::kTaken: thief.last_victim = victim.number; return task;
    case StealResult::kLost: thief.statistics.n_lost_races.add(); break;
    case StealResult::kEmpty:
    case StealResult::kRefused: break;
    }
    return nullptr;
}

bool is_victim(const Worker &thief, const Worker &worker, const StealTarget &target) {
    return &worker != &thief && worker.domain == target.domain && worker.deque.size_hint() > target.n_left;
}

// Tries all workers in order of their numbers, from `first` on.
Task *steal_in_order(Worker &thief, const StealTarget &target, int first) {
    Team &team = *thief.team;
    for (int i = 0, number = first; i < team.n_workers; i++, number = number + 1 < team.n_workers ? number + 1 : 0)
        if (is_victim(thief, team.workers[number], target))
            if (Task *task = try_victim(thief, team.workers[number], target.min_tag)) return task;
    return nullptr;
}

// Returns the victim with most tasks among the numbers [first, last); null if none has any.
Worker *fullest(Worker &thief, const StealTarget &target, int first, int last) {
    Team &team = *thief.team;
    Worker *best = nullptr;
    int64_t most = 0;
    for (int number = first; number < last && number < team.n_workers; number++) {
        Worker &worker = team.workers[number];
        if (!is_victim(thief, worker, target) || worker.deque.size_hint() <= most) continue;
        best = &worker;
        most = worker.deque.size_hint();
    }
    return best;
}

Task *steal_in_groups(Worker &thief, const StealTarget &target) {
    const int n_groups = (thief.team->n_workers + kGroupSize - 1) / kGroupSize;
    int group = thief.number / kGroupSize;
    for (int scan = 0; scan < 2; scan++) {
        if (Worker *victim = fullest(thief, target, group * kGroupSize, (group + 1) * kGroupSize))
            if (Task *task = try_victim(thief, *victim, target.min_tag)) return task;
        group = random_below(thief, n_groups);
    }
    return nullptr;
}

} // namespace

Task *steal(Worker &thief, const StealTarget &target) {
    Team &team = *thief.team;
    switch (options.steal) {
    case StealPolicy::kNearest:
        // The last victim often has more tasks.
        if (thief.last_victim >= 0 && is_victim(thief, team.workers[thief.last_victim], target))
            if (Task *task = try_victim(thief, team.workers[thief.last_victim], target.min_tag)) return task;
        return steal_in_order(thief, target, thief.number);
    case StealPolicy::kRandom: {
        // Tries one victim at random, as in the paper, then all others, so that no task is overlooked before a sleep.
        return steal_in_order(thief, target, random_below(thief, team.n_workers));
    }
    case StealPolicy::kOccupancy:
        if (Worker *victim = fullest(thief, target, 0, team.n_workers))
            return try_victim(thief, *victim, target.min_tag);
        return nullptr;
    case StealPolicy::kGroup: return steal_in_groups(thief, target);
    }
    return nullptr;
}

} // namespace omp_ext

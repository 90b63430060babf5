// SPDX-License-Identifier: Apache-2.0
// Looks into the deques of other workers and takes tasks. steal_policies.h decides the order.
#include "scheduler/search.h"

#include "scheduler/steal_policies.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

uint32_t next_random(Worker &worker) {
    uint32_t x = worker.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return worker.random = x;
}

int random_below(Worker &worker, int n) { return static_cast<int>(next_random(worker) % static_cast<uint32_t>(n)); }

struct VictimSearch {
    Worker &thief;
    const StealTarget &target;
    Team &team = *thief.team;

    Task *last_victim() {
        const int number = thief.last_victim;
        return number >= 0 && is_victim(team.workers[number]) ? try_victim(team.workers[number]) : nullptr;
    }
    Task *nearest() { return first_from(thief.number); }
    // Starts at a random worker and tries all, so that the thief overlooks no task before it sleeps.
    Task *random() { return first_from(random_below(thief, team.n_workers)); }
    Task *fullest() { return fullest_between(0, team.n_workers); }
    Task *fullest_of(int group) { return fullest_between(group * kStealGroup, (group + 1) * kStealGroup); }
    int own_group() const { return thief.number / kStealGroup; }
    int random_group() { return random_below(thief, (team.n_workers + kStealGroup - 1) / kStealGroup); }

private:
    bool is_victim(const Worker &worker) const {
        return &worker != &thief && worker.domain == target.domain && worker.deque.size_hint() > target.n_left;
    }

    Task *try_victim(Worker &victim) {
        thief.statistics.n_steal_attempts.add();
        Task *task = nullptr;
        notify(&omp_ext_observer::steal_begins);
        const StealResult result = victim.deque.steal(&task, target.min_tag);
        notify(&omp_ext_observer::steal_ends, result == StealResult::kTaken);
        switch (result) {
        case StealResult::kTaken: thief.last_victim = victim.number; return task;
        case StealResult::kLost: thief.statistics.n_lost_races.add(); break;
        case StealResult::kEmpty:
        case StealResult::kRefused: break;
        }
        return nullptr;
    }

    // Tries all workers in order of their numbers, from `first` on.
    Task *first_from(int first) {
        for (int i = 0, number = first; i < team.n_workers; i++, number = number + 1 < team.n_workers ? number + 1 : 0)
            if (is_victim(team.workers[number]))
                if (Task *task = try_victim(team.workers[number])) return task;
        return nullptr;
    }

    // Tries the worker with the most tasks among numbers [first, last).
    Task *fullest_between(int first, int last) {
        Worker *best = nullptr;
        int64_t most = 0;
        for (int number = first; number < last && number < team.n_workers; number++) {
            Worker &worker = team.workers[number];
            if (!is_victim(worker) || worker.deque.size_hint() <= most) continue;
            best = &worker;
            most = worker.deque.size_hint();
        }
        return best ? try_victim(*best) : nullptr;
    }
};

} // namespace

Task *steal(Worker &thief, const StealTarget &target) {
    VictimSearch search{thief, target};
    return search_by(options.steal, search);
}

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
#include "victims.h"

#include <cmath>
#include <optional>

namespace ompass::simulation {

Victims::Victims(const Policy &policy, const ReadyTasks &ready, uint32_t n_domains, Random &random)
    : policy_(policy), ready_(ready), n_domains_(n_domains), random_(random) {
    const auto others = static_cast<double>(ready.size()) - 1;
    for (uint32_t n = 0; n <= ready.size(); n++)
        per_log_miss_.push_back(n && n < others ? -1 / std::log1p(-static_cast<double>(n) / others) : 0.0);
}

template <typename ChooseAmong>
Victim Victims::choose_by(const Thread &thread, ChooseAmong choose_among) {
    if (policy_.queues != Queues::kPlaced) return choose_among(ready_.holding(0));
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains_); i++) {
        const Victim victim = choose_among(ready_.holding((thread.domain + i) % n_domains_));
        if (victim.queue != kNoQueue) return victim;
    }
    return {};
}

Victim Victims::choose(const Thread &thread) {
    return choose_by(thread, [&](const NumberSet &queues) { return choose_in(thread, queues); });
}

Victim Victims::choose_unclaimed(const Thread &thread, uint64_t arrival) {
    return choose_by(thread, [&](const NumberSet &queues) -> Victim {
        if (queues.empty()) return {};
        const uint32_t first = random_.below(queues.size());
        return {queues.find(first, queues.size(), [&](uint32_t queue) {
            return !ready_.is_too_late(queue, arrival) && ready_.may_take_from(thread, queue);
        })};
    });
}

// Examines queues that hold tasks, for omp_ext::search_by.
struct Victims::Search {
    Victims &victims;
    const Thread &thread;
    const NumberSet &queues;
    uint64_t n_failed = 0;
    bool is_partial = false; // true if the search skipped groups

    using Found = std::optional<uint32_t>; // a queue

    Found last_victim() const {
        const uint32_t last = thread.last_victim;
        if (last < victims.ready_.size() && queues.contains(last) && suits(last)) return last;
        return {};
    }
    Found nearest() const {
        const uint32_t n = victims.ready_.size();
        uint32_t least = ~0u;
        Found best;
        for (uint32_t i = 0; i < queues.size(); i++) {
            const uint32_t distance = (queues[i] + n - thread.number) % n;
            if (distance < least && suits(queues[i])) best = queues[i], least = distance;
        }
        return best;
    }
    Found random() {
        n_failed = victims.n_failed_of(queues);
        const uint32_t first = victims.random_.below(queues.size());
        const uint32_t found = queues.find(first, victims.ready_.search_limit(queues.size()),
                                           [&](uint32_t queue) { return suits(queue); });
        if (found != kNoQueue) return found;
        return {};
    }
    Found fullest() const {
        return fullest_where([](uint32_t) { return true; });
    }
    Found fullest_of(uint32_t group) const {
        return fullest_where([group](uint32_t queue) { return queue / omp_ext::kStealGroup == group; });
    }
    uint32_t own_group() const { return thread.number / omp_ext::kStealGroup; }
    uint32_t random_group() {
        is_partial = true;
        const uint32_t group = queues[victims.random_.below(queues.size())] / omp_ext::kStealGroup;
        n_failed = victims.n_failed_of(queues);
        return group;
    }

private:
    bool suits(uint32_t queue) const { return victims.ready_.may_take_from(thread, queue); }

    // Returns the fullest suitable queue for which counts(queue) is true; among equals, the one with the lowest number.
    template <typename Counts>
    Found fullest_where(Counts counts) const {
        uint32_t best = kNoQueue, most = 0;
        for (uint32_t i = 0; i < queues.size(); i++) {
            const uint32_t queue = queues[i], n = victims.ready_.n_tasks(queue);
            if (counts(queue) && (n > most || (n == most && queue < best)) && suits(queue)) best = queue, most = n;
        }
        if (best != kNoQueue) return best;
        return {};
    }
};

Victim Victims::choose_in(const Thread &thread, const NumberSet &queues) {
    if (queues.empty()) return {};
    Search search{*this, thread, queues};
    Search::Found found = omp_ext::search_by(policy_.steals, search);
    if (!found && search.is_partial) found = search.fullest();
    return {found.value_or(kNoQueue), search.n_failed};
}

} // namespace ompass::simulation

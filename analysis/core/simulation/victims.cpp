// SPDX-License-Identifier: Apache-2.0
#include "victims.h"

#include <cmath>

namespace ompass::simulation {

Victims::Victims(const Policy &policy, const ReadyTasks &ready, uint32_t n_domains, Random &random)
    : policy_(policy), ready_(ready), n_domains_(n_domains), random_(random) {
    const auto others = static_cast<double>(ready.size()) - 1;
    for (uint32_t n = 0; n <= ready.size(); n++)
        per_log_miss_.push_back(n && n < others ? -1 / std::log1p(-static_cast<double>(n) / others) : 0.0);
}

Victim Victims::choose(const Thread &thread) {
    if (policy_.queues != Queues::kPlaced) return choose_in(thread, ready_.holding(0));
    for (uint32_t i = 0; i < (policy_.strict ? 1 : n_domains_); i++) {
        const Victim victim = choose_in(thread, ready_.holding((thread.domain + i) % n_domains_));
        if (victim.queue != kNoQueue) return victim;
    }
    return {};
}

Victim Victims::choose_in(const Thread &thread, const NumberSet &queues) {
    if (queues.empty()) return {};
    switch (policy_.steals) {
    case Steals::kRandom: return at_random(thread, queues);
    case Steals::kOccupancy: return {fullest(thread, queues, [](uint32_t) { return true; })};
    case Steals::kGroup: return fullest_of_group(thread, queues);
    case Steals::kNearest: return nearest(thread, queues);
    }
    return {};
}

Victim Victims::at_random(const Thread &thread, const NumberSet &queues) {
    const uint64_t n_failed = failures(per_log_miss_[queues.size()]);
    const uint32_t first = random_.below(queues.size()), limit = ready_.search_limit(queues.size());
    return {queues.find(first, limit, [&](uint32_t queue) { return suits(thread, queue); }), n_failed};
}

// Returns the fullest queue for which counts(queue) is true, and the lowest number among equals.
template <typename Counts>
uint32_t Victims::fullest(const Thread &thread, const NumberSet &queues, Counts counts) const {
    uint32_t best = kNoQueue, most = 0;
    for (uint32_t i = 0; i < queues.size(); i++) {
        const uint32_t queue = queues[i], n = ready_.n_tasks(queue);
        if (counts(queue) && (n > most || (n == most && queue < best)) && suits(thread, queue)) best = queue, most = n;
    }
    return best;
}

Victim Victims::fullest_of_group(const Thread &thread, const NumberSet &queues) {
    uint32_t group = thread.number / kGroupSize;
    const auto in_group = [&](uint32_t queue) { return queue / kGroupSize == group; };
    const uint32_t own = fullest(thread, queues, in_group);
    if (own != kNoQueue) return {own};
    group = queues[random_.below(queues.size())] / kGroupSize;
    const uint64_t n_failed = failures(per_log_miss_[queues.size()]);
    const uint32_t other = fullest(thread, queues, in_group);
    return {other != kNoQueue ? other : fullest(thread, queues, [](uint32_t) { return true; }), n_failed};
}

Victim Victims::nearest(const Thread &thread, const NumberSet &queues) {
    const uint32_t n = ready_.size();
    if (thread.last_victim < n && queues.contains(thread.last_victim) && suits(thread, thread.last_victim))
        return {thread.last_victim};
    uint32_t best = kNoQueue, least = ~0u;
    for (uint32_t i = 0; i < queues.size(); i++) {
        const uint32_t distance = (queues[i] + n - thread.number) % n;
        if (distance < least && suits(thread, queues[i])) best = queues[i], least = distance;
    }
    return {best};
}

} // namespace ompass::simulation

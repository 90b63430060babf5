// SPDX-License-Identifier: Apache-2.0
// The steal policies.
#include "scheduler/steal.h"

#include "tools/observer.h"

namespace omp_ext {

namespace {

constexpr int kGroupSize = 5; // the largest group of the paper

uint32_t next_random(Member &member) {
    uint32_t x = member.random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return member.random = x;
}

int random_below(Member &member, int n) { return static_cast<int>(next_random(member) % static_cast<uint32_t>(n)); }

Task *try_victim(Member &thief, Member &victim, uint16_t min_tag) {
    thief.statistics.n_steal_attempts.add();
    Task *task = nullptr;
    tell(&omp_ext_observer::steal_begins);
    const StealResult result = victim.deque.steal(&task, min_tag);
    tell(&omp_ext_observer::steal_ends, result == StealResult::kTaken);
    switch (result) {
    case StealResult::kTaken: thief.last_victim = victim.number; return task;
    case StealResult::kLost: thief.statistics.n_lost_races.add(); break;
    case StealResult::kEmpty:
    case StealResult::kRefused: break;
    }
    return nullptr;
}

bool is_victim(const Member &thief, const Member &member, const Booty &booty) {
    return &member != &thief && member.domain == booty.domain && member.deque.size_hint() > booty.n_left;
}

// From `first` on, round all members.
Task *steal_in_order(Member &thief, const Booty &booty, int first) {
    Team &team = *thief.team;
    for (int i = 0, number = first; i < team.n_members; i++, number = number + 1 < team.n_members ? number + 1 : 0)
        if (is_victim(thief, team.members[number], booty))
            if (Task *task = try_victim(thief, team.members[number], booty.min_tag)) return task;
    return nullptr;
}

// The member with most tasks among numbers [first, last); null when none has any.
Member *fullest(Member &thief, const Booty &booty, int first, int last) {
    Team &team = *thief.team;
    Member *best = nullptr;
    int64_t most = 0;
    for (int number = first; number < last && number < team.n_members; number++) {
        Member &member = team.members[number];
        if (!is_victim(thief, member, booty) || member.deque.size_hint() <= most) continue;
        best = &member;
        most = member.deque.size_hint();
    }
    return best;
}

Task *steal_in_groups(Member &thief, const Booty &booty) {
    const int n_groups = (thief.team->n_members + kGroupSize - 1) / kGroupSize;
    int group = thief.number / kGroupSize;
    for (int scan = 0; scan < 2; scan++) {
        if (Member *victim = fullest(thief, booty, group * kGroupSize, (group + 1) * kGroupSize))
            if (Task *task = try_victim(thief, *victim, booty.min_tag)) return task;
        group = random_below(thief, n_groups);
    }
    return nullptr;
}

} // namespace

Task *steal(Member &thief, const Booty &booty) {
    Team &team = *thief.team;
    switch (options.steal) {
    case StealPolicy::kNearest:
        // Where the last theft succeeded there is often more; then on from the own number.
        if (thief.last_victim >= 0 && is_victim(thief, team.members[thief.last_victim], booty))
            if (Task *task = try_victim(thief, team.members[thief.last_victim], booty.min_tag)) return task;
        return steal_in_order(thief, booty, thief.number);
    case StealPolicy::kRandom: {
        // One victim at random, as in the paper; after it the others, so that no task is overlooked before sleep.
        return steal_in_order(thief, booty, random_below(thief, team.n_members));
    }
    case StealPolicy::kOccupancy:
        if (Member *victim = fullest(thief, booty, 0, team.n_members)) return try_victim(thief, *victim, booty.min_tag);
        return nullptr;
    case StealPolicy::kGroup: return steal_in_groups(thief, booty);
    }
    return nullptr;
}

} // namespace omp_ext

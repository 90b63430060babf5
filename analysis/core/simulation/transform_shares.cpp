// SPDX-License-Identifier: Apache-2.0
// Divides the work of implicit tasks equally between the threads of their region.
#include <algorithm>

#include "rewriting.h"
#include "transform_order.h"

namespace ompass::simulation {

namespace {

// The divisible work of one thread between two barriers.
struct Stretch {
    size_t begin = 0; // index in the task's operations, after the barrier
    uint64_t work_ns = 0;
};

// Calls visit(operation, stretch number) for each operation of work outside of worksharing loops and locks.
template <typename List, typename Visit>
void for_each_divisible(List &operations, Visit visit) {
    size_t number = 0, n_held = 0;
    bool in_loop = false;
    for (auto &one : operations) {
        switch (one.kind()) {
        case OpKind::kBarrier: number++; break;
        case OpKind::kLoopBegin: in_loop = true; break;
        case OpKind::kLoopEnd: in_loop = false; break;
        case OpKind::kLock: n_held += one.construct() == kAcquire ? 1 : -1; break;
        default:
            if (one.is_work() && !in_loop && n_held == 0) visit(one, number);
        }
    }
}

// Returns the divisible work of a thread, by the number of barriers before it.
std::vector<Stretch> stretches_of(const Operations &operations) {
    std::vector<Stretch> stretches(1);
    for (size_t i = 0; i < operations.size(); i++)
        if (operations[i].kind() == OpKind::kBarrier) stretches.push_back({i + 1, 0});
    for_each_divisible(operations, [&](Operation one, size_t number) { stretches[number].work_ns += one.value(); });
    return stretches;
}

// Returns the stretches of all threads; nothing for a team of one, or if threads reach different numbers of barriers.
std::vector<std::vector<Stretch>> stretches_of_team(const TaskProgram &program, const ProgramRegion &region) {
    std::vector<std::vector<Stretch>> team;
    team.reserve(region.implicit.size());
    for (const uint32_t task : region.implicit) team.push_back(stretches_of(operations_of(program, task)));
    const bool even =
        team.size() > 1 && std::ranges::all_of(team, [&](const auto &one) { return one.size() == team[0].size(); });
    return even ? team : std::vector<std::vector<Stretch>>{};
}

uint64_t sum_of(const std::vector<std::vector<Stretch>> &team, size_t number) {
    uint64_t sum = 0;
    for (const auto &stretches : team) sum += stretches[number].work_ns;
    return sum;
}

// Returns ns * share / whole.
uint64_t scaled(uint64_t ns, uint64_t share, uint64_t whole) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(ns) * share / whole);
}

// Gives a thread its equal share of each stretch. Reduces the work in the stretch, or inserts the missing work there.
Operations with_share(Operations operations, const std::vector<Stretch> &own, const std::vector<uint64_t> &shares,
                      uint16_t construct) {
    for_each_divisible(operations, [&](Operation &one, size_t number) {
        if (own[number].work_ns > shares[number])
            one = Operation::of(one.kind(), scaled(one.value(), shares[number], own[number].work_ns), one.construct());
    });
    std::vector<Replacement> added;
    for (size_t number = 0; number < own.size(); number++) {
        const auto &[begin, work_ns] = own[number];
        if (work_ns < shares[number])
            added.push_back({begin, begin, {Operation::of(OpKind::kWork, shares[number] - work_ns, construct)}});
    }
    replace(operations, std::move(added));
    return operations;
}

} // namespace

TaskProgram share_region(const TaskProgram &program, uint16_t construct) {
    std::map<uint32_t, Operations> changed; // by implicit task
    for (const ProgramRegion &region : program.regions) {
        if (region.construct != construct) continue;
        const auto team = stretches_of_team(program, region);
        for (size_t thread = 0; thread < team.size(); thread++) {
            std::vector<uint64_t> shares;
            shares.reserve(team[0].size());
            for (size_t number = 0; number < team[0].size(); number++)
                shares.push_back(part_of(sum_of(team, number), thread, team.size()));
            const uint32_t task = region.implicit[thread];
            changed[task] = with_share(operations_of(program, task), team[thread], shares, construct);
        }
    }
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (const auto found = changed.find(task); found != changed.end()) operations = found->second;
    });
}

std::map<uint16_t, RegionShape> regions_of(const TaskProgram &program) {
    std::map<uint16_t, RegionShape> regions;
    std::map<uint16_t, std::map<uint16_t, uint64_t>> work_of; // by region and by construct of the work
    for (const ProgramRegion &region : program.regions) {
        RegionShape &shape = regions[region.construct];
        shape.n++;
        const auto team = stretches_of_team(program, region);
        for (size_t number = 0; !team.empty() && number < team[0].size(); number++) {
            uint64_t longest = 0;
            for (const auto &stretches : team) longest = std::max(longest, stretches[number].work_ns);
            const uint64_t sum = sum_of(team, number);
            shape.work_ns += sum;
            shape.longest_ns += longest;
            if (10 * longest >= 9 * sum) shape.alone_ns += sum;
        }
        for (const uint32_t task : region.implicit) {
            const Operations operations = operations_of(program, task);
            for_each_divisible(operations, [&](Operation one, size_t) {
                work_of[region.construct][static_cast<uint16_t>(one.construct())] += one.value();
            });
        }
    }
    for (const auto &[construct, work] : work_of)
        regions[construct].most_of =
            std::ranges::max_element(work, {}, [](const auto &of) { return of.second; })->first;
    return regions;
}

} // namespace ompass::simulation

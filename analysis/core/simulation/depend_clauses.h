// SPDX-License-Identifier: Apache-2.0
// Orders sibling tasks by their depend clauses, by the rules of OpenMP. Runtimes report only dependences on incomplete
// tasks, so a trace lacks dependences that occur on other numbers of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ompass::simulation {

// The depend clauses of the children of one task, in order of creation.
class SiblingClauses {
public:
    // OMPT's dependence types.
    enum Type : uint32_t {
        kIn = 1,
        kOut = 2,
        kInOut = 3,
        kMutexInOutSet = 4,
        kInOutSet = 7,
        kOutAll = 34,
        kInOutAll = 35
    };

    // Adds a clause of `task`. Add all clauses of a task before the clauses of the next task. Calls found(sibling),
    // possibly repeatedly, for each task that `task` must wait for.
    template <typename Found>
    void add(uint32_t task, uint64_t address, uint32_t type, Found found) {
        if (type == kOutAll || type == kInOutAll) return add_for_all(task, found);
        const auto [place, is_new] = users_.try_emplace(address);
        Users &users = place->second;
        if (is_new && last_for_all_) users.current = {last_for_all_};
        if (!can_join(users, type)) {
            users.before = std::exchange(users.current, {});
            users.type = type;
        }
        if (users.current.empty() || users.current.back() != task) users.current.push_back(task);
        for (const uint32_t before : users.before)
            if (before != task) found(before);
    }

private:
    // Tasks that use an address together, and the previous users of this address.
    struct Users {
        std::vector<uint32_t> current, before;
        uint32_t type = 0;
    };

    // True if a task joins the current users. Readers join readers, and members of an inoutset join each other. Members
    // of a mutexinoutset may run in any order, one at a time; here they run in order of creation.
    static bool can_join(const Users &users, uint32_t type) {
        return users.type == type && (type == kIn || type == kInOutSet);
    }
    // Adds `omp_all_memory`: the task waits for all earlier siblings with clauses, and later ones wait for the task.
    template <typename Found>
    void add_for_all(uint32_t task, Found found) {
        if (last_for_all_ && last_for_all_ != task) found(last_for_all_);
        for (auto &[address, users] : users_) {
            for (const std::vector<uint32_t> *some : {&users.current, &users.before})
                for (const uint32_t before : *some)
                    if (before != task) found(before);
            users = {{task}, {}, 0};
        }
        last_for_all_ = task;
    }

    std::unordered_map<uint64_t, Users> users_;
    uint32_t last_for_all_ = 0;
};

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
#include "task_program.h"

#include <algorithm>

namespace ompass::simulation {

uint64_t TaskProgram::work_ns() const {
    uint64_t sum = 0;
    for (const Operation operation : operations)
        if (operation.is_work()) sum += operation.value();
    return sum;
}

uint64_t TaskProgram::longest_hold_ns() const {
    std::vector<uint64_t> of_lock(n_locks);
    std::vector<uint32_t> held;
    for (const Operation operation : operations) {
        if (operation.kind() == OpKind::kEnd) held.clear();
        const auto number = static_cast<uint32_t>(operation.value());
        if (operation.kind() == OpKind::kLock && operation.construct() == kAcquire) held.push_back(number);
        if (operation.kind() == OpKind::kLock && operation.construct() == kRelease) std::erase(held, number);
        if (operation.is_work())
            for (const uint32_t lock : held) of_lock[lock] += operation.value();
    }
    return of_lock.empty() ? 0 : *std::ranges::max_element(of_lock);
}

uint64_t TaskProgram::few_tasks_ns() const {
    struct Group {
        uint32_t n_tasks = 0;
        bool has_creators = false;
        uint64_t longest_ns = 0;
    };
    const auto add = [this](Group &group, const ProgramTask &task) {
        group.n_tasks++;
        uint64_t ns = 0;
        for (uint32_t op = task.first_op; operations[op].kind() != OpKind::kEnd; op++) {
            if (operations[op].is_work()) ns += operations[op].value();
            if (operations[op].kind() == OpKind::kCreate) group.has_creators = true;
        }
        group.longest_ns = std::max(group.longest_ns, ns);
    };
    uint64_t sum = 0;
    for (const ProgramTask &task : tasks) {
        if (!(task.flags & ProgramTask::kImplicit)) continue;
        Group group;
        for (uint32_t op = task.first_op;; op++) {
            const Operation operation = operations[op];
            if (operation.kind() == OpKind::kCreate) add(group, tasks[operation.task()]);
            const bool is_end = operation.kind() == OpKind::kEnd;
            if (!is_end && !operation.is_wait() && operation.kind() != OpKind::kBarrier) continue;
            if (!group.has_creators && group.n_tasks <= 2 * n_threads) sum += group.longest_ns;
            group = {};
            if (is_end) break;
        }
    }
    return sum;
}

std::string check_program(const TaskProgram &program) {
    const size_t n_tasks = program.tasks.size(), n_ops = program.operations.size();
    if (n_tasks == 0 || n_ops == 0) return "it has no tasks";
    if (program.operations.back().kind() != OpKind::kEnd) return "its last task has no end";
    std::vector<uint8_t> created(n_tasks);
    uint64_t n_entered = 0;
    const auto create = [&](uint32_t task) { return task < n_tasks && !created[task]++; };
    for (const Operation operation : program.operations) {
        if (operation.kind() == OpKind::kCreate && !create(operation.task())) return "a task is created twice";
        n_entered += operation.kind() == OpKind::kRegion;
        if (operation.kind() == OpKind::kRegion && operation.value() >= program.regions.size())
            return "a task enters a region that does not exist";
        if (operation.kind() == OpKind::kAccess && operation.value() >= program.accesses.size())
            return "a kernel makes an access that does not exist";
        if (operation.kind() == OpKind::kLock && operation.value() >= program.n_locks)
            return "a task acquires a lock that does not exist";
    }
    for (uint32_t op = program.tasks[0].first_op; op < n_ops && program.operations[op].kind() != OpKind::kEnd; op++)
        n_entered -= program.operations[op].kind() == OpKind::kRegion;
    if (n_entered) return "only the program can enter a region, but a task does";
    for (const ProgramRegion &region : program.regions)
        for (const uint32_t task : region.implicit)
            if (!create(task)) return "a task is created twice";
    for (const ProgramTask &task : program.tasks) {
        const auto number = static_cast<uint32_t>(&task - program.tasks.data());
        if (task.first_op >= n_ops) return "a task has no operations";
        if (number && (!created[number] || task.creator >= number)) return "a task has no creator";
    }
    for (const Dependence &pair : program.dependences)
        if (pair.before >= pair.after || pair.after >= n_tasks) return "a task depends on itself or on a later task";
    return {};
}

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Replaces the operations of a program's tasks, for the functions of transform.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

using Operations = std::vector<Operation>;

inline Operations operations_of(const TaskProgram &program, uint32_t task) {
    const auto first = program.operations.begin() + program.tasks[task].first_op;
    const auto end = std::find_if(first, program.operations.end(),
                                  [](Operation operation) { return operation.kind() == OpKind::kEnd; });
    return {first, end};
}

// Sets the operations of a task that has none yet.
inline void append(TaskProgram &program, uint32_t task, const Operations &operations) {
    program.tasks[task].first_op = static_cast<uint32_t>(program.operations.size());
    program.operations.insert(program.operations.end(), operations.begin(), operations.end());
    program.operations.push_back(Operation::of(OpKind::kEnd));
}

// Returns the program after change(program, task, operations) for each task that has operations. `change` may add tasks
// to the program.
template <typename Change>
TaskProgram rewritten(const TaskProgram &program, Change change) {
    TaskProgram made = program;
    made.operations = {Operation::of(OpKind::kEnd)};
    made.operations.reserve(program.operations.size());
    for (uint32_t task = 0; task < program.tasks.size(); task++) {
        Operations operations = operations_of(program, task);
        if (operations.empty()) {
            made.tasks[task].first_op = 0;
            continue;
        }
        change(made, task, operations);
        append(made, task, operations);
    }
    return made;
}

// Operations that take the place of operations begin to end (exclusive).
struct Replacement {
    size_t begin, end;
    Operations instead;
};

// Applies the replacements, whose ranges must not overlap. Copies each operation only once.
inline void replace(Operations &operations, std::vector<Replacement> replacements) {
    if (replacements.empty()) return;
    std::ranges::sort(replacements, {}, &Replacement::begin);
    Operations made;
    made.reserve(operations.size());
    auto next = operations.begin();
    for (const Replacement &each : replacements) {
        made.insert(made.end(), next, operations.begin() + static_cast<ptrdiff_t>(each.begin));
        made.insert(made.end(), each.instead.begin(), each.instead.end());
        next = operations.begin() + static_cast<ptrdiff_t>(each.end);
    }
    made.insert(made.end(), next, operations.end());
    operations.swap(made);
}

// Removes all operations for which `is` returns true, except the last of them.
template <typename Is>
void keep_last(Operations &operations, Is is) {
    const auto holds = [&](Operation operation) { return std::invoke(is, operation); };
    const auto last = std::find_if(operations.rbegin(), operations.rend(), holds);
    if (last != operations.rend())
        operations.erase(std::remove_if(operations.begin(), std::prev(last.base()), holds), std::prev(last.base()));
}

// Returns part `number` of n_parts equal parts of a piece of work. The parts add up to the whole.
inline uint64_t part_of(uint64_t ns, uint64_t number, uint64_t n_parts) {
    return ns * (number + 1) / n_parts - ns * number / n_parts;
}
inline Operation part_of(Operation work, uint64_t number, uint64_t n_parts) {
    return Operation::of(work.kind(), part_of(work.value(), number, n_parts), work.construct());
}

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Empty first parts of untied tasks.
#pragma once

#include <cstdint>

namespace ompass {

struct TaskState;
struct ThreadState;

// After this many empty first parts in a row, the first part of the construct's next task is probably empty, too.
inline constexpr uint8_t kEmptyParts = 8;

// The first part under way, if it is probably empty. In clang programs, the first part of an untied task only submits
// the rest of the task. The tool does not record an empty part, so the recorded task starts with the rest. Until the
// part ends, seen_switch is kNever. So any event inside the part takes the slow path, where notice() starts the task.
struct FirstPart {
    TaskState *task; // null: none
    uint64_t id; // of the task
    uint32_t seen_switch; // value of EventState::seen_switch before this part
};

// Starts the task whose first part is under way, because the part is not empty (tasks.cpp).
void start_first_part(ThreadState &thread);

} // namespace ompass

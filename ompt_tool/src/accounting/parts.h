// SPDX-License-Identifier: Apache-2.0
// Finds the part of an untied task (task_state.h) on a thread's stack in constant time. With a search down the stack,
// the cost of a resumption would grow with the depth of the stack. A part enters the table when another task is put on
// top of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "accounting/task_state.h"

namespace ompass {

// A hash table of parts by the address of their task, with linear probing. At most half of the places are in use.
// Only the thread that owns the stack calls these functions.
class PartTable {
public:
    // Returns the part of this task; null if the table has none.
    TaskState *find(const TaskState &task) const { return n_parts_ == 0 ? nullptr : find_in_use(task); }
    // Adds a part, and sets its flag kListed. If memory is exhausted, adds nothing, and find() will not find the part.
    void add(TaskState *part);
    void remove(const TaskState *part); // only for a part with kListed
    // Frees the memory.
    void clear();

private:
    TaskState *find_in_use(const TaskState &task) const;
    size_t home_of(const TaskState *whole) const {
        return static_cast<size_t>(reinterpret_cast<uintptr_t>(whole) * 0x9E3779B97F4A7C15ull >> shift_);
    }
    size_t after(size_t place) const { return (place + 1) & (n_places_ - 1); }
    void insert(TaskState *part);
    bool grow();

    TaskState **places_ = nullptr;
    size_t n_places_ = 0; // 0 or a power of two
    size_t n_parts_ = 0;
    unsigned shift_ = 0; // 64 - log2(n_places_)
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Combines the parts of tasks that began on one thread and resumed on others, once all threads have been read.
#pragma once

#include <unordered_map>
#include <vector>

#include "observer.h"

namespace ompass {

struct CompletedTask {
    uint32_t thread, construct; // thread: the one that completed the task
    uint64_t id, ready, start, end, worked;
};

class TaskParts {
public:
    void suspended(const auto &task) {
        Earlier &earlier = earlier_[task.id];
        earlier.worked += task.worked;
        if (!task.resumed) earlier.ready = task.ready, earlier.start = task.start;
    }
    // Adds the last part of a task that began on another thread.
    void completed(const auto &task, uint32_t thread, uint64_t end) {
        completed_.push_back({thread, task.construct, task.id, 0, 0, end, task.worked});
    }

    template <typename Visit>
    void for_each_completed(Visit visit) const {
        for (CompletedTask task : completed_) {
            if (const auto found = earlier_.find(task.id); found != earlier_.end()) {
                task.worked += found->second.worked;
                task.ready = found->second.ready;
                task.start = found->second.start;
            }
            visit(task);
        }
    }

private:
    struct Earlier {
        uint64_t worked = 0, ready = 0, start = 0;
    };
    std::unordered_map<uint64_t, Earlier> earlier_;
    std::vector<CompletedTask> completed_;
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Tracks the dependences that are not yet satisfied.
#pragma once

#include <cstdint>
#include <vector>

#include "task_program.h"
#include "tasks_in_flight.h"

namespace ompass::simulation {

class PendingTasks {
public:
    explicit PendingTasks(const TaskProgram &program) : program_(program) {
        if (program.dependences.empty()) return;
        n_before_.resize(program.tasks.size());
        created_.resize(program.tasks.size());
        first_after_.resize(program.tasks.size() + 1);
        for (const Dependence &pair : program.dependences) {
            n_before_[pair.after]++;
            first_after_[pair.before + 1]++;
        }
        for (size_t i = 1; i < first_after_.size(); i++) first_after_[i] += first_after_[i - 1];
    }

    bool waits(uint32_t task) const { return !n_before_.empty() && n_before_[task]; }
    // Records the creation of a task that waits. `place`: its place in TasksInFlight.
    void created(uint32_t task, uint32_t place) { created_[task] = place; }
    // Calls ready(task, place) for each created task that waited only for this task.
    template <typename Ready>
    void completed(uint32_t task, Ready ready) {
        if (n_before_.empty()) return;
        for (uint32_t i = first_after_[task]; i < first_after_[task + 1]; i++) {
            const uint32_t after = program_.dependences[i].after;
            if (--n_before_[after] || !created_[after]) continue;
            ready(after, created_[after]);
            created_[after] = kNone;
        }
    }

private:
    const TaskProgram &program_;
    std::vector<uint32_t> n_before_, created_, first_after_; // by task
};

} // namespace ompass::simulation

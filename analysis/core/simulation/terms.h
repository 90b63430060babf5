// SPDX-License-Identifier: Apache-2.0
// Computes the length of each operation in a simulated run, and decides whether a task runs inside its creator. Both
// depend on program, machine, policy, team and changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine.h"

namespace ompass::simulation {

struct Terms {
    Terms(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
          const Changes &made)
        : changes(made), n_domains(std::max(1u, machine.n_domains)), program_(program),
          creation_given_(!machine.costs.create.points.empty()),
          recorded_contended_ns_(machine.costs.contended.at(program.n_threads)),
          all_inline_(policy.inline_when_alone && team.n_threads == 1) {
#define OMPASS_SIMULATED_COST(name, meaning) cost.name = machine.costs.name.at(team.n_threads);
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
        for (size_t i = 0; i < program.constructs.size(); i++) {
            const double faster = (i < changes.speed.size() ? changes.speed[i] : 1.0) * machine.clock_ratio;
            factor_of_.push_back(faster == 1.0 ? kOne : whole(static_cast<double>(kOne) / faster));
        }
        if (!changes.min_ns) return;
        inclusive_ = inclusive_work(program);
        // A task with dependences is never short, because a plain call would not wait for its predecessors.
        for (const Dependence &pair : program.dependences) inclusive_[pair.after] = kNeverShort;
    }

    uint64_t scaled(uint64_t work_ns, uint32_t construct) const {
        const uint64_t factor = factor_of_[construct];
        if (factor == kOne) return work_ns;
        return static_cast<uint64_t>(static_cast<unsigned __int128>(work_ns) * factor >> 32);
    }
    // True if a simulated team of one keeps the task's recorded times, which include the cost of running it at once.
    bool is_as_recorded(const ProgramTask &task) const {
        return all_inline_ && changes.as_recorded && task.flags & (ProgramTask::kSerialised | ProgramTask::kDependent);
    }
    uint64_t creation_ns(Operation operation) const {
        const ProgramTask &task = program_.tasks[operation.task()];
        if (task.flags & ProgramTask::kReplayed) return cost.replay;
        if (is_as_recorded(task)) return operation.cost();
        if (task.flags & ProgramTask::kDependent)
            return cost.depend + (creation_given_ ? cost.create : changes.serialised_create_ns);
        if (creation_given_) return cost.create;
        if (task.flags & ProgramTask::kSerialised) return changes.serialised_create_ns;
        const uint64_t least = std::min(operation.cost(), changes.least_create_ns);
        return std::max<uint64_t>(operation.cost() - std::min(operation.cost(), changes.untraced_create_ns), least);
    }
    // Returns the delay of a creation while other threads look for tasks, without the part that its recorded time
    // includes. Times recorded in a team of one include no delay. A replay has the whole delay, because it also puts
    // tasks into queues.
    uint64_t contended_ns(const ProgramTask &task) const {
        const bool includes =
            !creation_given_ &&
            !(task.flags & (ProgramTask::kSerialised | ProgramTask::kDependent | ProgramTask::kReplayed));
        return cost.contended - std::min(cost.contended, includes ? recorded_contended_ns_ : 0);
    }
    // Returns the cost of recording to subtract from the work of the task.
    int32_t traced_task_ns(const ProgramTask &task) const {
        if (!(task.flags & ProgramTask::kSerialised)) return static_cast<int32_t>(changes.untraced_task_ns);
        return is_as_recorded(task) ? 0 : changes.serialised_task_ns;
    }
    // Returns the cost of recording to subtract from the work of the task's creator.
    int32_t traced_creation_ns(const ProgramTask &task) const {
        if (!(task.flags & ProgramTask::kSerialised)) return static_cast<int32_t>(changes.untraced_creation_ns);
        return is_as_recorded(task) ? 0 : changes.serialised_creation_ns;
    }
    // True if the task runs at once inside its creator. dependent: true if it waits for tasks that have not completed.
    bool runs_inline(const ProgramTask &task, uint32_t number, bool dependent) const {
        if (dependent) return false;
        return all_inline_ || task.flags & ProgramTask::kInline || is_cut_off(task, number);
    }
    bool is_cut_off(const ProgramTask &task, uint32_t number) const {
        return (changes.max_depth && task.depth > changes.max_depth) ||
               (changes.min_ns && inclusive_[number] < changes.min_ns);
    }

    struct {
#define OMPASS_SIMULATED_COST(name, meaning) uint64_t name;
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    } cost;
    const Changes &changes;
    const uint32_t n_domains;

private:
    static constexpr uint64_t kOne = uint64_t{1} << 32;
    static constexpr uint32_t kNeverShort = ~0u;

    const TaskProgram &program_;
    const bool creation_given_;
    const uint64_t recorded_contended_ns_;
    std::vector<uint64_t> factor_of_; // by construct: time on this machine per recorded time, 32.32 fixed point
    std::vector<uint32_t> inclusive_; // inclusive_work(), or kNeverShort; empty without Changes::min_ns
    const bool all_inline_;
};

} // namespace ompass::simulation

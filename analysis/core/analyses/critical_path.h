// SPDX-License-Identifier: Apache-2.0
// Stores chains as linked steps. A step is a piece of work of one task, and refers to the step before it. Chains may
// share steps. Frees a step when it is in no chain any more, so memory holds only candidates for the critical path.
// compact() joins consecutive steps of one task, unless another chain branches off between them.
//
//   span of a chain  =  sum of ticks of its steps
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "format/invariants.h"

namespace ompass {

class StepPool {
public:
    struct Step {
        uint64_t task;
        uint64_t ticks;
        uint64_t preempted; // part of `ticks`, unless TaskGraphOptions::on_processors
        uint64_t start_time; // start of the task
        uint32_t group;
        uint32_t thread;
        uint32_t previous; // 0: none
        uint32_t refs;     // chains that end here, plus steps that continue from here
    };

    explicit StepPool(size_t first_compaction = size_t{1} << 20)
        : next_compaction_(first_compaction), first_compaction_(first_compaction) {
        steps_.push_back({}); // step 0 means none
    }

    const Step &operator[](uint32_t step) const { return steps_[step]; }
    uint32_t share(uint32_t step) {
        if (step) steps_[step].refs++;
        return step;
    }
    void release(uint32_t step) {
        OMPASS_ASSERT(!step || steps_[step].refs > 0);
        while (step && --steps_[step].refs == 0) {
            const uint32_t previous = steps_[step].previous;
            free_.push_back(step);
            step = previous;
        }
    }

    size_t n_live() const { return steps_.size() - 1 - free_.size(); }

    // Adds `ticks` of a task to the chain that ends with `step`. Consumes the caller's reference and returns a new one.
    uint32_t extend(uint32_t step, uint64_t task, uint64_t ticks, uint64_t preempted, uint32_t group, uint32_t thread,
                    uint64_t start_time) {
        if (step && steps_[step].refs == 1 && steps_[step].task == task && steps_[step].group == group) {
            steps_[step].ticks += ticks;
            steps_[step].preempted += preempted;
            return step;
        }
        if (free_.empty() && steps_.size() >= next_compaction_) compact();
        const Step made = {task, ticks, preempted, start_time, group, thread, step, 1};
        if (free_.empty()) {
            steps_.push_back(made);
            return static_cast<uint32_t>(steps_.size() - 1);
        }
        const uint32_t place = free_.back();
        free_.pop_back();
        steps_[place] = made;
        return place;
    }

private:
    void compact() {
        for (uint32_t i = 1; i < steps_.size(); i++) {
            Step &step = steps_[i];
            while (step.refs && step.previous) {
                Step &before = steps_[step.previous];
                if (before.refs != 1 || before.task != step.task || before.group != step.group) break;
                step.ticks += before.ticks;
                step.preempted += before.preempted;
                before.refs = 0;
                free_.push_back(step.previous);
                step.previous = before.previous;
            }
        }
        next_compaction_ = std::max(first_compaction_, 2 * n_live());
    }

    std::vector<Step> steps_;
    std::vector<uint32_t> free_;
    size_t next_compaction_; // size of steps_ that triggers compact()
    size_t first_compaction_;
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Makes task programs for tests, one operation at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simulation/task_program.h"

namespace ompass::simulation {

// Builds task programs. Collects the body of each task separately; finish() joins the bodies.
class Builder {
public:
    Builder() {
        program.constructs = {0, 1, 2};
        bodies_.resize(1);
        program.tasks.emplace_back();
    }
    uint32_t task(uint32_t creator, uint8_t flags = 0) {
        ProgramTask made;
        made.creator = creator;
        made.construct = 1;
        made.flags = flags;
        made.depth = flags & ProgramTask::kImplicit ? 0 : static_cast<uint16_t>(program.tasks[creator].depth + 1);
        program.tasks.push_back(made);
        bodies_.emplace_back();
        return static_cast<uint32_t>(program.tasks.size() - 1);
    }
    uint32_t create(uint32_t creator, uint8_t flags = 0) {
        const uint32_t made = task(creator, flags);
        bodies_[creator].push_back(Operation::create(made, 0));
        return made;
    }
    void does(uint32_t task, OpKind kind, uint64_t value = 0, uint16_t construct = 1) {
        if (kind == OpKind::kGroupEnd) program.tasks[task].flags |= ProgramTask::kGrouped;
        bodies_[task].push_back(Operation::of(kind, value, construct));
    }
    void touch(uint32_t task, uint64_t address, uint64_t bytes, bool write) {
        does(task, OpKind::kAccess, program.accesses.size());
        program.accesses.push_back({address, bytes, 0, write});
    }
    void work(uint32_t task, uint64_t ns) { does(task, OpKind::kWork, ns); }
    void depends(uint32_t before, uint32_t after) { program.dependences.push_back({before, after}); }
    std::vector<uint32_t> region(uint32_t team_size) {
        ProgramRegion made;
        made.team_size = team_size;
        for (uint32_t i = 0; i < team_size; i++) made.implicit.push_back(task(0, ProgramTask::kImplicit));
        does(0, OpKind::kRegion, program.regions.size());
        program.regions.push_back(made);
        return made.implicit;
    }
    const TaskProgram &finish() {
        for (size_t i = 0; i < bodies_.size(); i++) {
            program.tasks[i].first_op = static_cast<uint32_t>(program.operations.size());
            program.operations.insert(program.operations.end(), bodies_[i].begin(), bodies_[i].end());
            program.operations.push_back(Operation::of(OpKind::kEnd));
        }
        std::ranges::sort(program.dependences);
        return program;
    }
    TaskProgram program;

private:
    std::vector<std::vector<Operation>> bodies_;
};

} // namespace ompass::simulation

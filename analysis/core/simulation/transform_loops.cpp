// SPDX-License-Identifier: Apache-2.0
// Divides the work of worksharing loops differently. The trace has the work of each thread in a loop, not of each
// iteration; the work is assumed to be divisible.
#include <algorithm>
#include <unordered_map>

#include "rewriting.h"
#include "transform.h"

namespace ompass::simulation {

namespace {

// The part of one thread in one instance of a loop.
struct Part {
    uint32_t task;
    uint32_t begin, end; // places of kLoopBegin and kLoopEnd in TaskProgram::operations
    uint64_t work_ns = 0;
};

struct Instance {
    std::vector<Part> parts; // by thread
    bool divisible = true; // nothing but work
    uint64_t work_ns() const {
        uint64_t sum = 0;
        for (const Part &part : parts) sum += part.work_ns;
        return sum;
    }
};

// Calls found(construct, instance) for all instances of all loops.
template <typename Found>
void for_each_loop(const TaskProgram &program, Found found) {
    for (const ProgramRegion &region : program.regions) {
        // By construct and instance number, because a team's threads reach the same loops in the same order.
        std::map<std::pair<uint16_t, uint32_t>, Instance> instances;
        for (const uint32_t task : region.implicit) {
            std::map<uint16_t, uint32_t> n_entered;
            Instance *open = nullptr;
            for (uint32_t op = program.tasks[task].first_op; program.operations[op].kind() != OpKind::kEnd; op++) {
                const Operation operation = program.operations[op];
                const auto construct = static_cast<uint16_t>(operation.construct());
                if (operation.kind() == OpKind::kLoopBegin) {
                    open = &instances[{construct, n_entered[construct]++}];
                    open->parts.push_back({task, op, op});
                } else if (operation.kind() == OpKind::kLoopEnd) {
                    if (open) open->parts.back().end = op;
                    open = nullptr;
                } else if (open && operation.is_work()) {
                    open->parts.back().work_ns += operation.value();
                } else if (open) {
                    open->divisible = false;
                }
            }
            if (open) open->divisible = false; // its end is missing
        }
        for (const auto &[which, instance] : instances) found(which.first, instance);
    }
}

// Returns the program with new operations in the loop: those of instead(instance, i) replace part i of each divisible
// instance.
template <typename Instead>
TaskProgram with_loop(const TaskProgram &program, uint16_t construct, Instead instead) {
    std::unordered_map<uint32_t, std::vector<std::pair<Part, Operations>>> of_task;
    for_each_loop(program, [&](uint16_t of, const Instance &instance) {
        if (of != construct || !instance.divisible || instance.parts.size() < 2) return;
        for (size_t i = 0; i < instance.parts.size(); i++)
            of_task[instance.parts[i].task].emplace_back(instance.parts[i], instead(instance, i));
    });
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        const auto found = of_task.find(task);
        if (found == of_task.end()) return;
        auto &parts = found->second;
        std::ranges::sort(parts, {}, [](const auto &part) { return part.first.begin; });
        const uint32_t first = program.tasks[task].first_op;
        for (size_t i = parts.size(); i-- > 0;) {
            const auto &[part, inside] = parts[i];
            const auto begin = operations.begin() + (part.begin + 1 - first);
            operations.erase(begin, operations.begin() + (part.end - first));
            operations.insert(operations.begin() + (part.begin + 1 - first), inside.begin(), inside.end());
        }
    });
}

// Returns the construct of the work in the instance.
uint32_t construct_in(const TaskProgram &program, const Instance &instance) {
    for (const Part &part : instance.parts)
        for (uint32_t op = part.begin; op < part.end; op++)
            if (program.operations[op].is_work()) return program.operations[op].construct();
    return 0;
}

} // namespace

TaskProgram balance_loop(const TaskProgram &program, uint16_t construct) {
    return with_loop(program, construct, [&](const Instance &instance, size_t i) {
        return Operations{Operation::of(OpKind::kWork, part_of(instance.work_ns(), i, instance.parts.size()),
                                        construct_in(program, instance))};
    });
}

TaskProgram loop_to_tasks(const TaskProgram &program, uint16_t construct, uint32_t n_tasks) {
    std::vector<Operation> works; // works of the added tasks
    std::vector<uint32_t> creators;
    TaskProgram made = with_loop(program, construct, [&](const Instance &instance, size_t i) {
        Operations inside;
        for (uint32_t part = 0; i == 0 && part < n_tasks; part++) {
            inside.push_back(Operation::create(static_cast<uint32_t>(program.tasks.size() + works.size()), 0));
            works.push_back(Operation::of(OpKind::kWork, part_of(instance.work_ns(), part, n_tasks),
                                          construct_in(program, instance)));
            creators.push_back(instance.parts[i].task);
        }
        if (i == 0) inside.push_back(Operation::of(OpKind::kTaskwait));
        return inside;
    });
    for (size_t i = 0; i < works.size(); i++) {
        ProgramTask &task = made.tasks.emplace_back();
        task.creator = creators[i];
        task.construct = construct;
        task.depth = 1;
        append(made, static_cast<uint32_t>(made.tasks.size() - 1), {works[i]});
    }
    return made;
}

TaskProgram enlarge_chunks(const TaskProgram &program, uint16_t construct, uint32_t factor, uint32_t chunk_ns) {
    return with_loop(program, construct, [&](const Instance &instance, size_t i) {
        const Part &part = instance.parts[i];
        const uint64_t n_chunks = program.operations[part.end].value();
        const uint64_t saved = std::min(part.work_ns, (n_chunks - (n_chunks + factor - 1) / factor) * chunk_ns);
        return Operations{Operation::of(OpKind::kWork, part.work_ns - saved, construct_in(program, instance))};
    });
}

std::map<uint16_t, LoopShape> loops_of(const TaskProgram &program) {
    std::map<uint16_t, LoopShape> loops;
    for_each_loop(program, [&](uint16_t construct, const Instance &instance) {
        if (!instance.divisible || instance.parts.size() < 2) return;
        LoopShape &loop = loops[construct];
        loop.n_instances++;
        loop.work_ns += instance.work_ns();
        loop.longest_ns += std::ranges::max_element(instance.parts, {}, &Part::work_ns)->work_ns;
        for (const Part &part : instance.parts) loop.n_chunks += program.operations[part.end].value();
    });
    return loops;
}

} // namespace ompass::simulation

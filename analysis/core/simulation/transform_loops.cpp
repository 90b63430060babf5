// SPDX-License-Identifier: Apache-2.0
// Redistributes the work of worksharing loops. The trace has the work of each thread in a loop, but not of each
// iteration or chunk, so these functions assume that the work of a thread is divisible into equal parts.
#include <algorithm>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>

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
    uint32_t region = 0;
    std::vector<Part> parts; // by thread
    bool divisible = true; // true if it contains only work
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
        for (auto &[which, instance] : instances) {
            instance.region = static_cast<uint32_t>(&region - program.regions.data());
            found(which.first, instance);
        }
    }
}

// Returns the program with new operations in the loop: instead(instance, i) for part i of an instance. Changes only
// divisible instances that have at least two parts.
template <typename Instead>
TaskProgram with_loop(const TaskProgram &program, uint16_t construct, Instead instead) {
    std::unordered_map<uint32_t, std::vector<Replacement>> of_task;
    for_each_loop(program, [&](uint16_t of, const Instance &instance) {
        if (of != construct || !instance.divisible || instance.parts.size() < 2) return;
        for (size_t i = 0; i < instance.parts.size(); i++) {
            const auto &[task, begin, end, work_ns] = instance.parts[i];
            const uint32_t first = program.tasks[task].first_op;
            of_task[task].push_back({begin + 1 - first, end - first, instead(instance, i)});
        }
    });
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (const auto found = of_task.find(task); found != of_task.end())
            replace(operations, std::move(found->second));
    });
}

// Returns the construct of the first work after this operation, up to the end of the loop; 0 without work.
uint32_t work_in(const TaskProgram &program, uint32_t op) {
    for (; program.operations[op].kind() != OpKind::kLoopEnd && program.operations[op].kind() != OpKind::kEnd; op++)
        if (program.operations[op].is_work()) return program.operations[op].construct();
    return 0;
}

// Returns the construct of the first work in the instance; 0 without work.
uint32_t construct_in(const TaskProgram &program, const Instance &instance) {
    for (const Part &part : instance.parts)
        for (uint32_t op = part.begin; op < part.end; op++)
            if (program.operations[op].is_work()) return program.operations[op].construct();
    return 0;
}

constexpr uint64_t kMostPieces = 64; // of one part, for each simulated thread

// Returns the work of each of n threads that share the iterations in blocks of equal size.
std::vector<uint64_t> in_blocks(const Instance &instance, const std::vector<uint64_t> &iterations, uint32_t n) {
    uint64_t n_iterations = 0;
    for (const uint64_t taken : iterations) n_iterations += taken;
    std::vector<uint64_t> works(n);
    // Treats the parts as consecutive iterations, and cuts them where the share of a thread begins.
    uint64_t before = 0;
    for (size_t i = 0; i < iterations.size(); before += iterations[i++]) {
        uint64_t given = 0;
        for (uint32_t thread = 0; thread < n && iterations[i]; thread++) {
            const uint64_t end = n_iterations * (thread + 1) / n;
            const uint64_t inside = std::min(end > before ? end - before : 0, iterations[i]);
            const auto share = static_cast<uint64_t>(static_cast<unsigned __int128>(instance.parts[i].work_ns) *
                                                     inside / iterations[i]);
            works[thread] += share - given;
            given = share;
        }
        if (iterations[i] == 0) works[i * n / iterations.size()] += instance.parts[i].work_ns;
    }
    return works;
}

// Returns the work of each of n threads that take the next chunk when they are free, the longest chunks first.
std::vector<uint64_t> in_chunks(const TaskProgram &program, const Instance &instance, uint32_t n) {
    std::vector<uint64_t> pieces;
    for (const Part &part : instance.parts) {
        const uint64_t n_pieces = std::clamp<uint64_t>(program.operations[part.end].value(), 1, kMostPieces * n);
        for (uint64_t k = 0; k < n_pieces; k++) pieces.push_back(part_of(part.work_ns, k, n_pieces));
    }
    std::ranges::sort(pieces, std::greater<>());
    std::priority_queue<std::pair<uint64_t, uint32_t>, std::vector<std::pair<uint64_t, uint32_t>>, std::greater<>> free;
    for (uint32_t thread = 0; thread < n; thread++) free.emplace(0, thread);
    std::vector<uint64_t> works(n);
    for (const uint64_t piece : pieces) {
        const uint32_t thread = free.top().second;
        free.pop();
        free.emplace(works[thread] += piece, thread);
    }
    return works;
}

// Returns the work of each of n threads under the schedule of the loop.
std::vector<uint64_t> shared_works(const TaskProgram &program, const Instance &instance, uint32_t kind, uint32_t n) {
    std::vector<uint64_t> iterations, chunks;
    for (const Part &part : instance.parts) {
        iterations.push_back(program.operations[part.begin].value());
        chunks.push_back(program.operations[part.end].value());
    }
    const bool is_cyclic = std::ranges::any_of(chunks, [](uint64_t taken) { return taken > 1; });
    // A team of one takes all iterations as one chunk, under any schedule.
    const bool has_chunks = instance.parts.size() > 1 && is_cyclic;
    if (has_chunks && kind != format::kWorkStaticLoop) return in_chunks(program, instance, n);
    const bool knows_iterations = std::ranges::any_of(iterations, [](uint64_t taken) { return taken != 0; });
    if (!knows_iterations) iterations.assign(iterations.size(), n);
    if (!has_chunks) return in_blocks(instance, iterations, n);
    // Under a static schedule with a chunk size, threads take chunks in turn, so all have equal shares of each part.
    std::vector<uint64_t> works(n);
    for (uint32_t thread = 0; thread < n; thread++) works[thread] = part_of(instance.work_ns(), thread, n);
    return works;
}

// True if the region's recorded team is smaller than the largest one. The program then chose its size, by a num_threads
// or if clause.
bool keeps_team(const TaskProgram &program, const ProgramRegion &region) {
    return region.team_size < program.n_threads;
}

// Returns the size of the region's team in a run on n_threads threads.
uint32_t team_size_in(const TaskProgram &program, const ProgramRegion &region, uint32_t n_threads) {
    return keeps_team(program, region) ? std::min(region.team_size, n_threads) : n_threads;
}

bool can_be_shared(const TaskProgram &program, const Instance &instance) {
    return instance.divisible && instance.parts.size() == program.regions[instance.region].implicit.size();
}

} // namespace

LoopCounts count_loops(const TaskProgram &program) {
    LoopCounts counts;
    for_each_loop(program, [&](uint16_t, const Instance &instance) {
        if (keeps_team(program, program.regions[instance.region])) return;
        const bool is_shared = can_be_shared(program, instance);
        (is_shared ? counts.n_shared : counts.n_kept)++;
        if (!is_shared) counts.kept_ns += instance.work_ns();
        if (is_shared && instance.parts.size() == 1) counts.equal_ns += instance.work_ns();
    });
    return counts;
}

TaskProgram share_loops(const TaskProgram &program, uint32_t n_threads) {
    // The work of a thread in a shared instance, by the place of the recorded thread's kLoopBegin.
    struct Share {
        std::shared_ptr<const std::vector<uint64_t>> works;
        uint32_t thread;
    };
    std::unordered_map<uint32_t, Share> shares;
    std::vector<bool> has_loops(program.regions.size());
    for_each_loop(program, [&](uint16_t construct, const Instance &instance) {
        if (!can_be_shared(program, instance)) return;
        const auto found = program.loop_kinds.find(construct);
        const auto works = std::make_shared<const std::vector<uint64_t>>(
            shared_works(program, instance, found == program.loop_kinds.end() ? format::kWorkLoop : found->second,
                         team_size_in(program, program.regions[instance.region], n_threads)));
        for (uint32_t i = 0; i < instance.parts.size(); i++) shares[instance.parts[i].begin] = {works, i};
        has_loops[instance.region] = true;
    });
    // Returns the operations of a thread. A thread beyond the recorded team has only barriers and its shares of loops.
    const auto operations_in = [&](uint32_t task, uint32_t thread, bool is_new) {
        Operations made;
        const Share *inside = nullptr;
        for (uint32_t op = program.tasks[task].first_op; program.operations[op].kind() != OpKind::kEnd; op++) {
            const Operation operation = program.operations[op];
            const auto share = operation.kind() == OpKind::kLoopBegin ? shares.find(op) : shares.end();
            if (share != shares.end()) {
                inside = &share->second;
                made.push_back(operation);
                if (thread < inside->works->size())
                    made.push_back(Operation::of(OpKind::kWork, (*inside->works)[thread], work_in(program, op)));
            } else if (operation.kind() == OpKind::kLoopEnd && inside) {
                made.push_back(operation);
                inside = nullptr;
            } else if (!inside && (!is_new || operation.kind() == OpKind::kBarrier)) {
                made.push_back(operation);
            }
        }
        return made;
    };
    std::unordered_map<uint32_t, uint32_t> thread_of; // thread, by implicit task of a region with loops
    for (const ProgramRegion &region : program.regions)
        for (uint32_t i = 0; i < region.implicit.size(); i++)
            if (has_loops[static_cast<size_t>(&region - program.regions.data())]) thread_of[region.implicit[i]] = i;
    TaskProgram made = rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        const auto found = thread_of.find(task);
        if (found != thread_of.end()) operations = operations_in(task, found->second, false);
    });
    for (size_t number = 0; number < program.regions.size(); number++) {
        const std::vector<uint32_t> &recorded = program.regions[number].implicit;
        const uint32_t n = has_loops[number] ? team_size_in(program, program.regions[number], n_threads) : 0;
        for (auto thread = static_cast<uint32_t>(recorded.size()); thread < n; thread++) {
            const auto task = static_cast<uint32_t>(made.tasks.size());
            made.tasks.push_back(program.tasks[recorded.back()]);
            append(made, task, operations_in(recorded.back(), thread, true));
            made.regions[number].implicit.push_back(task);
        }
    }
    return made;
}

TaskProgram balance_loop(const TaskProgram &program, uint16_t construct) {
    return with_loop(program, construct, [&](const Instance &instance, size_t i) {
        return Operations{Operation::of(OpKind::kWork, part_of(instance.work_ns(), i, instance.parts.size()),
                                        construct_in(program, instance))};
    });
}

TaskProgram loop_to_tasks(const TaskProgram &program, uint16_t construct, uint32_t n_tasks) {
    std::vector<Operation> works; // work of each added task
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
        const auto kind = program.loop_kinds.find(construct);
        loop.is_static = kind != program.loop_kinds.end() && kind->second == format::kWorkStaticLoop;
        for (const Part &part : instance.parts) loop.n_iterations += program.operations[part.begin].value();
        loop.n_instances++;
        loop.work_ns += instance.work_ns();
        loop.longest_ns += std::ranges::max_element(instance.parts, {}, &Part::work_ns)->work_ns;
        for (const Part &part : instance.parts) loop.n_chunks += program.operations[part.end].value();
    });
    return loops;
}

} // namespace ompass::simulation

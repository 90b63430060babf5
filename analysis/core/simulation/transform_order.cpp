// SPDX-License-Identifier: Apache-2.0
#include "transform_order.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rewriting.h"

namespace ompass::simulation {

namespace {

// Returns, for each task, the number of earlier tasks of its construct.
std::vector<uint32_t> ranks(const TaskProgram &program) {
    std::vector<uint32_t> rank(program.tasks.size()), seen(program.constructs.size());
    for (uint32_t task = 0; task < program.tasks.size(); task++) rank[task] = seen[program.tasks[task].construct]++;
    return rank;
}

// Returns the number of pipeline items from the earlier to the later task of a dependence. Returns 0 if both belong to
// the same step or item, or if the earlier task belongs to a later item.
uint32_t items_between(const TaskProgram &program, const std::vector<uint32_t> &rank, const Dependence &pair) {
    const bool steps_differ = program.tasks[pair.before].construct != program.tasks[pair.after].construct;
    return steps_differ && rank[pair.after] > rank[pair.before] ? rank[pair.after] - rank[pair.before] : 0;
}

template <typename Visit>
void for_each_operation(const TaskProgram &program, uint32_t task, Visit visit) {
    for (uint32_t op = program.tasks[task].first_op; program.operations[op].kind() != OpKind::kEnd; op++)
        visit(program.operations[op]);
}

} // namespace

// ---------------------------------------------------------------- waits

TaskProgram merge_waits(const TaskProgram &program, uint16_t wait) {
    return rewritten(program, [&](TaskProgram &, uint32_t, Operations &operations) {
        keep_last(operations, [&](Operation one) { return one.is_wait() && one.construct() == wait; });
    });
}

std::map<uint16_t, WaitShape> waits_of(const TaskProgram &program) {
    std::map<uint16_t, WaitShape> waits;
    for (uint32_t task = 1; task < program.tasks.size(); task++) {
        std::map<uint16_t, uint64_t> in_task;
        for_each_operation(program, task, [&](Operation one) {
            if (one.is_wait()) in_task[static_cast<uint16_t>(one.construct())]++;
        });
        for (const auto &[construct, n] : in_task) {
            waits[construct].n_waits += n;
            waits[construct].most_in_task = std::max(waits[construct].most_in_task, n);
        }
    }
    return waits;
}

TaskProgram without_blocking(const TaskProgram &program, uint16_t place) {
    return rewritten(program, [&](TaskProgram &, uint32_t, Operations &operations) {
        std::erase_if(operations,
                      [&](Operation one) { return one.kind() == OpKind::kBlocked && one.construct() == place; });
    });
}

std::map<uint16_t, uint64_t> blocking_of(const TaskProgram &program) {
    std::map<uint16_t, uint64_t> blocked;
    for (const Operation one : program.operations)
        if (one.kind() == OpKind::kBlocked && !one.is_call())
            blocked[static_cast<uint16_t>(one.construct())] += one.value();
    return blocked;
}

// ---------------------------------------------------------------- dependences

TaskProgram without_dependences(const TaskProgram &program, uint16_t before, uint16_t after) {
    TaskProgram made = program;
    std::erase_if(made.dependences, [&](const Dependence &pair) {
        return program.tasks[pair.before].construct == before && program.tasks[pair.after].construct == after;
    });
    return made;
}

TaskProgram deepen(const TaskProgram &program, uint16_t after, uint32_t depth, uint32_t factor) {
    TaskProgram made = program;
    const std::vector<uint32_t> rank = ranks(program);
    std::vector<uint32_t> tasks; // tasks of the construct, by rank
    for (uint32_t task = 0; task < program.tasks.size(); task++)
        if (program.tasks[task].construct == after) tasks.push_back(task);
    std::erase_if(made.dependences, [&](Dependence &pair) {
        if (program.tasks[pair.after].construct != after || items_between(program, rank, pair) != depth) return false;
        const uint64_t later = rank[pair.before] + uint64_t{depth} * factor;
        if (later >= tasks.size()) return true;
        pair.after = tasks[later];
        return false;
    });
    sort_dependences(made.dependences);
    return made;
}

std::map<std::pair<uint16_t, uint16_t>, DependenceShape> dependences_of(const TaskProgram &program) {
    const std::vector<uint32_t> rank = ranks(program);
    std::map<std::pair<uint16_t, uint16_t>, std::map<uint32_t, uint64_t>> depths;
    for (const Dependence &pair : program.dependences) {
        depths[{program.tasks[pair.before].construct, program.tasks[pair.after].construct}]
              [items_between(program, rank, pair)]++;
    }
    std::map<std::pair<uint16_t, uint16_t>, DependenceShape> shapes;
    for (const auto &[constructs, counts] : depths) {
        DependenceShape &shape = shapes[constructs];
        for (const auto &[depth, n] : counts) shape.n += n;
        for (const auto &[depth, n] : counts)
            if (10 * n >= 9 * shape.n) shape.depth = depth;
    }
    return shapes;
}

// ---------------------------------------------------------------- locks

TaskProgram without_lock(const TaskProgram &program, uint32_t lock) {
    return rewritten(program, [&](TaskProgram &, uint32_t, Operations &operations) {
        std::erase_if(operations, [&](Operation one) { return one.kind() == OpKind::kLock && one.value() == lock; });
    });
}

std::vector<LockShape> locks_of(const TaskProgram &program) {
    std::vector<LockShape> locks(program.n_locks);
    std::vector<uint64_t> held;
    for (const Operation one : program.operations) {
        if (one.kind() == OpKind::kEnd) held.clear();
        if (one.kind() == OpKind::kLock && one.construct() == kAcquire) {
            held.push_back(one.value());
            locks[one.value()].n_acquired++;
        } else if (one.kind() == OpKind::kLock) {
            std::erase(held, one.value());
        } else if (one.is_work()) {
            for (const uint64_t lock : held) locks[lock].held_ns += one.value();
        }
    }
    for (size_t lock = 0; lock < locks.size() && lock < program.lock_places.size(); lock++)
        locks[lock].place = program.lock_places[lock];
    for (size_t lock = 0; lock < locks.size() && lock < program.lock_handoffs.size(); lock++)
        locks[lock].passing_ns = locks[lock].n_acquired * program.lock_handoffs[lock];
    return locks;
}

// ---------------------------------------------------------------- barriers and regions

TaskProgram without_region_recording(const TaskProgram &program, RegionRecording added) {
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (!(program.tasks[task].flags & ProgramTask::kImplicit)) return;
        uint64_t added_ns = added.fork + added.barrier; // remains to be removed
        for (Operation &one : operations) {
            if (one.kind() == OpKind::kBarrier) added_ns += added.barrier;
            if (one.kind() == OpKind::kLoopBegin) added_ns += added.loop;
            if (one.kind() != OpKind::kWork) continue;
            const uint64_t removed = std::min(added_ns, one.value());
            added_ns -= removed;
            one = Operation::of(OpKind::kWork, one.value() - removed, one.construct());
        }
    });
}

TaskProgram merge_barriers(const TaskProgram &program, uint16_t barrier) {
    return rewritten(program, [&](TaskProgram &, uint32_t, Operations &operations) {
        keep_last(operations,
                  [&](Operation one) { return one.kind() == OpKind::kBarrier && one.construct() == barrier; });
    });
}

std::map<uint16_t, BarrierShape> barriers_of(const TaskProgram &program) {
    std::map<uint16_t, BarrierShape> barriers;
    for (const ProgramRegion &region : program.regions) {
        if (region.implicit.empty()) continue;
        std::map<uint16_t, uint64_t> in_region;
        for_each_operation(program, region.implicit.front(), [&](Operation one) {
            if (one.kind() == OpKind::kBarrier) in_region[static_cast<uint16_t>(one.construct())]++;
        });
        for (const auto &[construct, n] : in_region) {
            barriers[construct].n += n;
            barriers[construct].most_in_region = std::max(barriers[construct].most_in_region, n);
        }
    }
    return barriers;
}

TaskProgram merge_regions(const TaskProgram &program, uint16_t construct) {
    std::unordered_map<uint64_t, std::vector<uint64_t>> series; // by its first region: the regions that follow
    Operations serial;
    uint64_t first = ~uint64_t{0};
    for (const Operation one : operations_of(program, 0)) {
        const bool is_region = one.kind() == OpKind::kRegion;
        const bool fits = is_region && program.regions[one.value()].construct == construct;
        const bool follows = fits && first != ~uint64_t{0} &&
                             program.regions[one.value()].implicit.size() == program.regions[first].implicit.size();
        if (follows) {
            series[first].push_back(one.value());
            continue;
        }
        if (fits)
            first = one.value();
        else if (!one.is_work())
            first = ~uint64_t{0};
        serial.push_back(one);
    }
    std::unordered_map<uint32_t, std::vector<uint32_t>> parts; // further implicit tasks of a thread
    std::unordered_set<uint32_t> left_out; // the same tasks
    for (const auto &[begin, others] : series)
        for (size_t thread = 0; thread < program.regions[begin].implicit.size(); thread++)
            for (const uint64_t other : others) {
                const uint32_t part = program.regions[other].implicit[thread];
                parts[program.regions[begin].implicit[thread]].push_back(part);
                left_out.insert(part);
            }
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (task == 0) operations = serial;
        if (left_out.contains(task)) operations.clear();
        const auto found = parts.find(task);
        if (found == parts.end()) return;
        for (const uint32_t other : found->second) {
            const Operations more = operations_of(program, other);
            operations.insert(operations.end(), more.begin(), more.end());
        }
        keep_last(operations, [](Operation one) { return one.kind() == OpKind::kBarrier; });
    });
}

// ---------------------------------------------------------------- serial parts

namespace {

// Calls visit(operation, before, after) for each piece of serial work. `before` and `after`: constructs of the regions
// before and after it; 0: none.
template <typename Visit>
void for_each_serial_work(const TaskProgram &program, Operations &operations, Visit visit) {
    uint16_t before = 0;
    for (size_t begin = 0; begin < operations.size();) {
        const auto next = std::find_if(operations.begin() + static_cast<ptrdiff_t>(begin), operations.end(),
                                       [](Operation one) { return one.kind() == OpKind::kRegion; });
        const uint16_t after = next == operations.end() ? uint16_t{0} : program.regions[next->value()].construct;
        const auto end = static_cast<size_t>(next - operations.begin());
        for (size_t i = begin; i < end; i++)
            if (operations[i].is_work()) visit(operations[i], before, after);
        before = after;
        begin = end + 1;
    }
}

} // namespace

TaskProgram share_serial(const TaskProgram &program, uint16_t before, uint16_t after, uint32_t n_threads) {
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (task) return;
        for_each_serial_work(program, operations, [&](Operation &one, uint16_t from, uint16_t to) {
            if (from == before && to == after) one = part_of(one, 0, n_threads);
        });
    });
}

std::map<std::pair<uint16_t, uint16_t>, uint64_t> serial_parts_of(const TaskProgram &program) {
    std::map<std::pair<uint16_t, uint16_t>, uint64_t> parts;
    Operations operations = operations_of(program, 0);
    for_each_serial_work(program, operations, [&](const Operation &one, uint16_t before, uint16_t after) {
        parts[{before, after}] += one.value();
    });
    return parts;
}

} // namespace ompass::simulation

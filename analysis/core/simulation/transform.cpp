// SPDX-License-Identifier: Apache-2.0
#include "transform.h"

#include <algorithm>
#include <bitset>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "rewriting.h"

namespace ompass::simulation {

namespace {

bool creates(const TaskProgram &program, Operation operation, uint16_t construct) {
    return operation.kind() == OpKind::kCreate && program.tasks[operation.task()].construct == construct &&
           !(program.tasks[operation.task()].flags & ProgramTask::kInline);
}

// True if the operation ends a row of creations: all do except work, accesses, and the marks of kernels and loops.
bool ends_row(Operation operation) {
    return !operation.is_own() || operation.kind() == OpKind::kBlocked || operation.kind() == OpKind::kLock;
}

// Calls found(begin, end, n) for each sequence of operations that creates n tasks of the construct and otherwise only
// works, from the last sequence to the first. A sequence begins and ends with a creation.
template <typename Found>
void for_each_row(const TaskProgram &program, const Operations &operations, uint16_t construct, Found found) {
    size_t end = 0, begin = 0;
    uint64_t n = 0;
    for (size_t i = operations.size(); i-- > 0;) {
        if (creates(program, operations[i], construct)) {
            if (n++ == 0) end = i + 1;
            begin = i;
        } else if (n && ends_row(operations[i])) {
            found(begin, end, n);
            n = 0;
        }
    }
    if (n) found(begin, end, n);
}

std::unordered_set<uint32_t> dependent_tasks(const TaskProgram &program) {
    std::unordered_set<uint32_t> tasks;
    for (const Dependence &pair : program.dependences) tasks.insert({pair.before, pair.after});
    return tasks;
}

// Returns the work of a deferred task that only works and has no dependences; 0 for other tasks.
uint64_t divisible_ns(const TaskProgram &program, const std::unordered_set<uint32_t> &dependent, uint32_t task) {
    const ProgramTask &one = program.tasks[task];
    if (one.flags & (ProgramTask::kInline | ProgramTask::kImplicit) || dependent.contains(task)) return 0;
    uint64_t ns = 0;
    for (uint32_t op = one.first_op; program.operations[op].kind() != OpKind::kEnd; op++) {
        if (!program.operations[op].is_work()) return 0;
        ns += program.operations[op].value();
    }
    return ns;
}

} // namespace

TaskProgram with_earlier_work(const TaskProgram &program, uint64_t ns) {
    TaskProgram made = rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (task == 0) operations.insert(operations.begin(), Operation::of(OpKind::kWork, ns));
    });
    made.wall_ns += ns;
    return made;
}

TaskProgram with_constructs(const TaskProgram &program, const std::vector<uint16_t> &instead) {
    TaskProgram made = program;
    for (ProgramTask &task : made.tasks) task.construct = instead[task.construct];
    for (ProgramRegion &region : made.regions) region.construct = instead[region.construct];
    for (uint16_t &place : made.lock_places) place = instead[place];
    for (Operation &one : made.operations)
        if (one.kind() != OpKind::kCreate && one.kind() != OpKind::kLock && !one.is_call())
            one = Operation::of(one.kind(), one.value(), instead[one.construct()]);
    made.loop_kinds.clear();
    for (const auto &[construct, kind] : program.loop_kinds) made.loop_kinds[instead[construct]] = kind;
    made.taskloop_iterations.clear();
    for (const auto &[construct, n] : program.taskloop_iterations) made.taskloop_iterations[instead[construct]] += n;
    return made;
}

TaskProgram coarsen(const TaskProgram &program, uint16_t construct, uint32_t grain) {
    const std::unordered_set<uint32_t> dependent = dependent_tasks(program);
    std::vector<std::pair<uint32_t, uint32_t>> merged; // a task, and a later task whose operations it takes over
    TaskProgram fewer = rewritten(program, [&](TaskProgram &, uint32_t, Operations &operations) {
        std::vector<Replacement> rows;
        for_each_row(program, operations, construct, [&](size_t begin, size_t end, uint64_t) {
            Operations kept;
            uint32_t first = 0, n = 0;
            for (size_t i = begin; i < end; i++) {
                const Operation operation = operations[i];
                const bool is_leaf = operation.kind() == OpKind::kCreate && !dependent.contains(operation.task()) &&
                                     std::ranges::all_of(operations_of(program, operation.task()), &Operation::is_own);
                if (operation.kind() == OpKind::kCreate && is_leaf && n && n < grain) {
                    merged.emplace_back(first, operation.task());
                    n++;
                    continue;
                }
                if (operation.kind() == OpKind::kCreate) {
                    first = operation.task();
                    n = is_leaf && !operations_of(program, first).empty() ? 1 : 0; // rewritten() skips empty tasks
                }
                kept.push_back(operation);
            }
            rows.push_back({begin, end, std::move(kept)});
        });
        replace(operations, std::move(rows));
    });
    std::ranges::sort(merged);
    return rewritten(fewer, [&](TaskProgram &, uint32_t task, Operations &operations) {
        for (auto next = std::ranges::lower_bound(merged, std::pair{task, 0u});
             next != merged.end() && next->first == task; ++next) {
            const Operations more = operations_of(program, next->second);
            operations.insert(operations.end(), more.begin(), more.end());
        }
    });
}

TaskProgram refine(const TaskProgram &program, uint16_t construct, uint32_t n_parts) {
    const std::unordered_set<uint32_t> dependent = dependent_tasks(program);
    std::unordered_map<uint32_t, uint32_t> parts_of; // number of parts, by divided task
    const uint64_t longest_ns = shapes_of(program)[construct].longest_ns;
    for (uint32_t task = 1; task < program.tasks.size(); task++) {
        if (program.tasks[task].construct != construct) continue;
        const uint64_t ns = divisible_ns(program, dependent, task);
        const auto n = static_cast<uint32_t>(longest_ns ? (ns * n_parts + longest_ns - 1) / longest_ns : 0);
        if (n > 1) parts_of[task] = n;
    }
    std::vector<std::pair<uint32_t, uint32_t>> added; // for each new task: the divided task and the number of the part
    TaskProgram made = rewritten(program, [&](TaskProgram &changed, uint32_t task, Operations &operations) {
        if (const auto found = parts_of.find(task); found != parts_of.end())
            for (Operation &operation : operations) operation = part_of(operation, 0, found->second);
        Operations instead;
        for (const Operation operation : operations) {
            instead.push_back(operation);
            if (!creates(program, operation, construct)) continue;
            const auto found = parts_of.find(operation.task());
            for (uint32_t part = 1; found != parts_of.end() && part < found->second; part++) {
                added.emplace_back(operation.task(), part);
                instead.push_back(Operation::create(static_cast<uint32_t>(changed.tasks.size()), operation.cost()));
                changed.tasks.push_back(program.tasks[operation.task()]);
            }
        }
        operations.swap(instead);
    });
    for (size_t i = 0; i < added.size(); i++) {
        const auto [task, part] = added[i];
        Operations operations = operations_of(program, task);
        for (Operation &operation : operations) operation = part_of(operation, part, parts_of[task]);
        append(made, static_cast<uint32_t>(program.tasks.size() + i), operations);
    }
    return made;
}

TaskProgram spread(const TaskProgram &program, uint16_t construct, uint32_t least, uint32_t n_parts) {
    const std::unordered_set<uint32_t> dependent = dependent_tasks(program);
    const auto creates_dependent = [&](Operation operation) {
        return operation.kind() == OpKind::kCreate && dependent.contains(operation.task());
    };
    std::vector<Operations> parts; // operations of the added tasks
    TaskProgram made = rewritten(program, [&](TaskProgram &changed, uint32_t task, Operations &operations) {
        std::vector<Replacement> rows;
        for_each_row(program, operations, construct, [&](size_t begin, size_t end, uint64_t n) {
            const std::span row(&operations[begin], end - begin);
            if (n < least || std::ranges::any_of(row, creates_dependent)) return;
            Operations instead;
            size_t next = begin;
            uint64_t created = 0;
            for (uint32_t part = 1; part <= n_parts; part++) {
                Operations slice;
                for (; next < end && (part == n_parts || created * n_parts < n * part); next++) {
                    slice.push_back(operations[next]);
                    created += operations[next].kind() == OpKind::kCreate;
                }
                if (slice.empty()) continue;
                slice.push_back(Operation::of(OpKind::kTaskwait));
                ProgramTask splitter;
                splitter.creator = task;
                splitter.construct = construct;
                splitter.depth = static_cast<uint16_t>(program.tasks[task].depth + 1);
                const auto number = static_cast<uint32_t>(changed.tasks.size());
                changed.tasks.push_back(splitter);
                for (const Operation operation : slice)
                    if (operation.kind() == OpKind::kCreate) changed.tasks[operation.task()].depth++;
                const auto like = std::ranges::find(slice, OpKind::kCreate, &Operation::kind);
                instead.push_back(Operation::create(number, like->cost()));
                parts.push_back(std::move(slice));
            }
            rows.push_back({begin, end, std::move(instead)});
        });
        replace(operations, std::move(rows));
    });
    for (size_t i = 0; i < parts.size(); i++) append(made, static_cast<uint32_t>(program.tasks.size() + i), parts[i]);
    return made;
}

TaskProgram join_phases(const TaskProgram &program, uint16_t construct) {
    return rewritten(program, [&](TaskProgram &, uint32_t task, Operations &operations) {
        if (program.tasks[task].construct != construct) return;
        keep_last(operations, &Operation::is_wait);
    });
}

bool is_deferred(const ProgramTask &task) { return !(task.flags & (ProgramTask::kInline | ProgramTask::kImplicit)); }

// Calls `change` for all deferred tasks of the construct.
template <typename Change>
void change_deferred(TaskProgram &program, uint16_t construct, Change change) {
    for (ProgramTask &task : program.tasks)
        if (task.construct == construct && is_deferred(task)) change(task);
}

TaskProgram untie(const TaskProgram &program, uint16_t construct) {
    TaskProgram made = program;
    change_deferred(made, construct, [](ProgramTask &task) { task.flags |= ProgramTask::kUntied; });
    return made;
}

TaskProgram limit_creations(const TaskProgram &program, uint16_t construct, uint32_t most_ns) {
    TaskProgram made = program;
    for (Operation &operation : made.operations) {
        if (operation.kind() != OpKind::kCreate) continue;
        const ProgramTask &task = made.tasks[operation.task()];
        if (task.construct == construct && is_deferred(task))
            operation = Operation::create(operation.task(), std::min<uint64_t>(operation.cost(), most_ns));
    }
    return made;
}

TaskProgram prioritise(const TaskProgram &program, uint16_t construct) {
    TaskProgram made = program;
    change_deferred(made, construct, [](ProgramTask &task) { task.priority = ProgramTask::kMostPriority; });
    return made;
}

TaskProgram reverse_priorities(const TaskProgram &program, uint16_t construct) {
    TaskProgram made = program;
    uint8_t lowest = ProgramTask::kMostPriority, highest = 0;
    change_deferred(made, construct, [&](const ProgramTask &task) {
        lowest = std::min(lowest, task.priority);
        highest = std::max(highest, task.priority);
    });
    change_deferred(made, construct, [&](ProgramTask &task) {
        task.priority = static_cast<uint8_t>(lowest + (highest - task.priority));
    });
    return made;
}

TaskProgram place_subtrees(const TaskProgram &program, uint16_t construct, uint32_t n_domains) {
    TaskProgram placed = program;
    std::vector<uint32_t> root(program.tasks.size()); // root of the subtree of each task; 0: none
    std::vector<uint32_t> roots;
    for (uint32_t task = 1; task < program.tasks.size(); task++) {
        const ProgramTask &one = program.tasks[task];
        root[task] = root[one.creator];
        if (root[task] || one.construct != construct || one.flags & ProgramTask::kInline) continue;
        root[task] = task;
        roots.push_back(task);
    }
    for (size_t k = 0; k < roots.size(); k++)
        placed.tasks[roots[k]].home = static_cast<int16_t>(k * n_domains / roots.size());
    for (uint32_t task = 1; task < program.tasks.size(); task++)
        placed.tasks[task].home = root[task] ? placed.tasks[root[task]].home : int16_t{-1};
    placed.n_domains = n_domains;
    return placed;
}

std::vector<Shape> shapes_of(const TaskProgram &program) {
    std::vector<Shape> shapes(program.constructs.size());
    std::vector<uint64_t> in_a_row(shapes.size()), own_ns(shapes.size());
    std::vector<std::map<uint16_t, uint64_t>> others_ns(shapes.size()); // work of undeferred tasks
    std::vector<std::bitset<ProgramTask::kMostPriority + 1>> priorities(shapes.size());
    std::vector<uint16_t> seen;
    const std::unordered_set<uint32_t> dependent = dependent_tasks(program);
    for (uint32_t task = 1; task < program.tasks.size(); task++) {
        const ProgramTask &one = program.tasks[task];
        Shape &shape = shapes[one.construct];
        shape.n_tasks++;
        shape.n_deferred += is_deferred(one);
        shape.n_untied += (one.flags & ProgramTask::kUntied) != 0;
        if (is_deferred(one)) priorities[one.construct].set(one.priority);
        shape.deepest = std::max<uint32_t>(shape.deepest, one.depth);
        if (const uint64_t ns = divisible_ns(program, dependent, task)) {
            shape.n_divisible++;
            shape.divisible_ns += ns;
            shape.longest_ns = std::max(shape.longest_ns, ns);
        }
        uint64_t phases = 0;
        bool created = false;
        const auto close = [&] {
            for (const uint16_t construct : seen) in_a_row[construct] = 0;
            seen.clear();
        };
        for (uint32_t op = one.first_op; program.operations[op].kind() != OpKind::kEnd; op++) {
            const Operation operation = program.operations[op];
            if (operation.kind() == OpKind::kCreate) {
                const uint16_t child = program.tasks[operation.task()].construct;
                if (is_deferred(program.tasks[operation.task()])) shapes[child].create_ns += operation.cost();
                if (in_a_row[child]++ == 0) seen.push_back(child);
                shapes[child].most_in_a_row = std::max(shapes[child].most_in_a_row, in_a_row[child]);
                created = true;
            } else if (operation.is_work()) {
                const auto construct = static_cast<uint16_t>(operation.construct());
                (construct == one.construct ? own_ns[construct] : others_ns[one.construct][construct]) +=
                    operation.value();
            } else if (ends_row(operation)) {
                phases += created && operation.is_wait();
                if (created && operation.is_wait()) shape.wait = operation.construct();
                created = false;
                close();
            }
        }
        close();
        shape.most_phases = std::max(shape.most_phases, phases);
    }
    for (size_t construct = 0; construct < shapes.size(); construct++)
        shapes[construct].n_priorities = priorities[construct].count();
    for (const auto &[construct, n] : program.taskloop_iterations) shapes[construct].n_iterations = n;
    for (size_t construct = 0; construct < shapes.size(); construct++) {
        uint64_t most = own_ns[construct];
        shapes[construct].most_of = static_cast<uint16_t>(construct);
        for (const auto &[other, ns] : others_ns[construct])
            if (ns > most) most = ns, shapes[construct].most_of = other;
    }
    return shapes;
}

} // namespace ompass::simulation

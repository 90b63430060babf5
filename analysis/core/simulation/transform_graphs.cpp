// SPDX-License-Identifier: Apache-2.0
#include "transform_graphs.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace ompass::simulation {

namespace {

constexpr uint32_t kAgain = 3; // replays need at least this many graphs of one creator at a place

struct Graph {
    uint32_t first_op, end_op; // operations of its creator, up to the wait
    uint32_t creator; // the task, or kImplicit for all implicit tasks of the region construct
};
constexpr uint32_t kImplicit = UINT32_MAX;

// Constructs of the creating task, of the wait, and of the first task.
using Place = std::tuple<uint16_t, uint16_t, uint16_t>;

struct Graphs {
    std::vector<uint64_t> structure; // of the first graph
    bool are_alike = true;
    std::vector<Graph> list;
    std::map<uint32_t, uint32_t> n_of_creator;

    // Calls found(graph) for each graph that can be replayed.
    template <typename Found>
    void for_each_replay(Found found) const {
        if (!are_alike) return;
        std::map<uint32_t, uint32_t> n_seen;
        for (const Graph &graph : list)
            if (n_of_creator.at(graph.creator) >= kAgain && n_seen[graph.creator]++ > 0) found(graph);
    }
};

// Finds the graphs of a program.
class Reader {
public:
    explicit Reader(const TaskProgram &program) : program_(program), by_after_(program.dependences) {
        std::ranges::sort(by_after_, {}, [](const Dependence &pair) { return std::pair{pair.after, pair.before}; });
        for (uint32_t task = 1; task < program.tasks.size(); task++) read(task);
    }
    std::map<Place, Graphs> places;

    template <typename Visit>
    void for_each_task(const Graph &graph, Visit visit) const {
        for (uint32_t op = graph.first_op; op < graph.end_op; op++)
            if (program_.operations[op].kind() == OpKind::kCreate) visit(program_.operations[op]);
    }

private:
    // Adds the graphs that the task creates. Ignores the last one if no wait follows it.
    void read(uint32_t task) {
        uint32_t first_op = 0, first_task = 0;
        bool is_graph = true;
        for (uint32_t op = program_.tasks[task].first_op; program_.operations[op].kind() != OpKind::kEnd; op++) {
            const Operation operation = program_.operations[op];
            if (operation.kind() == OpKind::kCreate) {
                if (!first_task) first_op = op, first_task = operation.task();
                is_graph &= !(program_.tasks[operation.task()].flags & ProgramTask::kInline);
            } else if (operation.is_wait() || operation.kind() == OpKind::kBarrier) {
                if (first_task) add(task, operation, first_task, {first_op, op, 0}, is_graph);
                first_task = 0;
                is_graph = true;
            } else if (first_task && !(operation.is_own() && operation.kind() != OpKind::kLock &&
                                       operation.kind() != OpKind::kBlocked)) {
                is_graph = false;
            }
        }
    }

    void add(uint32_t task, Operation wait, uint32_t first_task, Graph graph, bool is_graph) {
        const ProgramTask &creator = program_.tasks[task];
        graph.creator = creator.flags & ProgramTask::kImplicit ? kImplicit : task;
        Graphs &graphs =
            places[{creator.construct, static_cast<uint16_t>(wait.construct()), program_.tasks[first_task].construct}];
        graphs.are_alike &= is_graph;
        if (!graphs.are_alike) return;
        std::vector<uint64_t> structure = structure_of(graph);
        if (graphs.list.empty())
            graphs.structure = std::move(structure);
        else
            graphs.are_alike = structure == graphs.structure;
        graphs.list.push_back(graph);
        graphs.n_of_creator[graph.creator]++;
    }

    // Returns the construct of each task of the graph, followed by its distances from its predecessors in the graph.
    std::vector<uint64_t> structure_of(const Graph &graph) const {
        std::vector<uint32_t> tasks; // in order of their numbers, because these follow the order of creation
        std::vector<uint64_t> structure;
        for_each_task(graph, [&](Operation creation) {
            const uint32_t task = creation.task();
            structure.push_back(uint64_t{1} << 32 | program_.tasks[task].construct);
            auto pair = std::ranges::lower_bound(by_after_, task, {}, &Dependence::after);
            for (; pair != by_after_.end() && pair->after == task; pair++) {
                const auto before = std::ranges::lower_bound(tasks, pair->before);
                if (before != tasks.end() && *before == pair->before)
                    structure.push_back(static_cast<uint64_t>(tasks.end() - before));
            }
            tasks.push_back(task);
        });
        return structure;
    }

    const TaskProgram &program_;
    std::vector<Dependence> by_after_;
};

} // namespace

std::map<uint16_t, GraphShape> graphs_of(const TaskProgram &program) {
    const Reader reader(program);
    std::map<uint16_t, GraphShape> shapes;
    for (const auto &entry : reader.places)
        entry.second.for_each_replay([&](const Graph &graph) {
            GraphShape &shape = shapes[std::get<2>(entry.first)];
            uint64_t n_tasks = 0;
            reader.for_each_task(graph, [&](Operation creation) {
                n_tasks++;
                shape.create_ns += creation.cost();
            });
            shape.n_tasks = std::max(shape.n_tasks, n_tasks);
            shape.n_replayed += n_tasks;
            shape.n_graphs++;
        });
    return shapes;
}

TaskProgram replay_graphs(const TaskProgram &program, uint16_t construct) {
    const Reader reader(program);
    TaskProgram made = program;
    for (const auto &[place, graphs] : reader.places) {
        if (std::get<2>(place) != construct) continue;
        graphs.for_each_replay([&](const Graph &graph) {
            reader.for_each_task(
                graph, [&](Operation creation) { made.tasks[creation.task()].flags |= ProgramTask::kReplayed; });
        });
    }
    return made;
}

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// The task graph for Python: work, span, groups of tasks, the critical path.
#include "analyses/task_graph.h"

#include "bindings.h"

namespace ompass {

namespace {

// X(type, name, meaning, value): `value` is made of one `from` of the graph, by its clock. The last entry of groups says
// how they are folded.
#define OMPASS_GRAPH_GROUP(X)                                                                                          \
    X(uint32_t, number, "its place in TaskGraph.groups; 0: the program outside of every region", number, first)        \
    X(std::string, kind, "program, parallel (implicit tasks) or task", kind, first)                                    \
    X(uint32_t, parent, "number of the group whose tasks created these", from.parent, first)                           \
    X(uint32_t, construct, "number of the construct; of parallel regions: their implicit tasks", from.construct,       \
      first)                                                                                                           \
    X(uint32_t, depth, "levels of creation above it", from.depth, first)                                               \
    X(bool, folded, "true when it holds tasks from below the depth at which groups are told apart", from.folded,       \
      either)                                                                                                          \
    X(uint64_t, n_tasks, "deferred or implicit tasks that started", from.n_tasks, sum)                                 \
    X(uint64_t, n_undeferred, "undeferred tasks", from.n_undeferred, sum)                                              \
    X(uint64_t, n_other_thread, "tasks that started on another thread than the one that created them",                 \
      from.n_other_thread, sum)                                                                                        \
    X(uint64_t, work_ns, "work; that of undeferred tasks is with the task that they ran in",                           \
      clock.ns(from.work_ticks), sum)                                                                                  \
    X(uint64_t, create_ns, "time to create the tasks", clock.ns(from.create_ticks), sum)                               \
    X(uint64_t, dispatch_ns, "time in which threads did nothing although these tasks were ready",                      \
      clock.ns(from.dispatch_ticks), sum)                                                                              \
    X(uint64_t, max_ns, "longest task", clock.ns(from.max_ticks), longest)                                             \
    X(uint64_t, critical_ns, "part of the critical path", clock.ns(from.critical_ticks), sum)                          \
    X(uint64_t, n_critical, "steps of the critical path", from.n_critical, sum)                                        \
    X(uint64_t, n_waits, "taskwaits and ends of taskgroups in these tasks", from.n_waits, sum)                         \
    X(uint64_t, preempted_ns, "what they were preempted; part of work_ns in wall time, beside it in cpu time",         \
      clock.ns(from.preempted_ticks), sum)

#define OMPASS_GROUP_DEPENDENCE(X)                                                                                     \
    X(uint32_t, from_group, "number of the group of the predecessors", from.from)                                      \
    X(uint32_t, to_group, "number of the group of the successors", from.to)                                            \
    X(uint64_t, n, "recorded dependences", from.n)

#define OMPASS_CRITICAL_STEP(X)                                                                                        \
    X(uint64_t, task, "id of the task; 0 outside of every region", from.task)                                          \
    X(uint32_t, group, "number of its group", from.group)                                                              \
    X(uint32_t, thread, "number of the thread that ran it", from.thread)                                               \
    X(uint64_t, begin_ns, "from the begin of the path", clock.ns(from.begin_ticks))                                    \
    X(uint64_t, length_ns, "length of the step", clock.ns(from.ticks))                                                 \
    X(uint64_t, start_ns, "when the task started, since the start of the run", clock.since_start(from.start_time))     \
    X(uint64_t, preempted_ns, "what the task was preempted; part of length_ns in wall time, beside it in cpu time",    \
      clock.ns(from.preempted_ticks))

#define OMPASS_GRAPH_TASK(X)                                                                                           \
    X(uint64_t, task, "id of the task", from.id)                                                                       \
    X(uint64_t, parent, "id of its creator; 0 when that is undeferred or unknown", from.parent)                        \
    X(uint32_t, group, "number of its group", from.group)                                                              \
    X(uint32_t, thread, "number of the thread that completed it", from.thread)                                         \
    X(uint64_t, created_ns, "when it was created, since the start of the run", clock.since_start(from.created))        \
    X(uint64_t, created_latest_ns, "last possible moment; equal where that is exact",                                  \
      clock.since_start(from.created_latest))                                                                          \
    X(uint64_t, start_ns, "when it started", clock.since_start(from.started))                                          \
    X(uint64_t, end_ns, "when it completed", clock.since_start(from.completed))                                        \
    X(uint64_t, work_ns, "its work", clock.ns(from.work_ticks))                                                        \
    X(uint64_t, critical_ns, "part of the critical path", clock.ns(from.critical_ticks))

#define OMPASS_TASK_GRAPH(X)                                                                                           \
    X(uint64_t, work_ns, "inside parallel regions", clock.ns(graph.work_ticks))                                        \
    X(uint64_t, outside_ns, "work outside of them", clock.ns(graph.outside_ticks))                                     \
    X(uint64_t, span_ns, "longest chain of the program, outside included", clock.ns(graph.span_ticks))                 \
    X(uint64_t, span_preempted_ns, "what its tasks were preempted; part of it in wall time, beside it in cpu time",    \
      clock.ns(graph.span_preempted_ticks))                                                                            \
    X(uint64_t, span_outside_ns, "part of it outside of parallel regions", clock.ns(graph.span_outside_ticks))         \
    X(uint64_t, burdened_ns, "longest chain when each creation and dispatch on it costs what was measured",            \
      clock.ns(graph.burdened_ticks))                                                                                  \
    X(uint64_t, n_deferred, "deferred tasks", graph.n_deferred)                                                        \
    X(uint64_t, n_undeferred, "undeferred tasks", graph.n_undeferred)                                                  \
    X(uint64_t, n_dependences, "recorded dependences", graph.n_dependences)                                            \
    X(uint64_t, n_taskgroup_ends, "ends of taskgroups, which may have joined more than their group",                   \
      graph.n_taskgroup_ends)                                                                                          \
    X(uint64_t, n_dependent_waits, "taskwaits with dependences, whose predecessors are not recorded",                  \
      graph.n_dependent_waits)                                                                                         \
    X(uint64_t, n_out_of_order, "events whose cause the trace does not hold", graph.n_out_of_order)                    \
    X(uint64_t, n_steps, "steps of the critical path, listed or not", graph.n_steps)                                   \
    X(Rows<PythonGroup>, groups, "parents before their children", groups)                                              \
    X(Rows<PythonDependence>, dependences, "between groups", dependences)                                              \
    X(Rows<PythonStep>, critical, "the critical path", critical)                                                       \
    X(Rows<PythonTask>, tasks, "those of expanded groups", tasks)

OMPASS_STRUCT(PythonGroup, Row, OMPASS_GRAPH_GROUP);
PythonGroup operator+(const PythonGroup &one, const PythonGroup &other) {
    using namespace rule;
    const auto either = [](bool a, bool b) { return a || b; };
    return OMPASS_SUM(PythonGroup, OMPASS_GRAPH_GROUP);
}

OMPASS_STRUCT(PythonDependence, Row, OMPASS_GROUP_DEPENDENCE);
OMPASS_STRUCT(PythonStep, Row, OMPASS_CRITICAL_STEP);
OMPASS_STRUCT(PythonTask, Row, OMPASS_GRAPH_TASK);
OMPASS_STRUCT(PythonGraph, Row, OMPASS_TASK_GRAPH);

PythonGraph task_graph(const std::string &directory, uint32_t depth, std::vector<uint32_t> expanded, uint64_t max_tasks,
                       bool on_processors) {
    const RunFiles run = open_or_throw(directory);
    TaskGraph graph;
    unlocked([&] { return build_task_graph(run, {depth, std::move(expanded), max_tasks, on_processors}, graph); });
    const RunClock clock(*run.process);
    const auto kind_of = [&](const GraphGroup &group, size_t number) {
        if (number == 0) return "program";
        return group.construct < run.definitions.size() ? name_of(run.definitions[group.construct].kind) : "unknown";
    };
    const auto groups = to_tuple(graph.groups, [&](const GraphGroup &from) {
        const auto number = static_cast<uint32_t>(&from - graph.groups.data());
        const std::string kind = kind_of(from, number);
        return OMPASS_ROW(PythonGroup, OMPASS_GRAPH_GROUP);
    });
    const auto dependences = to_tuple(graph.dependences, [](const GroupDependence &from) {
        return OMPASS_ROW(PythonDependence, OMPASS_GROUP_DEPENDENCE);
    });
    const auto critical = to_tuple(
        graph.critical, [&](const CriticalStep &from) { return OMPASS_ROW(PythonStep, OMPASS_CRITICAL_STEP); });
    const auto tasks =
        to_tuple(graph.tasks, [&](const GraphTask &from) { return OMPASS_ROW(PythonTask, OMPASS_GRAPH_TASK); });
    return OMPASS_ROW(PythonGraph, OMPASS_TASK_GRAPH);
}

} // namespace

void bind_task_graph(nb::module_ &m) {
    bind_row<PythonGroup>(m, "GraphGroup", "Tasks of one construct that were created in one group.")
        .def(
            "__add__", [](const PythonGroup &one, const PythonGroup &other) { return one + other; }, nb::is_operator(),
            "Both folded into the first.");
    bind_row<PythonDependence>(m, "GroupDependence",
                               "Recorded dependences from tasks of one group to tasks of another.");
    bind_row<PythonStep>(m, "CriticalStep", "A stretch of one task on the critical path.");
    bind_row<PythonTask>(m, "GraphTask", "One task of an expanded group.");
    bind_row<PythonGraph>(
        m, "TaskGraph",
        "Work and span of a trace, and its tasks collapsed into groups.\n\n"
        "work_ns == sum of groups[1:].work_ns; span_ns == sum of groups.critical_ns; up to rounding of "
        "each.");
    m.def("task_graph", &task_graph, nb::arg("directory"), nb::arg("depth") = 3,
          nb::arg("expanded") = std::vector<uint32_t>{}, nb::arg("max_tasks") = 10'000,
          nb::arg("on_processors") = false,
          "Work, span, critical path and collapsed graph; LogError when the run has no trace.\n\n"
          "`depth` levels of task nesting have groups of their own; tasks of `expanded` groups are listed, `max_tasks` "
          "at most, and so many steps of the critical path. `on_processors`: work and span leave out what threads were "
          "preempted.");
}

} // namespace ompass

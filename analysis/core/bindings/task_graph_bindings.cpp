// SPDX-License-Identifier: Apache-2.0
// The task graph for Python: work, span, groups of tasks, the critical path.
#include "analyses/task_graph.h"

#include "bindings.h"

namespace ompass {

namespace {

// X(type, name, meaning, value): `value` uses the element `from` and the clock. The last argument in OMPASS_GRAPH_GROUP
// is the rule that adds two values.
#define OMPASS_GRAPH_GROUP(X)                                                                                          \
    X(uint32_t, number, "index into TaskGraph.groups; 0: the program outside of regions", number, first)               \
    X(std::string, kind, "program, parallel (implicit tasks) or task", kind, first)                                    \
    X(uint32_t, parent, "number of the group whose tasks created these", from.parent, first)                           \
    X(uint32_t, construct, "number of the tasks' construct; for implicit tasks, of their region", from.construct,      \
      first)                                                                                                           \
    X(uint32_t, depth, "levels of creation above the group", from.depth, first)                                        \
    X(bool, folded, "true if it contains tasks from deeper levels", from.folded, either)                               \
    X(uint64_t, n_tasks, "deferred or implicit tasks that started", from.n_tasks, sum)                                 \
    X(uint64_t, n_undeferred, "undeferred tasks", from.n_undeferred, sum)                                              \
    X(uint64_t, n_other_thread, "tasks that did not start on the thread that created them", from.n_other_thread, sum)  \
    X(uint64_t, work_ns, "work of the tasks; an undeferred task's work counts in the task that it ran in",             \
      clock.ns(from.work_ticks), sum)                                                                                  \
    X(uint64_t, create_ns, "time to create the tasks", clock.ns(from.create_ticks), sum)                               \
    X(uint64_t, dispatch_ns,                                                                                           \
      "time for which a thread ran nothing before it started one of these tasks, although the task was ready",         \
      clock.ns(from.dispatch_ticks), sum)                                                                              \
    X(uint64_t, max_ns, "work of the longest task", clock.ns(from.max_ticks), longest)                                 \
    X(uint64_t, critical_ns, "time of these tasks on the critical path", clock.ns(from.critical_ticks), sum)           \
    X(uint64_t, n_critical, "steps of these tasks on the critical path", from.n_critical, sum)                         \
    X(uint64_t, n_waits, "taskwaits and ends of taskgroups in these tasks", from.n_waits, sum)                         \
    X(uint64_t, preempted_ns, "preempted time of the tasks; part of work_ns unless `on_processors`",                   \
      clock.ns(from.preempted_ticks), sum)

#define OMPASS_GROUP_DEPENDENCE(X)                                                                                     \
    X(uint32_t, from_group, "number of the group of the predecessors", from.from)                                      \
    X(uint32_t, to_group, "number of the group of the successors", from.to)                                            \
    X(uint64_t, n, "recorded dependences", from.n)

#define OMPASS_CRITICAL_STEP(X)                                                                                        \
    X(uint64_t, task, "id of the task; 0: outside of regions", from.task)                                              \
    X(uint32_t, group, "number of the task's group", from.group)                                                       \
    X(uint32_t, thread, "number of the thread that ran it", from.thread)                                               \
    X(uint64_t, begin_ns, "start of the step, since the start of the path", clock.ns(from.begin_ticks))                \
    X(uint64_t, length_ns, "length of the step", clock.ns(from.ticks))                                                 \
    X(uint64_t, start_ns, "start of the task, since the start of the run", clock.since_start(from.start_time))         \
    X(uint64_t, preempted_ns, "preempted time of the step; part of length_ns unless `on_processors`",                  \
      clock.ns(from.preempted_ticks))

#define OMPASS_GRAPH_TASK(X)                                                                                           \
    X(uint64_t, task, "id of the task", from.id)                                                                       \
    X(uint64_t, parent, "id of the creating task; 0: that task is undeferred or unknown", from.parent)                 \
    X(uint32_t, group, "number of its group", from.group)                                                              \
    X(uint32_t, thread, "number of the thread that started it", from.thread)                                           \
    X(uint64_t, created_ns, "creation, since the start of the run", clock.since_start(from.created))                   \
    X(uint64_t, created_latest_ns,                                                                                     \
      "latest possible creation, since the start of the run; equal to created_ns if that is exact",                    \
      clock.since_start(from.created_latest))                                                                          \
    X(uint64_t, start_ns, "start, since the start of the run", clock.since_start(from.started))                        \
    X(uint64_t, end_ns, "completion, since the start of the run", clock.since_start(from.completed))                   \
    X(uint64_t, work_ns, "work of the task", clock.ns(from.work_ticks))                                                \
    X(uint64_t, critical_ns, "time of the task on the critical path", clock.ns(from.critical_ticks))

#define OMPASS_TASK_GRAPH(X)                                                                                           \
    X(uint64_t, work_ns, "work inside parallel regions", clock.ns(graph.work_ticks))                                   \
    X(uint64_t, outside_ns, "work outside of parallel regions", clock.ns(graph.outside_ticks))                         \
    X(uint64_t, span_ns, "length of the longest chain, including work outside of regions", clock.ns(graph.span_ticks)) \
    X(uint64_t, span_preempted_ns,                                                                                     \
      "preempted time of the tasks on that chain; part of span_ns unless `on_processors`",                             \
      clock.ns(graph.span_preempted_ticks))                                                                            \
    X(uint64_t, span_outside_ns, "part of span_ns outside of parallel regions", clock.ns(graph.span_outside_ticks))    \
    X(uint64_t, burdened_ns, "length of the longest chain if each task also costs its measured creation and dispatch", \
      clock.ns(graph.burdened_ticks))                                                                                  \
    X(uint64_t, n_deferred, "deferred tasks", graph.n_deferred)                                                        \
    X(uint64_t, n_undeferred, "undeferred tasks", graph.n_undeferred)                                                  \
    X(uint64_t, n_dependences, "recorded dependences", graph.n_dependences)                                            \
    X(uint64_t, n_taskgroup_ends,                                                                                      \
      "ends of taskgroups; each is assumed to wait for all descendants of its task, in the taskgroup or not",          \
      graph.n_taskgroup_ends)                                                                                          \
    X(uint64_t, n_dependent_waits, "executions of `taskwait depend`, whose predecessors are not recorded",             \
      graph.n_dependent_waits)                                                                                         \
    X(uint64_t, n_out_of_order, "events whose cause is not in the trace", graph.n_out_of_order)                        \
    X(uint64_t, n_steps, "steps of the critical path, listed or not", graph.n_steps)                                   \
    X(Rows<PythonGroup>, groups, "groups, parents before children", groups)                                            \
    X(Rows<PythonDependence>, dependences, "dependences between groups", dependences)                                  \
    X(Rows<PythonStep>, critical, "steps of the critical path, in order; at most `max_tasks`", critical)               \
    X(Rows<PythonTask>, tasks, "tasks of expanded groups; at most `max_tasks`", tasks)

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
    bind_row<PythonGroup>(m, "GraphGroup", "The tasks of one construct that tasks of one group created.")
        .def(
            "__add__", [](const PythonGroup &one, const PythonGroup &other) { return one + other; }, nb::is_operator(),
            "Adds the other group to this one.");
    bind_row<PythonDependence>(m, "GroupDependence",
                               "The recorded dependences of tasks of one group on tasks of the same or another group.");
    bind_row<PythonStep>(m, "CriticalStep", "A part of one task on the critical path.");
    bind_row<PythonTask>(m, "GraphTask", "One task of an expanded group.");
    bind_row<PythonGraph>(
        m, "TaskGraph",
        "Work and span of a trace, and its tasks collapsed into groups.\n\n"
        "Up to rounding, work_ns is the sum of work_ns of groups[1:], and span_ns is the sum of critical_ns of all "
        "groups.");
    m.def("task_graph", &task_graph, nb::arg("directory"), nb::arg("depth") = 3,
          nb::arg("expanded") = std::vector<uint32_t>{}, nb::arg("max_tasks") = 10'000,
          nb::arg("on_processors") = false,
          "Returns work, span, critical path and collapsed graph.\n\n"
          "Tasks in the first `depth` levels of nesting have separate groups. A deeper task counts in the group of "
          "its construct at that depth. Lists at most `max_tasks` tasks of the groups with the numbers `expanded`, "
          "and at most as many steps of the critical path. `on_processors`: True excludes preempted time from work "
          "and span. Raises LogError, also if the run has no trace.");
}

} // namespace ompass

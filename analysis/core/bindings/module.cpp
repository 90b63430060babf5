// SPDX-License-Identifier: Apache-2.0
// The Python face of the core: ompass._core, as analysis/ompass/_core.pyi declares it. Converts, computes nothing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "analyses/event_columns.h"
#include "analyses/task_graph.h"
#include "analyses/trace_replay.h"
#include "analyses/validate.h"
#include "bindings.h"
#include "format/run_profile.h"

namespace nb = nanobind;
using namespace ompass;

namespace {

const char *name_of(format::DefinitionKind kind) {
    switch (kind) {
    case format::DefinitionKind::kProgram: return "program";
    case format::DefinitionKind::kTask: return "task";
    case format::DefinitionKind::kParallel: return "parallel";
    case format::DefinitionKind::kKernel: return "kernel";
    case format::DefinitionKind::kPhase: return "phase";
    case format::DefinitionKind::kModule: return "module";
    }
    return "unknown";
}

const char *name_of(format::ThreadKind kind) {
    switch (kind) {
    case format::ThreadKind::kInitial: return "initial";
    case format::ThreadKind::kWorker: return "worker";
    case format::ThreadKind::kOther: return "other";
    }
    return "other";
}

const char *name_of(format::ClockKind kind) {
    switch (kind) {
    case format::ClockKind::kTsc: return "tsc";
    case format::ClockKind::kCntvct: return "cntvct";
    case format::ClockKind::kClockGettime: return "clock_gettime";
    }
    return "unknown";
}

const char *name_of(format::EndReason reason) {
    switch (reason) {
    case format::EndReason::kRunning: return "running-or-killed";
    case format::EndReason::kFinalized: return "finalized";
    case format::EndReason::kExit: return "exit";
    case format::EndReason::kControlEnd: return "ended-by-control";
    }
    return "unknown";
}

nb::str text_of(const std::string &bytes) { // names come from programs, and need not be UTF-8
    PyObject *text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (!text) throw nb::python_error();
    return nb::steal<nb::str>(text);
}

nb::tuple counters_of(const RunFiles &run, const uint64_t *values) {
    nb::list list;
    for (uint32_t i = 0; i < run.process->n_counters; i++) list.append(values[i]);
    return nb::tuple(list);
}

nb::dict to_dict(const RunFiles &run, const RunProfile &profile) {
    const format::ProcessHeader &process = *run.process;
    nb::dict result;
    result["format_version"] = process.version;
    result["mode"] = process.mode == format::Mode::kTrace ? "trace" : "profile";
    result["source"] = profile.from_events ? "events" : "profile";
    result["complete"] = profile.complete;
    result["end_reason"] = name_of(process.end_reason);
    nb::list reasons;
    for (const std::string &reason : profile.incomplete_reasons) reasons.append(text_of(reason));
    result["incomplete_reasons"] = reasons;
    result["pid"] = process.pid;
    result["start_epoch_ns"] = process.start_epoch_ns;
    result["wall_ns"] = profile.wall_ns;
    result["clock_kind"] = name_of(process.clock_kind);
    result["clock_hz"] = profile.clock_hz;
    result["create_estimated"] = profile.create_estimated;
    result["create_estimate_ns"] = profile.create_estimate_ns;
    nb::list counters;
    for (uint32_t i = 0; i < process.n_counters; i++)
        counters.append(text_of(std::string(process.counter_names[i], strnlen(process.counter_names[i], 64))));
    result["counters"] = counters;
    nb::list modules;
    for (const Module &module : run.modules) {
        nb::dict row;
        row["path"] = text_of(module.path);
        row["build_id"] = text_of(module.build_id);
        row["base"] = module.base;
        modules.append(row);
    }
    result["modules"] = modules;
    nb::list definitions;
    for (size_t id = 0; id < run.definitions.size(); id++) {
        const Definition &definition = run.definitions[id];
        nb::dict row;
        row["id"] = id;
        row["kind"] = name_of(definition.kind);
        row["flags"] = definition.flags;
        row["module"] = definition.module == ~0u ? -1 : static_cast<int64_t>(definition.module);
        row["offset"] = definition.address;
        row["name"] = text_of(definition.name);
        definitions.append(row);
    }
    result["definitions"] = definitions;
    nb::list threads;
    for (const ThreadRow &thread : profile.threads) {
        nb::dict row;
        row["thread"] = thread.thread;
        row["tid"] = thread.tid;
        row["kind"] = name_of(thread.kind);
        row["first_ns"] = thread.first_ns;
        row["last_ns"] = thread.last_ns;
        row["n_events"] = thread.n_events;
        row["n_dropped"] = thread.n_dropped;
        row["n_migrations"] = thread.n_migrations;
        threads.append(row);
    }
    result["threads"] = threads;
    nb::list regions;
    for (const RegionRow &region : profile.regions) {
        nb::dict row;
        row["construct"] = region.construct;
        row["thread"] = region.thread;
        row["level"] = region.level;
        row["n_instances"] = region.n_instances;
        row["n_primary"] = region.n_primary;
        row["wall_ns"] = region.wall_ns;
        row["capacity_ns"] = region.capacity_ns;
        row["max_team_size"] = region.max_team_size;
        row["total_ns"] = region.total_ns;
        row["nested_ns"] = region.nested_ns;
        row["work_ns"] = region.state_ns[static_cast<size_t>(format::State::kWork)];
        row["create_ns"] = region.state_ns[static_cast<size_t>(format::State::kCreate)];
        row["schedule_ns"] = region.state_ns[static_cast<size_t>(format::State::kSchedule)];
        row["sync_ns"] = region.state_ns[static_cast<size_t>(format::State::kSync)];
        row["idle_ns"] = region.state_ns[static_cast<size_t>(format::State::kIdle)];
        row["implicit_ns"] = region.implicit_ns;
        row["lock_ns"] = region.lock_ns;
        row["n_tasks"] = region.n_tasks;
        row["domain"] = region.domain;
        row["n_rescued"] = region.n_rescued;
        row["n_steals"] = region.n_steals;
        row["n_failed_steals"] = region.n_failed_steals;
        row["steal_ns"] = region.steal_ns;
        row["failed_steal_ns"] = region.failed_steal_ns;
        nb::list from_domain;
        for (const uint64_t count : region.n_from_domain) from_domain.append(count);
        row["n_from_domain"] = nb::tuple(from_domain);
        row["counters"] = counters_of(run, region.counters);
        regions.append(row);
    }
    result["regions"] = regions;
    nb::list constructs;
    for (const ConstructRow &construct : profile.constructs) {
        nb::dict row;
        row["construct"] = construct.construct;
        row["thread"] = construct.thread;
        row["n_created"] = construct.n_created;
        row["n_completed"] = construct.n_completed;
        row["n_cancelled"] = construct.n_cancelled;
        row["n_undeferred"] = construct.n_undeferred;
        row["work_ns"] = construct.work_ns;
        row["create_ns"] = construct.create_ns;
        row["inclusive_ns"] = construct.inclusive_ns;
        row["n_timed"] = construct.n_timed;
        row["min_ns"] = construct.min_ns;
        row["max_ns"] = construct.max_ns;
        nb::list histogram;
        for (const uint64_t count : construct.histogram) histogram.append(count);
        row["histogram"] = nb::tuple(histogram);
        row["ready_ns"] = construct.ready_ns;
        row["ready_max_ns"] = construct.ready_max_ns;
        row["n_ready"] = construct.n_ready;
        row["n_other_thread"] = construct.n_other_thread;
        row["n_other_core"] = construct.n_other_core;
        row["n_other_domain"] = construct.n_other_domain;
        row["read_bytes"] = construct.read_bytes;
        row["write_bytes"] = construct.write_bytes;
        row["counters"] = counters_of(run, construct.counters);
        constructs.append(row);
    }
    result["constructs"] = constructs;
    result["log_bytes"] = run.log_bytes;
    return result;
}

nb::dict read_profile(const std::string &directory) {
    const RunFiles run = open_or_throw(directory);
    std::vector<ThreadAccount> accounts = read_accounts(run);
    return to_dict(run, make_profile(run, accounts, false));
}

nb::dict replay(const std::string &directory) {
    const RunFiles run = open_or_throw(directory);
    std::vector<ThreadAccount> accounts;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = replay_trace(run, accounts)) throw LogError(problem.text());
    }
    return to_dict(run, make_profile(run, accounts, true));
}

nb::dict read_events(const std::string &directory, int64_t thread, int64_t start_ns, int64_t end_ns, int64_t limit) {
    const RunFiles run = open_or_throw(directory);
    EventColumns columns;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = read_event_columns(run, {thread, start_ns, end_ns, limit}, columns))
            throw LogError(problem.text());
    }
    nb::dict result;
    result["time_ns"] = to_array(std::move(columns.time_ns));
    result["latest_ns"] = to_array(std::move(columns.latest_ns));
    result["thread"] = to_array(std::move(columns.thread));
    result["kind"] = to_array(std::move(columns.kind));
    result["construct"] = to_array(std::move(columns.construct));
    result["task"] = to_array(std::move(columns.task));
    result["value"] = to_array(std::move(columns.value));
    result["exact"] = to_array(std::move(columns.exact)).cast();
    result["exact"] = result["exact"].attr("view")("bool");
    return result;
}

nb::dict task_graph(const std::string &directory, uint32_t depth, std::vector<uint32_t> expanded, uint64_t max_tasks) {
    const RunFiles run = open_or_throw(directory);
    TaskGraph graph;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = build_task_graph(run, {depth, std::move(expanded), max_tasks}, graph))
            throw LogError(problem.text());
    }
    const RunClock clock(*run.process);
    nb::dict result;
    result["work_ns"] = clock.ns(graph.work_ticks);
    result["outside_ns"] = clock.ns(graph.outside_ticks);
    result["span_ns"] = clock.ns(graph.span_ticks);
    result["span_outside_ns"] = clock.ns(graph.span_outside_ticks);
    result["burdened_ns"] = clock.ns(graph.burdened_ticks);
    result["n_deferred"] = graph.n_deferred;
    result["n_undeferred"] = graph.n_undeferred;
    result["n_dependences"] = graph.n_dependences;
    result["n_taskgroup_ends"] = graph.n_taskgroup_ends;
    result["n_dependent_waits"] = graph.n_dependent_waits;
    result["n_out_of_order"] = graph.n_out_of_order;
    result["n_steps"] = graph.n_steps;

    nb::dict groups;
    groups["parent"] = column(graph.groups, [](const GraphGroup &g) { return g.parent; });
    groups["construct"] = column(graph.groups, [](const GraphGroup &g) { return g.construct; });
    groups["depth"] = column(graph.groups, [](const GraphGroup &g) { return g.depth; });
    groups["folded"] = column(graph.groups, [](const GraphGroup &g) { return static_cast<uint8_t>(g.folded); });
    groups["n_tasks"] = column(graph.groups, [](const GraphGroup &g) { return g.n_tasks; });
    groups["n_undeferred"] = column(graph.groups, [](const GraphGroup &g) { return g.n_undeferred; });
    groups["n_other_thread"] = column(graph.groups, [](const GraphGroup &g) { return g.n_other_thread; });
    groups["work_ns"] = column(graph.groups, [&](const GraphGroup &g) { return clock.ns(g.work_ticks); });
    groups["create_ns"] = column(graph.groups, [&](const GraphGroup &g) { return clock.ns(g.create_ticks); });
    groups["dispatch_ns"] = column(graph.groups, [&](const GraphGroup &g) { return clock.ns(g.dispatch_ticks); });
    groups["max_ns"] = column(graph.groups, [&](const GraphGroup &g) { return clock.ns(g.max_ticks); });
    groups["critical_ns"] = column(graph.groups, [&](const GraphGroup &g) { return clock.ns(g.critical_ticks); });
    groups["n_critical"] = column(graph.groups, [](const GraphGroup &g) { return g.n_critical; });
    groups["n_waits"] = column(graph.groups, [](const GraphGroup &g) { return g.n_waits; });
    result["groups"] = groups;

    nb::dict dependences;
    dependences["from_group"] = column(graph.dependences, [](const GroupDependence &d) { return d.from; });
    dependences["to_group"] = column(graph.dependences, [](const GroupDependence &d) { return d.to; });
    dependences["n"] = column(graph.dependences, [](const GroupDependence &d) { return d.n; });
    result["dependences"] = dependences;

    nb::dict critical;
    critical["task"] = column(graph.critical, [](const CriticalStep &s) { return s.task; });
    critical["group"] = column(graph.critical, [](const CriticalStep &s) { return s.group; });
    critical["thread"] = column(graph.critical, [](const CriticalStep &s) { return s.thread; });
    critical["begin_ns"] = column(graph.critical, [&](const CriticalStep &s) { return clock.ns(s.begin_ticks); });
    critical["length_ns"] = column(graph.critical, [&](const CriticalStep &s) { return clock.ns(s.ticks); });
    critical["start_ns"] =
        column(graph.critical, [&](const CriticalStep &s) { return clock.since_start(s.start_time); });
    result["critical"] = critical;

    nb::dict tasks;
    tasks["task"] = column(graph.tasks, [](const GraphTask &t) { return t.id; });
    tasks["parent"] = column(graph.tasks, [](const GraphTask &t) { return t.parent; });
    tasks["group"] = column(graph.tasks, [](const GraphTask &t) { return t.group; });
    tasks["thread"] = column(graph.tasks, [](const GraphTask &t) { return t.thread; });
    tasks["created_ns"] = column(graph.tasks, [&](const GraphTask &t) { return clock.since_start(t.created); });
    tasks["created_latest_ns"] =
        column(graph.tasks, [&](const GraphTask &t) { return clock.since_start(t.created_latest); });
    tasks["start_ns"] = column(graph.tasks, [&](const GraphTask &t) { return clock.since_start(t.started); });
    tasks["end_ns"] = column(graph.tasks, [&](const GraphTask &t) { return clock.since_start(t.completed); });
    tasks["work_ns"] = column(graph.tasks, [&](const GraphTask &t) { return clock.ns(t.work_ticks); });
    tasks["critical_ns"] = column(graph.tasks, [&](const GraphTask &t) { return clock.ns(t.critical_ticks); });
    result["tasks"] = tasks;
    return result;
}

std::vector<std::tuple<std::string, std::string>> event_kinds() {
    std::vector<std::tuple<std::string, std::string>> kinds;
    for (const format::EventTraits &traits : format::kEventTraits) kinds.emplace_back(traits.text, traits.meaning);
    return kinds;
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "Reads the run directories of Ompass. See _core.pyi.";
    nb::exception<LogError>(m, "LogError");
    m.def("event_kinds", &event_kinds);
    m.def("read_profile", &read_profile, nb::arg("directory"));
    m.def("replay_trace", &replay, nb::arg("directory"));
    m.def("read_events", &read_events, nb::arg("directory"), nb::arg("thread") = -1, nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = -1);
    m.def("task_graph", &task_graph, nb::arg("directory"), nb::arg("depth") = 3,
          nb::arg("expanded") = std::vector<uint32_t>{}, nb::arg("max_tasks") = 10'000);
    bind_krd(m);
    bind_schedule(m);
    bind_timeline(m);
    bind_trace_rows(m);
    m.def("validate", &validate_run, nb::arg("directory"));
}

// SPDX-License-Identifier: Apache-2.0
// The simulator for Python: a recorded program, and its run on another machine, under another policy or changed.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "bindings.h"
#include "simulation/engine.h"
#include "simulation/recorder.h"
#include "simulation/transform.h"

namespace ompass {

namespace {

using namespace simulation;

#define OMPASS_SIMULATED(X)                                                                                            \
    X(uint64_t, wall_ns, "of the whole program", from.wall_ns)                                                         \
    X(uint64_t, serial_ns, "part of it outside of parallel regions", from.serial_ns)                                   \
    X(uint64_t, work_ns, "in user code, all threads", from.work_ns)                                                    \
    X(uint64_t, create_ns, "creating tasks", from.create_ns)                                                           \
    X(uint64_t, schedule_ns, "looking for tasks and taking them", from.schedule_ns)                                    \
    X(uint64_t, sync_ns, "in waits, barriers and locks for other reasons than lack of tasks", from.sync_ns)            \
    X(uint64_t, idle_ns, "without a task that the thread could run", from.idle_ns)                                     \
    X(uint64_t, n_tasks, "tasks created", from.n_tasks)                                                                \
    X(uint64_t, n_inlined, "of these, those that ran at once inside their creator", from.n_inlined)                    \
    X(uint64_t, n_steals_attempted, "attempts to take a task from another queue", from.n_steals_attempted)             \
    X(uint64_t, n_steals_successful, "of these, those that got one", from.n_steals_successful)                         \
    X(uint64_t, n_steals_false_negative, "those that failed while some queue held a task",                             \
      from.n_steals_false_negative)                                                                                    \
    X(uint64_t, n_remote, "tasks that ran in another domain than they were placed in", from.n_remote)                  \
    X(OperationCounts, operations, "how often each operation of the runtime happened, and what that took in ns",       \
      operation_counts(from))                                                                                          \
    X(uint64_t, memory_ns, "what the declared data took, part of the work; 0: not modelled", from.memory.memory_ns)    \
    X(uint64_t, busy_ns, "part of it, waiting for memory that others use", from.memory.waited_ns)                      \
    X(Rows<PythonLevel>, levels, "of caches, from the first on", level_rows(from.memory))                              \
    X(Matrix, link_bytes, "from the memory of each node to the threads of each", link_rows(from.memory))

#define OMPASS_LEVEL(X)                                                                                                \
    X(uint64_t, n_hits, "blocks that were found in it", from.hits)                                                     \
    X(uint64_t, n_misses, "blocks that were not", from.misses)                                                         \
    X(uint64_t, n_invalid, "of these, those that another thread had written since", from.invalid)

#define OMPASS_POLICY(X)                                                                                               \
    X(std::string, name, "as --policy takes it", from.name)                                                            \
    X(std::string, meaning, "in a few words", from.meaning)                                                            \
    X(bool, can_record, "whether simulate() can write its runs as logs", Recorder::can_record(from))

#define OMPASS_COST(X)                                                                                                 \
    X(std::string, name, "as a machine file names it", from.first)                                                     \
    X(std::string, meaning, "the operation that takes this time", from.second)

#define OMPASS_SHAPE(X)                                                                                                \
    X(uint32_t, construct, "number of the construct", program.constructs[place])                                       \
    X(uint64_t, n_tasks, "tasks of it, undeferred ones without tasks of their own left out", from.n_tasks)             \
    X(uint64_t, n_deferred, "part of n_tasks", from.n_deferred)                                                        \
    X(uint64_t, n_untied, "part of n_tasks", from.n_untied)                                                            \
    X(uint64_t, n_iterations, "of the taskloops that created them", from.n_iterations)                                 \
    X(uint64_t, most_in_a_row, "that one task creates with nothing but its work in between", from.most_in_a_row)       \
    X(uint64_t, most_phases, "creations, each ended by a taskwait, in one task of it", from.most_phases)               \
    X(uint32_t, wait, "number of the construct of the last of these taskwaits; 0: not known",                          \
      program.constructs[from.wait])                                                                                   \
    X(uint32_t, deepest, "levels of creation above it, at most", from.deepest)

#define OMPASS_LOOP_SHAPE(X)                                                                                           \
    X(uint32_t, construct, "number of the construct", program.constructs[from.first])                                  \
    X(uint64_t, n_instances, "in which threads did nothing but work", from.second.n_instances)                         \
    X(uint64_t, n_chunks, "that they took; 0: not known", from.second.n_chunks)                                        \
    X(uint64_t, work_ns, "of all threads", from.second.work_ns)                                                        \
    X(uint64_t, longest_ns, "of the slowest thread of each instance, in all", from.second.longest_ns)

using OperationCounts = std::map<std::string, std::pair<uint64_t, uint64_t>>;

OMPASS_STRUCT(PythonLevel, Row, OMPASS_LEVEL);
OMPASS_STRUCT(PythonSimulated, Row, OMPASS_SIMULATED);
OMPASS_STRUCT(PythonPolicy, Row, OMPASS_POLICY);
OMPASS_STRUCT(PythonCost, Row, OMPASS_COST);
OMPASS_STRUCT(PythonShape, Row, OMPASS_SHAPE);
OMPASS_STRUCT(PythonLoopShape, Row, OMPASS_LOOP_SHAPE);

OperationCounts operation_counts(const Simulated &run) {
    return {
#define OMPASS_SIMULATED_COST(name, meaning) {#name, {run.operations.name.n, run.operations.name.ns}},
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    };
}

Rows<PythonLevel> level_rows(const MemoryCounts &counts) {
    return to_tuple(counts.levels,
                    [](const MemoryCounts::Level &from) { return OMPASS_ROW(PythonLevel, OMPASS_LEVEL); });
}

Matrix link_rows(const MemoryCounts &counts) {
    const auto n = static_cast<size_t>(std::llround(std::sqrt(static_cast<double>(counts.link_bytes.size()))));
    std::vector<std::vector<uint64_t>> rows(n);
    for (size_t i = 0; i < counts.link_bytes.size(); i++) rows[i / n].push_back(counts.link_bytes[i]);
    return to_tuple(
        rows, [](const std::vector<uint64_t> &row) { return to_tuple(row, [](uint64_t bytes) { return bytes; }); });
}

using Points = std::vector<std::pair<uint32_t, double>>;
using PythonDistance = std::pair<double, double>; // latency in ns, ns per byte
using PythonCache = std::tuple<uint64_t, PythonDistance, std::vector<uint32_t>>;

// `changed` and the others share what they need of the run; programs are never changed once made.
using ProgramPointer = std::shared_ptr<const TaskProgram>;

ProgramPointer task_program(const std::string &directory) {
    const RunFiles run = open_or_throw(directory);
    auto program = std::make_shared<TaskProgram>();
    unlocked([&] { return extract_program(run, *program); });
    if (const std::string what = check_program(*program); !what.empty()) throw LogError(directory + ": " + what);
    return program;
}

Machine machine_of(const std::vector<uint32_t> &domains, uint32_t n_domains, double clock_ratio,
                   const std::map<std::string, Points> &costs) {
    Machine machine;
    machine.domain_of_thread = domains;
    machine.n_domains = n_domains;
    machine.clock_ratio = clock_ratio;
#define OMPASS_SIMULATED_COST(name, meaning)                                                                           \
    if (const auto found = costs.find(#name); found != costs.end()) machine.costs.name.points = found->second;
    OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    return machine;
}

PythonSimulated simulate_program(const TaskProgram &program, const std::string &policy_name, uint32_t n_threads,
                                 const std::vector<uint32_t> &domains, uint32_t n_domains, double clock_ratio,
                                 const std::map<std::string, Points> &costs, uint64_t seed,
                                 const std::map<uint32_t, double> &speed, uint32_t max_depth, uint64_t min_ns,
                                 bool serial_below, bool untied, uint32_t untraced_task_ns,
                                 uint32_t untraced_creation_ns,
                                 const std::tuple<int32_t, int32_t, uint32_t> &serialised, bool as_recorded,
                                 const MemorySystem *memory, const RecordedMemory *recorded,
                                 const std::string &record_in, const std::string &recorded_run) {
    const Policy *policy = find_policy(policy_name);
    if (!policy) throw nb::value_error(("no policy is called " + policy_name).c_str());
    if (n_threads < 1 || n_threads > kMaxThreads) throw nb::value_error("the number of threads is out of range");
    Changes changes{{}, max_depth, min_ns, serial_below, untied, untraced_task_ns, untraced_creation_ns};
    std::tie(changes.serialised_task_ns, changes.serialised_creation_ns, changes.serialised_create_ns) = serialised;
    changes.as_recorded = as_recorded;
    if (!speed.empty())
        for (const uint32_t construct : program.constructs) {
            const auto found = speed.find(construct);
            changes.speed.push_back(found == speed.end() ? 1.0 : found->second);
        }
    Team team{n_threads, seed, {}, {}};
    team.progress = [](uint64_t) {
        const nb::gil_scoped_acquire acquire;
        return PyErr_CheckSignals() == 0;
    };
    Machine machine = machine_of(domains, n_domains, clock_ratio, costs);
    if (memory && recorded) machine.memory = *memory, machine.recorded = recorded;
    if (!record_in.empty() && !Recorder::can_record(*policy))
        throw nb::value_error(("records cannot tell of runs under " + policy->name).c_str());
    Simulated from;
    Problem problem;
    {
        const nb::gil_scoped_release release;
        RunFiles run;
        std::unique_ptr<Recorder> recorder;
        if (!record_in.empty() && !(problem = open_run(recorded_run, run)))
            recorder = std::make_unique<Recorder>(program, run.definitions, *policy, domains, n_threads);
        team.recorder = recorder.get();
        if (!problem) from = simulate(program, machine, *policy, team, changes);
        if (recorder && from.problem.empty()) problem = recorder->write(record_in, run, from.wall_ns);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (problem) throw LogError(problem.text());
    if (!from.problem.empty()) throw LogError(from.problem);
    return OMPASS_ROW(PythonSimulated, OMPASS_SIMULATED);
}

Rows<PythonPolicy> policy_rows() {
    return to_tuple(policies(), [](const Policy &from) { return OMPASS_ROW(PythonPolicy, OMPASS_POLICY); });
}

Rows<PythonCost> cost_rows() {
    const std::vector<std::pair<std::string, std::string>> costs = {
#define OMPASS_SIMULATED_COST(name, meaning) {#name, meaning},
        OMPASS_SIMULATED_COSTS(OMPASS_SIMULATED_COST)
#undef OMPASS_SIMULATED_COST
    };
    return to_tuple(costs, [](const auto &from) { return OMPASS_ROW(PythonCost, OMPASS_COST); });
}

Rows<PythonShape> shape_rows(const TaskProgram &program) {
    const std::vector<Shape> shapes = shapes_of(program);
    return to_tuple(shapes, [&](const Shape &from) {
        const auto place = static_cast<size_t>(&from - shapes.data());
        return OMPASS_ROW(PythonShape, OMPASS_SHAPE);
    });
}

Rows<PythonLoopShape> loop_rows(const TaskProgram &program) {
    return to_tuple(loops_of(program),
                    [&](const auto &from) { return OMPASS_ROW(PythonLoopShape, OMPASS_LOOP_SHAPE); });
}

// The number in the program of a construct of the run.
uint16_t place_of(const TaskProgram &program, uint32_t construct) {
    const auto found = std::ranges::find(program.constructs, construct);
    if (found == program.constructs.end()) throw nb::value_error("the program has no such construct");
    return static_cast<uint16_t>(found - program.constructs.begin());
}

// What `change` makes of a program, without Python's lock.
template <typename Change>
ProgramPointer changed(const TaskProgram &program, uint32_t construct, Change change) {
    const uint16_t place = place_of(program, construct);
    const nb::gil_scoped_release release;
    return std::make_shared<TaskProgram>(change(place));
}

} // namespace

void bind_simulation(nb::module_ &m) {
    nb::class_<TaskProgram>(m, "TaskProgram", "What every task of a recorded run does; the input of simulations.")
        .def_ro("n_threads", &TaskProgram::n_threads, "the largest recorded team")
        .def_ro("n_domains", &TaskProgram::n_domains, "domains into which tasks were placed; 0: none were")
        .def_ro("wall_ns", &TaskProgram::wall_ns, "of the recorded run")
        .def_ro("regions_ns", &TaskProgram::regions_ns, "of it, in parallel regions")
        .def_ro("n_deferred", &TaskProgram::n_deferred, "deferred tasks")
        .def_ro("n_serialised", &TaskProgram::n_serialised,
                "tasks of a team of one, which ran at once and are taken for deferred ones")
        .def_ro("n_supposed_waits", &TaskProgram::n_supposed_waits,
                "waits of such tasks for their children, where the trace names no waits")
        .def_ro("n_nested", &TaskProgram::n_nested, "implicit tasks of nested regions, run one after the other")
        .def_ro("n_dependent_waits", &TaskProgram::n_dependent_waits, "`taskwait depend`, taken for a taskwait")
        .def_ro("n_detached", &TaskProgram::n_detached, "detached tasks, taken to be complete at their end")
        .def_ro("n_out_of_order", &TaskProgram::n_out_of_order, "events whose cause the trace does not hold")
        .def_prop_ro(
            "n_accesses", [](const TaskProgram &program) { return program.accesses.size(); },
            "to data that kernels declared")
        .def_ro("blocked_ns", &TaskProgram::blocked_ns, "waits for locks, which are repeated as they were")
        .def_ro("preempted_ns", &TaskProgram::preempted_ns,
                "in which other programs had the processor: left out of the work")
        .def_prop_ro("work_ns", &TaskProgram::work_ns, "of all tasks, the serial parts included")
        .def_prop_ro(
            "n_tasks", [](const TaskProgram &program) { return program.tasks.size(); }, "implicit ones included")
        .def_prop_ro(
            "n_dependences", [](const TaskProgram &program) { return program.dependences.size(); }, "between tasks")
        .def_prop_ro(
            "work_of_constructs",
            [](const TaskProgram &program) {
                std::map<uint32_t, uint64_t> work;
                for (const Operation operation : program.operations)
                    if (operation.kind() == OpKind::kWork)
                        work[program.constructs[operation.construct()]] += operation.value();
                return work;
            },
            "work in ns by number of the construct");
    nb::class_<MemorySystem>(m, "MemorySystem", "Caches and memory of a machine, and which of them each thread has.")
        .def(
            "__init__",
            [](MemorySystem *made, const std::vector<PythonCache> &levels, const std::vector<uint32_t> &nodes,
               PythonDistance local, PythonDistance remote, PythonDistance other_cache, double node_ns_per_byte,
               uint32_t block_bytes, uint32_t page_bytes, bool interleaved) {
                if (levels.empty() || block_bytes == 0 || page_bytes == 0)
                    throw nb::value_error("no cache, or no block");
                new (made) MemorySystem;
                for (const auto &[bytes, distance, of_thread] : levels)
                    made->levels.push_back({bytes, {distance.first, distance.second}, of_thread});
                made->node_of_thread = nodes;
                made->local = {local.first, local.second};
                made->remote = {remote.first, remote.second};
                made->other_cache = {other_cache.first, other_cache.second};
                made->node_ns_per_byte = node_ns_per_byte;
                made->block_bytes = block_bytes;
                made->page_bytes = page_bytes;
                made->interleaved = interleaved;
            },
            nb::kw_only(), nb::arg("levels"), nb::arg("nodes"), nb::arg("local"), nb::arg("remote"),
            nb::arg("other_cache"), nb::arg("node_ns_per_byte"), nb::arg("block_bytes"), nb::arg("page_bytes"),
            nb::arg("interleaved"),
            "`levels` from the thread on: bytes of one cache, (latency in ns, ns per byte), and the cache of each "
            "thread; "
            "`nodes`: the memory of each thread.");
    nb::class_<RecordedMemory>(m, "RecordedMemory", "What declared data took of the recorded times.");
    m.def(
        "recorded_memory",
        [](const TaskProgram &program, const MemorySystem &system) {
            const nb::gil_scoped_release release;
            return recorded_memory(program, system);
        },
        nb::arg("program"), nb::arg("system"), "What declared data took on the machine that recorded the program.");
    bind_row<PythonLevel>(m, "SimulatedLevel", "Caches of one level, all together.");
    bind_row<PythonSimulated>(m, "SimulatedRun",
                              "One simulated run.\n\n"
                              "work_ns + create_ns + schedule_ns + sync_ns + idle_ns == threads * wall_ns.");
    bind_row<PythonPolicy>(m, "Policy", "A scheduler that can be simulated.");
    bind_row<PythonCost>(m, "SimulatedCost", "A cost that a machine file may give.");
    bind_row<PythonShape>(m, "TaskShape", "How the tasks of one construct are created.");
    bind_row<PythonLoopShape>(m, "LoopShape", "A worksharing loop of several threads.");
    m.def("loops", &loop_rows, nb::arg("program"), "The worksharing loops of several threads.");
    m.def("shapes", &shape_rows, nb::arg("program"), "How the tasks of each construct are created.");
    m.def(
        "coarsen",
        [](const TaskProgram &program, uint32_t construct, uint32_t grain) {
            return changed(program, construct, [&](uint16_t place) { return coarsen(program, place, grain); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("grain"),
        "The program with each `grain` leaf tasks of the construct, created in a row, as one.");
    m.def(
        "refine",
        [](const TaskProgram &program, uint32_t construct, uint32_t parts) {
            if (parts < 1) throw nb::value_error("a task has one part at least");
            return changed(program, construct, [&](uint16_t place) { return refine(program, place, parts); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("parts"),
        "The program with each task of the construct that only works as `parts` tasks.");
    m.def(
        "untie",
        [](const TaskProgram &program, uint32_t construct) {
            return changed(program, construct,
                           [&](uint16_t place) { return flagged(program, place, ProgramTask::kUntied); });
        },
        nb::arg("program"), nb::arg("construct"), "The program with untied tasks of the construct.");
    m.def(
        "prioritise",
        [](const TaskProgram &program, uint32_t construct) {
            return changed(program, construct,
                           [&](uint16_t place) { return flagged(program, place, ProgramTask::kUrgent); });
        },
        nb::arg("program"), nb::arg("construct"),
        "The program whose tasks of the construct have a priority above that of others.");
    m.def(
        "depend_on_data",
        [](const TaskProgram &program, uint32_t construct) {
            return changed(program, construct, [&](uint16_t place) { return depend_on_data(program, place); });
        },
        nb::arg("program"), nb::arg("construct"),
        "The program whose tasks of the construct create tasks with the dependences that declared data demand, in "
        "place "
        "of their taskwaits.");
    m.def(
        "balance_loop",
        [](const TaskProgram &program, uint32_t construct) {
            return changed(program, construct, [&](uint16_t place) { return balance_loop(program, place); });
        },
        nb::arg("program"), nb::arg("construct"),
        "The program in which each instance of the worksharing loop takes its threads equally long.");
    m.def(
        "loop_to_tasks",
        [](const TaskProgram &program, uint32_t construct, uint32_t n_tasks) {
            if (n_tasks < 1) throw nb::value_error("a taskloop has one task at least");
            return changed(program, construct, [&](uint16_t place) { return loop_to_tasks(program, place, n_tasks); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("n_tasks"),
        "The program with a taskloop of `n_tasks` tasks in place of each instance of the worksharing loop.");
    m.def(
        "enlarge_chunks",
        [](const TaskProgram &program, uint32_t construct, uint32_t factor, uint32_t chunk_ns) {
            if (factor < 1) throw nb::value_error("a factor is one at least");
            return changed(program, construct,
                           [&](uint16_t place) { return enlarge_chunks(program, place, factor, chunk_ns); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("factor"), nb::arg("chunk_ns"),
        "The program with chunks of the loop that are `factor` times as large, of which each takes `chunk_ns` to come "
        "by.");
    m.def(
        "spread",
        [](const TaskProgram &program, uint32_t construct, uint32_t least, uint32_t n_parts) {
            return changed(program, construct, [&](uint16_t place) { return spread(program, place, least, n_parts); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("least"), nb::arg("n_parts"),
        "The program whose creators of `least` tasks of the construct share that out to `n_parts` tasks.");
    m.def(
        "join_phases",
        [](const TaskProgram &program, uint32_t construct) {
            return changed(program, construct, [&](uint16_t place) { return join_phases(program, place); });
        },
        nb::arg("program"), nb::arg("construct"),
        "The program whose tasks of the construct keep only the last of their taskwaits.");
    m.def(
        "place_subtrees",
        [](const TaskProgram &program, uint32_t construct, uint32_t n_domains) {
            if (n_domains < 1 || n_domains > kMaxThreads)
                throw nb::value_error("the number of domains is out of range");
            return changed(program, construct,
                           [&](uint16_t place) { return place_subtrees(program, place, n_domains); });
        },
        nb::arg("program"), nb::arg("construct"), nb::arg("n_domains"),
        "The program whose outermost tasks of the construct are placed, each domain getting an equal stretch of them, "
        "with all below them.");
    m.attr("MAX_SIMULATED_THREADS") = kMaxThreads;
    m.def("policies", &policy_rows, "All policies.");
    m.def("simulated_costs", &cost_rows, "All costs.");
    m.def("task_program", &task_program, nb::arg("directory"),
          "What the tasks of a run do; LogError when the run has no trace.");
    m.def("simulate", &simulate_program, nb::arg("program"), nb::kw_only(), nb::arg("policy"), nb::arg("threads"),
          nb::arg("domains") = std::vector<uint32_t>{}, nb::arg("n_domains") = 1, nb::arg("clock_ratio") = 1.0,
          nb::arg("costs") = std::map<std::string, Points>{}, nb::arg("seed") = 1,
          nb::arg("speed") = std::map<uint32_t, double>{}, nb::arg("max_depth") = 0, nb::arg("min_ns") = 0,
          nb::arg("serial_below") = false, nb::arg("untied") = false, nb::arg("untraced_task_ns") = 0,
          nb::arg("untraced_creation_ns") = 0, nb::arg("serialised") = std::tuple<int32_t, int32_t, uint32_t>{},
          nb::arg("as_recorded") = false, nb::arg("memory") = nb::none(), nb::arg("recorded") = nb::none(),
          nb::arg("record_in") = "", nb::arg("recorded_run") = "",
          "One run. `domains`: that of each thread; `costs`: by name, (threads, ns) points; `speed`: how many times "
          "faster a construct is, by its number; tasks deeper than `max_depth` or with less work than `min_ns` run "
          "inside their creator, `serial_below` without any cost; the untraced times are taken off the work of each "
          "task, and of its creator, and those of `serialised` off tasks of a team of one, whose creation takes the "
          "third of these; `as_recorded`: unless such a team is simulated, whose tasks then take what they took; "
          "`memory` is that of the machine, `recorded` what recorded_memory() gives: without both, work takes as long "
          "as it was recorded; `record_in`, an existing directory, gets the logs of the simulated run, with the "
          "definitions of `recorded_run`. LogError when no task can go on.");
}

} // namespace ompass

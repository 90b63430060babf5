// SPDX-License-Identifier: Apache-2.0
// The simulator for Python: recorded programs, changed programs, and their simulated runs.
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "bindings.h"
#include "simulation/access_log.h"
#include "simulation/engine.h"
#include "simulation/recorder.h"
#include "simulation/transform.h"
#include "simulation/transform_graphs.h"
#include "simulation/transform_order.h"

namespace ompass {

namespace {

using namespace simulation;

#define OMPASS_SIMULATED(X)                                                                                            \
    X(uint64_t, wall_ns, "duration of the simulated program", from.wall_ns)                                            \
    X(uint64_t, serial_ns, "part of wall_ns outside of parallel regions", from.serial_ns)                              \
    X(uint64_t, work_ns, "time of all threads in user code", from.work_ns)                                             \
    X(uint64_t, create_ns, "time of all threads in task creation", from.create_ns)                                     \
    X(uint64_t, schedule_ns, "time of all threads in searching for and taking tasks", from.schedule_ns)                \
    X(uint64_t, sync_ns,                                                                                               \
      "time of all threads in waits, barriers, locks, MPI calls and target constructs, without idle_ns", from.sync_ns) \
    X(uint64_t, idle_ns, "time of all threads without a task that they may run", from.idle_ns)                         \
    X(uint64_t, n_tasks, "tasks created", from.n_tasks)                                                                \
    X(uint64_t, n_inlined, "tasks that ran at once inside their creator", from.n_inlined)                              \
    X(uint64_t, n_steals_attempted, "attempts to take a task from the queue of another thread or domain",              \
      from.n_steals_attempted)                                                                                         \
    X(uint64_t, n_steals_successful, "attempts that took a task", from.n_steals_successful)                            \
    X(uint64_t, n_steals_false_negative, "attempts that failed while some queue held a task",                          \
      from.n_steals_false_negative)                                                                                    \
    X(uint64_t, n_remote, "tasks that ran outside of the domain in which they were placed", from.n_remote)             \
    X(OperationCounts, operations, "(count, total ns) of each operation of the runtime, by the name of its cost",      \
      operation_counts(from))                                                                                          \
    X(uint64_t, memory_ns, "part of work_ns in accesses to declared data; 0: not modelled", from.memory.memory_ns)     \
    X(uint64_t, busy_ns, "part of memory_ns in which accesses wait for a busy memory node", from.memory.waited_ns)     \
    X(Rows<PythonLevel>, levels, "counts of each cache level, the first level first", level_rows(from.memory))         \
    X(Matrix, link_bytes,                                                                                              \
      "bytes that the threads of each node (column) access in the memory and caches of each node (row)",               \
      link_rows(from.memory))

#define OMPASS_LEVEL(X)                                                                                                \
    X(uint64_t, n_hits, "accesses to blocks that a cache of this level holds", from.hits)                              \
    X(uint64_t, n_misses, "accesses to blocks that the cache does not hold", from.misses)                              \
    X(uint64_t, n_invalid, "part of n_misses: another cache wrote the block after this one loaded it", from.invalid)

#define OMPASS_POLICY(X)                                                                                               \
    X(std::string, name, "name, as in --policy", from.name)                                                            \
    X(std::string, meaning, "short description", from.meaning)                                                         \
    X(bool, can_record, "true if simulate() can write logs of runs under this policy", Recorder::can_record(from))

#define OMPASS_COST(X)                                                                                                 \
    X(std::string, name, "name, as in machine files", from.first)                                                      \
    X(std::string, meaning, "the operation that takes this time", from.second)

#define OMPASS_SHAPE(X)                                                                                                \
    X(uint32_t, construct, "number of the construct", program.constructs[place])                                       \
    X(uint64_t, n_tasks, "tasks; undeferred ones count only if they create tasks", from.n_tasks)                       \
    X(uint64_t, n_deferred, "part of n_tasks: deferred tasks", from.n_deferred)                                        \
    X(uint64_t, n_untied, "part of n_tasks: untied tasks", from.n_untied)                                              \
    X(uint64_t, create_ns, "recorded time of the creations of deferred tasks", from.create_ns)                         \
    X(uint64_t, n_priorities, "different priorities of the deferred tasks; a task without one has priority 0",         \
      from.n_priorities)                                                                                               \
    X(uint64_t, n_iterations, "iterations of the taskloops that created them", from.n_iterations)                      \
    X(uint64_t, most_in_a_row, "most tasks that one task creates with only work between the creations",                \
      from.most_in_a_row)                                                                                              \
    X(uint64_t, most_phases, "most phases of one task; a phase creates tasks and ends with a taskwait or taskgroup",   \
      from.most_phases)                                                                                                \
    X(uint32_t, wait, "construct of the last wait that ends a phase; 0: unknown", program.constructs[from.wait])       \
    X(uint32_t, most_of, "construct that does most of their work: this one, or one of undeferred tasks inside them",   \
      program.constructs[from.most_of])                                                                                \
    X(uint64_t, n_divisible, "tasks that refine() may divide: deferred ones that only work and have no dependences",   \
      from.n_divisible)                                                                                                \
    X(uint64_t, divisible_ns, "work of these tasks", from.divisible_ns)                                                \
    X(uint64_t, longest_ns, "work of the longest of these tasks", from.longest_ns)                                     \
    X(uint32_t, deepest, "largest depth of a task: levels of creation between it and its region", from.deepest)

#define OMPASS_LOOP_SHAPE(X)                                                                                           \
    X(uint32_t, construct, "number of the construct", program.constructs[from.first])                                  \
    X(uint64_t, n_instances, "instances that two or more threads share, and in which they only work",                  \
      from.second.n_instances)                                                                                         \
    X(uint64_t, n_chunks, "chunks that the threads took; 0: unknown", from.second.n_chunks)                            \
    X(uint64_t, n_iterations, "iterations; 0: unknown", from.second.n_iterations)                                      \
    X(bool, is_static, "true if the schedule is static", from.second.is_static)                                        \
    X(uint64_t, work_ns, "work of all threads", from.second.work_ns)                                                   \
    X(uint64_t, longest_ns, "work of the slowest thread of each instance, summed over the instances",                  \
      from.second.longest_ns)

#define OMPASS_WAIT_SHAPE(X)                                                                                           \
    X(uint32_t, construct, "number of the construct; 0: unknown", program.constructs[from.first])                      \
    X(uint64_t, n_waits, "taskwaits and ends of taskgroups at this construct", from.second.n_waits)                    \
    X(uint64_t, most_in_task, "largest number of these waits in one task", from.second.most_in_task)

#define OMPASS_DEPENDENCE_SHAPE(X)                                                                                     \
    X(uint32_t, before, "construct of the predecessors", program.constructs[from.first.first])                         \
    X(uint32_t, after, "construct of the successors", program.constructs[from.first.second])                           \
    X(uint64_t, n, "number of dependences", from.second.n)                                                             \
    X(uint64_t, depth,                                                                                                 \
      "in at least 90% of them, task k of `after` depends on task k - depth of `before`; 0: no such number",           \
      from.second.depth)

#define OMPASS_GRAPH_SHAPE(X)                                                                                          \
    X(uint32_t, construct, "construct of the first task of each graph", program.constructs[from.first])                \
    X(uint64_t, n_graphs, "graphs that can be replayed: all except the first of each creator", from.second.n_graphs)   \
    X(uint64_t, n_tasks, "tasks of the largest graph", from.second.n_tasks)                                            \
    X(uint64_t, n_replayed, "tasks of all these graphs", from.second.n_replayed)                                       \
    X(uint64_t, create_ns, "recorded time of the creation of these tasks", from.second.create_ns)

#define OMPASS_LOCK_SHAPE(X)                                                                                           \
    X(uint32_t, lock, "number of the lock", static_cast<uint32_t>(&from - locks.data()))                               \
    X(uint32_t, construct, "construct at which tasks acquire it most often; 0: unknown",                               \
      program.constructs[from.place])                                                                                  \
    X(uint64_t, n_acquired, "number of acquisitions", from.n_acquired)                                                 \
    X(uint64_t, held_ns, "work of tasks while they hold it", from.held_ns)                                             \
    X(uint64_t, passing_ns, "time to pass it between threads, if each acquisition waits for another thread",           \
      from.passing_ns)

#define OMPASS_BARRIER_SHAPE(X)                                                                                        \
    X(uint32_t, construct, "number of the construct; 0: unknown", program.constructs[from.first])                      \
    X(uint64_t, n, "barriers at this construct, in all regions", from.second.n)                                        \
    X(uint64_t, most_in_region, "largest number of these barriers in one region", from.second.most_in_region)

#define OMPASS_REGION_SHAPE(X)                                                                                         \
    X(uint32_t, construct, "number of the construct", program.constructs[from.first])                                  \
    X(uint64_t, n, "number of regions", from.second.n)                                                                 \
    X(uint64_t, work_ns,                                                                                               \
      "work that share_region() divides: of implicit tasks, outside of worksharing loops and locks",                   \
      from.second.work_ns)                                                                                             \
    X(uint64_t, longest_ns, "part of work_ns: the slowest thread's work from each barrier to the next, in total",      \
      from.second.longest_ns)                                                                                          \
    X(uint64_t, alone_ns, "part of work_ns between barriers where one thread does at least 90% of the work",           \
      from.second.alone_ns)                                                                                            \
    X(uint32_t, most_of, "construct that does most of work_ns: this one, or one of undeferred tasks",                  \
      program.constructs[from.second.most_of])

#define OMPASS_SERIAL_PART(X)                                                                                          \
    X(uint32_t, before, "construct of the region before the work; 0: the work begins the program",                     \
      program.constructs[from.first.first])                                                                            \
    X(uint32_t, after, "construct of the region after the work; 0: the work ends the program",                         \
      program.constructs[from.first.second])                                                                           \
    X(uint64_t, work_ns, "work outside of regions, between these two", from.second)

#define OMPASS_BLOCKING(X)                                                                                             \
    X(uint32_t, construct, "construct of the waits; 0: unknown", program.constructs[from.first])                       \
    X(uint64_t, blocked_ns,                                                                                            \
      "recorded time of waits for locks without numbers, and for earlier iterations of ordered loops", from.second)

using OperationCounts = std::map<std::string, std::pair<uint64_t, uint64_t>>;

OMPASS_STRUCT(PythonLevel, Row, OMPASS_LEVEL);
OMPASS_STRUCT(PythonSimulated, Row, OMPASS_SIMULATED);
OMPASS_STRUCT(PythonPolicy, Row, OMPASS_POLICY);
OMPASS_STRUCT(PythonCost, Row, OMPASS_COST);
OMPASS_STRUCT(PythonShape, Row, OMPASS_SHAPE);
OMPASS_STRUCT(PythonLoopShape, Row, OMPASS_LOOP_SHAPE);
OMPASS_STRUCT(PythonWaitShape, Row, OMPASS_WAIT_SHAPE);
OMPASS_STRUCT(PythonDependenceShape, Row, OMPASS_DEPENDENCE_SHAPE);
OMPASS_STRUCT(PythonGraphShape, Row, OMPASS_GRAPH_SHAPE);
OMPASS_STRUCT(PythonLockShape, Row, OMPASS_LOCK_SHAPE);
OMPASS_STRUCT(PythonBarrierShape, Row, OMPASS_BARRIER_SHAPE);
OMPASS_STRUCT(PythonRegionShape, Row, OMPASS_REGION_SHAPE);
OMPASS_STRUCT(PythonSerialPart, Row, OMPASS_SERIAL_PART);
OMPASS_STRUCT(PythonBlocking, Row, OMPASS_BLOCKING);

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

// Programs are constant: functions that change a program return a new one.
using ProgramPointer = std::shared_ptr<const TaskProgram>;

ProgramPointer task_program(const std::string &directory) {
    const RunFiles run = open_or_throw(directory);
    auto program = std::make_shared<TaskProgram>();
    unlocked([&] { return extract_program(run, *program); });
    if (const std::string fault = check_program(*program); !fault.empty()) throw LogError(directory + ": " + fault);
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
                                 uint32_t untraced_creation_ns, std::pair<uint32_t, uint32_t> untraced_create,
                                 const std::tuple<int32_t, int32_t, uint32_t> &serialised, bool as_recorded,
                                 const MemorySystem *memory, const RecordedMemory *recorded,
                                 const std::string &record_in, const std::string &recorded_run, AccessLog *accesses) {
    const Policy *policy = find_policy(policy_name);
    if (!policy) throw nb::value_error(("no policy is called " + policy_name).c_str());
    if (n_threads < 1 || n_threads > kMaxThreads) throw nb::value_error("the number of threads is out of range");
    Changes changes{{}, max_depth, min_ns, serial_below, untied, untraced_task_ns, untraced_creation_ns};
    std::tie(changes.serialised_task_ns, changes.serialised_creation_ns, changes.serialised_create_ns) = serialised;
    std::tie(changes.untraced_create_ns, changes.least_create_ns) = untraced_create;
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
        throw nb::value_error(("runs under " + policy->name + " cannot be recorded").c_str());
    Simulated from;
    Problem problem;
    {
        const nb::gil_scoped_release release;
        RunFiles run;
        std::unique_ptr<Recorder> recorder;
        if (!record_in.empty() && !(problem = open_run(recorded_run, run)))
            recorder = std::make_unique<Recorder>(program, run.definitions, *policy, domains, n_threads);
        team.recorder = recorder.get();
        team.accesses = accesses;
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

Rows<PythonLockShape> lock_rows(const TaskProgram &program) {
    const std::vector<LockShape> locks = locks_of(program);
    return to_tuple(locks, [&](const LockShape &from) { return OMPASS_ROW(PythonLockShape, OMPASS_LOCK_SHAPE); });
}

// Binds a function that lists properties of a program as rows.
#define OMPASS_BIND_SHAPES(m, name, row, list, figures, doc)                                                           \
    m.def(                                                                                                             \
        name,                                                                                                          \
        [](const TaskProgram &program) -> Rows<row> {                                                                  \
            return to_tuple(list(program), [&](const auto &from) { return OMPASS_ROW(row, figures); });                \
        },                                                                                                             \
        nb::arg("program"), doc)

// Returns the work of each construct in ns, by the construct's number.
std::map<uint32_t, uint64_t> work_of_constructs(const TaskProgram &program) {
    std::map<uint32_t, uint64_t> work;
    for (const Operation operation : program.operations)
        if (operation.is_work()) work[program.constructs[operation.construct()]] += operation.value();
    return work;
}

// Returns the program's number for a construct of the run.
uint16_t place_of(const TaskProgram &program, uint32_t construct) {
    const auto found = std::ranges::find(program.constructs, construct);
    if (found == program.constructs.end()) throw nb::value_error("the program has no such construct");
    return static_cast<uint16_t>(found - program.constructs.begin());
}

// Binds a function that returns a changed program. The bound function raises ValueError if its first number is 0.
template <typename... Number, typename... Name>
void bind_change(nb::module_ &m, const char *name, TaskProgram (*change)(const TaskProgram &, uint16_t, Number...),
                 const char *doc, Name... number_names) {
    m.def(
        name,
        [change](const TaskProgram &program, uint32_t construct, Number... numbers) -> ProgramPointer {
            if (const std::array checked = {numbers..., 1u}; checked[0] == 0)
                throw nb::value_error("the first number must be positive");
            const uint16_t place = place_of(program, construct);
            const nb::gil_scoped_release release;
            return std::make_shared<TaskProgram>(change(program, place, numbers...));
        },
        nb::arg("program"), nb::arg("construct"), nb::arg(number_names)..., doc);
}

void bind_program(nb::module_ &m) {
    nb::class_<TaskProgram>(m, "TaskProgram",
                            "The operations of every task of a recorded run: the input of simulations.")
        .def_ro("n_threads", &TaskProgram::n_threads, "size of the largest recorded team")
        .def_ro("n_domains", &TaskProgram::n_domains, "number of domains in which tasks were placed; 0: none")
        .def_ro("wall_ns", &TaskProgram::wall_ns, "duration of the recorded run")
        .def_ro("regions_ns", &TaskProgram::regions_ns, "part of wall_ns in parallel regions")
        .def_ro("other_regions_ns", &TaskProgram::other_regions_ns,
                "part of regions_ns in regions that threads other than the first began; the simulation runs all "
                "regions one after the other")
        .def_ro("n_deferred", &TaskProgram::n_deferred, "deferred tasks")
        .def_prop_ro(
            "highest_priority",
            [](const TaskProgram &program) { return program.priorities.empty() ? 0 : program.priorities.back(); },
            "the highest priority of a recorded task; 0: no task has one")
        .def_ro("n_serialised", &TaskProgram::n_serialised,
                "tasks that ran at once in a team of one, and that the simulation defers")
        .def_ro("n_unknown_dependences", &TaskProgram::n_unknown_dependences,
                "tasks of a team of one whose depend clauses are unknown, because the trace has an older format")
        .def_ro("n_dependent_alone", &TaskProgram::n_dependent_alone,
                "tasks with depend clauses that ran at once in a team of one")
        .def_ro("n_supposed_waits", &TaskProgram::n_supposed_waits,
                "tasks of a team of one that are assumed to wait for their children, because the trace lacks their "
                "waits")
        .def_ro("n_nested", &TaskProgram::n_nested,
                "implicit tasks of nested regions; in the simulation, one thread runs them one after the other")
        .def_ro("n_dependent_waits", &TaskProgram::n_dependent_waits,
                "executions of `taskwait depend`, simulated as taskwaits without depend clauses")
        .def_ro("n_detached", &TaskProgram::n_detached, "detached tasks")
        .def_ro("n_unfulfilled", &TaskProgram::n_unfulfilled,
                "part of n_detached: the trace lacks the event, so the task is assumed to complete when its code ends")
        .def_ro("n_locks", &TaskProgram::n_locks, "number of locks whose use is simulated")
        .def_ro("n_out_of_order", &TaskProgram::n_out_of_order, "events whose cause is not in the trace")
        .def_prop_ro(
            "n_accesses", [](const TaskProgram &program) { return program.accesses.size(); },
            "accesses that kernels declared")
        .def_ro(
            "blocked_ns", &TaskProgram::blocked_ns,
            "recorded time of waits for locks without numbers and for earlier iterations, which the simulation repeats")
        .def_ro("called_ns", &TaskProgram::called_ns,
                "recorded time of MPI calls and target constructs, which the simulation repeats")
        .def_ro("off_cpu_ns", &TaskProgram::off_cpu_ns, "part of work_ns in which threads were blocked off-CPU")
        .def_ro("own_ns", &TaskProgram::own_ns,
                "work of implicit tasks outside of worksharing loops, sections and singles")
        .def_ro("preempted_ns", &TaskProgram::preempted_ns, "time in which threads were preempted; not part of work_ns")
        .def_prop_ro("longest_hold_ns", &TaskProgram::longest_hold_ns,
                     "work under the lock that tasks hold longest, in total")
        .def_prop_ro("few_tasks_ns", &TaskProgram::few_tasks_ns,
                     "work of the longest task of each small group that an implicit task creates before it waits, in "
                     "total; a group is small if it has at most two tasks per recorded thread, and no task in it "
                     "creates tasks")
        .def(
            "set_facts",
            [](TaskProgram &program, uint64_t system_ns, bool asks_for_threads, uint64_t locking_ns,
               uint64_t copied_bytes, uint64_t allocator_ns) {
                program.system_ns = system_ns;
                program.asks_for_threads = asks_for_threads;
                program.locking_ns = locking_ns;
                program.copied_bytes = copied_bytes;
                program.allocator_ns = allocator_ns;
            },
            nb::arg("system_ns"), nb::arg("asks_for_threads"), nb::arg("locking_ns"), nb::arg("copied_bytes"),
            nb::arg("allocator_ns"), "Sets the attributes with these names. The trace lacks their values.")
        .def_ro("system_ns", &TaskProgram::system_ns, "time in the kernel in regions; 0 if unknown")
        .def_ro("asks_for_threads", &TaskProgram::asks_for_threads,
                "True if the program's files call functions that return numbers of threads or processors")
        .def_ro("locking_ns", &TaskProgram::locking_ns,
                "work of constructs, recorded on one thread, whose code takes locks of the C library")
        .def_ro("copied_bytes", &TaskProgram::copied_bytes,
                "total size of the large copies that creations made, if recorded on one thread")
        .def_ro("allocator_ns", &TaskProgram::allocator_ns,
                "work in the memory allocator by samples, if recorded on one thread")
        .def_prop_ro(
            "loop_counts",
            [](const TaskProgram &program) {
                const LoopCounts counts = count_loops(program);
                return std::pair{counts.n_shared, counts.n_kept};
            },
            "(instances of worksharing loops that share_loops() divides, instances that it does not change)")
        .def_prop_ro(
            "kept_loop_ns", [](const TaskProgram &program) { return count_loops(program).kept_ns; },
            "work in worksharing loops that share_loops() does not change")
        .def_prop_ro(
            "equal_loop_ns", [](const TaskProgram &program) { return count_loops(program).equal_ns; },
            "work of teams of one in loops that share_loops() divides, as if all iterations were equally long")
        .def_ro("sections_ns", &TaskProgram::sections_ns,
                "work in sections, which stays in the implicit tasks that did it")
        .def_ro("detached_ns", &TaskProgram::detached_ns,
                "time from the end of each detached task's code to its event, in total")
        .def_prop_ro("work_ns", &TaskProgram::work_ns, "work of all tasks, and work outside of regions")
        .def_prop_ro(
            "n_tasks", [](const TaskProgram &program) { return program.tasks.size(); },
            "tasks, including implicit ones")
        .def_prop_ro(
            "n_dependences", [](const TaskProgram &program) { return program.dependences.size(); },
            "dependences between tasks")
        .def_prop_ro("work_of_constructs", &work_of_constructs,
                     "work of each construct in ns, by the number of the construct");
    m.def("task_program", &task_program, nb::arg("directory"),
          "Returns the operations of a run's tasks. Raises LogError, also if the run has no trace.");
}

void bind_memory(nb::module_ &m) {
    nb::class_<MemorySystem>(m, "MemorySystem",
                             "The caches and memory nodes of a machine, with those that each thread uses.")
        .def(
            "__init__",
            [](MemorySystem *made, const std::vector<PythonCache> &levels, const std::vector<uint32_t> &nodes,
               PythonDistance local, PythonDistance remote, PythonDistance other_cache, double node_ns_per_byte,
               uint32_t block_bytes, uint32_t page_bytes, bool interleaved) {
                if (levels.empty() || block_bytes == 0 || page_bytes == 0)
                    throw nb::value_error("caches, blocks and pages must not be empty");
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
            "`levels`: (bytes of one cache, (latency in ns, ns per byte), number of each thread's cache) of each "
            "cache level, the first level first. `nodes`: number of each thread's memory node.\n\n"
            "`local`, `remote` and `other_cache`: (latency in ns, ns per byte) of the thread's own node, of another "
            "node, and of a block that another last-level cache has modified. `node_ns_per_byte`: time per byte of a "
            "node, whose bandwidth all threads share. `interleaved`: True if pages are interleaved over the nodes; "
            "else a page belongs to the node that touches it first.");
    nb::class_<RecordedMemory>(m, "RecordedMemory",
                               "The modelled times of a program's accesses to declared data on the recording machine.");
    m.def(
        "recorded_memory",
        [](const TaskProgram &program, const MemorySystem &system) {
            const nb::gil_scoped_release release;
            return recorded_memory(program, system);
        },
        nb::arg("program"), nb::arg("system"),
        "Returns the modelled times of the program's accesses to declared data on `system`, the recording machine.");
}

void bind_shapes(nb::module_ &m) {
    bind_row<PythonShape>(m, "TaskShape", "The number, creation and work of the tasks of one construct.");
    bind_row<PythonLoopShape>(m, "LoopShape", "The instances of one worksharing loop in teams of two or more threads.");
    bind_row<PythonGraphShape>(m, "GraphShape",
                               "Graphs of tasks that a program creates repeatedly, and that `taskgraph` could replay.");
    m.def("shapes", &shape_rows, nb::arg("program"), "Returns the properties of the tasks of each construct.");
    m.def("loops", &loop_rows, nb::arg("program"),
          "Returns the worksharing loops that balance_loop(), loop_to_tasks() and enlarge_chunks() can change.");
    OMPASS_BIND_SHAPES(m, "graphs", PythonGraphShape, graphs_of, OMPASS_GRAPH_SHAPE,
                       "Returns the graphs of tasks that can be replayed, by the construct of their first task.\n\n"
                       "A graph is the deferred tasks that one task creates up to its next wait or barrier, with the "
                       "dependences between them. The constructs of the creating task, of the wait and of the first "
                       "task identify the place of a graph. Graphs can be replayed if all graphs of the place are "
                       "alike, and if one task, or the implicit tasks of one region construct, create three or more "
                       "of them. The first graph of each creator is not a replay.");
    bind_change(m, "replay_graphs", &replay_graphs,
                "Replaces creations with replays, in the graphs that graphs() returns for the construct.");
}

void bind_order(nb::module_ &m) {
    bind_row<PythonWaitShape>(m, "WaitShape", "The waits for tasks at one construct.");
    bind_row<PythonDependenceShape>(m, "DependenceShape",
                                    "The dependences of tasks of one construct on tasks of the same or another "
                                    "construct.");
    bind_row<PythonLockShape>(m, "LockShape", "The use of one lock.");
    bind_row<PythonBarrierShape>(m, "BarrierShape", "The barriers at one construct.");
    bind_row<PythonRegionShape>(m, "RegionShape", "The parallel regions of one construct.");
    bind_row<PythonSerialPart>(m, "SerialPart", "The work outside of regions, between regions of two constructs.");
    bind_row<PythonBlocking>(m, "Blocking",
                             "The recorded waits at one construct that the simulation repeats unchanged.");
    OMPASS_BIND_SHAPES(m, "waits", PythonWaitShape, waits_of, OMPASS_WAIT_SHAPE,
                       "Returns the waits for tasks at each construct.");
    OMPASS_BIND_SHAPES(m, "dependences", PythonDependenceShape, dependences_of, OMPASS_DEPENDENCE_SHAPE,
                       "Returns the dependences of each pair of constructs.");
    m.def("locks", &lock_rows, nb::arg("program"), "Returns the use of each lock, by number.");
    OMPASS_BIND_SHAPES(m, "barriers", PythonBarrierShape, barriers_of, OMPASS_BARRIER_SHAPE,
                       "Returns the barriers at each construct.");
    OMPASS_BIND_SHAPES(m, "regions", PythonRegionShape, regions_of, OMPASS_REGION_SHAPE,
                       "Returns the parallel regions of each construct.");
    OMPASS_BIND_SHAPES(m, "serial_parts", PythonSerialPart, serial_parts_of, OMPASS_SERIAL_PART,
                       "Returns the work outside of regions, by the constructs of the regions before and after it.");
    OMPASS_BIND_SHAPES(m, "blocking", PythonBlocking, blocking_of, OMPASS_BLOCKING,
                       "Returns the recorded waits at each construct that the simulation repeats unchanged.");
    bind_change(m, "merge_waits", &merge_waits,
                "Removes all waits for tasks at the construct, except the last of each task.");
    m.def(
        "without_region_recording",
        [](const TaskProgram &program, uint32_t fork_ns, uint32_t barrier_ns, uint32_t loop_ns) -> ProgramPointer {
            const nb::gil_scoped_release release;
            return std::make_shared<TaskProgram>(
                without_region_recording(program, {.fork = fork_ns, .barrier = barrier_ns, .loop = loop_ns}));
        },
        nb::arg("program"), nb::arg("fork_ns"), nb::arg("barrier_ns"), nb::arg("loop_ns"),
        "Returns the program without the time that recording adds to each implicit task, barrier and loop.");
    bind_change(m, "merge_barriers", &merge_barriers,
                "Removes all barriers at the construct, except the last of each region.");
    bind_change(m, "merge_regions", &merge_regions,
                "Merges successive regions of the construct with equal team sizes and only work in between.\n\n"
                "Removes all barriers of the merged regions, except the last.");
    bind_change(m, "without_blocking", &without_blocking,
                "Removes the waits that blocking() returns for the construct.");
    bind_change(m, "share_region", &share_region,
                "Divides the work of implicit tasks equally between the threads of each region of the construct.\n\n"
                "Treats the work from each barrier to the next separately. Work in worksharing loops or under locks "
                "stays with its thread.");
    m.def(
        "without_dependences",
        [](const TaskProgram &program, uint32_t before, uint32_t after) -> ProgramPointer {
            return std::make_shared<TaskProgram>(
                without_dependences(program, place_of(program, before), place_of(program, after)));
        },
        nb::arg("program"), nb::arg("before"), nb::arg("after"),
        "Removes the dependences of tasks of construct `after` on tasks of construct `before`.");
    m.def(
        "without_lock",
        [](const TaskProgram &program, uint32_t lock) -> ProgramPointer {
            return std::make_shared<TaskProgram>(without_lock(program, lock));
        },
        nb::arg("program"), nb::arg("lock"),
        "Removes all acquisitions of the lock, so that work under it may run at any time.");
    m.def(
        "share_serial",
        [](const TaskProgram &program, uint32_t before, uint32_t after, uint32_t n_threads) -> ProgramPointer {
            if (n_threads == 0) throw nb::value_error("the number of threads must be positive");
            return std::make_shared<TaskProgram>(
                share_serial(program, place_of(program, before), place_of(program, after), n_threads));
        },
        nb::arg("program"), nb::arg("before"), nb::arg("after"), nb::arg("n_threads"),
        "Divides the serial work between a region of `before` and the next region, of `after`, by `n_threads`.\n\n"
        "Both are constructs. A `before` of 0 is the begin of the program, and an `after` of 0 is its end.");
    bind_change(m, "deepen", &deepen,
                "Allows `factor` times as many items in flight in a pipeline.\n\n"
                "If task n of the construct depends on task n - `depth` of another construct, it then depends on task "
                "n - `depth` * `factor` instead.",
                "depth", "factor");
}

void bind_changes(nb::module_ &m) {
    m.def(
        "share_loops",
        [](const TaskProgram &program, uint32_t n_threads) -> ProgramPointer {
            if (n_threads < 1 || n_threads > kMaxThreads)
                throw nb::value_error("the number of threads is out of range");
            const nb::gil_scoped_release release;
            return std::make_shared<TaskProgram>(share_loops(program, n_threads));
        },
        nb::arg("program"), nb::arg("n_threads"),
        "Divides the worksharing loops between the threads of a team of `n_threads`, according to their "
        "schedules.\n\n"
        "Does not change instances in which threads do more than work.");
    bind_change(m, "coarsen", &coarsen,
                "Merges every `grain` tasks of the construct that one task creates in a row.\n\n"
                "Tasks that create tasks, wait or have dependences remain.",
                "grain");
    bind_change(m, "refine", &refine,
                "Divides tasks of the construct that only work and have no dependences into equal parts.\n\n"
                "No part is longer than 1 / `parts` of the longest such task.",
                "parts");
    m.def(
        "with_earlier_work",
        [](const TaskProgram &program, uint64_t ns) -> ProgramPointer {
            return std::make_shared<TaskProgram>(with_earlier_work(program, ns));
        },
        nb::arg("program"), nb::arg("ns"), "Adds `ns` nanoseconds of work before all other work of the program.");
    m.def(
        "with_constructs",
        [](const TaskProgram &program, const std::map<uint32_t, uint32_t> &instead) -> ProgramPointer {
            std::vector<uint16_t> places(program.constructs.size());
            for (uint16_t place = 0; place < places.size(); place++) {
                const auto found = instead.find(program.constructs[place]);
                const auto other = found == instead.end() ? program.constructs.end()
                                                          : std::ranges::find(program.constructs, found->second);
                places[place] = other == program.constructs.end()
                                    ? place
                                    : static_cast<uint16_t>(other - program.constructs.begin());
            }
            return std::make_shared<TaskProgram>(with_constructs(program, places));
        },
        nb::arg("program"), nb::arg("instead"),
        "Replaces each construct that is a key of `instead` with its value. Both are numbers of constructs in the "
        "run.");
    bind_change(m, "limit_creations", &limit_creations,
                "Limits the recorded time of each creation of a deferred task of the construct to `most_ns`.",
                "most_ns");
    bind_change(m, "untie", &untie, "Makes the deferred tasks of the construct untied.");
    bind_change(m, "prioritise", &prioritise,
                "Gives the deferred tasks of the construct a priority above all other tasks.");
    bind_change(m, "reverse_priorities", &reverse_priorities,
                "Reverses the order of the priorities of the construct's deferred tasks.");
    bind_change(m, "depend_on_data", &depend_on_data,
                "Replaces taskwaits of the construct's tasks with the dependences that declared data require.\n\n"
                "The last taskwait of each task remains. Another one remains if, in the phase before or after it, "
                "the task touches data itself or creates tasks without declared data.");
    bind_change(m, "balance_loop", &balance_loop,
                "Divides the work of each instance of the worksharing loop equally between its threads.");
    bind_change(m, "loop_to_tasks", &loop_to_tasks,
                "Replaces each instance of the worksharing loop with a taskloop of `n_tasks` tasks of equal work.",
                "n_tasks");
    bind_change(m, "enlarge_chunks", &enlarge_chunks,
                "Makes the loop's chunks `factor` times as large. Each avoided chunk saves `chunk_ns` of work.",
                "factor", "chunk_ns");
    bind_change(m, "spread", &spread,
                "Lets `n_parts` new tasks create the tasks of the construct that one task creates in a row.\n\n"
                "Changes only rows of at least `least` tasks. Each new task waits for the tasks that it creates.",
                "least", "n_parts");
    bind_change(m, "join_phases", &join_phases,
                "Removes the taskwaits and ends of taskgroups from the construct's tasks, except the last of each "
                "task.");
    bind_change(
        m, "place_subtrees",
        +[](const TaskProgram &program, uint16_t construct, uint32_t n_domains) {
            if (n_domains > kMaxThreads) throw nb::value_error("the number of domains is out of range");
            return place_subtrees(program, construct, n_domains);
        },
        "Places each outermost task of the construct, with all its descendants, in one of `n_domains` domains.\n\n"
        "Of n such tasks, the first n / `n_domains` are in domain 0, and so on. All other tasks get no domain.",
        "n_domains");
}

void bind_runs(nb::module_ &m) {
    m.attr("MAX_SIMULATED_THREADS") = kMaxThreads;
    bind_row<PythonLevel>(m, "SimulatedLevel", "The hits and misses in all caches of one level.");
    bind_row<PythonSimulated>(m, "SimulatedRun",
                              "One simulated run.\n\n"
                              "work_ns + create_ns + schedule_ns + sync_ns + idle_ns == threads * wall_ns.");
    bind_row<PythonPolicy>(m, "Policy", "A scheduler that can be simulated.");
    bind_row<PythonCost>(m, "SimulatedCost", "A cost that a machine file may set.");
    m.def("policies", &policy_rows, "Returns all policies that simulate() accepts.");
    m.def("simulated_costs", &cost_rows, "Returns all costs that a machine file may set.");
    m.def("simulate", &simulate_program, nb::arg("program"), nb::kw_only(), nb::arg("policy"), nb::arg("threads"),
          nb::arg("domains") = std::vector<uint32_t>{}, nb::arg("n_domains") = 1, nb::arg("clock_ratio") = 1.0,
          nb::arg("costs") = std::map<std::string, Points>{}, nb::arg("seed") = 1,
          nb::arg("speed") = std::map<uint32_t, double>{}, nb::arg("max_depth") = 0, nb::arg("min_ns") = 0,
          nb::arg("serial_below") = false, nb::arg("untied") = false, nb::arg("untraced_task_ns") = 0,
          nb::arg("untraced_creation_ns") = 0, nb::arg("untraced_create") = std::pair<uint32_t, uint32_t>{},
          nb::arg("serialised") = std::tuple<int32_t, int32_t, uint32_t>{}, nb::arg("as_recorded") = false,
          nb::arg("memory") = nb::none(), nb::arg("recorded") = nb::none(), nb::arg("record_in") = "",
          nb::arg("recorded_run") = "", nb::arg("accesses") = nb::none(),
          "Simulates one run. Raises LogError if no task can continue, or if the logs cannot be written.\n\n"
          "`domains`: number of each thread's domain; empty: 0. `clock_ratio`: speed of a core relative to the "
          "recording machine. `costs`: (number of threads, ns) points of each cost, by its name. `speed`: speed-up "
          "of each construct's work, by the number of the construct. Tasks deeper than `max_depth` (0: no limit) or "
          "with less work than `min_ns` run inside their creator, at no cost if `serial_below`. `untied`: True makes "
          "all tasks untied. The same `seed` gives the same run.\n\n"
          "The next arguments remove the cost of recording. `untraced_task_ns` is subtracted from the work of each "
          "task, and `untraced_creation_ns` from the work of its creator. `untraced_create`: (ns to subtract from "
          "each recorded creation, least ns of the creation after that). `serialised`, for tasks recorded in a team "
          "of one: (`untraced_task_ns`, `untraced_creation_ns`, ns of a creation if `costs` does not set it). "
          "`as_recorded`: True lets these tasks keep their recorded times if the simulated team has one thread.\n\n"
          "`memory`: caches and memory of the simulated machine. `recorded`: from recorded_memory(). If one of them "
          "is None, work takes its recorded time. `record_in`: existing directory for the logs of the simulated run; "
          "empty: none. `recorded_run`: directory of the recorded run, whose definitions these logs get. `accesses`: "
          "receives the accesses of the run, under any policy.");
}

} // namespace

void bind_simulation(nb::module_ &m) {
    bind_program(m);
    bind_memory(m);
    bind_shapes(m);
    bind_changes(m);
    bind_order(m);
    bind_runs(m);
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// A recorded run for Python: modules, constructs, threads, and tables of times and counts.
#include <nanobind/stl/filesystem.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "analyses/trace_replay.h"
#include "bindings.h"
#include "format/control_groups.h"
#include "format/run_profile.h"

namespace ompass {

namespace {

// Returns the name of a number in the format. The last name stands for unknown numbers.
template <typename Number, size_t N>
const char *name_of(Number number, const char *const (&names)[N]) {
    return names[std::min(static_cast<size_t>(number), N - 1)];
}
constexpr const char *kKinds[] = {"program", "task", "parallel", "kernel", "phase",  "module",
                                  "wait",    "loop", "mpi",      "target", "device", "unknown"};
constexpr const char *kClocks[] = {"tsc", "cntvct", "clock_gettime", "unknown"};
constexpr const char *kEnds[] = {"running-or-killed", "finalized", "exit", "ended-by-control", "dumped", "unknown"};

// Returns the smallest number of usable CPUs that the run recorded. A cpuset may shrink during the run.
uint32_t usable_cpus(const format::ProcessHeader &process) {
    uint32_t n = process.n_usable_cpus;
    for (const format::GroupLimits *limits : {&process.groups_at_start, &process.groups_at_end})
        if (limits->n_cpus && (n == 0 || limits->n_cpus < n)) n = limits->n_cpus;
    return n;
}

// Returns the limits with the smaller quota: those at the start of the run, or those at its end.
const format::GroupLimits &quota(const format::ProcessHeader &process) {
    const format::GroupLimits &start = process.groups_at_start, &end = process.groups_at_end;
    if (!start.period_us || !end.period_us) return start.period_us ? start : end;
    const bool smaller = static_cast<double>(end.quota_us) / static_cast<double>(end.period_us) <
                         static_cast<double>(start.quota_us) / static_cast<double>(start.period_us);
    return smaller ? end : start;
}

// Returns the increase of a count during the run, or -1 if it is unknown.
int64_t throttled(const format::ProcessHeader &process, uint64_t format::GroupLimits::*count) {
    const format::GroupLimits &start = process.groups_at_start, &end = process.groups_at_end;
    if (!start.is_known || !end.is_known) return -1;
    // The count at the end is smaller if the process has moved to another group.
    return end.*count < start.*count ? 0 : static_cast<int64_t>(end.*count - start.*count);
}

// X(type, name, meaning, value): `value` uses the variables of to_python().
using Texts = nb::typed<nb::tuple, nb::str, nb::ellipsis>;

#define OMPASS_PYTHON_MODULE(X)                                                                                        \
    X(nb::str, path, "executable or shared library with recorded code addresses", text(from.path))                     \
    X(nb::str, build_id, "hexadecimal; empty if the module has none", text(from.build_id))                             \
    X(uint64_t, base, "load bias: an address in the process, minus its ELF virtual address", from.base)

#define OMPASS_PYTHON_DEFINITION(X)                                                                                    \
    X(uint32_t, id, "index into Run.definitions", id)                                                                  \
    X(nb::str, kind,                                                                                                   \
      "program (id 0: outside of every region), task, parallel, kernel, phase, wait, loop, mpi, "                      \
      "target or device",                                                                                              \
      text(name_of(from.kind, kKinds)))                                                                                \
    X(uint32_t, flags,                                                                                                 \
      "task: OMPT flags at its first creation, and 1 << 21 if its if clause was false; wait or loop: OMPT kind; MPI "  \
      "call: number of its class; target: kind "                                                                       \
      "| (device + 1) << 8; device: number << 1 | (1 if it reports its own times, else 0); other kinds: 0",            \
      from.flags)                                                                                                      \
    X(int64_t, module, "index into Run.modules; -1: unknown",                                                          \
      from.module == ~0u ? -1 : static_cast<int64_t>(from.module))                                                     \
    X(uint64_t, offset,                                                                                                \
      "ELF virtual address of the return address in the module; look up offset - 1, which is in the call; 0: unknown", \
      from.address)                                                                                                    \
    X(nb::str, name, "name of a kernel, a phase, an MPI function or a type of device; else empty", text(from.name))    \
    X(bool, is_place_around,                                                                                           \
      "true if its own return address is in the runtime; module and offset are then those of the task or region "      \
      "around it",                                                                                                     \
      from.is_place_around)

#define OMPASS_PYTHON_RUN(X)                                                                                           \
    X(std::filesystem::path, path, "run directory, as given", directory)                                               \
    X(uint32_t, format_version, "version of the trace format", process.version)                                        \
    X(nb::str, mode, "recorded mode: profile or trace",                                                                \
      text(process.mode == format::Mode::kTrace ? "trace" : "profile"))                                                \
    X(nb::str, source, "source of the statistics: profile (the tool kept them) or events (recomputed from the trace)", \
      text(profile.from_events ? "events" : "profile"))                                                                \
    X(bool, complete, "true if incomplete_reasons is empty", profile.complete)                                         \
    X(nb::str, end_reason, "finalized, exit, running-or-killed, ended-by-control or dumped",                           \
      text(name_of(process.end_reason, kEnds)))                                                                        \
    X(Texts, incomplete_reasons,                                                                                       \
      "reasons why the statistics are incomplete, such as a killed program or, with source events, missing records",   \
      reasons)                                                                                                         \
    X(Texts, missing, "sentences about data that the tool could not write, with the reason", missing)                  \
    X(uint32_t, n_unlogged, "threads for which the tool could not create a log", process.n_unlogged)                   \
    X(uint64_t, n_unlogged_tasks, "completed tasks of threads without a log; 0: none or unknown",                      \
      process.n_unlogged_tasks)                                                                                        \
    X(nb::str, trace_end, "reason why the trace ends before the run; empty if it does not", text(profile.trace_end))   \
    X(nb::str, trace_end_cure, "option or action that avoids this early end", text(profile.trace_end_cure))            \
    X(uint64_t, trace_begin_ns, "begin of the trace, if only its last part was kept; else 0", profile.trace_begin_ns)  \
    X(uint32_t, pid, "process id", process.pid)                                                                        \
    X(uint64_t, start_epoch_ns, "start of the run, since 1970", process.start_epoch_ns)                                \
    X(uint64_t, wall_ns,                                                                                               \
      "time from the start of the run to its last recorded moment; for replay_trace(), the part in the window",        \
      profile.wall_ns)                                                                                                 \
    X(nb::str, clock_kind, "tsc, cntvct or clock_gettime", text(name_of(process.clock_kind, kClocks)))                 \
    X(double, clock_hz, "ticks per second", profile.clock_hz)                                                          \
    X(bool, create_estimated, "true if the run had no wrappers, so that every create_ns is an estimate",               \
      profile.create_estimated)                                                                                        \
    X(double, create_estimate_ns, "estimated time of one creation; 0 if creations were measured",                      \
      profile.create_estimate_ns)                                                                                      \
    X(uint32_t, n_usable_cpus, "CPUs that affinity and cpuset allowed; 0: unknown", usable_cpus(process))              \
    X(uint32_t, n_bound_cpus, "CPUs to which OpenMP's threads were bound, in total; 0: unknown", process.n_bound_cpus) \
    X(uint64_t, quota_us,                                                                                              \
      "processor time in microseconds that control groups allowed per period; 0: no limit, or unknown",                \
      quota(process).quota_us)                                                                                         \
    X(uint64_t, quota_period_us, "length of that period in microseconds", quota(process).period_us)                    \
    X(int64_t, n_throttled, "periods of the run in which a group used up its quota; -1: unknown",                      \
      throttled(process, &format::GroupLimits::n_throttled))                                                           \
    X(int64_t, throttled_ns, "time for which groups were throttled, summed over CPUs; -1: unknown",                    \
      throttled(process, &format::GroupLimits::throttled_ns))                                                          \
    X(uint64_t, earlier_cpu_ns, "processor time of the process before the tool started", process.earlier_cpu_ns)       \
    X(uint64_t, first_region_cpu_ns,                                                                                   \
      "processor time of the process when its first region began; 0: no region, or unknown",                           \
      process.first_region_cpu_ns)                                                                                     \
    X(nb::str, other_runtime, "path of another OpenMP runtime that is in use and not recorded; empty: none",           \
      text(std::string(process.other_runtime, strnlen(process.other_runtime, sizeof process.other_runtime))))          \
    X(Texts, counters, "names of the hardware counters", counters)                                                     \
    X(Rows<PythonModule>, modules, "executables and libraries", modules)                                               \
    X(Rows<PythonDefinition>, definitions, "constructs, by number", definitions)                                       \
    X(Rows<ThreadRow>, threads, "threads that took part", to_rows(std::move(profile.threads)))                         \
    X(Rows<RegionRow>, regions,                                                                                        \
      "rows by parallel construct and thread, and by thread outside of regions; without helper threads",               \
      to_rows(std::move(profile.regions)))                                                                             \
    X(Rows<RegionRow>, helper_regions, "the same for the runtime's helper threads",                                    \
      to_rows(std::move(profile.helper_regions)))                                                                      \
    X(Rows<ConstructRow>, constructs, "rows by task construct or kernel, and thread",                                  \
      to_rows(std::move(profile.constructs)))                                                                          \
    X(Rows<WaitRow>, waits, "rows by wait and thread; without helper threads", to_rows(std::move(profile.waits)))      \
    X(Rows<WaitRow>, helper_waits, "the same for the runtime's helper threads",                                        \
      to_rows(std::move(profile.helper_waits)))                                                                        \
    X(Rows<LoopRow>, loops, "rows by loop and thread", to_rows(std::move(profile.loops)))                              \
    X(Rows<CallRow>, calls, "rows by MPI call or target construct, and thread", to_rows(std::move(profile.calls)))     \
    X(Rows<TargetRow>, targets, "rows by target construct, device and host thread",                                    \
      to_rows(std::move(profile.targets)))                                                                             \
    X(uint64_t, log_bytes, "size of all logs", run.log_bytes)

#define OMPASS_PYTHON_GROUP_LIMITS(X)                                                                                  \
    X(uint64_t, quota_us,                                                                                              \
      "smallest quota of processor time per period, over all levels, in microseconds; 0: no limit", from.quota_us)     \
    X(uint64_t, period_us, "length of that period in microseconds", from.period_us)                                    \
    X(uint64_t, n_throttled, "periods in which a group used up its quota, over all levels since their creation",       \
      from.n_throttled)                                                                                                \
    X(uint64_t, throttled_ns, "time for which groups were throttled, summed over CPUs", from.throttled_ns)             \
    X(uint32_t, n_cpus, "CPUs in the cpuset; 0: unknown", from.n_cpus)                                                 \
    X(bool, is_known, "false if no file cpu.stat could be read; a limit of 0 may then be unknown", from.is_known != 0)

OMPASS_STRUCT(PythonGroupLimits, Row, OMPASS_PYTHON_GROUP_LIMITS);
OMPASS_STRUCT(PythonModule, Row, OMPASS_PYTHON_MODULE);
OMPASS_STRUCT(PythonDefinition, Row, OMPASS_PYTHON_DEFINITION);
OMPASS_STRUCT(PythonRun, Row, OMPASS_PYTHON_RUN);

nb::str text(const char *literal) { return nb::str(literal); }

nb::str text(const std::string &bytes) { // names from programs need not be UTF-8
    PyObject *decoded = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
    if (!decoded) throw nb::python_error();
    return nb::steal<nb::str>(decoded);
}

PythonRun to_python(const std::string &directory, const RunFiles &run, RunProfile &&profile) {
    const format::ProcessHeader &process = *run.process;
    const auto reasons = to_tuple(profile.incomplete_reasons, [](const std::string &reason) { return text(reason); });
    const auto missing = to_tuple(profile.missing, [](const std::string &reason) { return text(reason); });
    const auto counters = to_tuple(std::span(process.counter_names, process.n_counters), [](const char(&name)[64]) {
        return text(std::string(name, strnlen(name, sizeof name)));
    });
    const auto modules =
        to_tuple(run.modules, [](const Module &from) { return OMPASS_ROW(PythonModule, OMPASS_PYTHON_MODULE); });
    uint32_t next = 0;
    const auto definitions = to_tuple(run.definitions, [&](const Definition &from) {
        const uint32_t id = next++;
        return OMPASS_ROW(PythonDefinition, OMPASS_PYTHON_DEFINITION);
    });
    return OMPASS_ROW(PythonRun, OMPASS_PYTHON_RUN);
}

PythonRun read_profile(const std::string &directory) {
    const RunFiles run = open_or_throw(directory, false);
    std::vector<ThreadAccount> accounts = read_accounts(run);
    return to_python(directory, run, make_profile(run, accounts, false));
}

PythonRun replay(const std::string &directory, uint64_t start_ns, int64_t end_ns) {
    const RunFiles run = open_or_throw(directory);
    std::vector<ThreadAccount> accounts;
    if (run.window_begin) start_ns = std::max(start_ns, RunClock(*run.process).since_start(run.window_begin));
    const uint64_t before_ns = end_ns < 0 ? ~uint64_t{0} : static_cast<uint64_t>(end_ns);
    unlocked([&] { return replay_trace(run, accounts, {start_ns, before_ns}); });
    RunProfile profile = make_profile(run, accounts, true);
    const uint64_t end_of_window = std::min(profile.wall_ns, before_ns);
    profile.wall_ns = end_of_window - std::min(end_of_window, start_ns);
    return to_python(directory, run, std::move(profile));
}

PythonGroupLimits group_limits(const std::filesystem::path &root) {
    const format::GroupLimits from = format::read_group_limits(format::find_group_folders(root.string()));
    return OMPASS_ROW(PythonGroupLimits, OMPASS_PYTHON_GROUP_LIMITS);
}

nb::str kind_of(const PythonRun &run, int64_t construct) {
    if (construct == -1) return text("outside");
    if (construct < 0 || static_cast<size_t>(construct) >= run.definitions.size()) return text("unknown");
    return nb::cast<PythonDefinition &>(run.definitions[static_cast<size_t>(construct)]).kind;
}

} // namespace

const char *name_of(format::DefinitionKind kind) { return name_of(kind, kKinds); }

void bind_run(nb::module_ &m) {
    m.attr("N_HISTOGRAM_BINS") = format::kHistogramBins;
    bind_row<PythonModule>(m, "Module", "An executable or shared library.");
    bind_row<PythonDefinition>(
        m, "Definition",
        "A construct in the source (task, parallel region, kernel, phase, wait, loop, MPI call or target construct), "
        "or a device.");
    const char *const described = "Returns (name, SQL type, meaning) of each field. The type is empty if the field "
                                  "is not a column.";
    bind_row<ThreadRow>(m, "ThreadRow", "One recorded thread.").def_static("describe", &describe<ThreadRow>, described);
    bind_row<RegionRow>(
        m, "RegionRow",
        "One thread's time in all instances of one parallel construct.\n\n"
        "total_ns == work_ns + create_ns + schedule_ns + sync_ns + idle_ns + mpi_ns + offload_ns, exactly.")
        .def_static("describe", &describe<RegionRow>, described);
    bind_row<ConstructRow>(m, "ConstructRow", "One thread's executions of one task construct or kernel.")
        .def_static("describe", &describe<ConstructRow>, described)
        .def(
            "__add__", [](const ConstructRow &one, const ConstructRow &other) { return one + other; },
            "Adds two rows of one construct. The sum has the `thread` of the first.");
    bind_row<WaitRow>(m, "WaitRow", "One thread's waits at one place in the source.")
        .def_static("describe", &describe<WaitRow>, described);
    bind_row<LoopRow>(m, "LoopRow", "One thread's part of a loop or another construct that shares work.")
        .def_static("describe", &describe<LoopRow>, described);
    bind_row<CallRow>(m, "CallRow", "One thread's MPI calls, or target constructs, at one place in the source.")
        .def_static("describe", &describe<CallRow>, described);
    bind_row<TargetRow>(m, "TargetRow", "One host thread's executions of one target construct on one device.")
        .def_static("describe", &describe<TargetRow>, described);
    bind_row<PythonRun>(m, "Run", "One recorded process.")
        .def("kind_of", &kind_of, nb::arg("construct"),
             "Returns the kind of a construct; \"outside\" for -1, \"unknown\" if it is not defined.");
    bind_row<PythonGroupLimits>(m, "GroupLimits", "The limits of a process's control groups at one moment.");
    m.def("read_group_limits", &group_limits, nb::arg("root") = "",
          "Returns the control-group limits of this process. `root`: prefix of all paths, for tests.");
    m.def("read_profile", &read_profile, nb::arg("directory"),
          "Returns the statistics that the tool kept of a run, in either mode. The run may have been cut short.\n\n"
          "Raises LogError.");
    m.def("replay_trace", &replay, nb::arg("directory"), nb::arg("start_ns") = 0, nb::arg("end_ns") = -1,
          "Recomputes the statistics of the window [start_ns, end_ns) (-1: to the end) from the events.\n\n"
          "Times are cut to the window. A task, a kernel or a wait for a lock counts if it ends in the window. "
          "Other waits, and calls, count if they begin in the window. A region counts if it overlaps the window. "
          "Raises LogError, also if the run has no trace.");
}

} // namespace ompass

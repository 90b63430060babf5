// SPDX-License-Identifier: Apache-2.0
// A recorded run for Python: modules, constructs, threads, and the rows of time and counts.
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

// The name of a number of the format; the last one stands for all that it does not know.
template <typename Number, size_t N>
const char *name_of(Number number, const char *const (&names)[N]) {
    return names[std::min(static_cast<size_t>(number), N - 1)];
}
constexpr const char *kKinds[] = {"program", "task", "parallel", "kernel", "phase",
                                  "module",  "wait", "loop",     "unknown"};
constexpr const char *kClocks[] = {"tsc", "cntvct", "clock_gettime", "unknown"};
constexpr const char *kEnds[] = {"running-or-killed", "finalized", "exit", "ended-by-control", "unknown"};

// A cpuset may shrink during a run.
uint32_t usable_cpus(const format::ProcessHeader &process) {
    uint32_t n = process.n_usable_cpus;
    for (const format::GroupLimits *limits : {&process.groups_at_start, &process.groups_at_end})
        if (limits->n_cpus && (n == 0 || limits->n_cpus < n)) n = limits->n_cpus;
    return n;
}

// Returns the limits with the smaller quota of both ends of the run.
const format::GroupLimits &quota(const format::ProcessHeader &process) {
    const format::GroupLimits &start = process.groups_at_start, &end = process.groups_at_end;
    if (!start.period_us || !end.period_us) return start.period_us ? start : end;
    const bool smaller = static_cast<double>(end.quota_us) / static_cast<double>(end.period_us) <
                         static_cast<double>(start.quota_us) / static_cast<double>(start.period_us);
    return smaller ? end : start;
}

// Returns by how much a count rose during the run; -1 where one of both ends is not known.
int64_t throttled(const format::ProcessHeader &process, uint64_t format::GroupLimits::*count) {
    const format::GroupLimits &start = process.groups_at_start, &end = process.groups_at_end;
    if (!start.is_known || !end.is_known) return -1;
    return end.*count < start.*count ? 0 : static_cast<int64_t>(end.*count - start.*count); // moved to another group
}

// X(type, name, meaning, value): `value` is made of what to_python() has at hand.
using Texts = nb::typed<nb::tuple, nb::str, nb::ellipsis>;

#define OMPASS_PYTHON_MODULE(X)                                                                                        \
    X(nb::str, path, "executable or shared library that code addresses were recorded in", text(from.path))             \
    X(nb::str, build_id, "hexadecimal; empty when the module has none", text(from.build_id))                           \
    X(uint64_t, base, "load bias: an address in the process minus this is the ELF virtual address", from.base)

#define OMPASS_PYTHON_DEFINITION(X)                                                                                    \
    X(uint32_t, id, "index into Run.definitions", id)                                                                  \
    X(nb::str, kind, "program (id 0: outside of every region), task, parallel, kernel, phase, wait or loop",           \
      text(name_of(from.kind, kKinds)))                                                                                \
    X(uint32_t, flags, "of a task: OMPT flags at its first creation; of a wait or loop: its kind; else 0", from.flags) \
    X(int64_t, module, "index into Run.modules; -1 when unknown",                                                      \
      from.module == ~0u ? -1 : static_cast<int64_t>(from.module))                                                     \
    X(uint64_t, offset,                                                                                                \
      "ELF virtual address of the return address in the module (look up offset - 1); 0 when unknown", from.address)    \
    X(nb::str, name, "the name given to a kernel or phase; else empty", text(from.name))

#define OMPASS_PYTHON_RUN(X)                                                                                           \
    X(std::filesystem::path, path, "the run directory, as it was named", directory)                                    \
    X(uint32_t, format_version, "version of the trace format", process.version)                                        \
    X(nb::str, mode, "profile or trace: what was recorded",                                                            \
      text(process.mode == format::Mode::kTrace ? "trace" : "profile"))                                                \
    X(nb::str, source, "profile: as the tool accounted it; events: recomputed from the trace",                         \
      text(profile.from_events ? "events" : "profile"))                                                                \
    X(bool, complete, "false for a run cut short: killed, still running, or with records dropped in source events",    \
      profile.complete)                                                                                                \
    X(nb::str, end_reason, "finalized, exit, running-or-killed or ended-by-control",                                   \
      text(name_of(process.end_reason, kEnds)))                                                                        \
    X(Texts, incomplete_reasons, "sentences", reasons)                                                                 \
    X(Texts, missing, "sentences: what the tool could not write, and why; of the profile and of the trace", missing)   \
    X(uint32_t, n_unlogged, "threads that have no log, because it could not be created", process.n_unlogged)           \
    X(uint64_t, n_unlogged_tasks, "tasks that completed and are in no log; 0 also where nobody could count them",      \
      process.n_unlogged_tasks)                                                                                        \
    X(nb::str, trace_end, "why records are missing at the end of the trace; empty when none are",                      \
      text(profile.trace_end))                                                                                         \
    X(nb::str, trace_end_cure, "what to do about that", text(profile.trace_end_cure))                                  \
    X(uint32_t, pid, "process that was recorded", process.pid)                                                         \
    X(uint64_t, start_epoch_ns, "start of the run, since 1970", process.start_epoch_ns)                                \
    X(uint64_t, wall_ns, "whole program, first to last moment recorded", profile.wall_ns)                              \
    X(nb::str, clock_kind, "tsc, cntvct or clock_gettime", text(name_of(process.clock_kind, kClocks)))                 \
    X(double, clock_hz, "ticks per second", profile.clock_hz)                                                          \
    X(bool, create_estimated, "true without brackets: every create_ns is an estimate", profile.create_estimated)       \
    X(double, create_estimate_ns, "estimated cost of a creation; 0 when measured", profile.create_estimate_ns)         \
    X(uint32_t, n_usable_cpus, "processors that the process might run on, by its affinity and cpuset; 0: not known",   \
      usable_cpus(process))                                                                                            \
    X(uint32_t, n_bound_cpus, "processors that OpenMP's threads were bound to, together; 0: not known",                \
      process.n_bound_cpus)                                                                                            \
    X(uint64_t, quota_us, "processor time that control groups allowed in each period; 0: no limit, or not known",      \
      quota(process).quota_us)                                                                                         \
    X(uint64_t, quota_period_us, "that period", quota(process).period_us)                                              \
    X(int64_t, n_throttled, "periods of the run in which a group had used up its quota; -1: not known",                \
      throttled(process, &format::GroupLimits::n_throttled))                                                           \
    X(int64_t, throttled_ns, "how long groups were held back for that, a sum over processors; -1: not known",          \
      throttled(process, &format::GroupLimits::throttled_ns))                                                          \
    X(uint64_t, earlier_cpu_ns, "processor time of the process before the tool started", process.earlier_cpu_ns)       \
    X(nb::str, other_runtime,                                                                                          \
      "an OpenMP runtime that the program or a library calls, and that is not recorded; or empty",                     \
      text(std::string(process.other_runtime, strnlen(process.other_runtime, sizeof process.other_runtime))))          \
    X(Texts, counters, "names of the hardware counters", counters)                                                     \
    X(Rows<PythonModule>, modules, "executables and libraries", modules)                                               \
    X(Rows<PythonDefinition>, definitions, "constructs, by number", definitions)                                       \
    X(Rows<ThreadRow>, threads, "threads that took part", to_rows(std::move(profile.threads)))                         \
    X(Rows<RegionRow>, regions,                                                                                        \
      "a row per parallel construct and thread, and of the time outside; without helper threads",                      \
      to_rows(std::move(profile.regions)))                                                                             \
    X(Rows<RegionRow>, helper_regions, "the same of the runtime's helper threads",                                     \
      to_rows(std::move(profile.helper_regions)))                                                                      \
    X(Rows<ConstructRow>, constructs, "a row per task construct or kernel and thread",                                 \
      to_rows(std::move(profile.constructs)))                                                                          \
    X(Rows<WaitRow>, waits, "a row per wait and thread; without helper threads", to_rows(std::move(profile.waits)))    \
    X(Rows<WaitRow>, helper_waits, "the same of the runtime's helper threads",                                         \
      to_rows(std::move(profile.helper_waits)))                                                                        \
    X(Rows<LoopRow>, loops, "a row per loop and thread", to_rows(std::move(profile.loops)))                            \
    X(uint64_t, log_bytes, "size of all logs", run.log_bytes)

#define OMPASS_PYTHON_GROUP_LIMITS(X)                                                                                  \
    X(uint64_t, quota_us, "processor time in each period, by the level that allows least; 0: no limit", from.quota_us) \
    X(uint64_t, period_us, "that period", from.period_us)                                                              \
    X(uint64_t, n_throttled, "periods in which a group had used its quota, since it was made", from.n_throttled)       \
    X(uint64_t, throttled_ns, "how long groups were held back for that, a sum over processors", from.throttled_ns)     \
    X(uint32_t, n_cpus, "processors in the cpuset; 0: not known", from.n_cpus)                                         \
    X(bool, is_known, "false where the files of control groups cannot be read", from.is_known != 0)

OMPASS_STRUCT(PythonGroupLimits, Row, OMPASS_PYTHON_GROUP_LIMITS);
OMPASS_STRUCT(PythonModule, Row, OMPASS_PYTHON_MODULE);
OMPASS_STRUCT(PythonDefinition, Row, OMPASS_PYTHON_DEFINITION);
OMPASS_STRUCT(PythonRun, Row, OMPASS_PYTHON_RUN);

nb::str text(const char *literal) { return nb::str(literal); }

nb::str text(const std::string &bytes) { // names come from programs, and need not be UTF-8
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
    const RunFiles run = open_or_throw(directory);
    std::vector<ThreadAccount> accounts = read_accounts(run);
    return to_python(directory, run, make_profile(run, accounts, false));
}

PythonRun replay(const std::string &directory, uint64_t start_ns, int64_t end_ns) {
    const RunFiles run = open_or_throw(directory);
    std::vector<ThreadAccount> accounts;
    const uint64_t before_ns = end_ns < 0 ? ~uint64_t{0} : static_cast<uint64_t>(end_ns);
    unlocked([&] { return replay_trace(run, accounts, {start_ns, before_ns}); });
    RunProfile profile = make_profile(run, accounts, true);
    profile.wall_ns = std::min(profile.wall_ns, before_ns) - std::min(profile.wall_ns, start_ns);
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
        m, "Definition", "A construct in the source: a task, a parallel region, a kernel, a phase, a wait or a loop.");
    const char *const described = "Name, type as a column of SQL (empty: it is not one) and meaning of every field.";
    bind_row<ThreadRow>(m, "ThreadRow", "One recorded thread.").def_static("describe", &describe<ThreadRow>, described);
    bind_row<RegionRow>(m, "RegionRow",
                        "One thread's time in all instances of one parallel construct.\n\n"
                        "total_ns == work_ns + create_ns + schedule_ns + sync_ns + idle_ns, exactly.")
        .def_static("describe", &describe<RegionRow>, described);
    bind_row<ConstructRow>(m, "ConstructRow", "What one thread saw of one task construct or kernel.")
        .def_static("describe", &describe<ConstructRow>, described)
        .def(
            "__add__", [](const ConstructRow &one, const ConstructRow &other) { return one + other; },
            "Two rows of a construct as one, which has the `thread` of the first.");
    bind_row<WaitRow>(m, "WaitRow", "What one thread waited at one place in the source.")
        .def_static("describe", &describe<WaitRow>, described);
    bind_row<LoopRow>(m, "LoopRow", "What one thread did in one loop, or in another construct that shares work.")
        .def_static("describe", &describe<LoopRow>, described);
    bind_row<PythonRun>(m, "Run", "One process, recorded.")
        .def("kind_of", &kind_of, nb::arg("construct"),
             "The kind of a construct number; \"outside\" for -1, \"unknown\" when it was never defined.");
    bind_row<PythonGroupLimits>(m, "GroupLimits", "What the control groups of a process allow it, at one moment.");
    m.def("read_group_limits", &group_limits, nb::arg("root") = "",
          "Returns those of this process; `root` is a folder in front of every path, for tests.");
    m.def("read_profile", &read_profile, nb::arg("directory"),
          "The profile that the tool kept; works for both modes and for runs cut short.");
    m.def("replay_trace", &replay, nb::arg("directory"), nb::arg("start_ns") = 0, nb::arg("end_ns") = -1,
          "The same figures recomputed from the events alone; LogError when the run has no trace.\n\n"
          "Of [start_ns, end_ns) (-1: to the end): times are cut off there, and tasks, waits and kernels count where "
          "they end.");
}

} // namespace ompass

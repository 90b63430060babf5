// SPDX-License-Identifier: Apache-2.0
// Schedules for Python: stretches of a window, states over time, who ran whose tasks.
#include "analyses/schedule.h"

#include <algorithm>
#include <span>

#include "bindings.h"

namespace ompass {

namespace {

// X(type, name, meaning, value): `value` is made of one stretch, `row`, by `time`.
#define OMPASS_PYTHON_STRETCHES(X)                                                                                     \
    X(Column<uint32_t>, thread, "number of the thread", row.thread)                                                    \
    X(Column<uint8_t>, state, "0 work, 1 create, 2 schedule, 3 sync, 4 idle", static_cast<uint8_t>(row.state))         \
    X(Column<uint8_t>, absence, "of work: 1 preempted, 2 blocked; 0: it ran, or that is not known", row.absence)       \
    X(Column<int32_t>, construct, "of the task, or of the region in implicit tasks; -1 outside",                       \
      row.construct ? static_cast<int32_t>(row.construct) : -1)                                                        \
    X(Column<uint64_t>, task, "id; 0: no deferred task, or several pooled", row.task)                                  \
    X(Column<int32_t>, home,                                                                                           \
      "locality domain that the task was placed in, or without domains the thread that created it; -1: no deferred "   \
      "task",                                                                                                          \
      row.home)                                                                                                        \
    X(Column<uint64_t>, pooled, "stretches that it stands for; 1: just as it was", row.pooled)                         \
    X(Column<int64_t>, start_ns, "since the start of the run, cut off at the window", time(row.begin))                 \
    X(Column<int64_t>, end_ns, "the same", time(row.end))

#define OMPASS_PYTHON_SCHEDULE(X)                                                                                      \
    X(int64_t, start_ns, "of the window", time(schedule.begin))                                                        \
    X(int64_t, end_ns, "of the window", time(schedule.end))                                                            \
    X(uint64_t, shortest_ns, "shorter stretches are pooled with their neighbours, and shown as what they mostly were", \
      clock.ns(schedule.shortest))                                                                                     \
    X(uint64_t, n_tasks, "deferred tasks that started in the window", schedule.n_tasks)                                \
    X(bool, domains, "homes are the domains that tasks were placed in; else the threads that created them",            \
      schedule.domains)                                                                                                \
    X(bool, is_pooled, "true when there are stretches that stand for several", pooled)                                 \
    X(StretchesObject, stretches, "the threads one after the other", stretches)                                        \
    X(Matrix, bins, "of equal parts of the window, the thread-time in each state", bins)                               \
    X(Matrix, ran, "[creating thread][running thread]: deferred tasks of the whole run", ran)

OMPASS_STRUCT(PythonStretches, Columns, OMPASS_PYTHON_STRETCHES);
using StretchesObject = nb::typed<nb::object, PythonStretches>;
OMPASS_STRUCT(PythonSchedule, Row, OMPASS_PYTHON_SCHEDULE);

PythonSchedule read(const std::string &directory, int64_t start_ns, int64_t end_ns, uint64_t limit, bool by_home,
                    uint32_t n_bins) {
    const RunFiles run = open_or_throw(directory);
    Schedule schedule;
    unlocked([&] { return read_schedule(run, {start_ns, end_ns, limit, by_home, n_bins}, schedule); });
    const RunClock clock(*run.process);
    const auto time = [&](uint64_t ticks) { return static_cast<int64_t>(clock.since_start(ticks)); };
    const nb::object stretches = nb::cast(OMPASS_COLUMNS(PythonStretches, OMPASS_PYTHON_STRETCHES, schedule.stretches));
    const nb::tuple bins = to_tuple(schedule.bins, [&](const auto &states) {
        return to_tuple(states, [&](uint64_t ticks) { return clock.ns(ticks); });
    });
    size_t creator = 0;
    const nb::tuple ran = to_tuple(std::vector<int>(schedule.n_threads), [&](int) {
        return to_tuple(std::span(schedule.ran).subspan(schedule.n_threads * creator++, schedule.n_threads),
                        [](uint64_t n) { return n; });
    });
    const bool pooled = std::ranges::any_of(schedule.stretches, [](const Stretch &row) { return row.pooled > 1; });
    return OMPASS_ROW(PythonSchedule, OMPASS_PYTHON_SCHEDULE);
}

} // namespace

void bind_schedule(nb::module_ &m) {
    bind_row<PythonStretches, Columns>(m, "Stretches", "What threads did, in order of time.");
    bind_row<PythonSchedule>(m, "Schedule",
                             "A window of a trace, the states over time, and which thread ran whose tasks.");
    m.def(
        "read_schedule", &read, nb::arg("directory"), nb::arg("start_ns") = 0, nb::arg("end_ns") = -1,
        nb::arg("limit") = 5'000, nb::arg("by_home") = false, nb::arg("n_bins") = 200,
        "The schedule in [start_ns, end_ns) (-1: to the end); LogError when the run has no trace.\n\n"
        "At most `limit` stretches, as long as that is four per thread; 0: none. `by_home`: tasks are pooled by their "
        "homes, not by their constructs.");
}

} // namespace ompass

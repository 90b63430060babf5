// SPDX-License-Identifier: Apache-2.0
// Slices of time for Python, as columns.
#include "analyses/event_density.h"
#include "analyses/timeline.h"

#include <nanobind/stl/optional.h>

#include "bindings.h"

namespace ompass {

namespace {

#define OMPASS_PYTHON_SLICES(X)                                                                                        \
    X(Column<int64_t>, begin_ns, "since the start of the run, cut to the window")                                      \
    X(Column<int64_t>, end_ns, "the same")                                                                             \
    X(Column<uint32_t>, thread, "number of the thread")                                                                \
    X(Column<uint8_t>, kind,                                                                                           \
      "0 region, 1 implicit task, 2 task, 3 wait, 4 lock, 5 creation, 6 kernel, 7 created (a moment)")                 \
    X(Column<int32_t>, construct, "number of the construct; of waits and locks the OMPT kind; -1: unknown")            \
    X(Column<uint64_t>, task, "id of tasks and creations; 0: undeferred")                                              \
    X(Column<uint16_t>, depth, "slices of this thread around it")                                                      \
    X(Column<uint8_t>, flags,                                                                                          \
      "1: a suspended task goes on; 2: an untimed undeferred task, at the time of the event before")

OMPASS_STRUCT(PythonSlices, Columns, OMPASS_PYTHON_SLICES);

std::optional<PythonSlices> slices_of_run(const std::string &directory, std::vector<uint32_t> threads, int64_t start_ns,
                                          int64_t end_ns, uint64_t limit) {
    const RunFiles run = open_or_throw(directory);
    SliceColumns slices;
    bool too_many = false;
    unlocked([&] { return read_slices(run, {std::move(threads), start_ns, end_ns, limit}, slices, too_many); });
    if (too_many) return std::nullopt;
    return OMPASS_MOVED_COLUMNS(PythonSlices, OMPASS_PYTHON_SLICES, slices);
}

Column<uint64_t> events_over_time(const std::string &directory, const std::vector<uint32_t> &threads, uint64_t end_ns,
                                  size_t n_parts) {
    const RunFiles run = open_or_throw(directory);
    std::vector<uint64_t> counts;
    unlocked([&] { return count_events(run, threads, end_ns, n_parts, counts); });
    return to_column<uint64_t>(std::move(counts));
}

} // namespace

void bind_timeline(nb::module_ &m) {
    bind_row<PythonSlices, Columns>(
        m, "Slices", "Slices of threads, one thread after the other; of a thread, in the order in which they ended.");
    m.def("slices_of_run", &slices_of_run, nb::arg("directory"), nb::arg("threads"), nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = ~uint64_t{0},
          "The slices that each thread (empty: all) was in, in [start_ns, end_ns) (-1: to the end).\n\n"
          "None when there are more than `limit`. LogError.");
    m.def("events_over_time", &events_over_time, nb::arg("directory"), nb::arg("threads"), nb::arg("end_ns"),
          nb::arg("n_parts"),
          "Counts of the events of these threads (empty: all) in parts of end_ns / n_parts + 1 nanoseconds.\n\n"
          "LogError.");
}

} // namespace ompass

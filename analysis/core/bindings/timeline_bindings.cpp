// SPDX-License-Identifier: Apache-2.0
// The timeline for Python: slices of time, as columns, and numbers of events over time.
#include "analyses/event_columns.h"
#include "analyses/timeline.h"

#include <nanobind/stl/optional.h>

#include "bindings.h"

namespace ompass {

namespace {

OMPASS_ARRAYS(PythonSlices, OMPASS_SLICE_COLUMNS);

std::optional<PythonSlices> slices_of_run(const std::string &directory, std::vector<uint32_t> threads, int64_t start_ns,
                                          int64_t end_ns, uint64_t limit) {
    const RunFiles run = open_or_throw(directory);
    SliceColumns slices;
    bool too_many = false;
    unlocked([&] { return read_slices(run, {std::move(threads), start_ns, end_ns, limit}, slices, too_many); });
    if (too_many) return std::nullopt;
    return OMPASS_MOVED_COLUMNS(PythonSlices, OMPASS_SLICE_COLUMNS, slices);
}

Column<uint64_t> events_over_time(const std::string &directory, const std::vector<uint32_t> &threads, uint64_t end_ns,
                                  size_t n_parts) {
    if (n_parts == 0) throw nb::value_error("there must be at least one part");
    const RunFiles run = open_or_throw(directory);
    std::vector<uint64_t> counts;
    unlocked([&] { return count_events(run, threads, end_ns, n_parts, counts); });
    return to_column<uint64_t>(std::move(counts));
}

} // namespace

void bind_timeline(nb::module_ &m) {
    bind_row<PythonSlices, Columns>(m, "Slices", "Slices of time, by thread and in order of their ends.");
    m.def("slices_of_run", &slices_of_run, nb::arg("directory"), nb::arg("threads"), nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = ~uint64_t{0},
          "Returns the slices of `threads` (empty: all) in [start_ns, end_ns) (-1: to the end).\n\n"
          "Returns None if there are more than `limit` slices. Raises LogError.");
    m.def("events_over_time", &events_over_time, nb::arg("directory"), nb::arg("threads"), nb::arg("end_ns"),
          nb::arg("n_parts"),
          "Returns the number of events of `threads` (empty: all) in each of `n_parts` parts of the run.\n\n"
          "Each part has end_ns // n_parts + 1 nanoseconds. The first part begins with the run, and the last part "
          "includes all later events. Raises LogError.");
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Schedules for Python, as _core.pyi declares them. Converts, computes nothing.
#include "bindings.h"

#include <nanobind/stl/string.h>

#include "analyses/schedule.h"

namespace nb = nanobind;

namespace ompass {

namespace {

nb::dict read(const std::string &directory, int64_t start_ns, int64_t end_ns, uint64_t limit, bool by_home,
              uint32_t n_bins) {
    const RunFiles run = open_or_throw(directory);
    Schedule schedule;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = read_schedule(run, {start_ns, end_ns, limit, by_home, n_bins}, schedule))
            throw LogError(problem.text());
    }
    const RunClock clock(*run.process);
    const auto time = [&](uint64_t ticks) { return static_cast<int64_t>(clock.since_start(ticks)); };
    nb::dict result;
    result["start_ns"] = time(schedule.begin);
    result["end_ns"] = time(schedule.end);
    result["shortest_ns"] = clock.ns(schedule.shortest);
    result["n_tasks"] = schedule.n_tasks;
    result["domains"] = schedule.domains;

    nb::dict stretches;
    stretches["thread"] = column(schedule.stretches, [](const Stretch &row) { return row.thread; });
    stretches["state"] = column(schedule.stretches, [](const Stretch &row) { return static_cast<uint8_t>(row.state); });
    stretches["construct"] = column(schedule.stretches, [](const Stretch &row) {
        return row.construct ? static_cast<int32_t>(row.construct) : -1;
    });
    stretches["task"] = column(schedule.stretches, [](const Stretch &row) { return row.task; });
    stretches["home"] = column(schedule.stretches, [](const Stretch &row) { return row.home; });
    stretches["pooled"] = column(schedule.stretches, [](const Stretch &row) { return row.pooled; });
    stretches["start_ns"] = column(schedule.stretches, [&](const Stretch &row) { return time(row.begin); });
    stretches["end_ns"] = column(schedule.stretches, [&](const Stretch &row) { return time(row.end); });
    result["stretches"] = stretches;

    nb::list bins;
    for (const auto &states : schedule.bins) {
        nb::list row;
        for (const uint64_t ticks : states) row.append(clock.ns(ticks));
        bins.append(row);
    }
    result["bins"] = bins;
    nb::list ran;
    for (size_t creator = 0; creator < schedule.n_threads; creator++) {
        nb::list row;
        for (size_t thread = 0; thread < schedule.n_threads; thread++)
            row.append(schedule.ran[creator * schedule.n_threads + thread]);
        ran.append(row);
    }
    result["ran"] = ran;
    return result;
}

} // namespace

void bind_schedule(nb::module_ &m) {
    m.def("read_schedule", &read, nb::arg("directory"), nb::arg("start_ns") = 0, nb::arg("end_ns") = -1,
          nb::arg("limit") = 5'000, nb::arg("by_home") = false, nb::arg("n_bins") = 200);
}

} // namespace ompass

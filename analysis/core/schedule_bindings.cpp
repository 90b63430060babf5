// SPDX-License-Identifier: Apache-2.0
// Schedules for Python, as _core.pyi declares them. Converts, computes nothing.
#include "bindings.h"

#include <nanobind/stl/string.h>

#include "schedule.h"

namespace nb = nanobind;

namespace ompass {

namespace {

nb::dict read(const std::string &directory, int64_t start_ns, int64_t end_ns, uint64_t limit, uint32_t n_bins) {
    const RunFiles run = open_or_throw(directory);
    Schedule schedule;
    {
        const nb::gil_scoped_release release;
        if (const Problem problem = read_schedule(run, {start_ns, end_ns, limit, n_bins}, schedule))
            throw LogError(problem.text());
    }
    const RunClock clock(*run.process);
    const auto time = [&](uint64_t ticks) { return static_cast<int64_t>(clock.since_start(ticks)); };
    const auto construct = [&](uint32_t id) { return id ? static_cast<int32_t>(id) : -1; };
    nb::dict result;
    result["start_ns"] = time(schedule.begin);
    result["end_ns"] = time(schedule.end);
    result["cut"] = schedule.cut;

    nb::dict stretches;
    stretches["thread"] = column(schedule.stretches, [](const Stretch &row) { return row.thread; });
    stretches["state"] = column(schedule.stretches, [](const Stretch &row) { return static_cast<uint8_t>(row.state); });
    stretches["construct"] = column(schedule.stretches, [&](const Stretch &row) { return construct(row.construct); });
    stretches["task"] = column(schedule.stretches, [](const Stretch &row) { return row.task; });
    stretches["start_ns"] = column(schedule.stretches, [&](const Stretch &row) { return time(row.begin); });
    stretches["end_ns"] = column(schedule.stretches, [&](const Stretch &row) { return time(row.end); });
    result["stretches"] = stretches;

    nb::dict tasks;
    tasks["task"] = column(schedule.tasks, [](const TaskRun &row) { return row.task; });
    tasks["construct"] = column(schedule.tasks, [&](const TaskRun &row) { return construct(row.construct); });
    tasks["creator"] = column(
        schedule.tasks, [](const TaskRun &row) { return static_cast<uint32_t>(row.task >> format::kThreadShift); });
    tasks["thread"] = column(schedule.tasks, [](const TaskRun &row) { return row.thread; });
    tasks["ready_ns"] = column(schedule.tasks, [&](const TaskRun &row) { return time(row.ready); });
    tasks["start_ns"] = column(schedule.tasks, [&](const TaskRun &row) { return time(row.start); });
    result["tasks"] = tasks;

    nb::dict kernels;
    kernels["thread"] = column(schedule.kernels, [](const KernelRun &row) { return row.thread; });
    kernels["construct"] = column(schedule.kernels, [&](const KernelRun &row) { return construct(row.construct); });
    kernels["start_ns"] = column(schedule.kernels, [&](const KernelRun &row) { return time(row.begin); });
    kernels["end_ns"] = column(schedule.kernels, [&](const KernelRun &row) { return time(row.end); });
    result["kernels"] = kernels;

    nb::list bins;
    for (const auto &states : schedule.bins) {
        nb::list row;
        for (const uint64_t ticks : states) row.append(clock.ns(ticks));
        bins.append(row);
    }
    result["bins"] = bins;
    result["bins_start_ns"] = time(schedule.bins_begin);
    result["bins_end_ns"] = time(schedule.bins_end);
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
          nb::arg("limit") = 20'000, nb::arg("n_bins") = 200);
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Decoded events for Python, as columns.
#include "analyses/call_steps.h"
#include "analyses/event_columns.h"
#include "analyses/ideal_network.h"

#include "bindings.h"

namespace ompass {

namespace {

OMPASS_ARRAYS(PythonEvents, OMPASS_EVENT_COLUMNS);

PythonEvents read_events(const std::string &directory, int64_t thread, int64_t start_ns, int64_t end_ns,
                         int64_t limit) {
    const RunFiles run = open_or_throw(directory);
    EventColumns columns;
    unlocked([&] { return read_event_columns(run, {thread, start_ns, end_ns, limit}, columns); });
    return OMPASS_MOVED_COLUMNS(PythonEvents, OMPASS_EVENT_COLUMNS, columns);
}

std::vector<std::tuple<std::string, std::string>> event_kinds() {
    std::vector<std::tuple<std::string, std::string>> kinds;
    for (const format::EventTraits &traits : format::kEventTraits) kinds.emplace_back(traits.text, traits.meaning);
    return kinds;
}

std::tuple<std::vector<uint64_t>, std::string> ideal_network(const std::vector<std::string> &directories,
                                                             const std::vector<uint32_t> &ranks) {
    if (directories.size() != ranks.size()) throw LogError("`ranks` must have one entry per directory");
    std::vector<RankSteps> steps(ranks.size());
    IdealTimes times;
    for (size_t i = 0; i < ranks.size(); i++) {
        const RunFiles run = open_or_throw(directories[i]);
        unlocked([&] { return read_rank_steps(run, ranks[i], steps[i]); });
    }
    unlocked([&] {
        times = replay_on_ideal_network(steps);
        return Problem{};
    });
    return {times.ns, times.unknown};
}

} // namespace

void bind_events(nb::module_ &m) {
    bind_row<PythonEvents, Columns>(m, "EventTable", "Events by thread, in order of time.");
    m.def("ideal_network", &ideal_network, nb::arg("directories"), nb::arg("ranks"),
          "Returns the time in ns of each rank of an MPI job on a network where messages take no time.\n\n"
          "The times exclude MPI_Init and MPI_Finalize. `ranks`: rank of each run in MPI_COMM_WORLD. If the "
          "times are unknown, the list is empty and the second value is the reason; else the second value is empty.\n"
          "Raises LogError, also if a run has no trace.");
    m.def("call_step_text", &call_step_text, nb::arg("value"),
          "Returns the meaning of the value of a `call` event, such as \"sends to rank 1, tag 2\".");
    m.def("event_kinds", &event_kinds,
          "Returns (name, meaning) of each kind of event, in order of the kinds' numbers.");
    m.def("read_events", &read_events, nb::arg("directory"), nb::arg("thread") = -1, nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = -1,
          "Returns at most `limit` (-1: all) events of a thread (-1: all) in [start_ns, end_ns) (-1: to the end).\n\n"
          "Raises LogError, also if the run has no trace.");
}

} // namespace ompass

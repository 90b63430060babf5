// SPDX-License-Identifier: Apache-2.0
// Decoded events for Python, as columns.
#include "analyses/event_columns.h"

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

} // namespace

void bind_events(nb::module_ &m) {
    bind_row<PythonEvents, Columns>(m, "EventTable", "Events by thread, in order of time.");
    m.def("event_kinds", &event_kinds, "Returns (name, meaning) of each kind of event, by its number.");
    m.def("read_events", &read_events, nb::arg("directory"), nb::arg("thread") = -1, nb::arg("start_ns") = 0,
          nb::arg("end_ns") = -1, nb::arg("limit") = -1,
          "Returns at most `limit` (-1: all) events of a thread (-1: all) in [start_ns, end_ns) (-1: to the end).\n\n"
          "Raises LogError, also if the run has no trace.");
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The pyramid of a trace for Python: tiles as arrays, intervals as columns.
#include "analyses/pyramid.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bindings.h"

namespace ompass {

namespace {

// X(type, name, meaning, value): `value` uses one `row`.
#define OMPASS_PYTHON_WINDOW(X)                                                                                        \
    X(Column<uint32_t>, thread, "number of the thread", row.thread)                                                    \
    X(Column<uint8_t>, state, "0 work, 1 create, 2 schedule, 3 sync, 4 idle, 5 mpi, 6 offload", row.state)             \
    X(Column<uint32_t>, construct, "construct of the task; in implicit tasks, of the region; 0: outside",              \
      row.construct)                                                                                                   \
    X(Column<uint32_t>, home,                                                                                          \
      "domain in which the task was placed, or else the thread that created it; NO_HOME: neither", row.home)           \
    X(Column<uint32_t>, depth, "number of explicit tasks above the innermost implicit task on the thread's stack",     \
      row.depth)                                                                                                       \
    X(Column<uint64_t>, task, "id of the task; 0: no deferred task", row.task)                                         \
    X(Column<int64_t>, begin_ns, "begin, since the start of the run, cut to the window", row.begin_ns)                 \
    X(Column<int64_t>, end_ns, "end, since the start of the run, cut to the window", row.end_ns)                       \
    X(Column<int64_t>, created_ns, "creation of the task; 0: none or unknown", row.created_ns)                         \
    X(Column<int64_t>, ready_ns, "time at which the task was ready; 0: none or unknown", row.ready_ns)                 \
    X(Column<int64_t>, start_ns, "start of the task; 0: none or unknown", row.start_ns)                                \
    X(Column<uint8_t>, absent,                                                                                         \
      "0: a state interval; 1: a preempted part, 2: a blocked part of the state interval before it", row.off_cpu)      \
    X(Column<uint32_t>, wait_kind,                                                                                     \
      "OMPT kind of the thread's wait; 128 | OMPT kind of lock; 64: an MPI call or a target construct; 0: none",       \
      row.wait.kind)                                                                                                   \
    X(Column<uint32_t>, wait_place, "construct of the wait; 0: unknown", row.wait.place)                               \
    X(Column<uint32_t>, waited_for,                                                                                    \
      "construct that the thread waited for; 0: unknown, or the wait ends after the window", row.waited_for)           \
    X(Column<int64_t>, wait_begin_ns, "begin of the wait; 0: none", row.wait_begin_ns)                                 \
    X(Column<int64_t>, wait_end_ns, "end of the wait; 0: none, or after the window", row.wait_end_ns)

#define OMPASS_PYTHON_LINKS(X)                                                                                         \
    X(Column<uint8_t>, role, "0 the task itself, 1 a predecessor, 2 a successor", row.role)                            \
    X(Column<uint64_t>, task, "id of the task", row.task)                                                              \
    X(Column<uint32_t>, construct, "construct of the task; 0: unknown", row.construct)                                 \
    X(Column<uint32_t>, start_thread, "thread that started it", row.start_thread)                                      \
    X(Column<uint32_t>, end_thread, "thread that ended it", row.end_thread)                                            \
    X(Column<int64_t>, created_ns, "creation, since the start of the run; 0: unknown", row.created_ns)                 \
    X(Column<int64_t>, start_ns, "start; 0: unknown", row.start_ns)                                                    \
    X(Column<int64_t>, end_ns, "end; 0: unknown", row.end_ns)

OMPASS_STRUCT(PythonWindow, Columns, OMPASS_PYTHON_WINDOW);
OMPASS_STRUCT(PythonLinks, Columns, OMPASS_PYTHON_LINKS);

Dimension dimension_of(uint32_t number) {
    if (number >= kDimensions) throw nb::value_error("unknown dimension");
    return static_cast<Dimension>(number);
}

nb::ndarray<nb::numpy, uint64_t, nb::ndim<3>> read_tile(Pyramid &pyramid, std::vector<std::vector<uint32_t>> rows,
                                                        uint32_t dimension, std::vector<uint32_t> keys, unsigned shift,
                                                        uint64_t first_bin, uint32_t n_bins) {
    if (shift > Pyramid::kMostShift || n_bins > 1 << 20) throw nb::value_error("shift or n_bins is too large");
    const TileRequest request{std::move(rows), dimension_of(dimension), std::move(keys), shift, first_bin, n_bins};
    auto *values = new std::vector<uint64_t>;
    nb::capsule owner(values, [](void *p) noexcept { delete static_cast<std::vector<uint64_t> *>(p); });
    unlocked([&] { return pyramid.read_tile(request, *values); });
    return {values->data(), {request.rows.size(), n_bins, request.n_columns()}, owner};
}

PythonWindow columns_of(const WindowIntervals &found) {
    return OMPASS_COLUMNS(PythonWindow, OMPASS_PYTHON_WINDOW, found.rows);
}

std::optional<PythonWindow> read_intervals(Pyramid &pyramid, std::vector<uint32_t> threads, uint64_t begin_ns,
                                           uint64_t end_ns, size_t limit) {
    WindowIntervals found;
    unlocked([&] { return pyramid.read_intervals(threads, begin_ns, end_ns, limit, found); });
    if (found.too_many) return std::nullopt;
    return columns_of(found);
}

PythonWindow read_moment(Pyramid &pyramid, std::vector<uint32_t> threads, uint64_t at_ns, uint64_t most_records) {
    WindowIntervals found;
    unlocked([&] { return pyramid.read_moment(threads, at_ns, most_records, found); });
    return columns_of(found);
}

PythonLinks read_links(Pyramid &pyramid, uint64_t task, uint32_t thread, uint64_t at_ns, uint64_t most_records) {
    std::vector<LinkedTask> found;
    unlocked([&] { return pyramid.read_links(task, thread, at_ns, most_records, found); });
    return OMPASS_COLUMNS(PythonLinks, OMPASS_PYTHON_LINKS, found);
}

std::optional<std::vector<TaskPair>> read_dependences(Pyramid &pyramid, size_t limit) {
    std::vector<TaskPair> pairs;
    bool all = false;
    unlocked([&] { return pyramid.read_dependences(limit, pairs, all); });
    if (!all) return std::nullopt;
    return pairs;
}

} // namespace

void bind_pyramid(nb::module_ &m) {
    m.attr("NO_HOME") = kNoHome;
    bind_row<PythonWindow, Columns>(m, "WindowIntervals", "State intervals of threads in a window, by thread.");
    bind_row<PythonLinks, Columns>(m, "TaskLinks", "A task, its predecessors and its successors.");
    nb::class_<Pyramid>(m, "Pyramid",
                        "The time of each thread of a trace, by state and by other dimensions, in bins of any length. "
                        "Thread-safe.")
        .def(
            "__init__",
            [](Pyramid *self, const std::string &directory, bool keep) {
                new (self) Pyramid;
                try {
                    unlocked([&] { return self->open(directory, keep); });
                } catch (...) {
                    self->~Pyramid();
                    throw;
                }
            },
            nb::arg("directory"), nb::arg("keep") = true,
            "Opens the trace in this directory, and stores the pyramid there if `keep`. Raises LogError.")
        .def_prop_ro("end_ns", &Pyramid::end_ns, "End of the run, since its start.")
        .def_prop_ro("finest_shift", &Pyramid::finest_shift,
                     "Stored bins have 2^finest_shift nanoseconds or more; shorter bins are computed from the events.")
        .def_prop_ro("cpus", &Pyramid::cpus,
                     "CPU on which each thread spent at least 90% of its time; -1: none or unknown.")
        .def_prop_ro("ran", &Pyramid::ran, "Number of deferred tasks by starting thread and creating thread.")
        .def_prop_ro("was_kept", &Pyramid::was_kept,
                     "True if the pyramid was loaded from the trace's directory; false if it was computed.")
        .def(
            "totals", [](const Pyramid &pyramid, uint32_t number) { return pyramid.totals(dimension_of(number)); },
            nb::arg("dimension"),
            "Returns (key, nanoseconds) for each key of a dimension in the run, largest time first. Dimensions: 0 "
            "state, 1 construct, 2 home, 3 depth, 4 kernel, 5 off-CPU.")
        .def("read_tile", &read_tile, nb::arg("rows"), nb::arg("dimension"), nb::arg("keys"), nb::arg("shift"),
             nb::arg("first_bin"), nb::arg("n_bins"),
             "Returns nanoseconds by row, bin and column, in bins of 2^shift nanoseconds.\n\n"
             "`rows`: the threads of each row, whose times are summed. The dimension determines the columns. State: "
             "one for each state. Off-CPU: for each state, preempted and blocked time. Any other dimension: the work "
             "of each key, other work, and the states other than work. Raises LogError.")
        .def("read_intervals", &read_intervals, nb::arg("threads"), nb::arg("begin_ns"), nb::arg("end_ns"),
             nb::arg("limit"),
             "Returns the intervals of these threads in [begin_ns, end_ns), or None if there are more than `limit`.")
        .def("read_moment", &read_moment, nb::arg("threads"), nb::arg("at_ns"), nb::arg("most_records"),
             "Returns each thread's whole interval at a moment, and the end of its wait. Reads at most `most_records` "
             "records per thread.")
        .def("read_links", &read_links, nb::arg("task"), nb::arg("thread"), nb::arg("at_ns"), nb::arg("most_records"),
             "Returns a task that runs on `thread` at this moment, its predecessors and its successors.")
        .def("read_dependences", &read_dependences, nb::arg("limit"),
             "Returns the (predecessor, successor) of each dependence, or None if there are more than `limit`.");
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The pyramid of a trace for Python: tiles as arrays, stretches as columns.
#include "analyses/pyramid.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bindings.h"

namespace ompass {

namespace {

// X(type, name, meaning, value): `value` is made of one stretch, `row`, or moved.
#define OMPASS_PYTHON_WINDOW(X)                                                                                        \
    X(Column<uint32_t>, thread, "number of the thread")                                                                \
    X(Column<uint8_t>, state, "0 work, 1 create, 2 schedule, 3 sync, 4 idle")                                          \
    X(Column<uint32_t>, construct, "of the task, or of the region in implicit tasks; 0 outside")                       \
    X(Column<uint32_t>, home, "domain that the task was placed in, or the thread that created it; NO_HOME: neither")   \
    X(Column<uint32_t>, depth, "explicit tasks on the stack of the thread")                                            \
    X(Column<uint64_t>, task, "id; 0: no deferred task")                                                               \
    X(Column<int64_t>, begin_ns, "since the start of the run, cut to the window")                                      \
    X(Column<int64_t>, end_ns, "the same")                                                                             \
    X(Column<int64_t>, created_ns, "of the task; 0: none, or not known")                                               \
    X(Column<int64_t>, ready_ns, "of the task, likewise")                                                              \
    X(Column<int64_t>, start_ns, "of the task, likewise")                                                              \
    X(Column<uint8_t>, absent,                                                                                         \
      "1 preempted, 2 blocked: a part of the stretch above it, on no processor; 0: a stretch")                         \
    X(Column<uint32_t>, wait_kind, "of OMPT, 128 | that of a lock: why the thread does not work; 0: not known")        \
    X(Column<uint32_t>, wait_place, "construct of that wait; 0: not known")                                            \
    X(Column<uint32_t>, waited_for, "construct for which it did; 0: not known, or the wait ends later")                \
    X(Column<int64_t>, wait_begin_ns, "of that wait; 0: none")                                                         \
    X(Column<int64_t>, wait_end_ns, "the same; 0: none, or later")

OMPASS_STRUCT(PythonWindow, Columns, OMPASS_PYTHON_WINDOW);

#define OMPASS_PYTHON_LINKS(X)                                                                                         \
    X(Column<uint8_t>, role, "0 the task itself, 1 it depends on this one, 2 this one depends on it")                  \
    X(Column<uint64_t>, task, "id")                                                                                    \
    X(Column<uint32_t>, construct, "of the task; 0: it was not found")                                                 \
    X(Column<uint32_t>, start_thread, "that started it")                                                               \
    X(Column<uint32_t>, end_thread, "that ended it")                                                                   \
    X(Column<int64_t>, created_ns, "since the start of the run; 0: not known")                                         \
    X(Column<int64_t>, start_ns, "0: it was not found")                                                                \
    X(Column<int64_t>, end_ns, "0: it was not found")

OMPASS_STRUCT(PythonLinks, Columns, OMPASS_PYTHON_LINKS);

Dimension dimension_of(uint32_t number) {
    if (number >= kDimensions) throw nb::value_error("no such dimension");
    return static_cast<Dimension>(number);
}

nb::ndarray<nb::numpy, uint64_t, nb::ndim<3>> read_tile(Pyramid &pyramid, std::vector<std::vector<uint32_t>> rows,
                                                        uint32_t dimension, std::vector<uint32_t> keys, unsigned shift,
                                                        uint64_t first_bin, uint32_t n_bins) {
    if (shift > 40 || n_bins > 1 << 20) throw nb::value_error("no such bins");
    const TileRequest request{std::move(rows), dimension_of(dimension), std::move(keys), shift, first_bin, n_bins};
    auto *values = new std::vector<uint64_t>;
    nb::capsule owner(values, [](void *p) noexcept { delete static_cast<std::vector<uint64_t> *>(p); });
    unlocked([&] { return pyramid.read_tile(request, *values); });
    return {values->data(), {request.rows.size(), n_bins, request.n_columns()}, owner};
}

PythonWindow columns_of(const WindowStretches &found) {
    const auto of = [&]<typename T>(T, auto get) {
        return column<T>(found.rows, [&](const WindowStretch &row) { return static_cast<T>(get(row)); });
    };
    PythonWindow window;
    window.thread = of(uint32_t{}, [](auto &row) { return row.thread; });
    window.state = of(uint8_t{}, [](auto &row) { return row.state; });
    window.construct = of(uint32_t{}, [](auto &row) { return row.construct; });
    window.home = of(uint32_t{}, [](auto &row) { return row.home; });
    window.depth = of(uint32_t{}, [](auto &row) { return row.depth; });
    window.task = of(uint64_t{}, [](auto &row) { return row.task; });
    window.begin_ns = of(int64_t{}, [](auto &row) { return row.begin_ns; });
    window.end_ns = of(int64_t{}, [](auto &row) { return row.end_ns; });
    window.created_ns = of(int64_t{}, [](auto &row) { return row.created_ns; });
    window.ready_ns = of(int64_t{}, [](auto &row) { return row.ready_ns; });
    window.start_ns = of(int64_t{}, [](auto &row) { return row.start_ns; });
    window.absent = of(uint8_t{}, [](auto &row) { return row.absent; });
    window.wait_kind = of(uint32_t{}, [](auto &row) { return row.wait.kind; });
    window.wait_place = of(uint32_t{}, [](auto &row) { return row.wait.place; });
    window.waited_for = of(uint32_t{}, [](auto &row) { return row.waited_for; });
    window.wait_begin_ns = of(int64_t{}, [](auto &row) { return row.wait_begin_ns; });
    window.wait_end_ns = of(int64_t{}, [](auto &row) { return row.wait_end_ns; });
    return window;
}

std::optional<PythonWindow> read_stretches(Pyramid &pyramid, std::vector<uint32_t> threads, uint64_t begin_ns,
                                           uint64_t end_ns, size_t limit) {
    WindowStretches found;
    unlocked([&] { return pyramid.read_stretches(threads, begin_ns, end_ns, limit, found); });
    if (found.too_many) return std::nullopt;
    return columns_of(found);
}

PythonWindow read_moment(Pyramid &pyramid, std::vector<uint32_t> threads, uint64_t at_ns, uint64_t most_records) {
    WindowStretches found;
    unlocked([&] { return pyramid.read_moment(threads, at_ns, most_records, found); });
    return columns_of(found);
}

PythonLinks read_links(Pyramid &pyramid, uint64_t task, uint32_t thread, uint64_t at_ns, uint64_t most_records) {
    std::vector<LinkedTask> found;
    unlocked([&] { return pyramid.read_links(task, thread, at_ns, most_records, found); });
    const auto of = [&]<typename T>(T, auto get) {
        return column<T>(found, [&](const LinkedTask &row) { return static_cast<T>(get(row)); });
    };
    PythonLinks links;
    links.role = of(uint8_t{}, [](auto &row) { return row.role; });
    links.task = of(uint64_t{}, [](auto &row) { return row.task; });
    links.construct = of(uint32_t{}, [](auto &row) { return row.construct; });
    links.start_thread = of(uint32_t{}, [](auto &row) { return row.start_thread; });
    links.end_thread = of(uint32_t{}, [](auto &row) { return row.end_thread; });
    links.created_ns = of(int64_t{}, [](auto &row) { return row.created_ns; });
    links.start_ns = of(int64_t{}, [](auto &row) { return row.start_ns; });
    links.end_ns = of(int64_t{}, [](auto &row) { return row.end_ns; });
    return links;
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
    bind_row<PythonWindow, Columns>(m, "WindowStretches", "What threads did in a window, thread by thread.");
    bind_row<PythonLinks, Columns>(m, "TaskLinks", "A task, and those before and after it by dependences.");
    nb::class_<Pyramid>(m, "Pyramid",
                        "What each thread of a trace did over time, at every zoom. Safe to use from several threads.")
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
            "Of the trace in this directory, where it is kept for the next time if `keep`. LogError.")
        .def_prop_ro("end_ns", &Pyramid::end_ns, "The end of the run, since its start.")
        .def_prop_ro("finest_shift", &Pyramid::finest_shift,
                     "Bins of 2^shift nanoseconds are stored; shorter ones are read from the events.")
        .def_prop_ro("cpus", &Pyramid::cpus,
                     "Of each thread the CPU on which it was nearly all the time; -1: on several, or not known.")
        .def_prop_ro("ran", &Pyramid::ran,
                     "Deferred tasks of the run, by the thread that started them and the one that created them.")
        .def_prop_ro("was_kept", &Pyramid::was_kept, "It was read, not made.")
        .def(
            "totals", [](const Pyramid &pyramid, uint32_t number) { return pyramid.totals(dimension_of(number)); },
            nb::arg("dimension"),
            "(key, nanoseconds) of the run by 0 state, 1 construct, 2 home, 3 depth, 4 kernel, 5 absence; most first.")
        .def("read_tile", &read_tile, nb::arg("rows"), nb::arg("dimension"), nb::arg("keys"), nb::arg("shift"),
             nb::arg("first_bin"), nb::arg("n_bins"),
             "Nanoseconds by row, bin and column, in bins of 2^shift nanoseconds.\n\n"
             "A row is the sum of its threads. Columns by state: work, create, schedule, sync, idle. By another "
             "dimension: the work of each key, other work, create, schedule, sync, idle. By absence: of each state the "
             "time preempted and that "
             "blocked. LogError.")
        .def("read_stretches", &read_stretches, nb::arg("threads"), nb::arg("begin_ns"), nb::arg("end_ns"),
             nb::arg("limit"), "The stretches of these threads in [begin_ns, end_ns); None when more than `limit`.")
        .def("read_moment", &read_moment, nb::arg("threads"), nb::arg("at_ns"), nb::arg("most_records"),
             "What each of these threads does at a moment, uncut; its wait has an end if that is found so soon.")
        .def("read_links", &read_links, nb::arg("task"), nb::arg("thread"), nb::arg("at_ns"), nb::arg("most_records"),
             "A task that runs on `thread` at this moment, and those that it depends on or that depend on it.")
        .def("read_dependences", &read_dependences, nb::arg("limit"),
             "(task, one that depends on it), all of the run; None when more than `limit`.");
}

} // namespace ompass

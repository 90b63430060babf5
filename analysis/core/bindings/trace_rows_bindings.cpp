// SPDX-License-Identifier: Apache-2.0
// Tables of a trace for Python, as _core.pyi declares them. Converts, computes nothing.
#include "bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "analyses/trace_rows.h"

namespace nb = nanobind;

namespace ompass {

namespace {

void read(const std::string &directory, const std::string &table, const std::vector<std::string> &columns,
          uint64_t batch_rows, const nb::callable &deliver) {
    const auto &tables = trace_tables();
    const auto found = std::ranges::find(tables, table, &TraceTable::name);
    if (found == tables.end()) throw nb::value_error("there is no table of that name");
    std::vector<size_t> indices;
    for (const std::string &column : columns) {
        const auto place = std::ranges::find(found->columns, column);
        if (place == found->columns.end()) throw nb::value_error("the table has no column of that name");
        indices.push_back(static_cast<size_t>(place - found->columns.begin()));
    }
    if (indices.empty() || batch_rows == 0) throw nb::value_error("no columns, or no rows, are asked for");
    const RunFiles run = open_or_throw(directory);
    const auto hand_over = [&](RowBatch &batch) {
        const nb::gil_scoped_acquire acquire;
        nb::list arrays;
        for (std::vector<int64_t> &values : batch) arrays.append(to_array(std::move(values)));
        deliver(arrays);
    };
    const nb::gil_scoped_release release;
    if (const Problem problem =
            read_rows(run, static_cast<size_t>(found - tables.begin()), indices, batch_rows, hand_over))
        throw LogError(problem.text());
}

} // namespace

void bind_trace_rows(nb::module_ &m) {
    m.def("read_rows", &read, nb::arg("directory"), nb::arg("table"), nb::arg("columns"), nb::arg("batch_rows"),
          nb::arg("deliver"));
}

} // namespace ompass

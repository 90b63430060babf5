// SPDX-License-Identifier: Apache-2.0
// Tables of a trace for Python.
#include "analyses/trace_rows.h"

#include <algorithm>

#include "bindings.h"

namespace ompass {

namespace {

using Described = std::tuple<std::string, std::string, std::string>;

void read(const std::string &directory, const std::string &table, const std::vector<std::string> &columns,
          uint64_t batch_rows, const nb::callable &deliver) {
    const auto &tables = trace_tables();
    const auto found = std::ranges::find(tables, table, &TraceTable::name);
    if (found == tables.end()) throw nb::value_error("there is no table of that name");
    std::vector<size_t> indices;
    for (const std::string &column : columns) {
        const auto place = std::ranges::find(found->columns, column, &TraceColumn::name);
        if (place == found->columns.end()) throw nb::value_error("the table has no column of that name");
        indices.push_back(static_cast<size_t>(place - found->columns.begin()));
    }
    if (indices.empty() || batch_rows == 0) throw nb::value_error("the number of columns and of rows must be positive");
    const RunFiles run = open_or_throw(directory);
    const auto pass = [&](RowBatch &batch) {
        const nb::gil_scoped_acquire acquire;
        nb::list arrays;
        for (std::vector<int64_t> &values : batch) arrays.append(to_column<int64_t>(std::move(values)));
        deliver(arrays);
    };
    const auto index = static_cast<size_t>(found - tables.begin());
    unlocked([&] { return read_rows(run, index, indices, batch_rows, pass); });
}

std::vector<std::tuple<std::string, std::string, std::vector<Described>>> described_tables() {
    std::vector<std::tuple<std::string, std::string, std::vector<Described>>> described;
    for (const TraceTable &table : trace_tables()) {
        auto &columns = std::get<2>(described.emplace_back(table.name, table.meaning, std::vector<Described>{}));
        for (const TraceColumn &column : table.columns) columns.emplace_back(column.name, column.type, column.meaning);
    }
    return described;
}

} // namespace

void bind_trace_rows(nb::module_ &m) {
    m.def("trace_tables", &described_tables,
          "Returns (name, meaning, columns) of each table of a trace. A column is (name, type, meaning).");
    m.def("read_rows", &read, nb::arg("directory"), nb::arg("table"), nb::arg("columns"), nb::arg("batch_rows"),
          nb::arg("deliver"),
          nb::sig("def read_rows(directory: str, table: str, columns: collections.abc.Sequence[str], batch_rows: int, "
                  "deliver: collections.abc.Callable[[list[typing.Any]], None]) -> None"),
          "Passes the rows of a table to `deliver`, in batches of at most `batch_rows` rows.\n\n"
          "Tables and columns are those of trace_tables(). A batch is a list with an int64 array for each column, "
          "where -1 means unknown. An exception in `deliver` ends the reading. Raises LogError, or ValueError for "
          "unknown names.");
}

} // namespace ompass

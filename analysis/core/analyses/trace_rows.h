// SPDX-License-Identifier: Apache-2.0
// A trace as tables: a row per task, state interval, wait, kernel or access, in batches of columns. Needs constant
// memory, plus eight bytes per deferred task. Computes no statistics; trace_replay does.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/run_files.h"

namespace ompass {

// A column of int64_t values; -1: unknown.
struct TraceColumn {
    const char *name;
    const char *type; // in SQL, see readers/tables.py: Int64, ..., or State and Wait, whose numbers have names
    const char *meaning;
};

struct TraceTable {
    std::string_view name;
    const char *meaning;
    std::vector<TraceColumn> columns;
};

// Returns all tables.
const std::vector<TraceTable> &trace_tables();

// The requested columns, of one length. The function may move them away, and may throw to end the reading.
using RowBatch = std::vector<std::vector<int64_t>>;
using DeliverRows = std::function<void(RowBatch &)>;

// Reads columns of a table, all given by index, in the order of `columns`. A problem names file and byte.
Problem read_rows(const RunFiles &run, size_t table, const std::vector<size_t> &columns, size_t batch_rows,
                  const DeliverRows &deliver);

} // namespace ompass

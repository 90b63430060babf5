// SPDX-License-Identifier: Apache-2.0
// Reads a trace as tables, in batches of columns: a row per task, state interval, wait, kernel, access, call or step of
// a target construct. Needs constant memory, plus eight bytes per deferred task (about 20 for the table of tasks).
// Computes no statistics; trace_replay does.
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

// The requested columns, all of the same length.
using RowBatch = std::vector<std::vector<int64_t>>;
// Receives a batch. May move its columns out, and may throw to stop the reading.
using DeliverRows = std::function<void(RowBatch &)>;

// Reads some columns of a table, in the order of `columns`, in batches of at most batch_rows rows. `table` is an index
// into trace_tables(), `columns` are indices into its columns. A problem names file and byte.
Problem read_rows(const RunFiles &run, size_t table, const std::vector<size_t> &columns, size_t batch_rows,
                  const DeliverRows &deliver);

} // namespace ompass

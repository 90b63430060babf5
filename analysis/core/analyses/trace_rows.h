// SPDX-License-Identifier: Apache-2.0
// A trace as tables: a row per task, stretch of a state, wait, kernel or access, in batches of columns, so that any
// length of trace goes through constant memory (and eight bytes per deferred task). Accounts for nothing: trace_replay
// does.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/run_files.h"

namespace ompass {

// A column as the core delivers it: int64_t, -1 for what cannot be told.
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

// All tables there are.
const std::vector<TraceTable> &trace_tables();

// The columns asked for, all of one length; the function may move them away, and may throw to end the reading.
using RowBatch = std::vector<std::vector<int64_t>>;
using DeliverRows = std::function<void(RowBatch &)>;

// Reads the table of that index, columns by index and in this order. A problem names file and byte.
Problem read_rows(const RunFiles &run, size_t table, const std::vector<size_t> &columns, size_t batch_rows,
                  const DeliverRows &deliver);

} // namespace ompass

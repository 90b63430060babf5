// SPDX-License-Identifier: Apache-2.0
// What the files that bind the core to Python share: the error they raise, columns as arrays, the parts of the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "format/run_files.h"

namespace ompass {

struct LogError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The directory, mapped; LogError tells what makes it unreadable.
inline RunFiles open_or_throw(const std::string &directory) {
    RunFiles run;
    if (const Problem problem = open_run(directory, run)) throw LogError(problem.text());
    return run;
}

// An array that owns the values; nothing is copied.
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_array(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    nanobind::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner);
}

// One array per field of rows of any kind: column(rows, [](const Row &row) { return row.field; }).
template <typename Row, typename Field>
auto column(const std::vector<Row> &rows, Field field) {
    std::vector<decltype(field(rows.front()))> values;
    values.reserve(rows.size());
    for (const Row &row : rows) values.push_back(field(row));
    return to_array(std::move(values));
}

void bind_krd(nanobind::module_ &m);
void bind_schedule(nanobind::module_ &m);
void bind_timeline(nanobind::module_ &m);
void bind_trace_rows(nanobind::module_ &m);

} // namespace ompass

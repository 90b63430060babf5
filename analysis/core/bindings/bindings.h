// SPDX-License-Identifier: Apache-2.0
// Declares the error that the files of this folder raise, and the functions that bind the parts of ompass._core. The
// docstrings in these files document that module; analysis/ompass/_core.pyi is generated from them.
#pragma once

#include <stdexcept>
#include <string>

#include "format/run_files.h"
#include "rows.h"

namespace ompass {

struct LogError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Maps the run directory, or throws LogError with the reason.
inline RunFiles open_or_throw(const std::string &directory, bool with_kept = true) {
    RunFiles run;
    if (const Problem problem = open_run(directory, run, with_kept)) throw LogError(problem.text());
    return run;
}

// Calls work() with Python's global lock released. If work() returns a problem, throws it as LogError.
template <typename Work>
void unlocked(Work work) {
    const nb::gil_scoped_release release;
    if (const Problem problem = work()) throw LogError(problem.text());
}

const char *name_of(format::DefinitionKind kind);

void bind_events(nb::module_ &m);
void bind_krd(nb::module_ &m);
void bind_pyramid(nb::module_ &m);
void bind_run(nb::module_ &m);
void bind_samples(nb::module_ &m);
void bind_simulation(nb::module_ &m);
void bind_task_graph(nb::module_ &m);
void bind_timeline(nb::module_ &m);
void bind_trace_rows(nb::module_ &m);

} // namespace ompass

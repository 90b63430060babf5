// SPDX-License-Identifier: Apache-2.0
// What the files that bind the core to Python share: the error they raise, and the parts of the module.
#pragma once

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

#include "run_files.h"

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

void bind_krd(nanobind::module_ &m);
void bind_timeline(nanobind::module_ &m);

} // namespace ompass

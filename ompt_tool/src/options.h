// SPDX-License-Identifier: Apache-2.0
// The OMPASS_* environment variables: their values, defaults and messages. Read once, when recording begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/format.h"
#include "perf/samples.h"

namespace ompass {

struct Options {
    bool enabled = true;              // OMPASS_ENABLED
    format::Mode mode = format::Mode::kProfile; // OMPASS_MODE
    bool summary = true;              // OMPASS_SUMMARY
    bool wrappers = true;             // OMPASS_WRAPPERS
    bool cpu = true;                  // OMPASS_CPU
    Sampling sampling;                // OMPASS_SAMPLE
    bool verbose = false;             // OMPASS_VERBOSE
    uint64_t limit_bytes = 0;         // OMPASS_LIMIT_MB; 0: no limit
    std::string directory;            // OMPASS_DIR, a pattern
    std::vector<std::string> counters; // OMPASS_COUNTERS
};

// Reads the variables. Reports invalid values on stderr, with the valid ones, and uses the default instead.
Options read_options();

// True if `ompass run` started the program and asks for the usual samples. Reports nothing.
bool wants_early_samples();

} // namespace ompass

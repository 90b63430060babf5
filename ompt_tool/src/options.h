// SPDX-License-Identifier: Apache-2.0
// The OMPASS_* environment variables: their values, defaults and messages. read_options() reads them once, when
// recording begins.
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
    struct KeepLast {                 // OMPASS_KEEP_LAST: only the last part of the trace is kept
        uint64_t ns = 0, bytes = 0;   // limits of its length and size; 0: no limit
        bool is_on() const { return ns || bytes; }
    } keep_last;
    struct Dump {                     // conditions that request dumps of the kept part
        int signal = 0;               // OMPASS_DUMP_ON; 0: none
        uint64_t if_longer_ns = 0;    // OMPASS_DUMP_IF_LONGER: longer regions request dumps; 0: none do
    } dump;
    std::string directory;            // OMPASS_DIR, a pattern
    std::vector<std::string> counters; // OMPASS_COUNTERS
};

// Reads the variables. Reports invalid values on stderr, with the valid ones, and uses the default instead.
Options read_options();

// True if `ompass run` started the program, and OMPASS_SAMPLE and OMPASS_ENABLED are unset. Reports nothing.
bool wants_early_samples();

// Returns the signal that requests dumps; 0: none. Reports nothing.
int dump_signal();

} // namespace ompass

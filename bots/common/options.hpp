// SPDX-License-Identifier: Apache-2.0
//
// What a user can ask of a benchmark program, and the reading of a command line into it. The values that the input
// classes stand for are inputs.hpp's; running is harness.cpp's.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "inputs.hpp"

namespace bots {

// Where a program stops creating deferred tasks. Below its depth or grain ...
enum class Cutoff : std::uint8_t {
    kNone,   // ... nothing changes: every call creates tasks, down to the leaves of the algorithm
    kIf,     // ... tasks are created with a false if clause: undeferred
    kFinal,  // ... tasks are created with a true final clause, mergeable: what they create is included
    kManual, // ... no tasks are created; the serial function takes over
};

std::string_view name_of(Cutoff cutoff);

struct Options {
    std::string input_class; // one of kClassNames, or "custom" when an input number was given
    std::int64_t size = 0;
    std::int64_t extra = 0; // 0 for a program without a second input number
    std::int64_t cut = 0;
    Cutoff cutoff = Cutoff::kManual;
    bool untied = false;
    int n_threads = 1;
    int n_repeats = 1;
    bool json = false;
    bool help = false;
};

// A command line that cannot be run; what() is one line for the user.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Reads a command line. `default_threads` is the number of threads without --threads; 0 says that the version is
// serial: it then has no options about tasks. Throws UsageError.
Options parse_options(int argc, const char *const *argv, const ProgramSpec &spec, int default_threads);

// The text of --help.
std::string help_text(std::string_view program, const ProgramSpec &spec, bool serial);

} // namespace bots

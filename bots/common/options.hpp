// SPDX-License-Identifier: Apache-2.0
// The options of a benchmark program, read from its command line. inputs.hpp has the values of the input classes;
// harness.cpp runs the program.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "spec.hpp"

namespace bots {

std::string_view name_of(Cutoff cutoff);

struct Options {
    std::string input_class; // one of kClassNames, or "custom" when an input number was given
    Inputs inputs = {};      // in the order of the ProgramSpec; 0 where the program has none
    Cuts cuts = {};          // in the order of the ProgramSpec; 0 where the program has none
    Cutoff cutoff = Cutoff::kManual;
    bool untied = false;
    int n_threads = 1;
    int n_repeats = 1;
    bool json = false;
    bool help = false;
    bool describe = false;
    std::vector<int> verify_threads; // numbers of threads from --verify; empty without it
};

// An invalid command line; what() is one line for the user.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Returns the program's cut-offs that the version offers.
CutoffSet cutoffs_of(const ProgramSpec &spec, const Version &version);

// Reads a command line. A serial version has no options about tasks. Throws UsageError.
Options parse_options(int argc, const char *const *argv, const ProgramSpec &spec, const Version &version);

// Returns the runs of --verify: the same options with each cut-off and kind of tasks that the version offers, on each
// number of threads of --verify.
std::vector<Options> variants_of(const Options &options, int argc, const char *const *argv, const ProgramSpec &spec,
                                 const Version &version);

// Returns the text of --help.
std::string help_text(const ProgramSpec &spec, const Version &version);

// Returns a parameter's value as it is written on the command line: a number, or the word for it.
std::string value_text(const Parameter &parameter, std::int64_t value);

} // namespace bots

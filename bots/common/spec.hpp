// SPDX-License-Identifier: Apache-2.0
// The terms that describe a benchmark program to the harness: its input numbers, its cut-offs, its unit of work.
// The descriptions themselves are in inputs.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace bots {

inline constexpr std::array<std::string_view, 4> kClassNames = {"test", "small", "medium", "large"};
inline constexpr int kDefaultClass = 1;

inline constexpr std::size_t kMaxInputs = 5;
inline constexpr std::size_t kMaxCuts = 3;
inline constexpr std::size_t kMaxChoices = 10;

using Inputs = std::array<std::int64_t, kMaxInputs>; // in the order of the ProgramSpec
using Cuts = std::array<std::int64_t, kMaxCuts>;     // likewise

// Where a program stops creating deferred tasks. Below its depth or grain ...
enum class Cutoff : std::uint8_t {
    kNone,   // ... nothing changes: every call creates tasks, down to the leaves of the algorithm
    kIf,     // ... tasks are created with a false if clause: undeferred
    kFinal,  // ... tasks are created with a true final clause, mergeable: what they create is included
    kManual, // ... no tasks are created; the serial function takes over
};

inline constexpr std::array<std::string_view, 4> kCutoffNames = {"none", "if", "final", "manual"};

// Some of the cut-offs. All members are public so that a set can be a template argument.
struct CutoffSet {
    constexpr CutoffSet(std::initializer_list<Cutoff> cutoffs) {
        for (const Cutoff cutoff : cutoffs) bits |= 1u << static_cast<unsigned>(cutoff);
    }
    constexpr bool has(Cutoff cutoff) const { return (bits >> static_cast<unsigned>(cutoff) & 1u) != 0; }

    unsigned bits = 0;
};

inline constexpr CutoffSet kAllCutoffs = {Cutoff::kNone, Cutoff::kIf, Cutoff::kFinal, Cutoff::kManual};

// One number of a program's input, or one of its cut-offs. The option --NAME sets it, within [min, max].
struct Parameter {
    std::string_view name;
    std::string_view meaning;
    std::int64_t min;
    std::int64_t max;
    std::array<std::int64_t, kClassNames.size()> by_class;
    // Words that the option takes in place of numbers: value i is called choices[i], and max says the last one.
    std::array<std::string_view, kMaxChoices> choices = {};
    // When set, the value (kept within [min, max]) that holds in place of by_class. For cut-offs that depend on the
    // number of threads, or on the input's size.
    std::int64_t (*derive)(const Inputs &inputs, int n_threads) = nullptr;

    constexpr bool exists() const { return !name.empty(); }
    constexpr bool has_choices() const { return !choices[0].empty(); }
};

// A program, as the harness must know it. A parameter without a name does not exist for that program.
struct ProgramSpec {
    std::string_view name;
    std::string_view purpose;
    std::string_view unit; // of work, in the singular, as Workload::n_units counts it: call, node, flop
    std::array<Parameter, kMaxInputs> inputs = {};
    std::array<Parameter, kMaxCuts> cuts = {}; // --depth, --grain: where the cut-offs if, final and manual set in
    CutoffSet cutoffs = kAllCutoffs; // those that make sense for the program; the default is the last of them
};

// One version of a program, as the harness must know it.
struct Version {
    std::string_view name;
    int default_threads = 0; // without --threads; 0: the version is serial, and has no options about tasks
    CutoffSet cutoffs = kAllCutoffs; // of the program's, those that this version offers
    bool has_untied = true; // whether its tasks can be untied

    constexpr bool is_serial() const { return default_threads == 0; }
};

} // namespace bots

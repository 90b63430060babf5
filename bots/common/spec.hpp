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
using Cuts = std::array<std::int64_t, kMaxCuts>;     // in the order of the ProgramSpec

// The way in which a program stops creating deferred tasks. Below its depth or grain ...
enum class Cutoff : std::uint8_t {
    kNone,   // ... nothing changes: every call creates tasks, down to the leaves of the algorithm
    kIf,     // ... tasks are created with a false if clause: undeferred
    kFinal,  // ... tasks are created with a true final clause, mergeable: their children are included tasks
    kManual, // ... no tasks are created; the serial function takes over
};

inline constexpr std::array<std::string_view, 4> kCutoffNames = {"none", "if", "final", "manual"};

// A set of cut-offs. All members are public so that a set can be a template argument.
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
    // Words that the option takes in place of numbers: choices[i] stands for the value i, up to max.
    std::array<std::string_view, kMaxChoices> choices = {};
    // If set, returns the value to use in place of by_class; options.cpp limits it to [min, max]. For cut-offs that
    // depend on the number of threads or on the input.
    std::int64_t (*derive)(const Inputs &inputs, int n_threads) = nullptr;

    constexpr bool exists() const { return !name.empty(); }
    constexpr bool has_choices() const { return !choices[0].empty(); }
};

// The description of a program. A parameter without a name does not exist for that program.
struct ProgramSpec {
    std::string_view name;
    std::string_view purpose;
    std::string_view unit; // the unit of work that Workload::n_units counts, in the singular: call, node, flop
    std::array<Parameter, kMaxInputs> inputs = {};
    std::array<Parameter, kMaxCuts> cuts = {}; // --depth, --grain: where the cut-offs if, final and manual begin
    CutoffSet cutoffs =
        kAllCutoffs; // the cut-offs that make sense for the program; the default is the last of them in enum order
};

// The description of one version of a program.
struct Version {
    std::string_view name;
    int default_threads = 0; // used without --threads; 0: the version is serial and has no options about tasks
    CutoffSet cutoffs = kAllCutoffs; // cut-offs that the version offers, if the program has them
    bool has_untied = true; // true if its tasks can be untied

    constexpr bool is_serial() const { return default_threads == 0; }
};

} // namespace bots

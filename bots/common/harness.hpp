// SPDX-License-Identifier: Apache-2.0
//
// The frame around every benchmark program: arguments, repetitions, timing, verification, output. It knows neither
// OpenMP nor any algorithm: a version of a program is a Workload.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "options.hpp"

namespace bots {

// One version of a program with its input. The harness calls, on one thread: prepare, run, check for every
// repetition, then n_tasks. Only run is timed.
class Workload {
public:
    Workload() = default;
    Workload(const Workload &) = delete;
    Workload &operator=(const Workload &) = delete;
    virtual ~Workload() = default;

    // Brings the input to its initial state.
    virtual void prepare() {}
    virtual void run() = 0;
    // An empty string when the result of the last run is right, otherwise one line on what is wrong.
    virtual std::string check() = 0;
    // Explicit tasks that one run creates, deferred or not; nothing when that is not known exactly.
    virtual std::optional<std::uint64_t> n_tasks() { return 0; }
    // The result in a few words, for people.
    virtual std::string describe_result() const = 0;
};

using MakeWorkload = std::function<std::unique_ptr<Workload>(const Options &)>;

// The main function of a serial version; returns the exit status.
int serial_main(int argc, char **argv, const ProgramSpec &spec, const MakeWorkload &make_workload);

// The main function of a version with tasks. `default_threads`: what OpenMP would use by itself.
// `version`: tasks, or a variant of it, as in the program's file name.
int tasks_main(int argc, char **argv, const ProgramSpec &spec, std::string_view version, int default_threads,
               const MakeWorkload &make_workload);

} // namespace bots

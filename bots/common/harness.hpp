// SPDX-License-Identifier: Apache-2.0
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
// repetition, then n_tasks and n_units. Only run is timed.
class Workload {
public:
    Workload() = default;
    Workload(const Workload &) = delete;
    Workload &operator=(const Workload &) = delete;
    virtual ~Workload() = default;

    // Brings the input to its initial state.
    virtual void prepare() {}
    virtual void run() = 0;
    // An empty string when the result of the last run is right, otherwise one line that describes the error.
    virtual std::string check() = 0;
    // Explicit tasks that the last run created, deferred or not; nothing when that is not known exactly.
    virtual std::optional<std::uint64_t> n_tasks() { return 0; }
    // Work of one run, in the units that the ProgramSpec names; the same for all versions, as far as they compute the
    // same. Nothing when there is no count of it.
    virtual std::optional<double> n_units() { return std::nullopt; }
    // The result in a few words, for people.
    virtual std::string describe_result() const = 0;
};

using MakeWorkload = std::function<std::unique_ptr<Workload>(const Options &)>;

// The main function of a version; returns the exit status. A Workload's constructor gets the input that was asked for.
int run_version(int argc, char **argv, const ProgramSpec &spec, const Version &version,
                const MakeWorkload &make_workload);

// The main function of a serial version; those of the others are in the headers of their runtimes.
template <class SerialWorkload>
int serial_main(int argc, char **argv, const ProgramSpec &spec) {
    return run_version(argc, argv, spec, {.name = "serial"},
                       [](const Options &options) { return std::make_unique<SerialWorkload>(options); });
}

// run_version for a version of this name with OpenMP tasks, whose default is the runtime's number of threads. In
// tasks.cpp, because the harness itself has no OpenMP.
int run_tasks_version(int argc, char **argv, const ProgramSpec &spec, std::string_view version,
                      const MakeWorkload &make_workload);

} // namespace bots

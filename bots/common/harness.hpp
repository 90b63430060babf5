// SPDX-License-Identifier: Apache-2.0
// The harness of every benchmark program: arguments, repetitions, timing, verification, output. It uses no OpenMP and
// knows no algorithm: each version of a program is a Workload.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "options.hpp"

namespace bots {

// One version of a program with its input. The harness calls prepare, run and check for every repetition, then n_tasks
// and n_units, all on one thread. It times only run.
class Workload {
public:
    Workload() = default;
    Workload(const Workload &) = delete;
    Workload &operator=(const Workload &) = delete;
    virtual ~Workload() = default;

    // Brings the input to its initial state.
    virtual void prepare() {}
    virtual void run() = 0;
    // Returns an empty string if the result of the last run is right, otherwise one line that describes the error.
    virtual std::string check() = 0;
    // Returns the exact number of explicit tasks that the last run created, deferred or not; no value if it is unknown.
    virtual std::optional<std::uint64_t> n_tasks() { return 0; }
    // Returns the work of one run, in the unit of the ProgramSpec. Versions that do the same work return the same
    // number. No value if the work is not counted.
    virtual std::optional<double> n_units() { return std::nullopt; }
    // Returns the result in a few words, for people.
    virtual std::string describe_result() const = 0;
};

using MakeWorkload = std::function<std::unique_ptr<Workload>(const Options &)>;

// Implements main() of a version and returns the exit status. make_workload receives the options and the input sizes.
int run_version(int argc, char **argv, const ProgramSpec &spec, const Version &version,
                const MakeWorkload &make_workload);

// Implements main() of a serial version. tasks.hpp and tbb_tasks.hpp have the main functions of the other versions.
template <class SerialWorkload>
int serial_main(int argc, char **argv, const ProgramSpec &spec) {
    return run_version(argc, argv, spec, {.name = "serial"},
                       [](const Options &options) { return std::make_unique<SerialWorkload>(options); });
}

// Calls run_version for a version with OpenMP tasks; the runtime gives the default number of threads. Defined in
// tasks.cpp, because the harness itself uses no OpenMP.
int run_tasks_version(int argc, char **argv, const ProgramSpec &spec, std::string_view version,
                      const MakeWorkload &make_workload);

} // namespace bots

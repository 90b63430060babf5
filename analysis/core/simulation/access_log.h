// SPDX-License-Identifier: Apache-2.0
// Keeps the accesses of a simulated run for the analysis of reuse distances. Memory: 32 bytes per access.
#pragma once

#include <cstdint>
#include <vector>

#include "analyses/krd_analysis.h"
#include "task_program.h"

namespace ompass::simulation {

class AccessLog {
public:
    // Forgets all accesses. The next ones belong to a run of `program`.
    void begin(const TaskProgram &program, uint32_t n_threads);
    // Adds an access, or the begin or end of a kernel. An access has the time of its thread's last begin or end.
    void add(uint32_t thread, Operation operation, uint64_t now);

    size_t size() const { return n_accesses_; }
    size_t n_threads() const { return threads_.size(); }
    // Returns the reuse distances. Orders the accesses by time, then by thread. Requires an earlier begin(), and an
    // element of settings.groups.of_thread for every thread.
    KrdResult reuse(const KrdSettings &settings) const;

private:
    struct Timed {
        uint64_t time;
        Access access; // `group` is the thread
    };
    struct LoggedThread {
        uint64_t moment = 0;
        std::vector<uint32_t> kernels; // constructs of the open kernels, the innermost last
        std::vector<Timed> accesses; // in order
    };

    const TaskProgram *program_ = nullptr; // valid during the run
    uint32_t n_kernels_ = 1; // above the number of every construct
    std::vector<LoggedThread> threads_;
    size_t n_accesses_ = 0;
};

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Writes the events of a simulated run as the tool would have recorded them. A thread has one implicit task in a
// region, even if it runs several parts of the recorded team. Times are ns since the start of the run.
#pragma once

#include <string>
#include <vector>

#include "format/run_writer.h"
#include "policies.h"
#include "task_program.h"

namespace ompass::simulation {

class Recorder {
public:
    // definitions: of the run from which the program was extracted.
    Recorder(const TaskProgram &program, const std::vector<Definition> &definitions, const Policy &policy,
             const std::vector<uint32_t> &domain_of_thread, uint32_t n_threads);

    // True if threads stay in their implicit tasks under the policy. Records cannot represent threads that leave them.
    static bool can_record(const Policy &policy) { return policy.waiting == Waiting::kNests; }

    void begin_region(uint32_t number, uint64_t now);
    void begin_part(uint32_t thread, uint64_t now); // part: an implicit task of the recorded team
    void arrive(uint32_t thread, bool at_end, uint64_t now); // a part reaches a barrier
    void leave_barrier(uint32_t thread, uint64_t now);
    void end_barrier(uint64_t now);
    void end_region(uint64_t now);

    void create(uint32_t thread, uint32_t task, uint64_t now, uint64_t cost);
    void begin_inline(uint32_t thread, uint32_t task, uint64_t now, uint64_t cost);
    void end_inline(uint32_t thread, uint32_t task, uint64_t now);
    void ready(uint32_t task, uint64_t now); // only for a task that has waited for others
    void start(uint32_t thread, uint32_t task, uint64_t now);
    void complete(uint32_t thread, uint64_t now, bool detached);
    void fulfill(uint32_t thread, uint32_t task, uint64_t now, uint64_t delay); // the event of a detached task
    void begin_wait(uint32_t thread, OpKind kind, uint64_t now);
    void end_wait(uint32_t thread, OpKind kind, uint64_t now);
    // Records that the thread asks for a lock at `begin` and gets it at `end`. number: of the lock; kNoLock: unknown.
    // The release of an unknown lock is not recorded.
    static constexpr uint32_t kNoLock = ~0u;
    void wait_for_lock(uint32_t thread, uint32_t number, uint64_t begin, uint64_t end);
    void release_lock(uint32_t thread, uint32_t number, uint64_t now);
    void kernel(uint32_t thread, Operation operation, uint64_t now);

    // Writes the run into an existing directory. like: the run from which the program was extracted.
    Problem write(const std::string &directory, const RunFiles &like, uint64_t wall_ns) const;

private:
    struct RecordedThread {
        MadeLog log;
        uint32_t n_parts = 0, n_arrived = 0; // in the current region
        bool joined = false, at_barrier = false;
    };
    uint32_t construct_of(uint32_t task) const { return program_.constructs[program_.tasks[task].construct]; }
    bool is_task(uint32_t task) const;
    void join(RecordedThread &thread, uint64_t now);
    void enter_barrier(RecordedThread &thread, uint32_t kind, uint64_t now);

    const TaskProgram &program_;
    const std::vector<Definition> &definitions_;
    const bool placed_;
    std::vector<RecordedThread> threads_;
    std::vector<uint32_t> domain_of_;
    std::vector<uint64_t> id_; // by task
    std::vector<uint64_t> ready_; // by task: 1 + ns at which it became ready; 0: at its creation
    std::vector<Dependence> before_; // sorted by the later task
    uint64_t region_ = 0, last_arrival_ = 0;
    uint32_t team_size_ = 0;
    bool has_tasks_ = false;
};

} // namespace ompass::simulation

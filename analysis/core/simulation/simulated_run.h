// SPDX-License-Identifier: Apache-2.0
// One simulated run. The work and the costs of a thread only advance its clock, because other threads do not notice
// them. Other threads notice its steps: a step queues, takes or completes a task, or begins a wait. A thread takes a
// step when no other thread has an earlier one. A task has about three steps, on any number of threads.
//
//   engine.cpp         the operations of a task
//   engine_waits.cpp   waits, barriers and regions
//   engine_search.cpp  the search for tasks
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "access_log.h"
#include "engine.h"
#include "format/invariants.h"
#include "pending.h"
#include "ready_tasks.h"
#include "recorder.h"
#include "tasks_in_flight.h"
#include "terms.h"
#include "threads.h"
#include "victims.h"

namespace ompass::simulation {

class SimulatedRun {
public:
    SimulatedRun(const TaskProgram &program, const Machine &machine, const Policy &policy, const Team &team,
                 const Changes &changes)
        : program_(program), policy_(policy), team_(team), terms_(program, machine, policy, team, changes),
          tasks_(program), threads_(team.n_threads, machine, terms_.n_domains, program.n_detached != 0),
          random_(team.seed), ready_(program, policy, tasks_, threads_, terms_.n_domains,
                                     changes.untied || policy.nests_any, terms_.cost.lock),
          victims_(policy, ready_, terms_.n_domains, random_), pending_(program), recorder_(team.recorder),
          accesses_(team.accesses), locks_(program.n_locks) {
        if (accesses_) accesses_->begin(program, team.n_threads);
        if (machine.memory.levels.empty() || !machine.recorded || program.accesses.empty()) return;
        memory_ = std::make_unique<Memory>(program, machine.memory, machine.recorded->blocks);
        recorded_ = machine.recorded;
    }
    Simulated run();

private:
    void take_step(Thread &thread, Step step);
    void continue_search(Thread &thread);
    static void pay(Thread &thread, State state, uint64_t cost, Simulated::OperationCount &paid) {
        thread.spend(state, cost);
        paid.add(cost);
    }

    // ---------------------------------------------------------------- operations of tasks
    void continue_task(Thread &thread);
    void run_operation(Thread &thread);
    void access(Thread &thread);
    void note(const Thread &thread, Operation operation); // an access, or the begin or end of a kernel
    void create(Thread &thread, Operation operation);
    void end_task(Thread &thread);
    void complete(uint32_t place, Thread &thread);
    void await_event(uint32_t place, uint64_t now);
    void fulfill_next();
    void acquire(Thread &thread, uint32_t number);
    void release(Thread &thread, uint32_t number);
    void pass_lock(Thread &next, uint32_t number, uint64_t now);
    void get_lock(Thread &thread, uint32_t number, uint64_t asked);

    // ---------------------------------------------------------------- waits and regions
    void begin_wait(Thread &thread, Waits waits);
    void leave_wait(Thread &thread);
    void wait_is_over(uint32_t place, Thread &by);
    void enter_region(Thread &thread, uint32_t region);
    void check_barrier(Thread &thread);

    // ---------------------------------------------------------------- finding tasks
    void search(Thread &thread);
    void start(Thread &thread, uint32_t place);
    bool start_ready(Thread &thread) { return thread.ready != kNone && begin_ready(thread); }
    bool begin_ready(Thread &thread);
    void enqueue(Thread &thread, uint32_t queue, uint32_t place);
    void begin_steal(Thread &thread, Victim victim);
    uint64_t steal_ns(Victim victim) const;
    // True if another thread looks for tasks at this time.
    bool is_contended(uint64_t time) const { return region_.open && (stealing_until_ > time || threads_.n_parked()); }
    bool is_last_barrier(uint32_t op) const { return program_.operations[op + 1].kind() == OpKind::kEnd; }
    void wake(Thread &thread, uint64_t now, bool from_wait);
    void make_ready(uint32_t place);
    void wake_ready(uint64_t now);
    void unpark(Thread &thread, uint64_t now);
    void wake_thief(uint32_t queue, uint32_t place, uint64_t now);
    void wake_next_thief(uint32_t queue, uint64_t now);
    void send_thief(Thread &thief, uint32_t queue, uint64_t now, bool at_home);
    bool rescue();

    const TaskProgram &program_;
    const Policy &policy_;
    const Team &team_;
    const Terms terms_;
    TasksInFlight tasks_;
    Threads threads_;
    Random random_;
    ReadyTasks ready_;
    Victims victims_;
    PendingTasks pending_;
    std::unique_ptr<Memory> memory_; // null: not modelled
    const RecordedMemory *recorded_ = nullptr;
    Recorder *const recorder_; // null: not recorded
    AccessLog *const accesses_; // null: not kept

    struct {
        uint32_t n_implicit = 0, n_arrived = 0, n_ended = 0;
        uint64_t n_unfinished = 0; // explicit tasks
        bool open = false;
        uint64_t begin = 0;
        std::vector<uint32_t> arrived; // implicit tasks at the barrier
    } region_;
    // A lock of the program. Threads get it in the order of their requests. rescue() may give it to several threads.
    struct Lock {
        uint32_t n_holders = 0;
        TaskQueue waiting; // numbers of threads
    };
    std::vector<Lock> locks_;
    using Event = std::pair<uint64_t, uint32_t>; // time, place of a detached task that has ended
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    uint32_t main_ = kNone; // the initial task
    uint64_t in_regions_ns_ = 0, n_completed_ = 0;
    uint64_t stealing_until_ = 0; // end of the latest steal, which may lie in the future
    uint64_t last_find_ = 0; // time at which a woken thread last found a queue with tasks
    bool done_ = false, stopped_ = false;
    Simulated result_;
};

} // namespace ompass::simulation

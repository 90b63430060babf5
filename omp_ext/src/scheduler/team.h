// SPDX-License-Identifier: Apache-2.0
// Teams: a worker for each thread of a region, with its deque and counts, and an inbox for each domain. Owns the table
// of teams, and the end of barriers (termination.h); scheduler.cpp runs the tasks. The first thread that needs a team
// with a given key and size makes it. Teams are never freed.
#pragma once

#include <atomic>
#include <cstdint>
#include <time.h>

#include "options.h"
#include "scheduler/block_pool.h"
#include "scheduler/deque.h"
#include "scheduler/inbox.h"
#include "scheduler/stacks.h"
#include "scheduler/task.h"
#include "tools/statistics.h"

struct omp_ext_counters;

namespace omp_ext {

struct Team;
struct Worker;
class OrderedLoop;

// The first Worker::throttle_threshold after a barrier. A worker that reaches it lends its processor once, because
// other threads may still be leaving the barrier.
inline constexpr int64_t kFirstThrottleThreshold = 2;
// The usual threshold: size of a deque at which new tasks run at once.
inline constexpr int64_t kThrottleThreshold = 256;
// The threshold after other threads found the worker's tasks short (throttle.h).
inline constexpr int64_t kProbeThreshold = -1;
// Values of Worker::awaited_count: no completion ends the wait; any completion may end it.
inline constexpr int64_t kNoCompletion = INT64_MIN;
inline constexpr int64_t kAnyCompletion = INT64_MIN + 1;

// The progress of a thread in its ordered loops (libomp_ordered.cpp).
struct LoopPart {
    OrderedLoop *present = nullptr;
    uint64_t n_loops = 0; // upper 32 bits: regions that the thread began; lower: loops that it began in this region
    uint64_t turn = 0; // turn of the first iteration whose ordered region the thread has not passed
    uint64_t n_to_pass = 0; // iterations whose ordered region the thread has not passed
    int64_t stride = 1;
    bool has_passed = false; // the thread has passed the turn of the present iteration
    bool is_doacross = false;
};

// The pace of the tasks that a worker creates and runs at once (throttle.cpp).
struct Pace {
    const Task *parent = nullptr; // of the tasks of the present batch
    uint64_t constructs = 0; // constructs of the present batch, as a set of hashes
    uint64_t short_constructs = 0; // constructs that run at once while `current` has_short_children
    uint64_t n_descendants = 0; // tasks that the tasks of the batch created
    int64_t start_ns = 0;
    uint32_t n_tasks = 0, batch = 0; // tasks of the batch so far, and at its end
    uint64_t n_dependent = 0; // tasks with dependences created
    uint64_t next_probe = 0; // value of n_dependent at which work_off judges tasks while other threads are idle
    bool is_probe = false; // other threads found the tasks of the present batch short
    uint32_t n_hints = 0, n_hints_to_skip = 0; // hints since the last probe; hints to ignore before the next one
    int64_t deque_limit = kThrottleThreshold; // size of the deque at which new tasks run at once
    uint32_t n_short_batches = 0; // batches of short tasks since tasks last took unexpectedly long
    int64_t recent_ns = 0, n_recent = 0; // time and number of the last tasks run at once
    long n_preemptions = 0; // times that the thread had lost its processor at the last check
    uint32_t n_foreign = 0, n_short_foreign = 0; // tasks of other creators run; short samples in a row
};

// A worker's place in its team. Written by its thread when a region begins, read by all threads.
struct alignas(64) WorkerPlace {
    Team *team = nullptr;
    int16_t number = 0; // in the team
    int16_t domain = 0; // the first domain with the same CPUs
    int32_t runtime_thread = 0; // the runtime's number of the thread
    clockid_t processor_clock = CLOCK_THREAD_CPUTIME_ID; // clock of the thread
};

// The running task of a worker and its own counts. Used by its thread only, except throttle_threshold, and `blocks`,
// which has its own contract.
struct alignas(64) WorkerState {
    Task *current = nullptr; // the running task
    int64_t mark = 0; // items of the deque from this number on are descendants of `current`
    DependenceTable *table = nullptr; // dependences among the children of `current`
    Task *spare = nullptr; // the last plain task that ended; null: none (take_spare)
    uintptr_t last_creation = 0; // sum of the addresses of the parent and the construct of the last task created
    void *reused = nullptr; // block of the last task that take_spare() returned; null once it ran
    // Deque size at which queue_or_run() calls run_at_creation(). Other threads may store kProbeThreshold.
    std::atomic<int64_t> throttle_threshold{kFirstThrottleThreshold};
    omp_ext_counters *counters = nullptr; // counters of the current task; null: every event is reported (counters.h)
    int next_start_flags = 0; // OMP_EXT_AT_ONCE and OMP_EXT_AT_HAND, reported with the next start of a task
    Task *left_to_event =
        nullptr; // its body has just ended, and its event is outstanding; this thread holds event_lock
    bool is_searching = false; // counted in team->n_searching
    int32_t last_victim = -1; // the worker of the last successful steal
    uint32_t random = 1; // state of a xorshift generator
    int64_t spin_ns = 0; // time to search before sleeping, if longer than options.spin_ns (idle.cpp)
    uint64_t n_barriers = 0; // barriers entered
    unsigned n_sent_this_turn = 0; // tasks sent to other domains
    unsigned sends_per_turn = 1; // tasks to send before lending the processor (scheduler.cpp)
    Pace pace;
    LoopPart loop;
    BlockPool blocks; // memory of the light tasks created here
};

// The stacks and suspended tasks of a worker (suspensions.h). Used by its thread only.
struct alignas(64) WorkerStacks {
    Stack *stack = nullptr; // the present stack; null: the thread's own
    void (*stack_loop)(Worker &worker) = nullptr; // scheduler loop at the bottom of a new stack
    Task *next_task = nullptr; // the task that the new stack, or the resumed barrier, runs first
    int n_locks = 0; // gated locks that tasks on this stack hold (libomp_locks.cpp)
    unsigned n_yields = 0;
    Suspension *suspended_barrier = nullptr; // on the thread's own stack, while the thread is on another one
    Suspension *first_ready = nullptr, *last_ready = nullptr;
    void *base_task = nullptr; // base task of the implicit task; null: no task may be suspended
    bool base_task_lasts = false; // the base task serves any number of returns
    int n_proxies = 0; // tasks of the worker with a proxy task, on all its stacks
    Task *proxied = nullptr; // the light task whose proxy task is the runtime's current task
    // Set if n_proxies > 0: a runtime task with the settings that applied before the first proxy task began.
    void *task_before_proxies = nullptr;
    StackPool stacks;
};

// Counts of a worker. Written by its thread, summed by others. Barriers compare the first two.
struct alignas(64) WorkerCounts {
    std::atomic<uint64_t> n_created{0}; // tasks created here in all regions, except kUndeferred ones
    std::atomic<uint64_t> n_done{0}; // such tasks completed here
    // The parent of a kRemote task that this worker has completed in the scheduler but not yet in the runtime. Never
    // dereferenced.
    std::atomic<const Task *> finishing{nullptr};
    WorkerStatistics statistics;
};

// The wait of a worker (idle.cpp). Written by its thread; threads that wake it clear `asleep`.
struct alignas(64) WorkerWait {
    std::atomic<uint32_t> asleep{0};
    std::atomic<int64_t> awaited_count{kNoCompletion}; // count of completions elsewhere that ends the wait
    std::atomic<bool> is_constrained{false}; // may run descendants of its current task only
    std::atomic<bool> is_blocked{false}; // is_constrained, and found no task
};

// A thread of a team. The bases group the fields by writer, each on separate cache lines.
struct Worker : WorkerPlace, WorkerState, WorkerStacks, WorkerCounts, WorkerWait {
    Deque<Task> deque; // tasks placed in the worker's domain, tagged with their depth; pushed and popped by its thread
    // Ready suspensions, newest first. Any thread pushes; the worker's take_ready() moves them to first_ready.
    alignas(64) std::atomic<Suspension *> newly_ready{nullptr};
    alignas(64) Task implicit; // the implicit task; other threads count the completion of its children
    Task bottom_task; // the current task at the bottom of a new stack
};

// True in a team of one, which runs every task at once.
inline bool is_alone(const Worker &worker) { return worker.throttle_threshold.load(std::memory_order_relaxed) == 0; }

// The queues of a domain.
struct alignas(64) DomainQueues {
    Inbox inbox;
    std::atomic<int> home{0}; // the domain whose threads empty these queues: this one, or the nearest with threads
    std::atomic<int> n_workers{0};
    // Suspended untied tasks that any thread of the domain may resume (suspensions.h).
    std::atomic<int> n_ready{0};
    SpinLock ready_lock;
    Suspension *first_ready = nullptr, *last_ready = nullptr;
};

struct Team {
    Team(const void *key, int n_workers);

    const void *key; // an address that identifies the team while its region runs (begin_part in libomp_abi.h)
    const int n_workers;
    const int n_surplus; // workers in excess of processors; this many may sleep even if tasks are queued
    const bool takes_turns; // true if domains share processors, as they may on a described machine (topology.h)
    Team *next = nullptr; // in the list of all teams
    Team *next_in_bucket = nullptr; // in the table of teams
    Team *next_idle = nullptr; // in the list of idle teams of one thread
    Worker *const workers; // n_workers
    DomainQueues *const domain_queues; // domains::count()

    SpinLock loops_lock;
    OrderedLoop *loops = nullptr; // the ordered loops in progress

    // n_joined, n_arrived, n_done_by_events and n_released include all earlier regions of the team.
    alignas(64) std::atomic<uint64_t> n_joined{0};
    std::atomic<int> strict{-1}; // the present region's setting: 0, 1; -1: the process's
    alignas(64) std::atomic<uint64_t> n_arrived{0}; // arrivals at barriers
    std::atomic<uint64_t> cancelled_barrier{0}; // number of the extra barrier of a cancelled region (gcc)
    std::atomic<void *> copied{nullptr}; // gcc's copyprivate: set before a barrier, read after it
    std::atomic<uint64_t> n_done_by_events{0}; // tasks that omp_fulfill_event completed
    alignas(64) std::atomic<uint64_t> n_released{0}; // barriers that ended
    alignas(64) std::atomic<int> n_asleep{0};
    std::atomic<int> n_searching{0};

    // The throttle threshold after a barrier; 0 in a team of one.
    int64_t first_throttle_threshold() const { return n_workers > 1 ? kFirstThrottleThreshold : 0; }
    bool is_strict() const {
        const int own = strict.load(std::memory_order_relaxed);
        return own >= 0 ? own != 0 : options.strict;
    }
    // True if the worker empties the inbox of this domain.
    bool serves(const Worker &worker, int domain) const {
        return domain_queues[domain].home.load(std::memory_order_relaxed) == worker.domain;
    }
};

// The calling thread's worker; null outside of regions, and in regions that the runtime schedules.
extern constinit thread_local Worker *this_worker __attribute__((tls_model("initial-exec")));

// Returns this_worker, read again. A wait may move an untied task to another thread, but compilers may reuse a value
// that was read before the wait.
Worker *present_worker();

// Enters a region. Called by each of its threads, with the same key; `level` as in domains::settle_in_team.
Worker *join_team(const void *key, int number, int n_workers, int level, int32_t runtime_thread);

// Enters a region of one thread.
Worker *join_alone(int32_t runtime_thread);

// Leaves a region, after its last barrier.
void leave_team(Worker &worker);

// True if all workers have arrived at the barrier that ends with this many arrivals, and no task is left.
bool has_ended(const Team &team, uint64_t n_arrivals);

// Returns the head of the list of all teams, linked by Team::next.
Team *first_team();

// Drops all threads and teams, in the child of a fork.
void forget_teams();

} // namespace omp_ext

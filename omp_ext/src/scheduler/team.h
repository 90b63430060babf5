// SPDX-License-Identifier: Apache-2.0
// Teams as the scheduler sees them: a worker for each thread of a region, with its queue and its counts, and an inbox
// for each domain. Owns how threads come to their workers, and the end of barriers (termination.h); which task runs
// where is scheduler.cpp's. Teams are made once for each block of the runtime's and each size, and never freed.
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

struct omp_ext_tallies;

namespace omp_ext {

struct Team;
class OrderedLoop;

// For Worker::publish_threshold: the threads that a barrier lets go may not be there yet when the first tasks are.
inline constexpr int64_t kFirstPublishThreshold = 2;
// For Worker::awaited_count: no completion, or each, ends its wait.
inline constexpr int64_t kNoCompletion = INT64_MIN;
inline constexpr int64_t kAnyCompletion = INT64_MIN + 1;

// Where a thread is in an ordered loop (libomp_ordered.cpp).
struct LoopPart {
    OrderedLoop *present = nullptr;
    uint64_t n_loops = 0; // that it came to; in the upper half, the regions
    uint64_t turn = 0; // of its first iteration that was not passed
    uint64_t n_to_pass = 0; // of the iterations that it has
    int64_t stride = 1;
    bool has_passed = false; // in the present iteration
    bool is_doacross = false;
};

// One line or more of its own for each group of fields with the same writer.
struct alignas(64) Worker {
    Deque<Task> deque; // tasks placed in this worker's domain; pushed and popped by its thread

    // Its thread alone, unless said otherwise.
    alignas(64) Team *team = nullptr;
    Task *current = nullptr; // the task that runs
    int64_t mark = 0; // items of the deque from here on are descendants of `current`
    DependenceTable *table = nullptr; // dependences among the children of `current`
    int32_t runtime_thread = 0; // its number in the runtime
    clockid_t processor_clock = CLOCK_THREAD_CPUTIME_ID; // of its thread; as `domain`
    int16_t domain = 0; // of those with the same CPUs the first; read by all; changes only between regions
    int16_t number = 0; // in the team
    bool left_to_event = false; // the body of the task that just ended waits for its event
    int next_start_flags = 0; // for tools: OMP_EXT_AT_ONCE and OMP_EXT_AT_HAND, of the task that begins next
    bool is_searching = false; // counted in team->n_searching
    int64_t spin_ns = 0; // how long it looks for tasks before it sleeps, if longer than usual (idle.cpp)
    uint32_t random = 1; // state of a xorshift generator
    int32_t last_victim = -1;
    uint64_t n_barriers = 0; // that it arrived at
    unsigned n_sent_this_turn = 0; // to other domains, in its turn
    unsigned sends_per_turn = 1; // after so many it lends its processor (scheduler.cpp)
    int64_t publish_threshold =
        kFirstPublishThreshold; // that many tasks in the deque are a reason to do something (scheduler.cpp)
    // Read by the thread that ends a barrier.
    std::atomic<uint64_t> n_created{0}; // held tasks created here, ever
    std::atomic<uint64_t> n_done{0}; // held tasks completed here, ever
    // The parent, elsewhere, of the task that is complete for that parent but not yet for the runtime; never followed.
    std::atomic<const Task *> finishing{nullptr};
    WorkerStatistics statistics;
    LoopPart loop;
    Task implicit; // the implicit task

    // Suspended tasks (suspensions.h).
    Stack *stack = nullptr; // on which its thread is; null: the thread's own
    void (*loop_aside)(Worker &worker) = nullptr; // of the new stack on which it goes on
    int n_locks = 0; // that tasks on this stack hold, of those with a gate (libomp_locks.cpp)
    Task *next_task = nullptr; // to be run by whom it goes to
    Suspension *suspended_barrier = nullptr; // the barrier that it left for another stack
    Suspension *first_ready = nullptr, *last_ready = nullptr;
    void *base_task = nullptr; // of the implicit task; without it nothing is suspended
    bool base_task_lasts = false;
    unsigned n_yields = 0;
    Task bottom_task; // the current task at the bottom of a stack
    StackPool stacks;
    BlockPool blocks; // of the light tasks that its thread creates
    Task *proxied = nullptr; // the light task on the stack whose proxy task is the runtime's current task
    int n_proxies = 0; // of tasks on the stack
    omp_ext_tallies *counters = nullptr; // for the current task; null: the tool is told of all (counters.h)
    void *unchanged = nullptr; // while there are some: a task of the runtime's with the settings from before them
    alignas(64) std::atomic<Suspension *> resumed{nullptr}; // made ready by any thread, the last one first

    // Sleep: set by its thread, woken by others (idle.cpp).
    alignas(64) std::atomic<uint32_t> asleep{0};
    std::atomic<int64_t> awaited_count{kNoCompletion}; // the count of completions elsewhere that ends its wait
    std::atomic<bool> is_blocked{false}; // in a wait in which it may run descendants only, and found none
    std::atomic<bool> is_constrained{false}; // in such a wait
};

// What the team keeps for a domain.
struct alignas(64) DomainQueues {
    Inbox inbox;
    std::atomic<int> home{0}; // whose threads empty it: the domain, or the nearest that has threads
    std::atomic<int> n_workers{0};
    // Untied tasks that any thread of the domain may resume (suspensions.h).
    std::atomic<int> n_ready{0};
    SpinLock ready_lock;
    Suspension *first_ready = nullptr, *last_ready = nullptr;
};

struct Team {
    Team(const void *key, int n_workers);

    const void *key;
    const int n_workers;
    const int n_surplus; // workers beyond the number of processors: that many may sleep whatever there is to do
    const bool takes_turns; // some places share a processor, as those of a described machine may
    Team *next = nullptr; // in the table of teams
    Team *next_idle = nullptr; // of those of one thread
    Worker *const workers; // n_workers
    DomainQueues *const domain_queues; // domains::count()

    SpinLock loops_lock;
    OrderedLoop *loops = nullptr; // in which some worker is or may come to be

    alignas(64) std::atomic<uint64_t> n_joined{0}; // over all regions
    std::atomic<int> strict{-1}; // of the present region: 0, 1; -1: as the process
    alignas(64) std::atomic<uint64_t> n_arrived{0}; // at barriers, ever
    std::atomic<void *> copied{nullptr}; // gcc's copyprivate: set before a barrier, read after it
    std::atomic<uint64_t> n_done_by_others{0}; // tasks completed by threads that are no workers: events
    alignas(64) std::atomic<uint64_t> n_released{0}; // barriers that ended, ever
    alignas(64) std::atomic<int> n_asleep{0};
    std::atomic<int> n_searching{0};

    // For Worker::publish_threshold at the begin and after barriers: with nobody to steal, no task is queued.
    int64_t first_publish_threshold() const { return n_workers > 1 ? kFirstPublishThreshold : 0; }
    bool is_strict() const {
        const int own = strict.load(std::memory_order_relaxed);
        return own >= 0 ? own != 0 : options.strict;
    }
    // The worker empties the inbox of this domain.
    bool serves(const Worker &worker, int domain) const {
        return domain_queues[domain].home.load(std::memory_order_relaxed) == worker.domain;
    }
};

// The worker that the calling thread is now: null outside of regions and in those that the scheduler leaves alone.
extern constinit thread_local Worker *this_worker __attribute__((tls_model("initial-exec")));

// The same after a function that may wait: an untied task may be on another thread then, of which compilers know nothing.
Worker *present_worker();

// Called by each thread of a region at its begin, with the same key; `level` as domains::join_team. Returns its worker.
Worker *join_team(const void *key, int number, int n_workers, int level, int32_t runtime_thread);

// The same in a region of one thread, which runs all its tasks at once.
Worker *join_alone(int32_t runtime_thread);

// Called at the end of the region, after the last barrier.
void leave_team(Worker &worker);

// Have all workers arrived at the barrier that ends with this many arrivals, and is no task left?
bool has_ended(const Team &team, uint64_t n_arrivals);

// All teams there are, by Team::next.
Team *first_team();

// In the child of a fork: threads and teams are gone.
void forget_teams();

} // namespace omp_ext

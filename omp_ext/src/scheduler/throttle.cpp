// SPDX-License-Identifier: Apache-2.0
// Runs tasks at once in the thread that creates them.
#include "scheduler/throttle.h"

#include <algorithm>
#include <sched.h>
#include <sys/resource.h>
#include <utility>

#include "scheduler/scheduler.h"
#include "scheduler/search.h"
#include "scheduler/suspensions.h"

namespace omp_ext {

namespace {

constexpr uint32_t kProbeBatch = 4; // tasks in a probe
constexpr int64_t kMostDequeLimit = 4096;
constexpr int64_t kRecentTasks = 4096; // tasks whose mean decides if a batch took long
constexpr int64_t kMostRecentNs = 2'000'000; // maximum counted time of a batch: one very long task is soon forgotten
// Batches of short tasks, since tasks last took unexpectedly long, after which no long tasks are expected.
constexpr uint32_t kSteadyBatches = 64;
constexpr uint32_t kSteadyPaceBatch = 64; // tasks between two clock readings after that
constexpr int64_t kShortNs = 100; // longest mean time of a short task, including its creation
// The same for tasks with dependences. Running them at once saves more, because they need not wait for each other.
constexpr int64_t kShortWaitingNs = 300;
// Longest time of a short task in a thread other than its creator's, including the fetch from another cache.
constexpr int64_t kShortForeignNs = 500;
constexpr uint32_t kForeignPerSample = 8; // a thread measures one of this many tasks of other creators
constexpr uint32_t kSamplesPerHint = 4; // short samples in a row after which the creator measures its tasks
constexpr uint32_t kMostHintsToSkip = 1023;
constexpr uint32_t kMostWaiting = 1024; // incomplete children beyond which their creator runs some
constexpr int64_t kLongestDrainNs = 200'000; // longest time that drain() searches while other threads run tasks

uint32_t n_incomplete_children(const Task &task) {
    return n_children_to_wait_for(task, task.n_done_elsewhere.load(std::memory_order_acquire));
}

bool may_run_task(const Worker &worker) { return !suspends_waits(worker) || may_run_on_top(worker); }

void begin_batch(Worker &worker, int64_t now, uint32_t n_tasks) {
    Pace &pace = worker.pace;
    pace.parent = worker.current;
    pace.constructs = 0;
    pace.n_descendants = 0;
    pace.n_tasks = 0;
    pace.batch = n_tasks;
    pace.start_ns = now;
    pace.is_probe = false;
}

// Sets the size of the deque at which new tasks run at once.
void set_deque_limit(Worker &worker, int64_t limit) {
    const int64_t before = std::exchange(worker.pace.deque_limit, limit);
    if (worker.throttle_threshold.load(std::memory_order_relaxed) == before)
        worker.throttle_threshold.store(limit, std::memory_order_relaxed);
}

// Takes the hint of a thread that found tasks of this thread short. Returns false if there is none, or if
// expect_long_tasks() makes this thread ignore it.
bool take_hint(Worker &worker) {
    if (worker.throttle_threshold.load(std::memory_order_relaxed) != kProbeThreshold) return false;
    Pace &pace = worker.pace;
    worker.throttle_threshold.store(pace.deque_limit, std::memory_order_relaxed);
    if (pace.n_hints++ < pace.n_hints_to_skip) return false;
    pace.n_hints = 0;
    return true;
}

// Makes the next tasks of these constructs run at once, so that this thread measures them.
void begin_probe(Worker &worker, uint64_t constructs) {
    Pace &pace = worker.pace;
    worker.current->has_short_children = true;
    pace.short_constructs = constructs;
    begin_batch(worker, now_ns(), kProbeBatch);
    pace.is_probe = true;
}

// True if the thread lost its processor to another thread since the last call. Costs a system call.
bool was_preempted(Pace &pace) {
    rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return false;
    return std::exchange(pace.n_preemptions, usage.ru_nivcsw) != usage.ru_nivcsw;
}

// True if the tasks of a batch that took this time count as short. If tasks were short so far, a long batch counts as
// short, too, if the mean of the last kRecentTasks is short or the thread lost its processor.
bool are_short(Worker &worker, int64_t batch_ns) {
    Pace &pace = worker.pace;
    const int64_t longest_ns = worker.table ? kShortWaitingNs : kShortNs; // with a table, the tasks have dependences
    const bool were_short = worker.current->has_short_children;
    if (pace.n_recent >= kRecentTasks) {
        pace.n_recent /= 2;
        pace.recent_ns /= 2;
    }
    const int64_t n = pace.n_recent + pace.n_tasks, ns = pace.recent_ns + std::min(batch_ns, kMostRecentNs);
    const bool is_short = batch_ns < pace.n_tasks * longest_ns || (were_short && ns < n * longest_ns);
    if (!is_short && were_short && was_preempted(pace)) return true; // tasks did not use all of this time
    pace.n_recent = n;
    pace.recent_ns = ns;
    return is_short;
}

// Prepares for a few long tasks among many short ones: queues more tasks for other threads, and ignores more hints,
// because tasks that run at once all stay on this thread, the long ones too.
void expect_long_tasks(Worker &worker) {
    Pace &pace = worker.pace;
    pace.n_hints_to_skip = std::min(2 * pace.n_hints_to_skip + 1, kMostHintsToSkip);
    pace.n_short_batches = 0;
    if (!pace.is_probe) set_deque_limit(worker, std::min(2 * pace.deque_limit, kMostDequeLimit));
}

void expect_short_tasks(Worker &worker) {
    worker.pace.n_hints_to_skip = 0;
    set_deque_limit(worker, kThrottleThreshold);
}

// True if another thread looks for a task, or should be woken for one.
bool has_idle_thread(const Team &team) {
    return team.n_searching.load(std::memory_order_relaxed) > 0 ||
           team.n_asleep.load(std::memory_order_relaxed) > team.n_surplus;
}

// Runs tasks until all children of the current task are complete, or only other threads can complete the rest.
void drain(Worker &worker, const Search &search) {
    Task &parent = *worker.current;
    int64_t since_ns = 0;
    while (n_incomplete_children(parent) > 0) {
        if (Task *task = find(search)) {
            run_on_top(worker, *task);
            since_ns = 0;
            continue;
        }
        const int64_t now = now_ns();
        if (since_ns == 0) since_ns = now;
        if (now - since_ns > kLongestDrainNs) {
            parent.has_short_children = false;
            return;
        }
        if (now - since_ns < kLongestDrainNs / 16)
            SpinLock::pause();
        else
            sched_yield(); // the other thread may have lost its processor
    }
}

} // namespace

void end_batch(Worker &worker) {
    Pace &pace = worker.pace;
    Task &parent = *worker.current;
    if (pace.parent != &parent) {
        parent.has_short_children = false;
        return begin_batch(worker, now_ns(), kPaceBatch);
    }
    const int64_t now = now_ns();
    uint32_t n_next = kPaceBatch;
    pace.short_constructs = pace.constructs;
    if (pace.n_descendants == 0 && are_short(worker, now - pace.start_ns)) {
        if (++pace.n_short_batches == kSteadyBatches) expect_short_tasks(worker);
        if (pace.n_short_batches >= kSteadyBatches) n_next = kSteadyPaceBatch;
        parent.has_short_children = true;
    } else {
        if (parent.has_short_children) expect_long_tasks(worker);
        parent.has_short_children = false;
    }
    begin_batch(worker, now, n_next);
}

void run_found(Worker &worker, Task &task) {
    Pace &pace = worker.pace;
    if (task.creator == worker.number || ++pace.n_foreign % kForeignPerSample != 0 || !options.throttle)
        return run_on_top(worker, task);
    Worker &creator = worker.team->workers[task.creator];
    const uint64_t n_before = n_created(worker);
    const int64_t start_ns = now_ns();
    run_on_top(worker, task);
    const bool is_short = now_ns() - start_ns < kShortForeignNs && n_created(worker) == n_before;
    pace.n_short_foreign = is_short ? pace.n_short_foreign + 1 : 0;
    if (pace.n_short_foreign < kSamplesPerHint) return;
    pace.n_short_foreign = 0;
    creator.throttle_threshold.store(kProbeThreshold, std::memory_order_relaxed);
}

bool runs_at_creation(const Worker &worker, const Task &task) {
    return worker.current->has_short_children && (worker.pace.short_constructs & set_of(task.code)) &&
           may_run_task(worker);
}

void run_now(Worker &worker, Task &task) {
    const BaseTaskScope base_task_scope(worker);
    const void *code = task.code;
    const uint64_t n_before = n_created(worker);
    run_on_top(worker, task);
    note_runs(worker, code, 1, n_created(worker) - n_before);
}

bool run_at_creation(Worker &worker, Task &task, bool may_run) {
    if (!runs_at_creation(worker, task)) {
        const int64_t threshold = worker.throttle_threshold.load(std::memory_order_relaxed);
        if (worker.deque.size_hint() < threshold) return false;
        if (threshold == kFirstThrottleThreshold) { // after a barrier, only lends the processor
            worker.throttle_threshold.store(options.throttle ? worker.pace.deque_limit : INT64_MAX,
                                            std::memory_order_relaxed);
            lend_processor(worker);
            return false;
        }
        const bool is_hint = threshold == kProbeThreshold;
        if ((is_hint && !take_hint(worker)) || !may_run || !may_run_task(worker)) return false;
        if (is_hint) begin_probe(worker, set_of(task.code));
    }
    if (!may_run) return false;
    run_now(worker, task);
    return true;
}

bool has_no_predecessors(Worker &worker) {
    if (!worker.table || is_empty(*worker.table)) return true;
    if (n_incomplete_children(*worker.current) > 0) return false;
    clear(*worker.table, worker.blocks);
    return true;
}

namespace {

// Runs a batch of tasks, or a single task if that takes long. Returns false if there are too few tasks. Sets
// *are_short if they were short on average and created no tasks.
bool run_batch(Worker &worker, const Search &search, bool *are_short) {
    const int64_t start_ns = now_ns(), longest_ns = kPaceBatch * kShortWaitingNs;
    const uint64_t n_before = n_created(worker);
    uint64_t constructs = 0;
    for (uint32_t n = 0; n < kPaceBatch; n++) {
        Task *task = find(search);
        if (!task) return false;
        constructs |= set_of(task->code);
        run_on_top(worker, *task);
        if (n == 0 && now_ns() - start_ns > longest_ns) return true;
    }
    *are_short = now_ns() - start_ns < longest_ns && n_created(worker) == n_before;
    worker.pace.short_constructs = constructs;
    return true;
}

} // namespace

void work_off(Worker &worker) {
    Task &parent = *worker.current;
    Pace &pace = worker.pace;
    if (!options.throttle || !may_run_task(worker)) return;
    const auto should_stop = [&] {
        return n_incomplete_children(parent) < kMostWaiting || has_idle_thread(*worker.team);
    };
    bool are_short = parent.has_short_children;
    const bool is_hinted = !are_short && take_hint(worker);
    if (!are_short && !is_hinted) {
        if (n_incomplete_children(parent) < kMostWaiting) return;
        // Idle threads may need more tasks, so this thread probes only now and then.
        if (has_idle_thread(*worker.team) && pace.n_dependent < pace.next_probe) return;
    }
    const BaseTaskScope base_task_scope(worker);
    const Search search{worker, &parent, true};
    while (!are_short && !is_hinted) {
        if (!run_batch(worker, search, &are_short)) return;
        if (are_short || !should_stop()) continue;
        pace.next_probe = 2 * pace.n_dependent;
        return;
    }
    parent.has_short_children = true;
    drain(worker, search);
    has_no_predecessors(worker); // empties the table
    if (is_hinted && parent.has_short_children)
        begin_probe(worker, ~uint64_t{0});
    else
        begin_batch(worker, now_ns(), kPaceBatch);
}

} // namespace omp_ext

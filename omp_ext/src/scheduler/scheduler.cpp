// SPDX-License-Identifier: Apache-2.0
// Places and runs tasks, and counts created and completed ones.
#include "scheduler/scheduler.h"

#include <algorithm>
#include <sched.h>
#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/checkers.h"
#include "scheduler/idle.h"
#include "scheduler/suspensions.h"
#include "scheduler/throttle.h"
#include "tools/counters.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

constexpr unsigned kSendsPerTurn = 32; // tasks that a thread sends to other domains before it yields to their threads
constexpr unsigned kMostSendsPerTurn = 8192; // the same, if other programs take the processor and keep it
constexpr int64_t kLongTurnNs = 1'000'000;

void add(std::atomic<uint64_t> &count, uint64_t n) { // the count has one writer
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

// ---------------------------------------------------------------- counting

void enter_group(Worker &worker, Group &group) {
    if (group.counts_here(&worker))
        group.n_here++;
    else
        group.n_elsewhere.fetch_add(1, std::memory_order_relaxed);
}

// Counts a completed task for its group. `group` may be freed on return.
void leave_group(Worker *worker, Group &group) {
    if (group.counts_here(worker)) {
        group.n_here--;
        return;
    }
    Worker &waiting = *group.worker.load(std::memory_order_relaxed);
    const int64_t now = group.n_elsewhere.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if (__builtin_expect(now == kArmedGroup, 0)) return make_ready(*group.suspension);
    if (waiting.awaited_count.load(std::memory_order_seq_cst) == now) wake(waiting);
}

// Releases one hold (n_holds) of a task. The last release frees a light task, and releases one hold of its parent.
void release_hold(Task *task) {
    while (has_holds(*task) && task->n_holds.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        Task *parent = task->parent;
        if (is_light(*task)) task->pool->give_back(task->block, task->n_lines, task->is_lent);
        task = parent;
    }
}

// Adds a hold on the parent of a task that ended before its children. Called before the task is counted as complete.
void hold_parent(const Task &task) {
    if (has_holds(*task.parent)) task.parent->n_holds.fetch_add(1, std::memory_order_relaxed);
}

// Arms the task's count of children, so the last child releases the task. For a light task, called after its end is
// counted; for a runtime task, called inside the task, because the runtime may free it when it has ended.
[[gnu::noinline]] void defer_release(Task &task) {
    task.n_holds.fetch_add(1, std::memory_order_relaxed); // the children
    task.suspension = nullptr;
    uint64_t before = task.n_done_elsewhere.load(std::memory_order_acquire);
    for (uint32_t n; (n = n_children_to_wait_for(task, before)) != 0;)
        if (task.n_done_elsewhere.compare_exchange_weak(before, kArmed | uint64_t{n} << 32, std::memory_order_acq_rel))
            return release_hold(&task);
    release_hold(&task);
    release_hold(&task);
}

// Counts a child that completed outside of its parent. `parent` may be freed on return.
void count_elsewhere(Team &team, Task &parent, int creator) {
    Worker &waiting = team.workers[creator];
    const uint64_t before = parent.n_done_elsewhere.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t now = static_cast<uint32_t>(before) + 1;
    if (__builtin_expect((before & kArmed) != 0, 0)) {
        if (now != (before & ~kArmed) >> 32) return;
        if (parent.suspension) return make_ready(*parent.suspension);
        return release_hold(&parent);
    }
    const int64_t awaited_count = waiting.awaited_count.load(std::memory_order_seq_cst);
    if (awaited_count == static_cast<int64_t>(now) || awaited_count == kAnyCompletion) wake(waiting);
}

// ---------------------------------------------------------------- for tools

int home_of(const Worker &worker, const Task &task) {
    return worker.team->domain_queues[task.domain].home.load(std::memory_order_relaxed);
}

int flags_of(const Task &task) {
    return kOmptExplicitTask | (task.flags & kInline ? kOmptUndeferred : 0) | (task.flags & kUntied ? kOmptUntied : 0) |
           (task.flags & kFinal ? kOmptFinal : 0);
}

// Reports a light task that is created and begins at once.
void notify_undeferred(const Worker &worker, Task &task, const void *code) {
    report_current(worker);
    task.seen = observer->undeferred_begins(code, flags_of(task) | kOmptUndeferred);
}

void notify_creation(const Worker &worker, Task &task, bool has_dependences) {
    if (is_alone(worker) && is_light(task) && !has_dependences) { // a team of one runs it now
        task.flags |= kInline;
        return notify_undeferred(worker, task, task.code);
    }
    report_current(worker);
    task.seen = observer->task_created(task.code, flags_of(task), has_dependences, home_of(worker, task));
}

int start_kind(const Task &task) { return task.flags & kRescued ? OMP_EXT_RESCUED : OMP_EXT_FOUND; }

// Reports the begin of a light task on top of `outer`.
void notify_begin(Worker &worker, Task &outer, Task &task, int how) {
    report(worker, outer);
    if (is_counted(task)) show_to_tool(worker, task);
    observer->task_begins(task.seen, worker.domain, start_kind(task) | how);
    worker.counters = how & OMP_EXT_AT_HAND && observer->counters ? observer->counters() : nullptr;
}

} // namespace

void show_to_tool(const Worker &worker, Task &task) {
    const omp_ext_counter &counter = counter_of(task);
    task.seen = observer->counted_task(&counter, task.counted_at, home_of(worker, task), flags_of(task));
    task.code = counter.code;
}

void report_counted(const Worker &worker, Task &task) {
    show_to_tool(worker, task);
    observer->task_begins(task.seen, worker.domain, OMP_EXT_RUNS);
}

// ---------------------------------------------------------------- running

namespace {

// If descendants may still read an ended task, adds a hold on its parent and returns true. Called before the end is
// counted.
[[gnu::always_inline]] inline bool must_defer_release(const Task &task) {
    if (__builtin_expect(!has_children_to_wait_for(task), 1) && task.n_holds.load(std::memory_order_acquire) == 1)
        return false;
    hold_parent(task);
    return true;
}

[[gnu::always_inline]] inline void execute_light(Worker &worker, Task &task, bool is_simple) {
    Task *proxied = worker.proxied;
    if (__builtin_expect(proxied != nullptr, 0)) runtime::leave_proxy(worker);
    if (__builtin_expect(is_simple, 1))
        task.routine(worker.runtime_thread, task.block);
    else
        runtime::call_parts(worker, task);
    if (__builtin_expect((task.flags & kDestructors) || task.proxy, 0)) runtime::clean_up(worker, task);
    if (__builtin_expect(proxied != nullptr, 0)) runtime::return_to_proxy(worker, *proxied);
}

// Ends a light task whose code has returned. Returns true if its release must be deferred.
[[gnu::always_inline]] inline bool end_execution(Worker &worker, Task &task, bool is_simple) {
    const bool must_defer = must_defer_release(task);
    if (!is_simple) end_body(worker, task);
    return must_defer;
}

// Runs a light task whose begin is counted and not reported. Returns true if its release must be deferred.
[[gnu::always_inline]] inline bool execute_counted(Worker &worker, Task &task) {
    execute_light(worker, task, true);
    if (!is_counted(task) || !count_end(worker, task)) {
        report(worker, task);
        observer->task_ends(task.seen);
    }
    return end_execution(worker, task, true);
}

[[gnu::noinline]] bool execute_seen(Worker &worker, Task &outer, Task &task, bool is_simple) {
    omp_ext_counters *counters = worker.counters;
    const int how = std::exchange(worker.next_start_flags, 0);
    if (!(task.flags & kInline)) {
        notify_begin(worker, outer, task, how);
    } else {
        report(worker, task);
        worker.counters = is_alone(worker) && observer->counters ? observer->counters() : nullptr;
    }
    execute_light(worker, task, is_simple);
    observer->task_ends(task.seen);
    worker.counters = counters;
    return end_execution(worker, task, is_simple);
}

// Runs a runtime task that a tool sees.
[[gnu::noinline]] void execute_runtime_task_seen(Worker &worker, Task &outer, Task &task, bool directly) {
    report(worker, outer);
    omp_ext_counters *counters = std::exchange(worker.counters, nullptr);
    observer->task_starts(task.seen, worker.domain, start_kind(task));
    runtime::execute(worker, task, directly);
    worker.counters = counters;
}

// If descendants of a runtime task are incomplete, keeps its light ancestors until they complete. Called inside the
// task.
void keep_ancestors(Task &task) {
    if (has_holds(task) && must_defer_release(task)) defer_release(task);
}

void end_light(Worker &worker, Task &task, bool must_defer) {
    if (__builtin_expect(must_defer, 0)) return defer_release(task);
    if (task.pool == &worker.blocks) {
        if (__builtin_expect(task.is_lent, 0)) worker.blocks.take_back();
        worker.blocks.give(task.block, task.n_lines);
    } else if (task.is_lent) {
        worker.blocks.keep(task.block, task.n_lines, *task.pool);
    } else {
        task.pool->give_back(task.block, task.n_lines, false);
    }
}

// ---------------------------------------------------------------- plain tasks

// True for a child of the current task, created on this thread, that needs nothing but its code and its counts. Any
// other task needs run().
[[gnu::always_inline]] inline bool is_plain(const Worker &worker, const Task &task) {
    return task.flags == 0 && task.pool == &worker.blocks && task.parent == worker.current && !task.node &&
           !task.seen && task.domain == worker.domain && !worker.proxied;
}

// Keeps a complete plain task for the next one of its construct.
[[gnu::always_inline]] inline void keep_spare(Worker &worker, Task &task) {
    Task *last = std::exchange(worker.spare, &task);
    if (__builtin_expect(last != nullptr, 0)) worker.blocks.give(last->block, last->n_lines);
}

// Cleans up after a plain task that has ended. Returns true if its release must be deferred.
[[gnu::noinline]] bool clean_up_plain(Worker &worker, Task &task) {
    if (task.proxy) runtime::clean_up(worker, task);
    return must_defer_release(task);
}

} // namespace

void run(Worker &worker, Task &task) {
    Task *outer = worker.current;
    const int64_t mark = worker.mark;
    DependenceTable *table = worker.table;
    Group *group = task.group;
    const bool is_child = task.parent == outer, is_light_task = is_light(task);
    if (!is_child) task.flags |= kRemote;
    if (__builtin_expect(task.domain != worker.domain, 0) && !worker.team->serves(worker, task.domain))
        worker.statistics.n_run_from[task.domain].add();
    const bool is_simple = is_child && !(task.flags & (kUntied | kDetachable)) && !task.node; // needs no end_body()
    worker.current = &task;
    worker.mark = worker.deque.bottom();
    worker.table = nullptr;
    inject_sleep();
    bool must_defer = false;
    if (is_light_task) {
        if (__builtin_expect(task.seen == nullptr, 1)) {
            execute_light(worker, task, is_simple);
            must_defer = end_execution(worker, task, is_simple);
        } else if (is_counted(task) && is_simple && count_begin(worker, task)) {
            must_defer = execute_counted(worker, task);
        } else {
            must_defer = execute_seen(worker, *outer, task, is_simple);
        }
    } else {
        // The direct call makes the parent's runtime task current again, and a light parent has none.
        const bool directly = is_simple && !is_light(*outer);
        if (__builtin_expect(task.seen != nullptr, 0))
            execute_runtime_task_seen(worker, *outer, task, directly);
        else
            runtime::execute(worker, task, directly);
    }
    inject_sleep();
    if (!is_child) worker.finishing.store(nullptr, std::memory_order_release);
    if (__builtin_expect(worker.table != nullptr, 0)) destroy(worker.table, worker.blocks);
    worker.current = outer;
    worker.mark = mark;
    worker.table = table;
    if (__builtin_expect(worker.left_to_event != nullptr, 0)) {
        std::exchange(worker.left_to_event, nullptr)->event_lock.unlock();
        return;
    }
    if (is_child) outer->n_done_here++;
    if (group) leave_group(&worker, *group);
    add(worker.n_done, 1);
    if (is_light_task) end_light(worker, task, must_defer); // the runtime has freed its own task
}

namespace {

struct Run {
    Worker &worker;
    Task &task;
};

} // namespace

// Not inlined: otherwise the frame of each caller would contain this function's variables.
[[gnu::noinline]] void run_on_new_stack(Worker &worker, Task &task) {
    Stack *stack = worker.stacks.take();
    if (!stack) return run(worker, task);
    Stack *outer = std::exchange(worker.stack, stack);
    Run call{worker, task};
    call_on(
        *stack,
        [](void *argument) {
            const Run &it = *static_cast<Run *>(argument);
            run(it.worker, it.task);
        },
        &call);
    worker.stack = outer;
    worker.stacks.give(stack);
}

namespace {

// ---------------------------------------------------------------- queueing

void lend_processor_to_receivers(Worker &worker) {
    const int64_t start_ns = now_ns();
    sched_yield();
    const bool was_long = now_ns() - start_ns > kLongTurnNs;
    worker.sends_per_turn = was_long ? std::min(2 * worker.sends_per_turn, kMostSendsPerTurn) : kSendsPerTurn;
    worker.n_sent_this_turn = 0;
}

void put_in_inbox(Worker &worker, Task &task, int domain, bool at_front) {
    Team &team = *worker.team;
    if (domain != worker.domain) {
        worker.statistics.n_sent.add();
        worker.statistics.n_sent_to[domain].add();
        if (task.pool == &worker.blocks) task.is_lent = worker.blocks.lend(task.n_lines);
    }
    Inbox &inbox = team.domain_queues[domain].inbox;
    // A parent that may be suspended never calls claim() for children in other domains, so the cheaper send() suffices.
    if (domain != worker.domain && worker.base_task && team.is_strict())
        inbox.send(&task);
    else
        inbox.put(&task, &task.parent->queued_children, at_front);
    signal_inbox_task(team, domain);
    // Thousands of waiting tasks exceed the caches, so a thread that is far ahead of the receivers lends its processor.
    if (domain != worker.domain && team.takes_turns && team.is_strict() &&
        ++worker.n_sent_this_turn >= worker.sends_per_turn)
        lend_processor_to_receivers(worker);
}

// True if the task goes to the worker's deque.
bool belongs_to_deque(const Worker &worker, const Task &task) {
    return task.domain == worker.domain && options.queue != QueueKind::kSharedLifo && !(task.flags & kPriority);
}

// Queues a task for its domain's threads. If `may_run`, and run_at_creation() decides so, runs it inside the current
// task instead.
[[gnu::always_inline]] inline void queue_or_run(Worker &worker, Task &task, bool may_run) {
    inject_sleep();
    // If tasks may be suspended, the newest come first, as in a deque. If the oldest ran first, all tasks of a level of
    // the task tree would be suspended at the same time.
    if (__builtin_expect(!belongs_to_deque(worker, task), 0))
        return put_in_inbox(worker, task, task.domain,
                            options.queue == QueueKind::kSharedLifo || (task.flags & kPriority) ||
                                suspends_waits(worker));
    if (__builtin_expect(worker.current->has_short_children ||
                             worker.deque.size_hint() >= worker.throttle_threshold.load(std::memory_order_relaxed),
                         0) &&
        run_at_creation(worker, task, may_run))
        return;
    worker.deque.push(&task, task.depth);
    signal_deque_task(*worker.team, worker.domain);
}

struct Starter {
    Worker *worker;
    Team &team;
};

// Queues a task whose last predecessor is complete: in the worker's deque or the inbox of the task's domain; without a
// worker, in the inbox.
void start_successor(void *context, Task *task) {
    const Starter &starter = *static_cast<Starter *>(context);
    if (starter.worker) {
        queue_or_run(*starter.worker, *task, false);
    } else {
        enqueue(starter.team, *task, false);
    }
}

// Releases the successors of a task that `worker` completed, or that an event completed (null).
void release_successors(Worker *worker, Team &team, Task &task) {
    Starter starter{worker, team};
    if (!complete(task.node, start_successor, &starter, make_ready)) return;
    BlockPool &maker = team.workers[task.creator].blocks;
    if (worker && &worker->blocks == &maker)
        free_node(task.node, maker);
    else
        give_node_back(task.node, maker);
}
} // namespace

[[gnu::always_inline]] static inline void count_created(Worker &worker, const Task &task) {
    worker.current->n_created++;
    if (task.group) enter_group(worker, *task.group);
    add(worker.n_created, 1);
}

// Runs a new plain task at its creation. Neither its parent nor its group counts it, because it is complete before they
// can wait for it.
[[gnu::always_inline]] static inline void run_plain(Worker &worker, Task &task) {
    PlainExecution(worker, task).run();
    add(worker.n_created, 1);
    add(worker.n_done, 1);
    if (__builtin_expect(is_free(task), 1))
        keep_spare(worker, task);
    else
        end_light(worker, task, clean_up_plain(worker, task));
}

// Runs a new plain task, and measures it. Returns false if the task should not run at its creation.
[[gnu::noinline]] static bool run_short(Worker &worker, Task &task) {
    if (!runs_at_creation(worker, task) || !belongs_to_deque(worker, task) || suspends_waits(worker)) return false;
    const void *code = task.code;
    const uint64_t n_before = n_created(worker);
    run_plain(worker, task);
    note_runs(worker, code, 1, n_created(worker) - n_before - 1);
    return true;
}

bool run_reused(Worker &worker, Task &task) {
    worker.reused = nullptr;
    if (!is_plain(worker, task) || stack_is_half_used()) return false;
    if (!is_alone(worker)) return run_short(worker, task);
    run_plain(worker, task);
    return true;
}

[[gnu::always_inline]] static inline void count_and_queue(Worker &worker, Task &task) {
    const bool alone = is_alone(worker);
    if ((alone || worker.current->has_short_children) && task.is_repeated && !observer && run_reused(worker, task))
        return;
    count_created(worker, task);
    if (alone)
        run_on_top(worker, task);
    else
        queue_or_run(worker, task, true);
}

[[gnu::noinline]] static void report_and_queue(Worker &worker, Task &task) {
    notify_creation(worker, task, false);
    count_and_queue(worker, task);
    notify(&omp_ext_observer::creation_ends);
}

void hold(Worker &worker, Task &task) {
    if (__builtin_expect(observer != nullptr, 0) && !count_creation(worker, task))
        return report_and_queue(worker, task);
    count_and_queue(worker, task);
}

bool must_enter(Worker &worker, const Task &task) {
    if (task.flags & kDetachable) return true;
    if (is_alone(worker)) return worker.table != nullptr; // a team of one
    return !worker.current->has_short_children || !belongs_to_deque(worker, task) || !runs_at_creation(worker, task) ||
           !has_no_predecessors(worker);
}

void hold_independent(Worker &worker, Task &task) {
    if (__builtin_expect(observer != nullptr, 0)) notify_creation(worker, task, true);
    count_created(worker, task);
    if (is_alone(worker))
        run_on_top(worker, task);
    else
        run_now(worker, task);
    notify(&omp_ext_observer::creation_ends);
}

void hold_dependent(Worker &worker, Task &task, const Dependence *dependences, int n) {
    if (__builtin_expect(observer != nullptr, 0)) notify_creation(worker, task, true);
    task.node = enter(worker.table, worker.blocks, dependences, n, &task);
    count_created(worker, task);
    if (release_creation(task.node)) queue_or_run(worker, task, true);
    notify(&omp_ext_observer::creation_ends);
    if (++worker.pace.n_dependent % kDependentBatch == 0 && !is_alone(worker)) work_off(worker);
}

bool may_repeat(const Worker &worker, const Task &task) {
    if (task.flags != 0 || !is_light(task) || worker.proxied || observer || stack_is_half_used()) return false;
    return is_alone(worker) || (belongs_to_deque(worker, task) && runs_at_creation(worker, task));
}

void end_repeated(Worker &worker, Task &task, uint32_t n_runs) {
    const bool must_defer = clean_up_plain(worker, task);
    worker.current->n_created += n_runs;
    worker.current->n_done_here += n_runs;
    add(worker.n_created, n_runs);
    add(worker.n_done, n_runs);
    end_light(worker, task, must_defer);
}

void run_at_once(Worker &worker, Task &task) {
    task.flags |= kInline;
    if (!is_light(task)) {
        report_current(worker);
        notify(&omp_ext_observer::undeferred_starts, task.code);
    } else if (__builtin_expect(observer != nullptr, 0)) {
        notify_undeferred(worker, task, task.code);
    }
    task.domain = worker.domain; // OpenMP requires the task to run here
    task.named_domain = kNoDomain;
    count_created(worker, task);
    const BaseTaskScope base_task_scope(worker);
    run_on_top(worker, task);
}

void begin_undeferred(Worker &worker, Task &task, const void *code) {
    if (__builtin_expect(observer != nullptr, 0) && is_light(task) && code) notify_undeferred(worker, task, code);
    task.flags |= kUndeferred | kInline;
    task.outer_mark = worker.mark;
    task.outer_table = worker.table;
    task.outer_counters = std::exchange(worker.counters, nullptr);
    worker.current = &task;
    worker.mark = worker.deque.bottom();
    worker.table = nullptr;
}

void end_undeferred(Worker &worker, Task &task) {
    if (__builtin_expect(worker.table != nullptr, 0)) destroy(worker.table, worker.blocks);
    worker.current = task.parent;
    worker.mark = task.outer_mark;
    worker.table = task.outer_table;
    worker.counters = task.outer_counters;
    if (!is_light(task)) return keep_ancestors(task);
    if ((task.flags & kDestructors) || task.proxy) runtime::clean_up(worker, task);
    if (__builtin_expect(task.seen != nullptr, 0)) observer->task_ends(task.seen);
    end_light(worker, task, must_defer_release(task));
}

namespace {

// Completes a task on the thread that ran it. Counts a remote task for its parent; run() counts everything else.
void complete_body(Worker &worker, Task &task) {
    if (task.node) release_successors(&worker, *worker.team, task);
    inject_sleep();
    if (task.flags & kRemote) {
        worker.finishing.store(task.parent, std::memory_order_relaxed); // the count releases this store
        count_elsewhere(*worker.team, *task.parent, task.creator);
    }
}

// Completes a task whose body has ended, on any thread. The successors cannot go to this thread's deque: above the mark
// (Worker::mark), it may contain only descendants of the current task.
void complete_by_event(Team &team, Task &task) {
    if (task.node) release_successors(nullptr, team, task);
    Group *group = task.group;
    count_elsewhere(team, *task.parent, task.creator);
    if (group) leave_group(nullptr, *group);
    team.n_done_by_events.fetch_add(1, std::memory_order_seq_cst);
    wake_all(team); // a barrier may end now
}

} // namespace

void end_body(Worker &worker, Task &task) {
    if (!is_light(task)) keep_ancestors(task);
    if (task.flags & kDetachable) {
        task.event_lock.lock();
        if (!std::exchange(task.is_half_complete, true)) {
            worker.left_to_event = &task; // run() unlocks
            return;
        }
        task.event_lock.unlock();
    }
    complete_body(worker, task);
}

void fulfill(Worker *worker, Team &team, Task &task, void *event) {
    if (task.flags & kUndeferred) return runtime::fulfill(event); // its creator waits for it in the runtime
    if (worker && worker->left_to_event == &task) { // a destructor of the task fulfils the event
        worker->left_to_event = nullptr;
        task.event_lock.unlock();
        complete_body(*worker, task);
        return runtime::fulfill(event);
    }
    task.event_lock.lock();
    if (std::exchange(task.is_half_complete, true)) {
        complete_by_event(team, task);
        runtime::fulfill(event); // frees the task
    } else {
        runtime::fulfill(event);
        task.event_lock.unlock();
    }
}

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
// The wait loops: a thread in a taskwait, taskgroup, barrier or yield runs tasks, suspends its task, or sleeps.
#include <sched.h>
#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/checkers.h"
#include "scheduler/idle.h"
#include "scheduler/scheduler.h"
#include "scheduler/search.h"
#include "scheduler/suspensions.h"
#include "scheduler/throttle.h"
#include "tools/counters.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

// ---------------------------------------------------------------- conditions

// A condition of a wait has four functions. is_over() is true if the wait may end. prepare() publishes in
// Worker::awaited_count the count of completions that should wake the thread, and returns is_over(). arm(suspension)
// makes the last completion resume the suspension; it returns false if the wait is over. disarm() follows when a thread
// has resumed the armed suspension. `worker` is the waiting worker, which may change if the task is untied.

struct ChildrenComplete {
    Worker *worker;
    Task &task;

    bool is_over() const { return !has_children_to_wait_for(task); }
    bool prepare() const {
        worker->awaited_count.store(task.n_created - task.n_done_here, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const {
        task.suspension = &suspension;
        uint64_t before = task.n_done_elsewhere.load(std::memory_order_relaxed);
        uint32_t n = 0;
        do {
            n = n_children_to_wait_for(task, before);
            if (n == 0) return false;
        } while (!task.n_done_elsewhere.compare_exchange_weak(before, kArmed | uint64_t{n} << 32,
                                                              std::memory_order_seq_cst));
        task.n_done_here += static_cast<uint32_t>(before);
        return true;
    }
    void disarm() const {
        task.n_done_here += static_cast<uint32_t>(task.n_done_elsewhere.load(std::memory_order_acquire));
        task.n_done_elsewhere.store(0, std::memory_order_relaxed);
    }
};

struct GroupComplete {
    Worker *worker;
    Group &group;

    bool is_over() const { return group.n_here + group.n_elsewhere.load(std::memory_order_seq_cst) == 0; }
    bool prepare() const {
        group.worker.store(worker, std::memory_order_seq_cst);
        worker->awaited_count.store(-group.n_here, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const {
        int64_t before = group.n_elsewhere.load(std::memory_order_relaxed);
        group.suspension = &suspension;
        do {
            if (group.n_here + before != 0) continue;
            group.suspension = nullptr;
            return false;
        } while (!group.n_elsewhere.compare_exchange_weak(before, kArmedGroup + group.n_here + before,
                                                          std::memory_order_seq_cst));
        group.n_here = 0;
        return true;
    }
    void disarm() const {
        group.n_elsewhere.store(0, std::memory_order_relaxed);
        group.suspension = nullptr;
    }
};

struct PredecessorsComplete {
    Worker *worker;
    DependenceNode *node;

    bool is_over() const { return node->is_ready(); }
    bool prepare() const {
        worker->awaited_count.store(kAnyCompletion, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const { return node->arm(suspension); }
    void disarm() const {}
};

// ---------------------------------------------------------------- suspending

// Returns the suspension that the thread resumes next. Runs tasks until there is one.
Suspension &next_to_resume(Worker &worker) {
    const Search any{worker, &worker.bottom_task, false};
    Idle idle(worker);
    for (;;) {
        if (Suspension *ready = take_ready(worker)) return *ready;
        if (worker.suspended_barrier) return *std::exchange(worker.suspended_barrier, nullptr);
        if (Task *task = find(any)) {
            if (idle.since_ns() != 0) {
                idle.found();
                signal_deque_task(*worker.team, worker.domain);
            }
            run(worker, *task);
        } else {
            inject_sleep();
            idle.nothing_found([&] { return !has_ready(worker); });
        }
    }
}

// The scheduler loop at the bottom of a new stack.
void run_stack_loop(Worker &worker) {
    if (Task *next_task = std::exchange(worker.next_task, nullptr)) run(worker, *next_task);
    abandon_for(worker, next_to_resume(worker));
}

// True if another thread may resume the current task. Excludes light tasks, because they belong to this thread's
// implicit task in the runtime, and tasks with a lock, because the lock may belong to the thread. Under an OMPT tool
// returns false, because the tool would see the task on the wrong thread.
bool may_move(const Worker &worker) {
    return (worker.current->flags & (kUntied | kUndeferred | kInline)) == kUntied && !is_light(*worker.current) &&
           worker.n_locks == 0 && !runtime::is_watched();
}

// Suspends the current task. The thread continues in `ready`, or runs `task` on another stack, or searches. Returns
// kYes when a thread has resumed the task, perhaps another thread if the task is untied. Otherwise suspends nothing:
// the wait is over (kOver), or no stack is left (kNoStack). Not inlined, here and below, to save the stack space of the
// switch in each wait.
enum class Suspended { kYes, kOver, kNoStack };
template <typename Arm>
[[gnu::noinline]] Suspended suspend(Worker &worker, Suspension *ready, Task *task, Arm &&arm) {
    Stack *stack = nullptr;
    if (!ready && !worker.suspended_barrier && !(stack = worker.stacks.take())) {
        worker.statistics.n_unsuspended.add();
        return Suspended::kNoStack;
    }
    Suspension here(worker);
    here.may_move = may_move(worker);
    if (!arm(here)) {
        if (stack) worker.stacks.give(stack);
        return Suspended::kOver;
    }
    worker.statistics.n_suspended.add();
    inject_sleep();
    if (ready) {
        if (task) put_back(worker, *task);
        leave_for(worker, here, *ready);
    } else {
        worker.next_task = task;
        if (stack)
            leave_for_new(worker, here, *stack, run_stack_loop);
        else
            leave_for(worker, here, *std::exchange(worker.suspended_barrier, nullptr));
    }
    return Suspended::kYes;
}

// True if the task may run on top of the yielding task. A task that is not its descendant may need its locks or
// results.
bool may_run_in_yield(const Search &search, const Task &task) {
    return may_run_on_top(search.worker) && search.fits(&task);
}

// True if even a task that is not a descendant may run on top of the waiting one. That saves a stack and two switches,
// but the waiting task resumes only when the other is complete. So the other must be small: at most one level nearer to
// the root. In a recursion, such a task is part of the grandparent's work. scheduler.h shows that no cycle of waits
// results. No exception may be active, because both tasks would share it. A light task must not use the settings of a
// runtime task below it.
bool may_run_unrelated_on_top(const Search &search, const Task &task) {
    const Worker &worker = search.worker;
    const Task &waiting = *search.within;
    if (is_light(task) && !is_light(waiting) && waiting.parent) return false;
    // If domains share a processor, waits for other domains are long, and would block the task below as well.
    const int n_levels = worker.team->takes_turns ? 0 : 1;
    return task.depth + n_levels >= waiting.depth && runtime::tasks_wait_for_children_only() && !may_move(worker) &&
           !has_exception();
}

// True if the task may run on top of the waiting one. For a child, reads no cache lines of other threads.
bool runs_on_top(const Search &search, const Task &task) {
    return may_run_on_top(search.worker) &&
           (task.parent == search.within || may_run_unrelated_on_top(search, task) || search.fits(&task));
}

// True if the current task may be suspended. For an observer an undeferred task is part of the surrounding task, so it
// cannot be suspended and resumed alone. No event reports that a light task is suspended.
bool can_suspend(const Worker &worker) {
    const Task &task = *worker.current;
    const bool is_piece = (task.flags & kInline || is_light(task)) && observer && observer->wait_begins;
    return worker.base_task && suspends_waits(worker) && !is_piece;
}

// Waits until the condition holds (kOver), the task continues on another thread (kYes), or no stack is left.
template <typename Condition>
[[gnu::noinline]] Suspended wait_or_suspend(const Condition &condition) {
    Worker &worker = *condition.worker;
    // The completion of a child wakes the thread that created the child. If the task has moved since, that is another
    // thread. So this thread suspends a moved task, and does not sleep in it.
    const bool has_moved = worker.current->flags & kMoved && may_move(worker);
    const Search search{worker, worker.current, true};
    Idle idle(worker);
    Watch watch(worker);
    int64_t next_search_ns = kRescueAnywayAfterNs;
    while (!condition.is_over()) {
        Task *task = find_for_suspendable(search);
        bool is_on_top = task && runs_on_top(search, *task);
        if (!task && idle.since_ns() != 0) {
            const int64_t now = now_ns(), waited_ns = now - idle.since_ns();
            const bool anyway =
                waited_ns > kRescueAnywayAfterNs && (watch.sees_standstill(now) || waited_ns > kRescueFromWorkAfterNs);
            is_on_top = (task = rescue(search, idle.since_ns(), next_search_ns, anyway)) != nullptr;
        }
        Suspension *ready = is_on_top ? nullptr : take_ready(worker);
        if (!task && !ready && !has_moved) {
            inject_sleep();
            idle.nothing_found([&] { return !condition.prepare() && !has_ready(worker); });
            continue;
        }
        if (idle.since_ns() != 0) {
            idle.found();
            signal_deque_task(*worker.team, worker.domain);
        }
        if (is_on_top) {
            run_on_top(worker, *task);
            continue;
        }
        switch (suspend(worker, ready, task, [&](Suspension &here) { return condition.arm(here); })) {
        case Suspended::kYes:
            condition.disarm();
            if (present_worker() != &worker) return Suspended::kYes;
            break;
        case Suspended::kOver:
            if (task) put_back(worker, *task);
            if (ready) make_ready(*ready);
            break;
        case Suspended::kNoStack: // then nothing is ready
            if (!task) return Suspended::kNoStack;
            if (search.fits(task)) {
                run(worker, *task);
                break;
            }
            put_back(worker, *task);
            return Suspended::kNoStack;
        }
    }
    return Suspended::kOver;
}

// Leaves a barrier to resume a suspension.
[[gnu::noinline]] void leave_barrier(Worker &worker, Suspension &ready) {
    Suspension here(worker);
    worker.suspended_barrier = &here;
    leave_for(worker, here, ready);
    if (Task *next_task = std::exchange(worker.next_task, nullptr)) run(worker, *next_task);
}

// ---------------------------------------------------------------- wait loops

// Waits on the present stack: runs tasks until `is_over()`. If a suspension is ready, a barrier resumes it, and other
// waits return. Waits other than barriers also return if the program has entered strict mode. Barriers also call
// `prepare()` after each search without result.
template <typename IsOver, typename Prepare>
void wait_on_stack(Worker &worker, IsOver &&is_over, Prepare &&prepare, bool is_barrier) {
    Idle idle(worker);
    const Search search{worker, worker.current, !is_barrier, &idle};
    int64_t next_search_ns = 20 * kRescueAfterNs;
    const bool was_constrained = worker.is_constrained.load(std::memory_order_relaxed);
    worker.is_constrained.store(search.is_constrained, std::memory_order_relaxed);
    while (!is_over()) {
        if (__builtin_expect(begin_base_task(worker), 0) && !is_barrier) break; // the wait may be suspended now
        if (has_ready(worker)) {
            if (!is_barrier) break;
            if (Suspension *ready = take_ready(worker)) {
                idle.found();
                leave_barrier(worker, *ready);
                continue;
            }
        }
        Task *task = find(search);
        if (!task && search.is_constrained && idle.since_ns() != 0) {
            worker.is_blocked.store(true, std::memory_order_release);
            const bool anyway = now_ns() - idle.since_ns() > kRescueAnywayAfterNs;
            task = rescue(search, idle.since_ns(), next_search_ns, anyway);
        }
        if (task) {
            if (idle.since_ns() != 0) {
                worker.is_blocked.store(false, std::memory_order_release);
                idle.found();
                signal_deque_task(*worker.team, worker.domain); // the same queue may have more
            }
            // The task sets is_constrained in its own waits.
            worker.is_constrained.store(false, std::memory_order_relaxed);
            run_found(worker, *task);
            worker.is_constrained.store(search.is_constrained, std::memory_order_relaxed);
            continue;
        }
        inject_sleep();
        if (is_barrier && prepare()) break;
        idle.nothing_found([&] { return !prepare() && !has_ready(worker); });
    }
    worker.is_blocked.store(false, std::memory_order_release);
    worker.is_constrained.store(was_constrained, std::memory_order_relaxed);
    worker.awaited_count.store(kNoCompletion, std::memory_order_relaxed);
}

// Waits for a condition. Reports a wait of this kind to tools.
template <typename Condition>
void wait(int kind, Condition &&condition) {
    if (condition.is_over()) return;
    report_current(*condition.worker);
    notify(&omp_ext_observer::wait_begins, kind);
    const BaseTaskScope base_task_scope(*condition.worker);
    const auto arm = [&](Suspension &here) { return condition.arm(here); };
    for (; !condition.is_over(); condition.worker = present_worker()) {
        Worker &worker = *condition.worker;
        if (can_suspend(worker) && wait_or_suspend(condition) != Suspended::kNoStack) continue;
        Suspension *ready = __builtin_expect(has_ready(worker), 0) ? take_ready(worker) : nullptr;
        if (ready) { // the current wait may depend on `ready`
            if (suspend(worker, ready, nullptr, arm) == Suspended::kYes)
                condition.disarm();
            else
                make_ready(*ready);
            continue;
        }
        wait_on_stack(worker, [&] { return condition.is_over(); }, [&] { return condition.prepare(); }, false);
    }
    // Avoids writing the line that other threads read at each completion.
    std::atomic<int64_t> &awaited_count = condition.worker->awaited_count;
    if (awaited_count.load(std::memory_order_relaxed) != kNoCompletion)
        awaited_count.store(kNoCompletion, std::memory_order_relaxed);
}

} // namespace
// Runs the task's children in the worker's deque, newest first. Returns true if all children are complete.
[[gnu::always_inline]] static inline bool run_own_children(Worker &worker, Task &task) {
    while (has_children_to_wait_for(task)) {
        Task *child = worker.deque.pop(worker.mark);
        if (!child) return false;
        inject_sleep();
        run_on_top(worker, *child);
    }
    return true;
}

[[gnu::noinline]] static void wait_for_children_seen(Worker &worker, Task &task) {
    if (is_light(task) && !has_children_to_wait_for(task)) return; // a runtime task still enters the runtime's wait
    Task *child = is_light(task) && !worker.base_task ? worker.deque.pop(worker.mark) : nullptr;
    if (child) {
        // Reports the wait before the first child that is not counted.
        bool is_reported = false;
        int at_once = 0;
        for (; child; child = has_children_to_wait_for(task) ? worker.deque.pop(worker.mark) : nullptr) {
            const bool is_light_seen = is_light(*child) && child->seen;
            if (!is_reported && !(worker.counters && is_counting(*worker.counters) && is_counted(*child))) {
                report_current(worker);
                at_once = is_light_seen ? OMP_EXT_AT_ONCE : 0;
                notify(&omp_ext_observer::wait_begins, kOmptTaskwait | at_once);
                is_reported = true;
            }
            if (is_reported && is_counted(*child)) show_to_tool(worker, *child);
            inject_sleep();
            worker.next_start_flags = is_light_seen ? OMP_EXT_AT_HAND | std::exchange(at_once, 0) : 0;
            run_on_top(worker, *child);
        }
        const bool is_over = !has_children_to_wait_for(task);
        if (!is_reported) {
            if (is_over) return count_wait(worker);
            report_current(worker);
            notify(&omp_ext_observer::wait_begins, int{kOmptTaskwait});
        } else if (is_over && task.n_done_elsewhere.load(std::memory_order_relaxed) == 0) {
            // If children ended elsewhere, the thread may have waited for them, so the wait did not end at once.
            return notify(&omp_ext_observer::wait_ends, kOmptTaskwait | OMP_EXT_AT_ONCE);
        }
    }
    wait(kOmptTaskwait, ChildrenComplete{&worker, task});
    notify(&omp_ext_observer::wait_ends, kOmptTaskwait);
}

// Runs children and other tasks that may run on top of the wait. Returns true if all children are complete.
[[gnu::always_inline]] static inline bool run_on_top_of_wait(Worker &worker, Task &task) {
    while (has_children_to_wait_for(task)) {
        const Search search{worker, &task, true};
        Task *found = find_for_suspendable(search);
        if (!found) return false;
        if (!runs_on_top(search, *found)) {
            put_back(worker, *found);
            return false;
        }
        run_on_top(worker, *found);
    }
    return true;
}

// Not inlined, to save stack space in tasks that have others on top of them.
[[gnu::noinline]] static void wait_for_remaining_children(Worker &worker, Task &task) {
    wait(kOmptTaskwait, ChildrenComplete{&worker, task});
}

void wait_for_children(Worker &worker) {
    Task &task = *worker.current;
    task.has_short_children = false; // later children may be longer
    if (__builtin_expect(observer != nullptr, 0)) return wait_for_children_seen(worker, task);
    if (!worker.base_task) {
        if (task.parent && run_own_children(worker, task)) return;
    } else if (can_suspend(worker)) {
        if (run_on_top_of_wait(worker, task)) return;
    }
    wait_for_remaining_children(worker, task);
}

void begin_group(Worker &worker) {
    Task &task = *worker.current;
    task.group = new Group{task.group, &task, &worker};
}

void wait_for_group(Worker &worker) {
    Group *group = worker.current->group;
    if (!group || group->task != worker.current) return; // opened before the scheduler started
    wait(kOmptTaskgroup, GroupComplete{&worker, *group});
}

bool end_group(Worker &worker) {
    Task &task = *worker.current;
    task.has_short_children = false;
    wait_for_group(worker);
    Group *group = task.group;
    if (!group || group->task != &task) return true;
    note_acquire(group);
    task.group = group->outer;
    const bool is_known = group->is_known;
    if (!is_known) notify(&omp_ext_observer::wait_ends, kOmptTaskgroup);
    if (group->reductions) runtime::combine(*present_worker(), group->reductions);
    delete group;
    return is_known;
}

void wait_for_finishing_children(Worker &worker) {
    Team &team = *worker.team;
    for (int i = 0; i < team.n_workers; i++)
        while (team.workers[i].finishing.load(std::memory_order_acquire) == worker.current) sched_yield();
}

void wait_for_predecessors(Worker &worker, const Dependence *dependences, int n) {
    if (!worker.table) return;
    DependenceNode *node = enter_wait(*worker.table, worker.blocks, dependences, n);
    release_creation(node);
    wait(OMP_EXT_WAIT_PREDECESSORS, PredecessorsComplete{&worker, node});
    note_acquire(node);
    notify(&omp_ext_observer::wait_ends, OMP_EXT_WAIT_PREDECESSORS);
    free_node(node, present_worker()->blocks);
}

void barrier(Worker &worker, int kind, bool is_followed) {
    Team &team = *worker.team;
    const uint64_t number = ++worker.n_barriers;
    worker.throttle_threshold.store(team.first_throttle_threshold(), std::memory_order_relaxed);
    worker.current->has_short_children = false;
    const uint64_t n_arrivals = number * static_cast<uint64_t>(team.n_workers);
    inject_sleep();
    team.n_arrived.fetch_add(1, std::memory_order_seq_cst);
    const auto is_over = [&] { return team.n_released.load(std::memory_order_acquire) >= number; };
    const auto try_to_end = [&] {
        if (is_over()) return true;
        std::atomic_thread_fence(std::memory_order_seq_cst); // at least one of the last two threads sees the other
        if (!has_ended(team, n_arrivals)) return false;
        // Several threads may see the end; all write the same number.
        team.n_released.store(number, std::memory_order_seq_cst);
        wake_all(team);
        return true;
    };
    if (!is_followed) notify(&omp_ext_observer::wait_begins, kind);
    if (!try_to_end()) {
        if (is_followed) notify(&omp_ext_observer::wait_begins, kind);
        const BaseTaskScope base_task_scope(worker);
        wait_on_stack(worker, is_over, try_to_end, true);
    }
    if (!is_followed) notify(&omp_ext_observer::wait_ends, kind);
}

// In a cancelled region each thread passes one more barrier, `cancelled_barrier`, and then the barrier at the end.
void leave_cancelled_region(Worker &worker) {
    worker.team->cancelled_barrier.store(worker.n_barriers + 1, std::memory_order_relaxed);
    barrier(worker, kOmptBarrierImplicit, false);
}

void end_region(Worker &worker) {
    barrier(worker, kOmptBarrierImplicit);
    if (__builtin_expect(worker.team->cancelled_barrier.load(std::memory_order_relaxed) == worker.n_barriers, 0))
        barrier(worker, kOmptBarrierImplicit);
}

void wait_suspended(Worker &worker, Awaited &awaited) {
    const BaseTaskScope base_task_scope(worker);
    const Search search{worker, worker.current, true};
    while (!awaited.is_over()) {
        Suspension *ready = take_ready(worker);
        Task *task = ready || !worker.base_task ? nullptr : find_for_suspendable(search);
        if (!ready && !task) {
            sched_yield();
            continue;
        }
        const Suspended result = suspend(worker, ready, task, [&](Suspension &here) { return awaited.arm(here); });
        if (result == Suspended::kYes) break;
        if (ready) make_ready(*ready);
        if (task) enqueue(*worker.team, *task, true);
        if (result == Suspended::kOver) break;
        worker.is_blocked.store(true, std::memory_order_release);
        sched_yield();
    }
    worker.is_blocked.store(false, std::memory_order_relaxed);
}

void move_back_to(Worker &former) {
    if (present_worker() == &former) return;
    const auto arm = [&](Suspension &here) {
        here.may_move = false;
        here.worker = &former;
        make_ready(here);
        return true;
    };
    Worker &worker = *present_worker();
    // The thread continues in a ready suspension or its barrier, else on a new stack. If no stack is left, it tries
    // again.
    while (suspend(worker, take_ready(worker), nullptr, arm) != Suspended::kYes) sched_yield();
}

static bool resume_soon(Suspension &here) {
    make_ready(here);
    return true;
}

void yield(Worker &worker) {
    const BaseTaskScope base_task_scope(worker);
    const Search search{worker, worker.current, true};
    if (!can_suspend(worker)) {
        if (Task *task = find(search)) run_on_top(worker, *task);
        return;
    }
    // Alternates between ready and new tasks, so neither kind starves.
    const bool prefers_ready = worker.n_yields++ % 2 == 0;
    Suspension *ready = prefers_ready ? take_ready(worker) : nullptr;
    Task *task = ready ? nullptr : find_for_suspendable(search);
    if (!task && !prefers_ready) ready = take_ready(worker);
    if (!task && !ready) return;
    if (task && may_run_in_yield(search, *task)) return run(worker, *task);
    const bool has_no_stack = suspend(worker, ready, task, resume_soon) == Suspended::kNoStack;
    if (has_no_stack && task) put_back(worker, *task);
}
} // namespace omp_ext

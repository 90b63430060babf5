// SPDX-License-Identifier: Apache-2.0
// The loops of the waits: what a thread does in a taskwait, taskgroup, barrier or yield until that is over.
#include <sched.h>
#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/annotations.h"
#include "scheduler/idle.h"
#include "scheduler/injection.h"
#include "scheduler/scheduler.h"
#include "scheduler/search.h"
#include "scheduler/suspensions.h"
#include "tools/counters.h"
#include "tools/observer.h"

namespace omp_ext {

namespace {

// ---------------------------------------------------------------- what is waited for

// A condition has is_over(); prepare(), which says in Worker::awaited_count which count of completions is to wake the thread, and
// whether the wait is over now; arm(suspension), false when it is over; and disarm(), called when the suspension that it
// was armed with was resumed. `worker` is the one that waits: an untied task may change it.

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

    bool is_over() const { return is_ready(node); }
    bool prepare() const {
        worker->awaited_count.store(kAnyCompletion, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const { return omp_ext::arm(node, suspension); }
    void disarm() const {}
};

// ---------------------------------------------------------------- stepping aside

// Where a thread goes on whose task steps aside.
Suspension &next_to_resume(Worker &worker) {
    const Search any{worker, &worker.bottom_task, false};
    Idle idle(worker);
    for (;;) {
        if (Suspension *ready = take_ready(worker)) return *ready;
        if (worker.suspended_barrier) return *std::exchange(worker.suspended_barrier, nullptr);
        if (Task *task = find(any)) {
            if (idle.since_ns() != 0) {
                idle.found();
                signal_own_task(*worker.team, worker.domain);
            }
            run(worker, *task);
        } else {
            inject_sleep();
            idle.nothing_found([&] { return !has_ready(worker); });
        }
    }
}

// At the bottom of a new stack.
void run_aside(Worker &worker) {
    if (Task *next_task = std::exchange(worker.next_task, nullptr)) run(worker, *next_task);
    abandon_for(worker, next_to_resume(worker));
}

// May another thread resume the current task? Not a light one, for which the runtime has this thread's implicit task. Not
// while it, or one below it, holds a lock: some of the runtime's are the thread's. To a tool an untied task would be on a
// thread that does not run it.
bool may_move(const Worker &worker) {
    return (worker.current->flags & (kUntied | kUndeferred | kInline)) == kUntied && !is_light(*worker.current) &&
           worker.n_locks == 0 && !runtime::is_watched();
}

// Not inlined, here and below: what the switch needs on the stack would lie there once for each task that waits.
//
// The current task, in the wait `here`, steps aside: for `ready`, or for a task that its thread runs on another stack, or
// without either for what comes. If not kAside nothing was done: there is no stack, or `arm(here)` says that the wait is over.
// After kAside an untied task may be on another thread.
enum class Step { kAside, kOver, kNoStack };
template <typename Arm>
[[gnu::noinline]] Step step_aside(Worker &worker, Suspension *ready, Task *task, Arm &&arm) {
    Stack *stack = nullptr;
    if (!ready && !worker.suspended_barrier && !(stack = worker.stacks.take())) {
        worker.statistics.n_unsuspended.add();
        return Step::kNoStack;
    }
    Suspension here(worker);
    here.may_move = may_move(worker);
    if (!arm(here)) {
        if (stack) worker.stacks.give(stack);
        return Step::kOver;
    }
    worker.statistics.n_suspended.add();
    inject_sleep();
    if (ready) {
        if (task) put_back(worker, *task);
        leave_for(worker, here, *ready);
    } else {
        worker.next_task = task;
        if (stack)
            leave_for_new(worker, here, *stack, run_aside);
        else
            leave_for(worker, here, *std::exchange(worker.suspended_barrier, nullptr));
    }
    return Step::kAside;
}

bool runs_here(const Search &within, const Task &task) {
    // Others might wait for what those below them hold or do.
    return may_run_on_top(within.worker) && within.fits(&task);
}

// May a task that is no descendant run on top of the one that waits? That spares a stack and two switches, but the one below
// goes on only when the other is complete. So the other must be small, as far as one can tell: one level nearer to the root
// at most, in a recursion a part of what the grandparent waits for. scheduler.h says why no task waits for one below it.
// Nor does a task see another's exceptions, nor a light one another's settings in the runtime.
bool may_cover(const Search &within, const Task &task) {
    const Worker &worker = within.worker;
    const Task &waiting = *within.within;
    if (is_light(task) && !is_light(waiting) && waiting.parent) return false;
    // What domains that share a processor wait for takes them long, and all that is below it meanwhile.
    const int n_levels = worker.team->takes_turns ? 0 : 1;
    return task.depth + n_levels >= waiting.depth && runtime::tasks_wait_for_children_only() && !may_move(worker) &&
           !has_exception();
}

// The cheap questions first: a child is told from others without a look at what another thread writes to.
bool runs_on_top(const Search &within, const Task &task) {
    return may_run_on_top(within.worker) &&
           (task.parent == within.within || may_cover(within, task) || within.fits(&task));
}

// To a tool that observes us an undeferred task is a piece of the one around it, which it would not know again when it is
// resumed. Nor would it learn that a light one is left.
bool can_step_aside(const Worker &worker) {
    const Task &task = *worker.current;
    const bool is_piece = (task.flags & kInline || is_light(task)) && observer && observer->wait_begins;
    return worker.base_task && may_suspend(worker) && !is_piece;
}

// Until the wait is over, or there is no stack to step aside to, or (kAside) the task goes on on another thread.
template <typename Condition>
[[gnu::noinline]] Step wait_or_step_aside(const Condition &condition) {
    Worker &worker = *condition.worker;
    // Who completes what it waits for wakes the thread that began it, so it does not sleep here, but is resumed.
    const bool has_moved = worker.current->flags & kMoved && may_move(worker);
    const Search within{worker, worker.current, true};
    Idle idle(worker);
    Watch watch(worker);
    int64_t next_search_ns = kRescueAnywayAfterNs;
    while (!condition.is_over()) {
        Task *task = find_for_suspendable(within);
        bool is_here = task && runs_on_top(within, *task);
        if (!task && idle.since_ns() != 0) {
            const int64_t now = now_ns(), waited_ns = now - idle.since_ns();
            const bool anyway =
                waited_ns > kRescueAnywayAfterNs && (watch.sees_standstill(now) || waited_ns > kRescueFromWorkAfterNs);
            is_here = (task = rescue(within, idle.since_ns(), next_search_ns, anyway)) != nullptr;
        }
        Suspension *ready = is_here ? nullptr : take_ready(worker);
        if (!task && !ready && !has_moved) {
            inject_sleep();
            idle.nothing_found([&] { return !condition.prepare() && !has_ready(worker); });
            continue;
        }
        if (idle.since_ns() != 0) {
            idle.found();
            signal_own_task(*worker.team, worker.domain);
        }
        if (is_here) {
            run_on_top(worker, *task);
            continue;
        }
        switch (step_aside(worker, ready, task, [&](Suspension &here) { return condition.arm(here); })) {
        case Step::kAside:
            condition.disarm();
            if (present_worker() != &worker) return Step::kAside;
            break;
        case Step::kOver:
            if (task) put_back(worker, *task);
            if (ready) make_ready(*ready);
            break;
        case Step::kNoStack: // and so nobody is ready
            if (!task) return Step::kNoStack;
            if (within.fits(task)) {
                run(worker, *task);
                break;
            }
            put_back(worker, *task);
            return Step::kNoStack;
        }
    }
    return Step::kOver;
}

// A barrier does not wait while there is something to resume.
[[gnu::noinline]] void leave_barrier(Worker &worker, Suspension &ready) {
    Suspension here(worker);
    worker.suspended_barrier = &here;
    leave_for(worker, here, ready);
    if (Task *next_task = std::exchange(worker.next_task, nullptr)) run(worker, *next_task);
}

// ---------------------------------------------------------------- the loops

// Runs tasks until `is_over()`, or until a suspended task is ready, to which a barrier goes by itself. In barriers
// `prepare()` is also called whenever no task is found.
template <typename IsOver, typename Prepare>
void wait_inside(Worker &worker, IsOver &&is_over, Prepare &&prepare, bool is_barrier) {
    Idle idle(worker);
    const Search search{worker, worker.current, !is_barrier, &idle};
    int64_t next_search_ns = 20 * kRescueAfterNs;
    const bool was_constrained = worker.is_constrained.load(std::memory_order_relaxed);
    worker.is_constrained.store(search.is_constrained, std::memory_order_relaxed);
    while (!is_over()) {
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
                signal_own_task(*worker.team, worker.domain); // there may be more where this came from
            }
            // What it runs waits by itself.
            worker.is_constrained.store(false, std::memory_order_relaxed);
            run_on_top(worker, *task);
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

// `kind`: for tools.
template <typename Condition>
void wait(int kind, Condition &&condition) {
    if (condition.is_over()) return;
    report_current(*condition.worker);
    notify(&omp_ext_observer::wait_begins, kind);
    const BaseTaskScope base_task_scope(*condition.worker);
    const auto arm = [&](Suspension &here) { return condition.arm(here); };
    for (; !condition.is_over(); condition.worker = present_worker()) {
        Worker &worker = *condition.worker;
        if (can_step_aside(worker) && wait_or_step_aside(condition) != Step::kNoStack) continue;
        Suspension *ready = __builtin_expect(has_ready(worker), 0) ? take_ready(worker) : nullptr;
        if (ready) { // perhaps what this one waits for
            if (step_aside(worker, ready, nullptr, arm) == Step::kAside)
                condition.disarm();
            else
                make_ready(*ready);
            continue;
        }
        wait_inside(worker, [&] { return condition.is_over(); }, [&] { return condition.prepare(); }, false);
    }
    // Others read it with each completion.
    std::atomic<int64_t> &awaited_count = condition.worker->awaited_count;
    if (awaited_count.load(std::memory_order_relaxed) != kNoCompletion)
        awaited_count.store(kNoCompletion, std::memory_order_relaxed);
}

} // namespace
// Most children are run by the thread that created them, the last one first. Where nothing may step aside they need none of
// what other waits do. True: all are complete.
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
    if (is_light(task) && !has_children_to_wait_for(task)) return; // of other tasks the runtime's own wait follows
    Task *child = is_light(task) && !worker.base_task ? worker.deque.pop(worker.mark) : nullptr;
    if (child) {
        // The wait is not told as long as all that it runs were counted when they were created.
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
            // Else those that ended elsewhere may have done so by a later time.
            return notify(&omp_ext_observer::wait_ends, kOmptTaskwait | OMP_EXT_AT_ONCE);
        }
    }
    wait(kOmptTaskwait, ChildrenComplete{&worker, task});
    notify(&omp_ext_observer::wait_ends, kOmptTaskwait);
}

// The same where waits may step aside, and what they find may run on top of them.
[[gnu::always_inline]] static inline bool run_on_top_of_wait(Worker &worker, Task &task) {
    while (has_children_to_wait_for(task)) {
        const Search within{worker, &task, true};
        Task *found = find_for_suspendable(within);
        if (!found) return false;
        if (!runs_on_top(within, *found)) {
            put_back(worker, *found);
            return false;
        }
        run_on_top(worker, *found);
    }
    return true;
}

// Not inlined: what it needs on the stack would lie there for each task that another one runs on top of.
[[gnu::noinline]] static void wait_for_others(Worker &worker, Task &task) {
    wait(kOmptTaskwait, ChildrenComplete{&worker, task});
}

void wait_for_children(Worker &worker) {
    Task &task = *worker.current;
    if (__builtin_expect(observer != nullptr, 0)) return wait_for_children_seen(worker, task);
    if (!worker.base_task) {
        if (task.parent && run_own_children(worker, task)) return;
    } else if (can_step_aside(worker)) {
        if (run_on_top_of_wait(worker, task)) return;
    }
    wait_for_others(worker, task);
}

void begin_group(Worker &worker) {
    Task &task = *worker.current;
    task.group = new Group{task.group, &task, &worker};
}

void wait_for_group(Worker &worker) {
    Group *group = worker.current->group;
    if (!group || group->task != worker.current) return; // opened before the scheduler was there
    wait(kOmptTaskgroup, GroupComplete{&worker, *group});
}

bool end_group(Worker &worker) {
    Task &task = *worker.current;
    wait_for_group(worker);
    Group *group = task.group;
    if (!group || group->task != &task) return true;
    note_acquire(group);
    task.group = group->outer;
    const bool is_known = group->is_known;
    if (!is_known) notify(&omp_ext_observer::wait_ends, kOmptTaskgroup);
    delete group;
    return is_known;
}

void wait_for_the_finishing(Worker &worker) {
    Team &team = *worker.team;
    for (int i = 0; i < team.n_workers; i++)
        while (team.workers[i].finishing.load(std::memory_order_acquire) == worker.current) sched_yield();
}

void wait_for_predecessors(Worker &worker, const Dependence *dependences, int n) {
    if (!worker.table) return;
    DependenceNode *node = enter_wait(worker.table, dependences, n);
    release_creation(node);
    wait(OMP_EXT_WAIT_PREDECESSORS, PredecessorsComplete{&worker, node});
    note_acquire(node);
    notify(&omp_ext_observer::wait_ends, OMP_EXT_WAIT_PREDECESSORS);
    give_back(node);
}

void barrier(Worker &worker, int kind, bool is_followed) {
    Team &team = *worker.team;
    const uint64_t number = ++worker.n_barriers;
    worker.publish_threshold = team.first_publish_threshold();
    const uint64_t n_arrivals = number * static_cast<uint64_t>(team.n_workers);
    inject_sleep();
    team.n_arrived.fetch_add(1, std::memory_order_seq_cst);
    const auto is_over = [&] { return team.n_released.load(std::memory_order_acquire) >= number; };
    const auto try_to_end = [&] {
        if (is_over()) return true;
        std::atomic_thread_fence(std::memory_order_seq_cst); // the last two to come must not both miss the other
        if (!has_ended(team, n_arrivals)) return false;
        // Several threads may see it at the same time; they all write the same number.
        team.n_released.store(number, std::memory_order_seq_cst);
        wake_all(team);
        return true;
    };
    if (!is_followed) notify(&omp_ext_observer::wait_begins, kind);
    if (!try_to_end()) {
        if (is_followed) notify(&omp_ext_observer::wait_begins, kind);
        const BaseTaskScope base_task_scope(worker);
        wait_inside(worker, is_over, try_to_end, true);
    }
    if (!is_followed) notify(&omp_ext_observer::wait_ends, kind);
}

// In a cancelled region each thread passes one barrier more after the cancellation, `cancelled_barrier`, and then the one at
// the end.
void leave_cancelled_region(Worker &worker) {
    worker.team->cancelled_barrier.store(worker.n_barriers + 1, std::memory_order_relaxed);
    barrier(worker, kOmptBarrierImplicit, false);
}

void end_region(Worker &worker) {
    barrier(worker, kOmptBarrierImplicit);
    if (__builtin_expect(worker.team->cancelled_barrier.load(std::memory_order_relaxed) == worker.n_barriers, 0))
        barrier(worker, kOmptBarrierImplicit);
}

void wait_aside(Worker &worker, Awaited &awaited) {
    const BaseTaskScope base_task_scope(worker);
    const Search within{worker, worker.current, true};
    while (!awaited.is_over()) {
        Suspension *ready = take_ready(worker);
        Task *task = ready || !worker.base_task ? nullptr : find_for_suspendable(within);
        if (!ready && !task) {
            sched_yield();
            continue;
        }
        const Step step = step_aside(worker, ready, task, [&](Suspension &here) { return awaited.arm(here); });
        if (step == Step::kAside) break;
        if (ready) make_ready(*ready);
        if (task) send_back(worker, *task);
        if (step == Step::kOver) break;
        worker.is_blocked.store(true, std::memory_order_release);
        sched_yield();
    }
    worker.is_blocked.store(false, std::memory_order_relaxed);
}

void return_to_owner(Worker &began) {
    if (present_worker() == &began) return;
    const auto arm = [&](Suspension &here) {
        here.may_move = false;
        here.worker = &began;
        make_ready(here);
        return true;
    };
    Worker &worker = *present_worker();
    // It took the task up from another stack, to which it goes back, or which is idle now.
    while (step_aside(worker, take_ready(worker), nullptr, arm) != Step::kAside) sched_yield();
}

// To be resumed as soon as its thread is done with what it steps aside for.
static bool resume_soon(Suspension &here) {
    make_ready(here);
    return true;
}

void yield(Worker &worker) {
    const BaseTaskScope base_task_scope(worker);
    const Search within{worker, worker.current, true};
    if (!can_step_aside(worker)) {
        if (Task *task = find(within)) run_on_top(worker, *task);
        return;
    }
    // By turns, lest tasks that yield to each other keep others from beginning, or the other way round.
    const bool prefers_ready = worker.n_yields++ % 2 == 0;
    Suspension *ready = prefers_ready ? take_ready(worker) : nullptr;
    Task *task = ready ? nullptr : find_for_suspendable(within);
    if (!task && !prefers_ready) ready = take_ready(worker);
    if (!task && !ready) return;
    if (task && runs_here(within, *task)) return run(worker, *task);
    if (step_aside(worker, ready, task, resume_soon) == Step::kNoStack) put_back(worker, *task);
}
} // namespace omp_ext

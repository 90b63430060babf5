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
#include "tools/observer.h"
#include "tools/tallies.h"

namespace omp_ext {

namespace {

// ---------------------------------------------------------------- what is waited for

// A condition has is_over(); prepare(), which says in Member::wanted which count of completions is to wake the thread, and
// whether the wait is over now; arm(suspension), false when it is over; and disarm(), called when the suspension that it
// was armed with was resumed. `member` is the one that waits: an untied task may change it.

struct ChildrenComplete {
    Member *member;
    Task &task;

    bool is_over() const { return !has_children_to_wait_for(task); }
    bool prepare() const {
        member->wanted.store(task.n_created - task.n_done_here, std::memory_order_seq_cst);
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
    Member *member;
    Group &group;

    bool is_over() const { return group.n_here + group.n_elsewhere.load(std::memory_order_seq_cst) == 0; }
    bool prepare() const {
        group.member.store(member, std::memory_order_seq_cst);
        member->wanted.store(-group.n_here, std::memory_order_seq_cst);
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
    Member *member;
    DependenceNode *node;

    bool is_over() const { return is_ready(node); }
    bool prepare() const {
        member->wanted.store(kAnyCompletion, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const { return omp_ext::arm(node, suspension); }
    void disarm() const {}
};

// ---------------------------------------------------------------- stepping aside

// Where a thread goes on whose task steps aside.
Suspension &next_to_resume(Member &member) {
    const Search any{member, &member.base, false};
    Idle idle(member);
    for (;;) {
        if (Suspension *ready = take_ready(member)) return *ready;
        if (member.home) return *std::exchange(member.home, nullptr);
        if (Task *task = find(any)) {
            if (idle.since_ns() != 0) {
                idle.found();
                tell_of_own_task(*member.team, member.domain);
            }
            run(member, *task);
        } else {
            inject_sleep();
            idle.nothing_found([&] { return !has_ready(member); });
        }
    }
}

// At the bottom of a new stack.
void run_aside(Member &member) {
    if (Task *handed = std::exchange(member.handed, nullptr)) run(member, *handed);
    abandon_for(member, next_to_resume(member));
}

// May another thread resume the current task? Not a light one, for which the runtime has this thread's implicit task. Not
// while it, or one below it, holds a lock: some of the runtime's are the thread's. To a tool an untied task would be on a
// thread that does not run it.
bool may_move(const Member &member) {
    return (member.current->flags & (kUntied | kUndeferred | kInline)) == kUntied && !is_light(*member.current) &&
           member.n_locks == 0 && !runtime::is_watched();
}

// Not inlined, here and below: what the switch needs on the stack would lie there once for each task that waits.
//
// The current task, in the wait `here`, steps aside: for `ready`, or for a task that its thread runs on another stack, or
// without either for what comes. If not kAside nothing was done: there is no stack, or `arm(here)` says that the wait is over.
// After kAside an untied task may be on another thread.
enum class Step { kAside, kOver, kNoStack };
template <typename Arm>
[[gnu::noinline]] Step step_aside(Member &member, Suspension *ready, Task *task, Arm &&arm) {
    Stack *stack = nullptr;
    if (!ready && !member.home && !(stack = member.stacks.take())) {
        member.statistics.n_unsuspended.add();
        return Step::kNoStack;
    }
    Suspension here(member);
    here.may_move = may_move(member);
    if (!arm(here)) {
        if (stack) member.stacks.give(stack);
        return Step::kOver;
    }
    member.statistics.n_suspended.add();
    inject_sleep();
    if (ready) {
        if (task) put_back(member, *task);
        leave_for(member, here, *ready);
    } else {
        member.handed = task;
        if (stack)
            leave_for_new(member, here, *stack, run_aside);
        else
            leave_for(member, here, *std::exchange(member.home, nullptr));
    }
    return Step::kAside;
}

bool runs_here(const Search &within, const Task &task) {
    // Others might wait for what those below them hold or do.
    return may_run_on_top(within.member) && within.fits(&task);
}

// May a task that is no descendant run on top of the one that waits? That spares a stack and two switches, but the one below
// goes on only when the other is complete. So the other must be small, as far as one can tell: one level nearer to the root
// at most, in a recursion a part of what the grandparent waits for. scheduler.h says why no task waits for one below it.
// Nor does a task see another's exceptions, nor a light one another's settings in the runtime.
bool may_cover(const Search &within, const Task &task) {
    const Member &member = within.member;
    const Task &waiting = *within.within;
    if (is_light(task) && !is_light(waiting) && waiting.parent) return false;
    // What domains that share a processor wait for takes them long, and all that is below it meanwhile.
    const int n_levels = member.team->takes_turns ? 0 : 1;
    return task.depth + n_levels >= waiting.depth && runtime::tasks_wait_for_children_only() && !may_move(member) &&
           !has_exception();
}

// The cheap questions first: a child is told from others without a look at what another thread writes to.
bool runs_on_top(const Search &within, const Task &task) {
    return may_run_on_top(within.member) &&
           (task.parent == within.within || may_cover(within, task) || within.fits(&task));
}

// To a tool that observes us an undeferred task is a piece of the one around it, which it would not know again when it is
// resumed. Nor would it learn that a light one is left.
bool can_step_aside(const Member &member) {
    const Task &task = *member.current;
    const bool is_piece = (task.flags & kInline || is_light(task)) && observer && observer->wait_begins;
    return member.anchor && may_suspend(member) && !is_piece;
}

// Until the wait is over, or there is no stack to step aside to, or (kAside) the task goes on on another thread.
template <typename Condition>
[[gnu::noinline]] Step wait_or_step_aside(const Condition &condition) {
    Member &member = *condition.member;
    // Who completes what it waits for wakes the thread that began it, so it does not sleep here, but is resumed.
    const bool has_moved = member.current->flags & kMoved && may_move(member);
    const Search within{member, member.current, true};
    Idle idle(member);
    Watch watch(member);
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
        Suspension *ready = is_here ? nullptr : take_ready(member);
        if (!task && !ready && !has_moved) {
            inject_sleep();
            idle.nothing_found([&] { return !condition.prepare() && !has_ready(member); });
            continue;
        }
        if (idle.since_ns() != 0) {
            idle.found();
            tell_of_own_task(*member.team, member.domain);
        }
        if (is_here) {
            run_on_top(member, *task);
            continue;
        }
        switch (step_aside(member, ready, task, [&](Suspension &here) { return condition.arm(here); })) {
        case Step::kAside:
            condition.disarm();
            if (present_member() != &member) return Step::kAside;
            break;
        case Step::kOver:
            if (task) put_back(member, *task);
            if (ready) make_ready(*ready);
            break;
        case Step::kNoStack: // and so nobody is ready
            if (!task) return Step::kNoStack;
            if (within.fits(task)) {
                run(member, *task);
                break;
            }
            put_back(member, *task);
            return Step::kNoStack;
        }
    }
    return Step::kOver;
}

// A barrier does not wait while there is something to resume.
[[gnu::noinline]] void leave_home(Member &member, Suspension &ready) {
    Suspension here(member);
    member.home = &here;
    leave_for(member, here, ready);
    if (Task *handed = std::exchange(member.handed, nullptr)) run(member, *handed);
}

// ---------------------------------------------------------------- the loops

// Runs tasks until `is_over()`, or until a suspended task is ready, to which a barrier goes by itself. In barriers
// `prepare()` is also called whenever no task is found.
template <typename IsOver, typename Prepare>
void wait_inside(Member &member, IsOver &&is_over, Prepare &&prepare, bool is_barrier) {
    Idle idle(member);
    const Search search{member, member.current, !is_barrier, &idle};
    int64_t next_search_ns = 20 * kRescueAfterNs;
    const bool was_constrained = member.is_constrained.load(std::memory_order_relaxed);
    member.is_constrained.store(search.is_constrained, std::memory_order_relaxed);
    while (!is_over()) {
        if (has_ready(member)) {
            if (!is_barrier) break;
            if (Suspension *ready = take_ready(member)) {
                idle.found();
                leave_home(member, *ready);
                continue;
            }
        }
        Task *task = find(search);
        if (!task && search.is_constrained && idle.since_ns() != 0) {
            member.is_blocked.store(true, std::memory_order_release);
            const bool anyway = now_ns() - idle.since_ns() > kRescueAnywayAfterNs;
            task = rescue(search, idle.since_ns(), next_search_ns, anyway);
        }
        if (task) {
            if (idle.since_ns() != 0) {
                member.is_blocked.store(false, std::memory_order_release);
                idle.found();
                tell_of_own_task(*member.team, member.domain); // there may be more where this came from
            }
            // What it runs waits by itself.
            member.is_constrained.store(false, std::memory_order_relaxed);
            run_on_top(member, *task);
            member.is_constrained.store(search.is_constrained, std::memory_order_relaxed);
            continue;
        }
        inject_sleep();
        if (is_barrier && prepare()) break;
        idle.nothing_found([&] { return !prepare() && !has_ready(member); });
    }
    member.is_blocked.store(false, std::memory_order_release);
    member.is_constrained.store(was_constrained, std::memory_order_relaxed);
    member.wanted.store(kNoCompletion, std::memory_order_relaxed);
}

// `kind`: for tools.
template <typename Condition>
void wait(int kind, Condition &&condition) {
    if (condition.is_over()) return;
    tell_of_current(*condition.member);
    tell(&omp_ext_observer::wait_begins, kind);
    const Anchored anchored(*condition.member);
    const auto arm = [&](Suspension &here) { return condition.arm(here); };
    for (; !condition.is_over(); condition.member = present_member()) {
        Member &member = *condition.member;
        if (can_step_aside(member) && wait_or_step_aside(condition) != Step::kNoStack) continue;
        Suspension *ready = __builtin_expect(has_ready(member), 0) ? take_ready(member) : nullptr;
        if (ready) { // perhaps what this one waits for
            if (step_aside(member, ready, nullptr, arm) == Step::kAside)
                condition.disarm();
            else
                make_ready(*ready);
            continue;
        }
        wait_inside(member, [&] { return condition.is_over(); }, [&] { return condition.prepare(); }, false);
    }
    // Others read it with each completion.
    std::atomic<int64_t> &wanted = condition.member->wanted;
    if (wanted.load(std::memory_order_relaxed) != kNoCompletion) wanted.store(kNoCompletion, std::memory_order_relaxed);
}

} // namespace
// Most children are run by the thread that created them, the last one first. Where nothing may step aside they need none of
// what other waits do. True: all are complete.
[[gnu::always_inline]] static inline bool run_own_children(Member &member, Task &task) {
    while (has_children_to_wait_for(task)) {
        Task *child = member.deque.pop(member.mark);
        if (!child) return false;
        inject_sleep();
        run_on_top(member, *child);
    }
    return true;
}

[[gnu::noinline]] static void wait_for_children_seen(Member &member, Task &task) {
    if (is_light(task) && !has_children_to_wait_for(task)) return; // of other tasks the runtime's own wait follows
    Task *child = is_light(task) && !member.anchor ? member.deque.pop(member.mark) : nullptr;
    if (child) {
        // The wait is not told as long as all that it runs were tallied when they were created.
        bool is_told = false;
        int at_once = 0;
        for (; child; child = has_children_to_wait_for(task) ? member.deque.pop(member.mark) : nullptr) {
            const bool is_light_seen = is_light(*child) && child->seen;
            if (!is_told && !(member.tallies && are_counted(*member.tallies) && is_tallied(*child))) {
                tell_of_current(member);
                at_once = is_light_seen ? OMP_EXT_AT_ONCE : 0;
                tell(&omp_ext_observer::wait_begins, kOmptTaskwait | at_once);
                is_told = true;
            }
            if (is_told && is_tallied(*child)) let_be_seen(member, *child);
            inject_sleep();
            member.how_found = is_light_seen ? OMP_EXT_AT_HAND | std::exchange(at_once, 0) : 0;
            run_on_top(member, *child);
        }
        const bool is_over = !has_children_to_wait_for(task);
        if (!is_told) {
            if (is_over) return tally_wait(member);
            tell_of_current(member);
            tell(&omp_ext_observer::wait_begins, int{kOmptTaskwait});
        } else if (is_over && task.n_done_elsewhere.load(std::memory_order_relaxed) == 0) {
            // Else those that ended elsewhere may have done so by a later time.
            return tell(&omp_ext_observer::wait_ends, kOmptTaskwait | OMP_EXT_AT_ONCE);
        }
    }
    wait(kOmptTaskwait, ChildrenComplete{&member, task});
    tell(&omp_ext_observer::wait_ends, kOmptTaskwait);
}

// The same where waits may step aside, and what they find may run on top of them.
[[gnu::always_inline]] static inline bool run_on_top_of_wait(Member &member, Task &task) {
    while (has_children_to_wait_for(task)) {
        const Search within{member, &task, true};
        Task *found = find_for_suspendable(within);
        if (!found) return false;
        if (!runs_on_top(within, *found)) {
            put_back(member, *found);
            return false;
        }
        run_on_top(member, *found);
    }
    return true;
}

// Not inlined: what it needs on the stack would lie there for each task that another one runs on top of.
[[gnu::noinline]] static void wait_for_others(Member &member, Task &task) {
    wait(kOmptTaskwait, ChildrenComplete{&member, task});
}

void wait_for_children(Member &member) {
    Task &task = *member.current;
    if (__builtin_expect(observer != nullptr, 0)) return wait_for_children_seen(member, task);
    if (!member.anchor) {
        if (task.parent && run_own_children(member, task)) return;
    } else if (can_step_aside(member)) {
        if (run_on_top_of_wait(member, task)) return;
    }
    wait_for_others(member, task);
}

void begin_group(Member &member) {
    Task &task = *member.current;
    task.group = new Group{task.group, &task, &member};
}

void wait_for_group(Member &member) {
    Group *group = member.current->group;
    if (!group || group->task != member.current) return; // opened before the scheduler was there
    wait(kOmptTaskgroup, GroupComplete{&member, *group});
}

bool end_group(Member &member) {
    Task &task = *member.current;
    wait_for_group(member);
    Group *group = task.group;
    if (!group || group->task != &task) return true;
    note_acquire(group);
    task.group = group->outer;
    const bool is_known = group->is_known;
    if (!is_known) tell(&omp_ext_observer::wait_ends, kOmptTaskgroup);
    delete group;
    return is_known;
}

void wait_for_the_finishing(Member &member) {
    Team &team = *member.team;
    for (int i = 0; i < team.n_members; i++)
        while (team.members[i].finishing.load(std::memory_order_acquire) == member.current) sched_yield();
}

void wait_for_predecessors(Member &member, const Dependence *dependences, int n) {
    if (!member.table) return;
    DependenceNode *node = enter_wait(member.table, dependences, n);
    release_creation(node);
    wait(OMP_EXT_WAIT_PREDECESSORS, PredecessorsComplete{&member, node});
    note_acquire(node);
    tell(&omp_ext_observer::wait_ends, OMP_EXT_WAIT_PREDECESSORS);
    give_back(node);
}

void barrier(Member &member, int kind, bool is_followed) {
    Team &team = *member.team;
    const uint64_t number = ++member.n_barriers;
    member.brim = team.first_brim();
    const uint64_t n_arrivals = number * static_cast<uint64_t>(team.n_members);
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
    if (!is_followed) tell(&omp_ext_observer::wait_begins, kind);
    if (!try_to_end()) {
        if (is_followed) tell(&omp_ext_observer::wait_begins, kind);
        const Anchored anchored(member);
        wait_inside(member, is_over, try_to_end, true);
    }
    if (!is_followed) tell(&omp_ext_observer::wait_ends, kind);
}

void wait_aside(Member &member, Awaited &awaited) {
    const Anchored anchored(member);
    const Search within{member, member.current, true};
    while (!awaited.is_over()) {
        Suspension *ready = take_ready(member);
        Task *task = ready || !member.anchor ? nullptr : find_for_suspendable(within);
        if (!ready && !task) {
            sched_yield();
            continue;
        }
        const Step step = step_aside(member, ready, task, [&](Suspension &here) { return awaited.arm(here); });
        if (step == Step::kAside) break;
        if (ready) make_ready(*ready);
        if (task) send_back(member, *task);
        if (step == Step::kOver) break;
        member.is_blocked.store(true, std::memory_order_release);
        sched_yield();
    }
    member.is_blocked.store(false, std::memory_order_relaxed);
}

void come_back(Member &began) {
    if (present_member() == &began) return;
    const auto arm = [&](Suspension &here) {
        here.may_move = false;
        here.member = &began;
        make_ready(here);
        return true;
    };
    Member &member = *present_member();
    // It took the task up from another stack, to which it goes back, or which is idle now.
    while (step_aside(member, take_ready(member), nullptr, arm) != Step::kAside) sched_yield();
}

// To be resumed as soon as its thread is done with what it steps aside for.
static bool resume_soon(Suspension &here) {
    make_ready(here);
    return true;
}

void yield(Member &member) {
    const Anchored anchored(member);
    const Search within{member, member.current, true};
    if (!can_step_aside(member)) {
        if (Task *task = find(within)) run_on_top(member, *task);
        return;
    }
    // By turns, lest tasks that yield to each other keep others from beginning, or the other way round.
    const bool prefers_ready = member.n_yields++ % 2 == 0;
    Suspension *ready = prefers_ready ? take_ready(member) : nullptr;
    Task *task = ready ? nullptr : find_for_suspendable(within);
    if (!task && !prefers_ready) ready = take_ready(member);
    if (!task && !ready) return;
    if (task && runs_here(within, *task)) return run(member, *task);
    if (step_aside(member, ready, task, resume_soon) == Step::kNoStack) put_back(member, *task);
}
} // namespace omp_ext

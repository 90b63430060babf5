// SPDX-License-Identifier: Apache-2.0
// Placing and running tasks, and counting those that are complete.
#include "scheduler/scheduler.h"

#include <algorithm>
#include <sched.h>
#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/idle.h"
#include "scheduler/injection.h"
#include "scheduler/suspensions.h"
#include "tools/observer.h"
#include "tools/tallies.h"

namespace omp_ext {

namespace {

constexpr int64_t kThrottle = 256; // tasks in a deque beyond which new ones are run at once
constexpr unsigned kLettersPerTurn = 32; // to other domains, until a thread lets others have its processor
constexpr unsigned kMostLettersPerTurn = 8192; // when these are other programs', which keep it
constexpr int64_t kLongTurnNs = 1'000'000;

void add(std::atomic<uint64_t> &count, uint64_t n) { // of one writer
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

// ---------------------------------------------------------------- counting

void enter_group(Member &member, Group &group) {
    if (group.counts_here(&member))
        group.n_here++;
    else
        group.n_elsewhere.fetch_add(1, std::memory_order_relaxed);
}

// `group` may be gone when this returns.
void leave_group(Member *member, Group &group) {
    if (group.counts_here(member)) {
        group.n_here--;
        return;
    }
    Member &waiting = *group.member.load(std::memory_order_relaxed);
    const int64_t now = group.n_elsewhere.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if (__builtin_expect(now == kArmedGroup, 0)) return make_ready(*group.suspension);
    if (waiting.wanted.load(std::memory_order_seq_cst) == now) wake(waiting);
}

// One that holds a light task does so no more.
void let_go(Task *task) {
    while (is_light(*task) && task->n_holds.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        Task *parent = task->parent;
        task->pool->give_back(task->block, task->n_lines);
        task = parent;
    }
}

// A light task ended before its children did, or theirs. Before it is counted as complete.
void hold_parent(const Task &task) {
    if (is_light(*task.parent)) task.parent->n_holds.fetch_add(1, std::memory_order_relaxed);
}

// After it was counted.
[[gnu::noinline]] void outlive(Task &task) {
    task.n_holds.fetch_add(1, std::memory_order_relaxed); // the children
    task.suspension = nullptr;
    uint64_t before = task.n_done_elsewhere.load(std::memory_order_acquire);
    for (uint32_t n; (n = n_children_to_wait_for(task, before)) != 0;)
        if (task.n_done_elsewhere.compare_exchange_weak(before, kArmed | uint64_t{n} << 32, std::memory_order_acq_rel))
            return let_go(&task);
    let_go(&task);
    let_go(&task);
}

// Is anything of the task left that may read it? To be asked when its body has ended.
bool is_needed(const Task &task) {
    return has_children_to_wait_for(task) || task.n_holds.load(std::memory_order_acquire) != 1;
}

// `parent` may be gone when this returns.
void count_elsewhere(Team &team, Task &parent, int creator) {
    Member &waiting = team.members[creator];
    const uint64_t before = parent.n_done_elsewhere.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t now = static_cast<uint32_t>(before) + 1;
    if (__builtin_expect((before & kArmed) != 0, 0)) {
        if (now != (before & ~kArmed) >> 32) return;
        if (parent.suspension) return make_ready(*parent.suspension);
        return let_go(&parent);
    }
    const int64_t wanted = waiting.wanted.load(std::memory_order_seq_cst);
    if (wanted == static_cast<int64_t>(now) || wanted == kAnyCompletion) wake(waiting);
}

// ---------------------------------------------------------------- for tools

int home_of(const Member &member, const Task &task) {
    return member.team->posts[task.domain].home.load(std::memory_order_relaxed);
}

int flags_of(const Task &task) {
    return kOmptExplicitTask | (task.flags & kInline ? kOmptUndeferred : 0) | (task.flags & kUntied ? kOmptUntied : 0) |
           (task.flags & kFinal ? kOmptFinal : 0);
}

// A light one, which begins now.
void tell_of_undeferred(const Member &member, Task &task, const void *code) {
    tell_of_current(member);
    task.seen = observer->undeferred_begins(code, flags_of(task) | kOmptUndeferred);
}

void tell_of_creation(const Member &member, Task &task, bool has_dependences) {
    if (member.brim == 0 && is_light(task) && !has_dependences) { // in a team of one, to be run now
        task.flags |= kInline;
        return tell_of_undeferred(member, task, task.code);
    }
    tell_of_current(member);
    task.seen = observer->task_created(task.code, flags_of(task), has_dependences, home_of(member, task));
}

int how_found(const Task &task) { return task.flags & kRescued ? OMP_EXT_RESCUED : OMP_EXT_FOUND; }

// On top of `outer`.
void tell_of_begin(Member &member, Task &outer, Task &task, int how) {
    tell_of(member, outer);
    if (is_tallied(task)) let_be_seen(member, task);
    observer->task_begins(task.seen, member.domain, how_found(task) | how);
    member.tallies = how & OMP_EXT_AT_HAND && observer->tallies ? observer->tallies() : nullptr;
}

} // namespace

void let_be_seen(const Member &member, Task &task) {
    const omp_ext_tally &tally = tally_of(task);
    task.seen = observer->tallied_task(&tally, task.tallied_at, home_of(member, task), flags_of(task));
    task.code = tally.code;
}

void tell_of_tallied(const Member &member, Task &task) {
    let_be_seen(member, task);
    observer->task_begins(task.seen, member.domain, OMP_EXT_RUNS);
}

// ---------------------------------------------------------------- running

namespace {

// To be asked when its body has ended, before it is counted: will its memory be read still?
[[gnu::always_inline]] inline bool must_be_kept(const Task &task) {
    if (__builtin_expect(!is_needed(task), 1)) return false;
    hold_parent(task);
    return true;
}

[[gnu::always_inline]] inline void execute(Member &member, Task &task, bool is_simple) {
    Task *accompanied = member.accompanied;
    if (__builtin_expect(accompanied != nullptr, 0)) runtime::leave_companion(member);
    if (__builtin_expect(is_simple, 1))
        task.routine(member.runtime_thread, task.block);
    else
        runtime::call_parts(member, task);
    if (__builtin_expect((task.flags & kDestructors) || task.companion, 0)) runtime::clean_up(member, task);
    if (__builtin_expect(accompanied != nullptr, 0)) runtime::return_to_companion(member, *accompanied);
}

// When that has been told; whether it must be kept.
[[gnu::always_inline]] inline bool end_execution(Member &member, Task &task, bool is_simple) {
    const bool is_kept = must_be_kept(task);
    if (!is_simple) end_body(member, task);
    return is_kept;
}

// From begin to completion; whether it must be kept.
[[gnu::always_inline]] inline bool execute_light(Member &member, Task &task, bool is_simple) {
    execute(member, task, is_simple);
    return end_execution(member, task, is_simple);
}

// One of which nothing is told when it begins.
[[gnu::always_inline]] inline bool execute_tallied(Member &member, Task &task) {
    execute(member, task, true);
    if (!is_tallied(task) || !tally_end(member, task)) {
        tell_of(member, task);
        observer->task_ends(task.seen);
    }
    return end_execution(member, task, true);
}

[[gnu::noinline]] bool execute_seen(Member &member, Task &outer, Task &task, bool is_simple) {
    omp_ext_tallies *tallies = member.tallies;
    const int how = std::exchange(member.how_found, 0);
    if (!(task.flags & kInline)) {
        tell_of_begin(member, outer, task, how);
    } else {
        tell_of(member, task);
        member.tallies = member.brim == 0 && observer->tallies ? observer->tallies() : nullptr;
    }
    execute(member, task, is_simple);
    observer->task_ends(task.seen);
    member.tallies = tallies;
    return end_execution(member, task, is_simple);
}

// One of the runtime's.
[[gnu::noinline]] void execute_heavy_seen(Member &member, Task &outer, Task &task, bool directly) {
    tell_of(member, outer);
    omp_ext_tallies *tallies = std::exchange(member.tallies, nullptr);
    observer->task_starts(task.seen, member.domain, how_found(task));
    runtime::execute(member, task, directly);
    member.tallies = tallies;
}

void end_light(Member &member, Task &task, bool is_kept) {
    if (__builtin_expect(is_kept, 0)) return outlive(task);
    if (task.pool == &member.blocks) {
        if (__builtin_expect(task.domain != member.domain, 0)) member.blocks.find_at_home();
        member.blocks.give(task.block, task.n_lines);
    } else {
        member.blocks.keep(task.block, task.n_lines, *task.pool);
    }
}

} // namespace

void run(Member &member, Task &task) {
    Task *outer = member.current;
    const int64_t mark = member.mark;
    DependenceTable *table = member.table;
    Group *group = task.group;
    const bool is_here = task.parent == outer;
    if (!is_here) task.flags |= kRemote;
    if (__builtin_expect(task.domain != member.domain, 0) && !member.team->serves(member, task.domain))
        member.statistics.n_run_from[task.domain].add();
    const bool is_simple = is_here && !(task.flags & (kUntied | kDetachable)) && !task.node;
    member.current = &task;
    member.mark = member.deque.bottom();
    member.table = nullptr;
    inject_sleep();
    bool is_kept = false;
    if (is_light(task)) {
        if (__builtin_expect(task.seen == nullptr, 1))
            is_kept = execute_light(member, task, is_simple);
        else if (is_tallied(task) && is_simple && tally_begin(member, task))
            is_kept = execute_tallied(member, task);
        else
            is_kept = execute_seen(member, *outer, task, is_simple);
    } else {
        // The short way resumes the runtime's task for the parent, which a light one does not have.
        const bool directly = is_simple && !is_light(*outer);
        if (__builtin_expect(task.seen != nullptr, 0))
            execute_heavy_seen(member, *outer, task, directly);
        else
            runtime::execute(member, task, directly);
    }
    inject_sleep();
    if (!is_here) member.finishing.store(nullptr, std::memory_order_release);
    if (__builtin_expect(member.table != nullptr, 0)) destroy(member.table);
    member.current = outer;
    member.mark = mark;
    member.table = table;
    if (__builtin_expect(member.left_to_event, 0)) {
        member.left_to_event = false;
        return;
    }
    if (is_here) outer->n_done_here++;
    if (group) leave_group(&member, *group);
    add(member.n_done, 1);
    if (is_light(task)) end_light(member, task, is_kept);
}

namespace {

struct Run {
    Member &member;
    Task &task;
};

} // namespace

// Not inlined: what it needs on the stack would lie there once for each task.
[[gnu::noinline]] void run_on_new_stack(Member &member, Task &task) {
    Stack *stack = member.stacks.take();
    if (!stack) return run(member, task);
    Stack *outer = std::exchange(member.stack, stack);
    Run call{member, task};
    call_on(
        *stack,
        [](void *argument) {
            const Run &it = *static_cast<Run *>(argument);
            run(it.member, it.task);
        },
        &call);
    member.stack = outer;
    member.stacks.give(stack);
}

namespace {

// ---------------------------------------------------------------- placing

void lend_turn(Member &member) {
    const int64_t start_ns = now_ns();
    sched_yield();
    const bool was_long = now_ns() - start_ns > kLongTurnNs;
    member.letters_per_turn = was_long ? std::min(2 * member.letters_per_turn, kMostLettersPerTurn) : kLettersPerTurn;
    member.n_letters = 0;
}

void mail(Member &member, Task &task, int domain, bool at_front) {
    Team &team = *member.team;
    if (domain != member.domain) {
        member.statistics.n_mailed.add();
        member.statistics.n_mailed_to[domain].add();
        if (task.pool == &member.blocks) member.blocks.lend();
    }
    Mailbox &mailbox = team.posts[domain].mailbox;
    // A parent that steps aside leaves its children in other domains to those.
    if (domain != member.domain && member.anchor && team.is_strict())
        mailbox.send(&task);
    else
        mailbox.put(&task, &task.parent->mail, at_front);
    tell_of_task(team, domain);
    // A thread that is far ahead of those that run its letters has thousands of tasks waiting, in no cache any more.
    if (domain != member.domain && team.takes_turns && team.is_strict() &&
        ++member.n_letters >= member.letters_per_turn)
        lend_turn(member);
}

// The deque is filled to its brim. Is a new task to be run at once?
[[gnu::noinline]] bool is_throttled(Member &member) {
    if (member.brim == kFirstBrim) {
        member.brim = options.throttle ? kThrottle : INT64_MAX;
        lend_processor(member);
        return false;
    }
    return !may_suspend(member) || may_run_on_top(member);
}

// `may_run`: now, inside the current task, whose child it is.
[[gnu::always_inline]] inline void place(Member &member, Task &task, bool may_run) {
    inject_sleep();
    const bool is_shared = options.queue == QueueKind::kSharedLifo;
    // Where tasks step aside the newest letters come first, as in a deque: else all of a level would be suspended at once.
    if (__builtin_expect(task.domain != member.domain || is_shared || (task.flags & kPriority), 0))
        return mail(member, task, task.domain, is_shared || (task.flags & kPriority) || may_suspend(member));
    if (__builtin_expect(member.deque.size_hint() >= member.brim, 0) && is_throttled(member) && may_run) {
        const Anchored anchored(member);
        return run_on_top(member, task);
    }
    member.deque.push(&task, task.depth);
    tell_of_own_task(*member.team, member.domain);
}

struct Starter {
    Member *member;
    Team &team;
};

// A task whose last predecessor completed on this thread.
void start_successor(void *context, Task *task) {
    const Starter &starter = *static_cast<Starter *>(context);
    if (starter.member) {
        place(*starter.member, *task, false);
    } else {
        starter.team.posts[task->domain].mailbox.put(task, &task->parent->mail, false);
        tell_of_task(starter.team, task->domain);
    }
}
} // namespace

[[gnu::always_inline]] static inline void hold_unseen(Member &member, Task &task) {
    member.current->n_created++;
    if (task.group) enter_group(member, *task.group);
    add(member.n_created, 1);
    if (member.brim == 0) // in a team of one
        run_on_top(member, task);
    else
        place(member, task, true);
}

[[gnu::noinline]] static void hold_seen(Member &member, Task &task) {
    tell_of_creation(member, task, false);
    hold_unseen(member, task);
    tell(&omp_ext_observer::creation_ends);
}

void hold(Member &member, Task &task) {
    if (__builtin_expect(observer != nullptr, 0) && !tally_creation(member, task)) return hold_seen(member, task);
    hold_unseen(member, task);
}

void hold_dependent(Member &member, Task &task, const Dependence *dependences, int n) {
    if (__builtin_expect(observer != nullptr, 0)) tell_of_creation(member, task, true);
    task.node = enter(member.table, dependences, n, &task);
    member.current->n_created++;
    if (task.group) enter_group(member, *task.group);
    add(member.n_created, 1);
    if (release_creation(task.node)) place(member, task, true);
    tell(&omp_ext_observer::creation_ends);
}

void run_at_once(Member &member, Task &task) {
    task.flags |= kInline;
    if (!is_light(task)) {
        tell_of_current(member);
        tell(&omp_ext_observer::undeferred_starts, task.code);
    } else if (__builtin_expect(observer != nullptr, 0)) {
        tell_of_undeferred(member, task, task.code);
    }
    task.domain = member.domain; // OpenMP says where it runs
    task.named_domain = kNoDomain;
    member.current->n_created++;
    if (task.group) enter_group(member, *task.group);
    add(member.n_created, 1);
    const Anchored anchored(member);
    run_on_top(member, task);
}

void begin_undeferred(Member &member, Task &task, const void *code) {
    if (__builtin_expect(observer != nullptr, 0) && is_light(task) && code) tell_of_undeferred(member, task, code);
    task.flags |= kUndeferred | kInline;
    task.outer_mark = member.mark;
    task.outer_table = member.table;
    task.outer_tallies = std::exchange(member.tallies, nullptr);
    member.current = &task;
    member.mark = member.deque.bottom();
    member.table = nullptr;
}

void end_undeferred(Member &member, Task &task) {
    if (__builtin_expect(member.table != nullptr, 0)) destroy(member.table);
    member.current = task.parent;
    member.mark = task.outer_mark;
    member.table = task.outer_table;
    member.tallies = task.outer_tallies;
    if (!is_light(task)) return;
    if ((task.flags & kDestructors) || task.companion) runtime::clean_up(member, task);
    if (__builtin_expect(task.seen != nullptr, 0)) observer->task_ends(task.seen);
    end_light(member, task, must_be_kept(task));
}

void end_body(Member &member, Task &task) {
    // Without its event it is not complete. The two may end in either order; whoever is second goes on.
    if ((task.flags & kDetachable) && task.n_to_complete.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        member.left_to_event = true;
        return;
    }
    if (task.node) {
        Starter starter{&member, *member.team};
        complete(task.node, start_successor, &starter, make_ready);
    }
    inject_sleep();
    if (task.flags & kRemote) {
        member.finishing.store(task.parent, std::memory_order_relaxed); // before the count, which releases it
        count_elsewhere(*member.team, *task.parent, task.creator);
    }
}

void fulfill(Member *member, Team &team, Task &task) {
    if (task.n_to_complete.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Starter starter{member && member->team == &team ? member : nullptr, team};
    if (task.node) complete(task.node, start_successor, &starter, make_ready);
    if (task.flags & kUndeferred) return; // its creator waits for it in the runtime
    Group *group = task.group;
    count_elsewhere(team, *task.parent, task.creator);
    if (group) leave_group(nullptr, *group);
    team.n_done_by_others.fetch_add(1, std::memory_order_seq_cst);
    wake_all(team); // a barrier may end now
}

} // namespace omp_ext

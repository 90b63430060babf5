// SPDX-License-Identifier: Apache-2.0
// Placing, finding and running tasks; the loops of the waits.
#include "scheduler.h"

#include <sched.h>
#include <utility>

#include "domains.h"
#include "injection.h"
#include "observer.h"
#include "runtime.h"
#include "steal.h"
#include "suspensions.h"
#include "waits.h"

namespace omp_ext {

namespace {

constexpr int64_t kThrottle = 256; // tasks in a deque beyond which new ones are run at once
constexpr unsigned kLookedAt = 16; // letters that a constrained thread looks at before it gives up
constexpr unsigned kBatch = 16; // letters that are moved to the thief's own domain at once
// A wait that found nothing for so long takes letters that strict mode denies it, if the domain's threads cannot come.
constexpr int64_t kRescueAfterNs = 200'000;
// The same whatever the domain's threads do: they may spin on something that the waiting task holds.
constexpr int64_t kRescueAnywayAfterNs = 1'000'000'000;

void add(std::atomic<uint64_t> &count, uint64_t n) { // of one writer
    count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_release);
}

Task *task_of(Letter *letter) { return static_cast<Task *>(letter); }

// ---------------------------------------------------------------- counting

void enter_group(Member &member, Group &group) {
    if (group.member == &member && group.counts_here(&member))
        group.n_here++;
    else
        group.n_elsewhere.fetch_add(1, std::memory_order_relaxed);
}

// `group` may be gone when this returns.
void leave_group(Member *member, Group &group) {
    Member &waiting = *group.member;
    if (&waiting == member && group.counts_here(member)) {
        group.n_here--;
        return;
    }
    const int64_t now = group.n_elsewhere.fetch_sub(1, std::memory_order_seq_cst) - 1;
    if (__builtin_expect(now == kArmedGroup, 0)) return make_ready(*group.suspension);
    if (waiting.wanted.load(std::memory_order_seq_cst) == now) wake(waiting);
}

// `parent` may be gone when this returns.
void count_elsewhere(Team &team, Task &parent, int creator) {
    Member &waiting = team.members[creator];
    const uint64_t before = parent.n_done_elsewhere.fetch_add(1, std::memory_order_seq_cst);
    const uint32_t now = static_cast<uint32_t>(before) + 1;
    if (__builtin_expect((before & kArmed) != 0, 0)) {
        if (now == (before & ~kArmed) >> 32) make_ready(*parent.suspension);
        return;
    }
    const int64_t wanted = waiting.wanted.load(std::memory_order_seq_cst);
    if (wanted == static_cast<int64_t>(now) || wanted == kAnyCompletion) wake(waiting);
}

// ---------------------------------------------------------------- for tools

void tell_of_creation(const Member &member, Task &task, bool has_dependences) {
    const int flags =
        kOmptExplicitTask | (task.flags & kUntied ? kOmptUntied : 0) | (task.flags & kFinal ? kOmptFinal : 0);
    const int home = member.team->posts[task.domain].home.load(std::memory_order_relaxed);
    task.seen = observer->task_created(task.code, flags, has_dependences, home);
}

// ---------------------------------------------------------------- running

void run(Member &member, Task &task) {
    Task *outer = member.current;
    const int64_t mark = member.mark;
    DependenceTable *table = member.table;
    Group *group = task.group;
    const bool is_here = task.parent == outer;
    if (!is_here) task.flags |= kRemote;
    if (__builtin_expect(task.domain != member.domain, 0) && !member.team->serves(member, task.domain))
        member.statistics.n_run_from[task.domain].add();
    const bool directly = is_here && !(task.flags & (kUntied | kDetachable)) && !task.node;
    member.current = &task;
    member.mark = member.deque.bottom();
    member.table = nullptr;
    inject_sleep();
    if (__builtin_expect(task.seen != nullptr, 0))
        observer->task_starts(task.seen, member.domain, task.flags & kRescued ? OMP_EXT_RESCUED : OMP_EXT_FOUND);
    runtime::execute(member, task, directly);
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
}

// ---------------------------------------------------------------- placing

void mail(Member &member, Task &task, int domain, bool at_front) {
    Team &team = *member.team;
    if (domain != member.domain) {
        member.statistics.n_mailed.add();
        member.statistics.n_mailed_to[domain].add();
    }
    team.posts[domain].mailbox.put(&task, &task.parent->mail, at_front);
    tell_of_task(team, domain);
}

// `may_run`: now, inside the current task, whose child it is.
void place(Member &member, Task &task, bool may_run) {
    inject_sleep();
    const bool is_shared = options.queue == QueueKind::kSharedLifo;
    // Where tasks step aside the newest letters come first, as in a deque: else all of a level would be suspended at once.
    if (__builtin_expect(task.domain != member.domain || is_shared || (task.flags & kPriority), 0))
        return mail(member, task, task.domain, is_shared || (task.flags & kPriority) || may_suspend(member));
    if (__builtin_expect(member.deque.size_hint() >= kThrottle && may_run && options.throttle, 0) &&
        !(may_suspend(member) && stack_is_half_used())) {
        // The others may still be on their way to where tasks are run, and want this processor for it.
        if (member.gave_way_before != member.n_barriers + 1 && has_no_helper(*member.team)) {
            member.gave_way_before = member.n_barriers + 1;
            sched_yield();
        }
        const Anchored anchored(member);
        return run(member, task);
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

// ---------------------------------------------------------------- finding

// How a thread looks for tasks. In a constrained search only descendants of `within` fit.
struct Search {
    Member &member;
    Task *within;
    bool is_constrained;

    bool fits(const Letter *letter) const {
        return !is_constrained || is_descendant(static_cast<const Task *>(letter), within);
    }
};

// A letter of the domain, whose threads the member's are or help out.
Task *take_letter(const Search &search, int domain) {
    Mailbox &box = search.member.team->posts[domain].mailbox;
    if (box.empty()) return nullptr;
    return static_cast<Task *>(
        box.take(search.is_constrained ? kLookedAt : 1, [&](const Letter *letter) { return search.fits(letter); }));
}

// A task from the deque of another thread in that domain.
Task *steal_task(const Search &search, int domain) {
    Member &member = search.member;
    const uint32_t min_tag = search.is_constrained ? search.within->depth + 1u : 0;
    Task *task = steal_from(member, domain, static_cast<uint16_t>(min_tag > UINT16_MAX ? UINT16_MAX : min_tag));
    if (!task || search.fits(task)) return task;
    // Not for us. It cannot go back to where it was; in the mailbox it is within reach of its parent and of the others.
    Team &team = *member.team;
    team.posts[task->domain].mailbox.put(task, &task->parent->mail, false);
    tell_of_task(team, task->domain);
    return nullptr;
}

Task *find_in_domain(const Search &search) {
    Member &member = search.member;
    Team &team = *member.team;
    const int n_domains = domains::count();
    for (int i = 0; i < n_domains; i++)
        if (team.serves(member, i))
            if (Task *task = take_letter(search, i)) return task;
    Task *task = steal_task(search, member.domain);
    if (task) member.statistics.n_stolen_inside.add();
    return task;
}

// Not in strict mode. Threads that may run anything bring more letters along, for their whole domain.
Task *find_outside(const Search &search) {
    Member &member = search.member;
    Team &team = *member.team;
    const int n_neighbours = domains::count() - 1;
    const int *neighbours = domains::neighbours(member.domain);
    for (int i = 0; i < n_neighbours; i++) {
        Mailbox &box = team.posts[neighbours[i]].mailbox;
        Task *task = take_letter(search, neighbours[i]);
        if (task && !search.is_constrained) {
            Mailbox &own = team.posts[member.domain].mailbox;
            for (uint64_t n = box.depth() / 2; n > 0 && n <= kBatch; n--) {
                Letter *letter = box.take(1, [](const Letter *) { return true; });
                if (!letter) break;
                own.put(letter, letter->sender, false);
            }
        }
        if (!task) task = steal_task(search, neighbours[i]);
        if (task) {
            member.statistics.n_stolen_outside.add();
            return task;
        }
    }
    return nullptr;
}

Task *find(const Search &search) {
    inject_sleep();
    Member &member = search.member;
    Team &team = *member.team;
    if (Task *task = member.deque.pop(search.is_constrained ? member.mark : 0)) return task;
    const bool is_strict = team.is_strict();
    // Its own children first, which are in mail when they were placed elsewhere or came back from there.
    if (search.is_constrained && search.within->mail.first.load(std::memory_order_relaxed)) {
        Letter *letter = Mailbox::claim(&search.within->mail, kLookedAt, [&](const Mailbox &box) {
            return !is_strict || team.serves(member, box.domain);
        });
        if (letter) return task_of(letter);
    }
    if (Task *task = find_in_domain(search)) return task;
    if (!is_strict && domains::count() > 1) return find_outside(search);
    return nullptr;
}

// Can no thread of this domain take anything that is not a descendant of what it runs?
bool is_stuck(const Team &team, int domain) {
    const int home = team.posts[domain].home.load(std::memory_order_relaxed);
    for (int i = 0; i < team.n_members; i++)
        if (team.members[i].domain == home && !team.members[i].is_blocked.load(std::memory_order_acquire)) return false;
    return true;
}

// For a thread that found nothing since `since_ns`: a task that strict mode denies it and without which it, or the
// program, waits for ever. Children first; deeper descendants matter to taskgroups only, and need a search.
Task *rescue(const Search &search, int64_t since_ns, int64_t &next_search_ns) {
    Member &member = search.member;
    Team &team = *member.team;
    const int64_t waited_ns = now_ns() - since_ns;
    if (waited_ns < kRescueAfterNs) return nullptr;
    const bool anyway = waited_ns > kRescueAnywayAfterNs;
    Letter *letter = nullptr;
    if (search.within->mail.first.load(std::memory_order_relaxed))
        letter = Mailbox::claim(&search.within->mail, ~0u,
                                [&](const Mailbox &box) { return anyway || is_stuck(team, box.domain); });
    if (!letter && waited_ns > next_search_ns) {
        next_search_ns = waited_ns * 2;
        for (int domain = 0; domain < domains::count() && !letter; domain++)
            if (anyway || is_stuck(team, domain))
                letter = team.posts[domain].mailbox.take(~0u, [&](const Letter *other) { return search.fits(other); });
    }
    if (!letter) return nullptr;
    if (!team.serves(member, task_of(letter)->domain)) {
        member.statistics.n_rescued.add();
        task_of(letter)->flags |= kRescued;
    }
    return task_of(letter);
}

// ---------------------------------------------------------------- waits of tasks

// A condition has is_over(); prepare(), which says in Member::wanted which count of completions is to wake the thread, and
// whether the wait is over now; arm(suspension), false when it is over; and disarm(), called when the suspension that it
// was armed with was resumed.

struct ChildrenComplete {
    Member &member;
    Task &task;

    bool is_over() const { return !has_children_to_wait_for(task); }
    bool prepare() const {
        member.wanted.store(task.n_created - task.n_done_here, std::memory_order_seq_cst);
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
    Member &member;
    Group &group;

    bool is_over() const { return group.n_here + group.n_elsewhere.load(std::memory_order_seq_cst) == 0; }
    bool prepare() const {
        member.wanted.store(-group.n_here, std::memory_order_seq_cst);
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
    Member &member;
    DependenceNode *node;

    bool is_over() const { return is_ready(node); }
    bool prepare() const {
        member.wanted.store(kAnyCompletion, std::memory_order_seq_cst);
        return is_over();
    }
    bool arm(Suspension &suspension) const { return omp_ext::arm(node, suspension); }
    void disarm() const {}
};

// Back to where others find it.
void put_back(Member &member, Task &task) {
    if (task.domain == member.domain)
        member.deque.push(&task, task.depth);
    else
        member.team->posts[task.domain].mailbox.put(&task, &task.parent->mail, true);
}

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
    run(member, *std::exchange(member.handed, nullptr));
    abandon_for(member, next_to_resume(member));
}

// Not inlined, here and below: what the switch needs on the stack would lie there once for each task that waits.
//
// The current task, in the wait `here`, steps aside: for `ready`, or for a task that its thread runs on another stack.
// False, and nothing was done: there is no stack, or `arm(here)` says that the wait is over.
enum class Step { kAside, kOver, kNoStack };
template <typename Arm>
[[gnu::noinline]] Step step_aside(Member &member, Suspension *ready, Task *task, Arm &&arm) {
    Stack *stack = nullptr;
    if (!ready && !member.home && !(stack = member.stacks.take())) {
        member.statistics.n_unsuspended.add();
        return Step::kNoStack;
    }
    Suspension here(member);
    if (!arm(here)) {
        if (stack) member.stacks.give(stack);
        return Step::kOver;
    }
    member.statistics.n_suspended.add();
    inject_sleep();
    if (ready) {
        if (task) put_back(member, *task);
        leave_for(here, *ready);
    } else {
        member.handed = task;
        if (member.home)
            leave_for(here, *std::exchange(member.home, nullptr));
        else
            leave_for_new(here, *stack, run_aside);
    }
    return Step::kAside;
}

// A task for a thread that waits in `within` and may step aside: if possible one that can run on its stack.
Task *find_for_suspendable(const Search &within) {
    Member &member = within.member;
    Team &team = *member.team;
    inject_sleep();
    if (Task *task = member.deque.pop(0)) return task;
    const bool is_strict = team.is_strict();
    if (within.within->mail.first.load(std::memory_order_relaxed)) {
        Letter *letter = Mailbox::claim(&within.within->mail, kLookedAt, [&](const Mailbox &box) {
            return !is_strict || team.serves(member, box.domain);
        });
        if (letter) return task_of(letter);
    }
    const Search any{member, within.within, false};
    if (Task *task = find_in_domain(any)) return task;
    return !is_strict && domains::count() > 1 ? find_outside(any) : nullptr;
}

bool runs_here(const Search &within, const Task &task) {
    if (stack_is_half_used()) return false;
    return options.waits == Waits::kRelaxed || within.fits(&task);
}

// A tool would not know the task again when it is resumed, if it is a piece of another to it.
bool can_step_aside(const Member &member) {
    return member.anchor && may_suspend(member) && !((member.current->flags & kInline) && runtime::is_watched());
}

// False: there is no stack to step aside to.
template <typename Condition>
[[gnu::noinline]] bool wait_or_step_aside(Member &member, const Condition &condition) {
    const Search within{member, member.current, true};
    Idle idle(member);
    int64_t next_search_ns = kRescueAnywayAfterNs;
    while (!condition.is_over()) {
        Task *task = find_for_suspendable(within);
        bool is_here = task && runs_here(within, *task);
        // Its domain's threads are blocked by something that is not of OpenMP.
        if (!task && idle.since_ns() != 0 && now_ns() - idle.since_ns() > kRescueAnywayAfterNs)
            is_here = (task = rescue(within, idle.since_ns(), next_search_ns)) != nullptr;
        Suspension *ready = is_here ? nullptr : take_ready(member);
        if (!task && !ready) {
            inject_sleep();
            idle.nothing_found([&] { return !condition.prepare() && !has_ready(member); });
            continue;
        }
        if (idle.since_ns() != 0) {
            idle.found();
            tell_of_own_task(*member.team, member.domain);
        }
        if (is_here) {
            run(member, *task);
            continue;
        }
        switch (step_aside(member, ready, task, [&](Suspension &here) { return condition.arm(here); })) {
        case Step::kAside: condition.disarm(); break;
        case Step::kOver:
            if (task) put_back(member, *task);
            if (ready) make_ready(*ready);
            break;
        case Step::kNoStack: // and so nobody is ready
            if (within.fits(task)) {
                run(member, *task);
                break;
            }
            put_back(member, *task);
            return false;
        }
    }
    return true;
}

// A barrier does not wait while there is something to resume.
[[gnu::noinline]] void leave_home(Member &member, Suspension &ready) {
    Suspension here(member);
    member.home = &here;
    leave_for(here, ready);
    if (Task *handed = std::exchange(member.handed, nullptr)) run(member, *handed);
}

// Runs tasks until `is_over()`, or until a suspended task is ready, to which a barrier goes by itself. In barriers
// `prepare()` is also called whenever no task is found.
template <typename IsOver, typename Prepare>
void wait_inside(Member &member, IsOver &&is_over, Prepare &&prepare, bool is_barrier) {
    const Search search{member, member.current, !is_barrier && options.waits != Waits::kRelaxed};
    Idle idle(member);
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
            task = rescue(search, idle.since_ns(), next_search_ns);
        }
        if (task) {
            if (idle.since_ns() != 0) {
                member.is_blocked.store(false, std::memory_order_release);
                idle.found();
                tell_of_own_task(*member.team, member.domain); // there may be more where this came from
            }
            // What it runs waits by itself.
            member.is_constrained.store(false, std::memory_order_relaxed);
            run(member, *task);
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
void wait(Member &member, int kind, const Condition &condition) {
    if (condition.is_over()) return;
    tell(&omp_ext_observer::wait_begins, kind);
    const Anchored anchored(member);
    const auto arm = [&](Suspension &here) { return condition.arm(here); };
    while (!condition.is_over()) {
        if (can_step_aside(member) && wait_or_step_aside(member, condition)) break;
        if (Suspension *ready = take_ready(member)) { // perhaps what this one waits for
            if (step_aside(member, ready, nullptr, arm) == Step::kAside)
                condition.disarm();
            else
                make_ready(*ready);
            continue;
        }
        wait_inside(member, [&] { return condition.is_over(); }, [&] { return condition.prepare(); }, false);
    }
    member.wanted.store(kNoCompletion, std::memory_order_relaxed);
}

} // namespace

void hold(Member &member, Task &task) {
    if (__builtin_expect(observer != nullptr, 0)) tell_of_creation(member, task, false);
    member.current->n_created++;
    if (task.group) enter_group(member, *task.group);
    add(member.n_created, 1);
    place(member, task, true);
    tell(&omp_ext_observer::creation_ends);
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
    tell(&omp_ext_observer::undeferred_starts, task.code);
    task.flags |= kInline;
    member.current->n_created++;
    if (task.group) enter_group(member, *task.group);
    add(member.n_created, 1);
    const Anchored anchored(member);
    run(member, task);
}

void begin_undeferred(Member &member, Task &task) {
    task.flags |= kUndeferred | kInline;
    task.outer_mark = member.mark;
    task.outer_table = member.table;
    member.current = &task;
    member.mark = member.deque.bottom();
    member.table = nullptr;
}

void end_undeferred(Member &member, Task &task) {
    if (__builtin_expect(member.table != nullptr, 0)) destroy(member.table);
    member.current = task.parent;
    member.mark = task.outer_mark;
    member.table = task.outer_table;
}

void wait_for_children(Member &member) {
    Task &task = *member.current;
    wait(member, kOmptTaskwait, ChildrenComplete{member, task});
    tell(&omp_ext_observer::wait_ends, kOmptTaskwait);
}

void begin_group(Member &member) {
    Task &task = *member.current;
    task.group = new Group{task.group, &member};
}

void wait_for_group(Member &member) {
    Group *group = member.current->group;
    if (!group || group->member != &member) return; // opened before the scheduler was there
    wait(member, kOmptTaskgroup, GroupComplete{member, *group});
}

void end_group(Member &member) {
    wait_for_group(member);
    Task &task = *member.current;
    Group *group = task.group;
    if (!group || group->member != &member) return;
    task.group = group->outer;
    delete group;
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
    wait(member, OMP_EXT_WAIT_PREDECESSORS, PredecessorsComplete{member, node});
    tell(&omp_ext_observer::wait_ends, OMP_EXT_WAIT_PREDECESSORS);
    give_back(node);
}

void barrier(Member &member, int kind, bool is_followed) {
    Team &team = *member.team;
    const uint64_t number = ++member.n_barriers;
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
        if (step == Step::kAside) return;
        if (ready) make_ready(*ready);
        if (task) put_back(member, *task);
        if (step == Step::kOver) return;
        sched_yield();
    }
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
        if (Task *task = find(within)) run(member, *task);
        return;
    }
    Suspension *ready = take_ready(member);
    Task *task = ready ? nullptr : find_for_suspendable(within);
    if (!task && !ready) return;
    if (task && runs_here(within, *task)) return run(member, *task);
    if (step_aside(member, ready, task, resume_soon) == Step::kNoStack) put_back(member, *task);
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

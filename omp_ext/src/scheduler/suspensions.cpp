// SPDX-License-Identifier: Apache-2.0
// Switching between suspended tasks.
#include "scheduler/suspensions.h"

#include <utility>

#include "placement/domains.h"
#include "runtime/runtime.h"
#include "scheduler/idle.h"

namespace omp_ext {

namespace {

// For a light task without a companion the runtime is in the implicit task, if no task has one.
bool is_in_implicit_task(const Member &member, const Task &task) {
    return &task == &member.implicit || (is_light(task) && member.n_companions == 0 && !runtime::is_watched());
}

// The runtime is in `here`'s task; after it, in that of `anchor`, or in the implicit task.
void change_current(Member &member, Suspension *here, void *anchor) {
    const bool is_elsewhere = here && !is_in_implicit_task(member, *here->task);
    if (is_elsewhere) here->anchor = runtime::make_anchor(member);
    if (anchor) return runtime::return_to(member, anchor);
    if (!is_elsewhere) return;
    runtime::return_to(member, member.anchor);
    if (!member.anchor_lasts) member.anchor = runtime::make_anchor(member);
}

void take_up(const Suspension &here) {
    Member &member = *here.member;
    member.current = here.task;
    member.table = here.table;
    member.stack = here.stack;
    member.n_locks = here.n_locks;
    member.accompanied = here.accompanied;
}

// What `there` holds is complete once its stack was left. Nobody waits for it in a circle: a thread takes what it goes to
// before anybody can take what it leaves.
void hand_to(Member &member, Suspension &there) {
    wait_until_left(there.place);
    if (there.member == &member) return;
    there.member = &member;
    there.task->flags |= kMoved;
}

// Those that any thread of the domain may resume.
void add_ready(Suspension &suspension) {
    Member &member = *suspension.member;
    Team &team = *member.team;
    const int domain = member.domain;
    Post &post = team.posts[domain];
    suspension.next = nullptr;
    post.ready_lock.lock();
    (post.first_ready ? post.last_ready->next : post.first_ready) = &suspension;
    post.last_ready = &suspension;
    post.n_ready.fetch_add(1, std::memory_order_seq_cst);
    post.ready_lock.unlock();
    if (member.asleep.load(std::memory_order_seq_cst) == 1) return wake(member);
    tell_of_task(team, domain);
}

Suspension *take_from_domain(Member &member) {
    Post &post = member.team->posts[member.domain];
    if (post.n_ready.load(std::memory_order_relaxed) == 0) return nullptr;
    post.ready_lock.lock();
    Suspension *first = post.first_ready;
    if (first) {
        post.first_ready = first->next;
        post.n_ready.fetch_sub(1, std::memory_order_relaxed);
    }
    post.ready_lock.unlock();
    return first;
}

void begin(void *argument) {
    Member &member = *static_cast<Member *>(argument);
    member.current = &member.base;
    member.table = nullptr;
    member.n_locks = 0;
    member.accompanied = nullptr;
    member.loop_aside(member);
}

} // namespace

bool may_suspend(const Member &member) {
    if (options.waits == Waits::kRelaxed) return true;
    return options.waits == Waits::kAside && domains::count() > 1 && member.team->is_strict();
}

bool get_anchor(Member &member) {
    if (!may_suspend(member)) return false;
    member.anchor = runtime::make_lasting_anchor(member);
    member.anchor_lasts = member.anchor != nullptr;
    if (!member.anchor_lasts) member.anchor = runtime::make_anchor(member);
    return true;
}

void end_anchor(Member &member) {
    void *anchor = std::exchange(member.anchor, nullptr);
    if (member.anchor_lasts)
        runtime::end_lasting_anchor(member, anchor);
    else
        runtime::return_to(member, anchor);
}

void make_ready(Suspension &suspension) {
    if (suspension.may_move) return add_ready(suspension);
    Member &member = *suspension.member;
    Suspension *first = member.resumed.load(std::memory_order_relaxed);
    do suspension.next = first;
    while (!member.resumed.compare_exchange_weak(first, &suspension, std::memory_order_seq_cst));
    wake(member);
}

Suspension *take_ready(Member &member) {
    if (member.resumed.load(std::memory_order_relaxed)) {
        Suspension *newest = member.resumed.exchange(nullptr, std::memory_order_acquire);
        Suspension *oldest = nullptr, *const last = newest;
        while (newest) {
            Suspension *next = std::exchange(newest->next, oldest);
            oldest = std::exchange(newest, next);
        }
        (member.first_ready ? member.last_ready->next : member.first_ready) = oldest;
        member.last_ready = last;
    }
    Suspension *first = member.first_ready;
    if (!first) return take_from_domain(member);
    member.first_ready = first->next;
    return first;
}

void leave_for(Member &member, Suspension &here, Suspension &there) {
    hand_to(member, there);
    change_current(member, &here, there.anchor);
    go_to(here.place, there.place);
    take_up(here);
}

void leave_for_new(Member &member, Suspension &here, Stack &stack, void (*loop)(Member &member)) {
    change_current(member, &here, nullptr);
    member.stack = &stack;
    member.loop_aside = loop;
    go_to_new(here.place, stack, begin, &member);
    take_up(here);
}

void abandon_for(Member &member, Suspension &there) {
    hand_to(member, there);
    change_current(member, nullptr, there.anchor);
    member.stacks.give(member.stack);
    leave_for(there.place);
}

} // namespace omp_ext

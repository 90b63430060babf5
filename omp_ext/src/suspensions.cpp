// SPDX-License-Identifier: Apache-2.0
// Switching between suspended tasks.
#include "suspensions.h"

#include <utility>

#include "domains.h"
#include "idle.h"
#include "runtime.h"

namespace omp_ext {

namespace {

// The runtime is in `here`'s task; after it, in that of `anchor`, or in the implicit task.
void change_current(Member &member, Suspension *here, void *anchor) {
    if (here && here->task != &member.implicit) here->anchor = runtime::make_anchor(member);
    if (anchor) return runtime::return_to(member, anchor);
    if (!here || here->task == &member.implicit) return; // is there already
    runtime::return_to(member, member.anchor);
    if (!member.anchor_lasts) member.anchor = runtime::make_anchor(member);
}

void take_up(Suspension &here) {
    here.member.current = here.task;
    here.member.table = here.table;
    here.member.stack = here.stack;
    here.member.n_locks = here.n_locks;
}

struct Beginning {
    Member *member;
    void (*loop)(Member &member);
};

void begin(void *argument) {
    const Beginning beginning = *static_cast<Beginning *>(argument);
    Member &member = *beginning.member;
    member.current = &member.base;
    member.table = nullptr;
    member.n_locks = 0;
    beginning.loop(member);
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
    Member &member = suspension.member;
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
    if (first) member.first_ready = first->next;
    return first;
}

void leave_for(Suspension &here, Suspension &there) {
    Member &member = here.member;
    change_current(member, &here, there.anchor);
    go_to(here.place, there.place);
    take_up(here);
}

void leave_for_new(Suspension &here, Stack &stack, void (*loop)(Member &member)) {
    Member &member = here.member;
    change_current(member, &here, nullptr);
    member.stack = &stack;
    Beginning beginning{&member, loop};
    go_to_new(here.place, stack, begin, &beginning);
    take_up(here);
}

void abandon_for(Member &member, Suspension &there) {
    change_current(member, nullptr, there.anchor);
    member.stacks.give(member.stack);
    leave_for(there.place);
}

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
// Waits that leave their stack: the task stays on it, and its thread goes on elsewhere. Owns who is suspended and who may
// be resumed, and what a member and the runtime take for current across a switch; stacks.h has the stacks,
// task_waits.cpp decides when.
//
// A tied task is resumed by its own thread only, so everything here but make_ready belongs to the member's thread. An untied
// task is resumed by any thread of the domain, on the stack on which it was left, whose lower frames stay those of the thread
// that began it; so it goes back there when its body has ended (come_back in scheduler.h). At the bottom of each stack is a
// loop of the scheduler; that of the thread's own stack may be left too, while it waits in a barrier ("home").
#pragma once

#include "scheduler/stacks.h"
#include "scheduler/team.h"

namespace omp_ext {

// A wait that was left. Lies on the stack that it left; gone when it is resumed.
struct Suspension {
    explicit Suspension(Member &its_member)
        : member(&its_member), task(its_member.current), table(its_member.table), stack(its_member.stack),
          accompanied(its_member.accompanied), n_locks(its_member.n_locks) {}
    Suspension(const Suspension &) = delete;
    Suspension &operator=(const Suspension &) = delete;

    Member *member; // whose thread left it or, once it goes on, resumed it
    bool may_move = false; // to another thread of the domain
    Task *const task; // current then
    DependenceTable *const table;
    Stack *const stack;
    Task *const accompanied;
    const int n_locks;
    void *anchor = nullptr; // null: that of the implicit task
    Suspension *next = nullptr; // of those that are ready
    Place place;
};

// May waits of this team leave their stacks, now? A wait can when its member has an anchor besides.
bool may_suspend(const Member &member);

// Around what may run tasks in the implicit task, and called in that: lets the runtime come back to it. False: it can
// already, or need not, and end_anchor is not to be called.
bool get_anchor(Member &member);
inline bool begin_anchor(Member &member) {
    return __builtin_expect(member.current == &member.implicit, 0) && !member.anchor && get_anchor(member);
}
void end_anchor(Member &member);

class Anchored {
public:
    explicit Anchored(Member &member) : member_(begin_anchor(member) ? &member : nullptr) {}
    ~Anchored() {
        if (member_) end_anchor(*member_);
    }
    Anchored(const Anchored &) = delete;
    Anchored &operator=(const Anchored &) = delete;

private:
    Member *const member_; // null: nothing was begun
};

// Any thread: what this waits for is there. It may be gone when this returns.
void make_ready(Suspension &suspension);

// Is there one that may be resumed?
inline bool has_ready(const Member &member) {
    return member.first_ready || member.resumed.load(std::memory_order_seq_cst) ||
           member.team->posts[member.domain].n_ready.load(std::memory_order_seq_cst) > 0;
}
// The one that has been ready longest, or null.
Suspension *take_ready(Member &member);

// The member's thread leaves the present wait, `here`, for another one or for the bottom of a new stack, which runs `loop`.
// They return when `here` is resumed, perhaps on another thread; `loop` never returns.
void leave_for(Member &member, Suspension &here, Suspension &there);
void leave_for_new(Member &member, Suspension &here, Stack &stack, void (*loop)(Member &member));
// At the bottom of a new stack: gives it back.
[[noreturn]] void abandon_for(Member &member, Suspension &there);

// Does the task that waits let another one run on top of it? Not when little of the stack is left, nor while a task on
// the stack holds a lock: it could not go on to release it if the one on top wanted it.
inline bool may_run_on_top(const Member &member) { return member.n_locks == 0 && !stack_is_half_used(); }

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
// Stacks besides the threads' own, on which a thread goes on while a task of it waits, and the switch between them. Owns
// their memory and what belongs to a stack rather than to a thread: registers and floating-point control words
// (Boost.Context), C++ exceptions in flight, what sanitizers know. Knows nothing of tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omp_ext {

// A piece of memory for a stack; below it lies a page that nobody may touch.
struct Stack {
    Stack *next; // in its pool
    char *lowest;
    size_t bytes;
    bool has_pages;
};

// Of one thread at a time. All stacks of the process count towards one limit.
class StackPool {
public:
    // Null: the limit is reached, or the system has no more memory.
    Stack *take();
    // Also called on that very stack, just before it is left for good.
    void give(Stack *stack);
    // When all are idle: gives the system back the pages that were not needed since the last time, and the lower ones of
    // the others. It does so ten times a second at most, for the first time a tenth of a second after the first stack or when
    // there are many: regions that follow each other soon need the same pages again.
    void trim();

private:
    bool map_slab();

    char *unused_ = nullptr; // stacks of the newest slab that nobody took yet, each with its guard before it
    size_t n_unused_ = 0;
    Stack *idle_ = nullptr; // the one used last first
    int n_taken_ = 0, max_taken_ = 0; // max_taken_: since the last trim
    int64_t next_trim_ns_ = 0;
};

// Where a thread left a stack. Made on the stack that is left.
struct Place {
    std::atomic<void *> registers{nullptr}; // null until it is left
    const char *lowest = nullptr;
    size_t bytes = 0;
    void *exceptions_caught = nullptr;
    unsigned n_exceptions_uncaught = 0;
    void *fiber = nullptr; // ThreadSanitizer's
    void *fake_stack = nullptr; // AddressSanitizer's
};

// Another thread is leaving it, or has: until it has.
void wait_until_left(const Place &there);

// Leaves the stack for another one, which was left before. Returns when somebody goes to `here`, on the thread of that.
void go_to(Place &here, Place &there);
// The same for a new stack, where entry(argument) is called, which must end in leave_for. Where others may go to `here`,
// the argument must not lie on the stack that is left: they may be on it before the entry looks at it.
void go_to_new(Place &here, Stack &stack, void (*entry)(void *), void *argument);
// Leaves a stack that was gone to as a new one, for good.
[[noreturn]] void leave_for(Place &there);

// Calls the function on the new stack, and returns when it does.
void call_on(Stack &stack, void (*function)(void *), void *argument);

// The stack that the thread is on; unknown before its first switch.
struct StackBounds {
    const char *lowest = nullptr;
    size_t bytes = 0;
    uintptr_t middle = UINTPTR_MAX;
};
extern constinit thread_local StackBounds present_stack __attribute__((tls_model("initial-exec")));
bool is_below_middle_of_stack(uintptr_t frame);

// Is a C++ exception being thrown or handled on the calling thread's present stack?
bool has_exception();

// Is less than half of the calling thread's present stack left?
inline bool stack_is_half_used() {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return __builtin_expect(frame < present_stack.middle, 0) && is_below_middle_of_stack(frame);
}

// Prints on stderr how large the stacks are, and how many there may be.
void display_stacks();

// In the child of a fork.
void forget_stacks();

} // namespace omp_ext

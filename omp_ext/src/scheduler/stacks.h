// SPDX-License-Identifier: Apache-2.0
// Stacks on which a thread continues while one of its tasks waits, and switches between them. Owns their memory and the
// state that belongs to a stack: registers and floating-point control words (Boost.Context), C++ exceptions in flight,
// the state of sanitizers. Knows nothing of tasks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omp_ext {

// A stack, above a guard page.
struct Stack {
    Stack *next; // in its pool
    char *lowest;
    size_t bytes;
    bool has_pages; // false: trim() released all of them
};

// The stacks of one thread. A limit applies to all stacks of the process.
class StackPool {
public:
    // Returns null if the limit is reached or the system has no more memory.
    Stack *take();
    // Gives a stack back. May be called on this stack, just before leaving it for good.
    void give(Stack *stack);
    // Releases pages of idle stacks to the system: all pages of stacks that were not needed since the last release, and
    // the lower pages of the others. Does nothing within a tenth of a second of the first take() or the last release,
    // because later regions need the same pages. Releases them earlier if the thread has mapped many stacks.
    void trim();
    bool are_in_use() const { return n_taken_ > 0; }

private:
    bool map_slab();

    char *unused_ = nullptr; // stacks of the newest slab that were never taken, each above its guard page
    size_t n_unused_ = 0;
    Stack *idle_ = nullptr; // most recently used first
    int n_taken_ = 0, max_taken_ = 0; // max_taken_: most since the last trim
    int64_t next_trim_ns_ = 0;
};

// The saved state of a stack that a thread left. Lies on that stack.
struct StackContext {
    std::atomic<void *> registers{nullptr}; // null until the stack is left
    const char *lowest = nullptr;
    size_t bytes = 0;
    void *exceptions_caught = nullptr;
    unsigned n_exceptions_uncaught = 0;
    void *fiber = nullptr; // ThreadSanitizer's
    void *fake_stack = nullptr; // AddressSanitizer's
};

// Waits until the thread that is leaving the stack `there` has left it.
void wait_until_left(const StackContext &there);

// Leaves the present stack, `here`, for the stack `there`, which a thread left before. When a thread goes back to
// `here`, returns on that thread.
void go_to(StackContext &here, StackContext &there);
// Leaves the present stack for a new one and calls entry(argument) there. entry must end in abandon_for. The argument
// must not be on the present stack if other threads may go to `here`.
void go_to_new(StackContext &here, Stack &stack, void (*entry)(void *), void *argument);
// Leaves for good the present stack, which go_to_new began, and goes to `there`.
[[noreturn]] void abandon_for(StackContext &there);

// Calls a function on a new stack. Returns when the function returns.
void call_on(Stack &stack, void (*function)(void *), void *argument);

// The stack of the calling thread. The thread's first switch or first call of is_below_middle_of_stack() finds it;
// until then every frame is below `middle`.
struct StackBounds {
    const char *lowest = nullptr;
    size_t bytes = 0;
    uintptr_t middle = UINTPTR_MAX;
};
extern constinit thread_local StackBounds present_stack __attribute__((tls_model("initial-exec")));
bool is_below_middle_of_stack(uintptr_t frame);

// True if a C++ exception is being thrown or handled on the present stack.
bool has_exception();

// True if less than half of the present stack is left.
inline bool stack_is_half_used() {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return __builtin_expect(frame < present_stack.middle, 0) && is_below_middle_of_stack(frame);
}

// Prints the size of a stack, and the maximum and present number of stacks, on stderr.
void display_stacks();

// Forgets all stacks, in the child of a fork.
void forget_stacks();

} // namespace omp_ext

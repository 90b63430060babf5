// SPDX-License-Identifier: Apache-2.0
// Maps stacks when first needed, keeps them, and releases their pages when a region ends.
#include "scheduler/stacks.h"

#include <algorithm>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "options.h"
#include "process/loaded_code.h"
#include "scheduler/idle.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(lowest, end) 0
#endif

// Functions of sanitizers; null in programs built without sanitizers.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void **fake_stack, const void *lowest, size_t bytes);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void *fake_stack, const void **lowest, size_t *bytes);
__attribute__((weak)) void *__tsan_get_current_fiber(void);
__attribute__((weak)) void *__tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void *fiber);
__attribute__((weak)) void __tsan_switch_to_fiber(void *fiber, unsigned flags);
}

namespace omp_ext {

namespace context = boost::context::detail;

constinit thread_local StackBounds present_stack;

namespace {

constexpr size_t kUsualBytes = size_t{4} << 20; // the runtime's default
constexpr size_t kLeastBytes = size_t{64} << 10; // more than kKeptBytes
// Maximum number of stacks in the process, used or idle. Each takes up to two mappings; a process may usually have
// 65,530 mappings.
constexpr int kMaxStacks = 20'000;
constexpr size_t kSlabBytes = size_t{64} << 20, kMostPerSlab = 16; // bytes and stacks mapped at once
constexpr int kManyStacks = 1024; // a thread with this many stacks in use trims when its region ends
constexpr size_t kMostBytes = size_t{1} << 40; // of a stack
constexpr int64_t kTrimEveryNs = 100'000'000;
constexpr size_t kKeptBytes = size_t{32} << 10; // bytes kept of an idle stack that was needed since the last trim

std::atomic<int> n_stacks{0};

size_t page_bytes() {
    static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

// Reads a number of bytes as the runtime does: "16M", "64 kb ". `unit`: the unit of a number without one, B or K.
// Returns 0 for anything else.
size_t parse_bytes(const char *text, char unit) {
    static constexpr char kUnits[] = "BKMG", kBlanks[] = " \t";
    const auto upper = [](char c) { return static_cast<char>(toupper(static_cast<unsigned char>(c))); };
    char *end = nullptr;
    const unsigned long long number = strtoull(text, &end, 10);
    if (end == text) return 0;
    end += strspn(end, kBlanks);
    if (*end && strchr(kUnits, upper(*end))) {
        unit = upper(*end++);
        if (unit != 'B' && upper(*end) == 'B') end++;
        end += strspn(end, kBlanks);
    }
    if (*end) return 0;
    const auto shift = 10 * static_cast<unsigned>(strchr(kUnits, unit) - kUnits);
    return number <= kMostBytes >> shift ? number << shift : 0;
}

// Returns the stack size in whole pages: OMP_EXT_STACKSIZE, else the stack size of the runtime's threads. As in the
// runtime, a number without a unit is in bytes in KMP_STACKSIZE, and in KiB elsewhere.
size_t read_stack_bytes() {
    for (const char *name : {"OMP_EXT_STACKSIZE", "KMP_STACKSIZE", "GOMP_STACKSIZE", "OMP_STACKSIZE"}) {
        const char *text = environment(name);
        if (!text || !*text) continue;
        if (const size_t bytes = parse_bytes(text, strcmp(name, "KMP_STACKSIZE") == 0 ? 'B' : 'K'))
            return (std::clamp(bytes, kLeastBytes, kMostBytes) + page_bytes() - 1) & ~(page_bytes() - 1);
        if (strncasecmp(name, "OMP_EXT", 7) == 0)
            say("OMP_EXT_STACKSIZE=%s is not understood; valid values: a number with B, K, M or G. Using the "
                "runtime's size.",
                text);
    }
    return kUsualBytes;
}

// ---------------------------------------------------------------- state of a stack

struct ExceptionGlobals { // as in the C++ ABI
    void *caught;
    unsigned n_uncaught;
};

// The program's __cxa_get_globals; this library's own copy would return other globals. Null in programs without
// exceptions; then each new stack searches again.
using GetExceptionGlobals = ExceptionGlobals *(*)();
std::atomic<GetExceptionGlobals> get_exception_globals{nullptr};

void find_exception_globals() {
    if (get_exception_globals.load(std::memory_order_relaxed)) return;
    void *found = ompass::find_exported("__cxa_get_globals");
    get_exception_globals.store(reinterpret_cast<GetExceptionGlobals>(found), std::memory_order_relaxed);
}

ExceptionGlobals *exception_globals() {
    const GetExceptionGlobals get = get_exception_globals.load(std::memory_order_relaxed);
    return get ? get() : nullptr;
}

void set_present(const char *lowest, size_t bytes) {
    present_stack = {lowest, bytes, reinterpret_cast<uintptr_t>(lowest) + bytes / 2};
}

void find_bounds() {
    present_stack.middle = 0; // remains 0 if the bounds cannot be found
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void *lowest = nullptr;
    size_t bytes = 0, guard = 0;
    pthread_attr_getstack(&attributes, &lowest, &bytes);
    pthread_attr_getguardsize(&attributes, &guard);
    pthread_attr_destroy(&attributes);
    if (bytes > guard) set_present(static_cast<const char *>(lowest) + guard, bytes - guard);
}

void note_departure(StackContext &here) {
    if (!present_stack.lowest) find_bounds();
    here.lowest = present_stack.lowest;
    here.bytes = present_stack.bytes;
    const ExceptionGlobals *globals = exception_globals();
    here.exceptions_caught = globals ? globals->caught : nullptr;
    here.n_exceptions_uncaught = globals ? globals->n_uncaught : 0;
    if (__tsan_get_current_fiber) here.fiber = __tsan_get_current_fiber();
}

void announce(void **fake_stack, const char *lowest, size_t bytes, void *fiber) {
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(fake_stack, lowest, bytes);
    if (__tsan_switch_to_fiber && fiber) __tsan_switch_to_fiber(fiber, 0);
}

void note_arrival(const StackContext &here) {
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(here.fake_stack, nullptr, nullptr);
    set_present(here.lowest, here.bytes);
    if (ExceptionGlobals *globals = exception_globals()) {
        globals->caught = here.exceptions_caught;
        globals->n_uncaught = here.n_exceptions_uncaught;
    }
}

struct Start {
    StackContext *from;
    Stack *stack;
    void *fiber;
    void (*entry)(void *);
    void *argument;
};

// Publishes the registers of the stack that the thread just left, unless it left that stack for good.
void note_left(const context::transfer_t &arrival) {
    if (auto *left = static_cast<StackContext *>(arrival.data))
        left->registers.store(arrival.fctx, std::memory_order_release);
}

thread_local void *fiber_to_end __attribute__((tls_model("initial-exec"))) = nullptr;

void end_fiber() {
    if (void *fiber = std::exchange(fiber_to_end, nullptr)) __tsan_destroy_fiber(fiber);
}

[[gnu::noinline]] void begin(context::transfer_t arrival) {
    // Debuggers and unwinders stop here.
#if defined(__x86_64__)
    asm volatile(".cfi_undefined rip");
#elif defined(__aarch64__)
    asm volatile(".cfi_undefined x30");
#endif
    const Start start = *static_cast<Start *>(arrival.data);
    start.from->registers.store(arrival.fctx, std::memory_order_release);
    StackContext fresh;
    fresh.lowest = start.stack->lowest;
    fresh.bytes = start.stack->bytes;
    note_arrival(fresh);
    start.entry(start.argument);
    abort(); // not reached: entry ends in abandon_for
}

bool make_guard_page(char *page) {
    constexpr int kGuardInstall = 102; // MADV_GUARD_INSTALL of Linux 6.13, which needs no separate mapping
    return madvise(page, page_bytes(), kGuardInstall) == 0 || mprotect(page, page_bytes(), PROT_NONE) == 0;
}

size_t stack_bytes() {
    static const size_t bytes = read_stack_bytes();
    return bytes;
}

} // namespace

void display_stacks() {
    say("additional stacks: %zu KiB each, at most %d, now %d", stack_bytes() >> 10, kMaxStacks,
        n_stacks.load(std::memory_order_relaxed));
}

Stack *StackPool::take() {
    if (Stack *stack = idle_) {
        idle_ = stack->next;
        stack->has_pages = true;
        max_taken_ = std::max(max_taken_, ++n_taken_);
        return stack;
    }
    if (n_stacks.load(std::memory_order_relaxed) >= kMaxStacks) return nullptr;
    if (n_unused_ == 0 && !map_slab()) return nullptr;
    const size_t bytes = stack_bytes();
    char *lowest = std::exchange(unused_, unused_ + page_bytes() + bytes) + page_bytes();
    n_unused_--;
    n_stacks.fetch_add(1, std::memory_order_relaxed);
    find_exception_globals();
    max_taken_ = std::max(max_taken_, ++n_taken_);
    if (next_trim_ns_ == 0) next_trim_ns_ = now_ns() + kTrimEveryNs;
    if (n_taken_ == kManyStacks) next_trim_ns_ = 1; // the next trim() is due
    static_cast<void>(VALGRIND_STACK_REGISTER(lowest, lowest + bytes));
    return new Stack{nullptr, lowest, bytes, true};
}

// Maps as many new stacks at once as the thread has in use, because each mmap delays the other threads' memory calls.
bool StackPool::map_slab() {
    const size_t step = page_bytes() + stack_bytes();
    const size_t most = std::clamp(kSlabBytes / step, size_t{1}, kMostPerSlab);
    for (size_t n = std::clamp(static_cast<size_t>(std::max(n_taken_, 0)), size_t{1}, most); n > 0; n /= 2) {
        void *memory = mmap(nullptr, n * step, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (memory == MAP_FAILED) continue;
        unused_ = static_cast<char *>(memory);
        while (n_unused_ < n && make_guard_page(unused_ + n_unused_ * step)) n_unused_++;
        if (n_unused_ < n) munmap(unused_ + n_unused_ * step, (n - n_unused_) * step);
        return n_unused_ > 0;
    }
    return false;
}

void StackPool::give(Stack *stack) {
    n_taken_--;
    stack->next = idle_;
    idle_ = stack;
}

void StackPool::trim() {
    if (!idle_ || now_ns() < next_trim_ns_) return;
    next_trim_ns_ = now_ns() + kTrimEveryNs;
    int n = 0;
    // Fully trimmed stacks are last.
    for (Stack *stack = idle_; stack && stack->has_pages; stack = stack->next) {
        stack->has_pages = n++ < max_taken_;
        const size_t bytes = stack->bytes - (stack->has_pages ? kKeptBytes : 0);
        // The page below the kept pages is present if the stack once grew deeper.
        unsigned char is_there = 1;
        if (stack->has_pages) mincore(stack->lowest + bytes - page_bytes(), page_bytes(), &is_there);
        if (is_there & 1) madvise(stack->lowest, bytes, MADV_DONTNEED);
    }
    max_taken_ = 0;
}

void wait_until_left(const StackContext &there) {
    while (!there.registers.load(std::memory_order_acquire)) sched_yield();
}

void go_to(StackContext &here, StackContext &there) {
    note_departure(here);
    announce(&here.fake_stack, there.lowest, there.bytes, there.fiber);
    const context::transfer_t arrival = context::jump_fcontext(there.registers.load(std::memory_order_acquire), &here);
    note_left(arrival);
    note_arrival(here);
    end_fiber();
}

void go_to_new(StackContext &here, Stack &stack, void (*entry)(void *), void *argument) {
    note_departure(here);
    Start start{&here, &stack, __tsan_create_fiber ? __tsan_create_fiber(0) : nullptr, entry, argument};
    announce(&here.fake_stack, stack.lowest, stack.bytes, start.fiber);
    const context::transfer_t arrival =
        context::jump_fcontext(context::make_fcontext(stack.lowest + stack.bytes, stack.bytes, begin), &start);
    note_left(arrival);
    note_arrival(here);
    end_fiber();
}

void abandon_for(StackContext &there) {
    if (__tsan_get_current_fiber) fiber_to_end = __tsan_get_current_fiber();
    announce(nullptr, there.lowest, there.bytes, there.fiber);
    context::jump_fcontext(there.registers.load(std::memory_order_acquire), nullptr);
    __builtin_unreachable();
}

namespace {

struct Call {
    void (*function)(void *);
    void *argument;
    StackContext caller;
};

void make_call(void *argument) {
    Call &call = *static_cast<Call *>(argument);
    call.function(call.argument);
    abandon_for(call.caller);
}

} // namespace

void call_on(Stack &stack, void (*function)(void *), void *argument) {
    Call call{function, argument, {}};
    go_to_new(call.caller, stack, make_call, &call);
}

bool is_below_middle_of_stack(uintptr_t frame) {
    if (!present_stack.lowest) find_bounds();
    return frame < present_stack.middle;
}

bool has_exception() {
    static const bool has_looked = (find_exception_globals(), true);
    const ExceptionGlobals *globals = has_looked ? exception_globals() : nullptr;
    return globals && (globals->caught || globals->n_uncaught > 0);
}

void forget_stacks() { n_stacks.store(0, std::memory_order_relaxed); }

} // namespace omp_ext

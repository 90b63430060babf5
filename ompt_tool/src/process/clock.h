// SPDX-License-Identifier: Apache-2.0
// The clock: one read of the invariant time stamp counter per event, and its calibration. Recorded time stands still
// during a pause (omp_control_tool), so the times before and after it add up.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "format/format.h"

namespace ompass::clock {

// Readings of the clock and of CLOCK_MONOTONIC at nearly the same time, the closest pair of a few tries.
struct Reading {
    uint64_t ticks; // counter value, including pauses
    uint64_t monotonic_ns;
};

// Written by initialize() and set_rate() before the first event, then by pause() and resume(); read by every thread.
struct alignas(64) ClockState {
    std::atomic<uint64_t> offset{0}; // total length of past pauses
    std::atomic<uint64_t> running{0}; // `offset` while the clock runs, ~0 during a pause
    std::atomic<uint64_t> frozen{0}; // recorded time of the current pause; 0: none
    std::atomic<uint64_t> last_pause{0}; // recorded time of the last completed pause
    std::atomic<uint64_t> last_length{0}; // length of the last completed pause in ticks
    bool use_counter = false; // the counter is invariant; otherwise clock_gettime is the clock
    Reading first = {}; // first reading of the run
    uint64_t ns_multiplier = 1ull << 32; // nanoseconds per tick, 32.32 fixed point
};
extern ClockState state;

// Returns the time of a system clock in nanoseconds; 0: the clock does not exist.
inline uint64_t read_ns(clockid_t clock) {
    timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}
inline uint64_t monotonic_ns() { return read_ns(CLOCK_MONOTONIC); }

// Returns the processor-time clock of a thread of this process (clock_getcpuclockid(3) returns clocks of processes).
inline clockid_t processor_time_of(uint32_t tid) { return static_cast<clockid_t>(~tid << 3 | 6); }

// Returns the processor's counter. Call it only if the counter is invariant.
inline uint64_t counter() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return monotonic_ns();
#endif
}

// Returns the clock's value, including pauses.
inline uint64_t raw() { return __builtin_expect(state.use_counter, 1) ? counter() : monotonic_ns(); }

// Does the work of now() without a counter, and while a pause begins, lasts or ends.
[[gnu::cold]] uint64_t now_slowly();

// Returns recorded time in ticks: the clock's value without pauses.
inline uint64_t now() {
    if (__builtin_expect(state.use_counter, 1)) {
        const uint64_t offset = state.offset.load(std::memory_order_acquire), time = counter() - offset;
        if (__builtin_expect(state.running.load(std::memory_order_acquire) == offset, 1)) return time;
    }
    return now_slowly();
}

// Returns the recorded time of a past value of the counter. Correct for values after the next-to-last pause.
inline uint64_t recorded(uint64_t counter) {
    const uint64_t frozen = state.frozen.load(std::memory_order_relaxed);
    const uint64_t time = counter - state.offset.load(std::memory_order_relaxed);
    if (frozen != 0 && time > frozen) return frozen;
    const uint64_t pause = state.last_pause.load(std::memory_order_relaxed);
    if (__builtin_expect(time >= pause, 1)) return time;
    const uint64_t before = time + state.last_length.load(std::memory_order_relaxed);
    return before < pause ? before : pause;
}

// True if a past value of the counter lies in the current or the last pause.
inline bool was_paused(uint64_t counter) {
    const uint64_t time = recorded(counter);
    return time == state.frozen.load(std::memory_order_relaxed) ||
           time == state.last_pause.load(std::memory_order_relaxed);
}

// True if the clock has run without a pause since this recorded time.
inline bool has_run_since(uint64_t time) {
    return state.frozen.load(std::memory_order_relaxed) == 0 && state.last_pause.load(std::memory_order_relaxed) < time;
}

inline bool paused() { return state.frozen.load(std::memory_order_relaxed) != 0; }

inline uint64_t to_ns(uint64_t ticks) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * state.ns_multiplier) >> 32);
}
inline uint64_t from_ns(uint64_t ns) { return format::limit_ticks(ns, state.ns_multiplier); }

// Chooses the clock. Called once, before any other function here.
format::ClockKind initialize();

Reading read_both();

// Sets the rate from `first` and a second reading at least a millisecond later. Waits until then if necessary.
void set_rate(Reading first);

// Stop and restart recorded time, to within about a microsecond. A second pause() or resume() does nothing. One thread
// at a time may call them. resume() returns the length of the pause in ticks.
void pause();
uint64_t resume();

} // namespace ompass::clock

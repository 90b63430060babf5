// SPDX-License-Identifier: Apache-2.0
// Annotations for ThreadSanitizer, which does not see how the scheduler passes tasks between threads. Random sleeps
// where threads meet, in the build with which tests look for hangs. Both do nothing in other builds and programs.
#pragma once

#ifdef OMP_EXT_INJECT_SLEEPS
#include <cstdint>
#include <sched.h>
#include <unistd.h>
#endif

extern "C" {
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);
}

namespace omp_ext {

inline bool is_under_tsan() { return __tsan_acquire && __tsan_release; }

// Everything before the release of an address happens before everything after a later acquisition of that address.
inline void note_release(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_release(const_cast<void *>(address));
}
inline void note_acquire(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_acquire(const_cast<void *>(address));
}

#ifdef OMP_EXT_INJECT_SLEEPS
inline void inject_sleep() {
    static thread_local uint32_t state = static_cast<uint32_t>(gettid()) * 2654435761u + 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    // Dense for the first few thousand interruptions, then rare, so programs with many tasks end.
    static thread_local uint32_t n_interruptions = 0;
    if (state % 8 != 0 || (n_interruptions > 4096 && state % 4096 != 0)) return;
    n_interruptions++;
    if (state % 64 == 0)
        usleep(state % 211);
    else
        sched_yield();
}
#else
inline void inject_sleep() {}
#endif

} // namespace omp_ext

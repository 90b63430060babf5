// SPDX-License-Identifier: Apache-2.0
// Annotations for ThreadSanitizer, which does not see how the scheduler passes tasks between threads. They do nothing
// in programs that are not built with it.
#pragma once

extern "C" {
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);
}

namespace omp_ext {

inline bool is_under_tsan() { return __tsan_acquire && __tsan_release; }

// Everything before the release of an address happens before everything after an acquisition of it.
inline void note_release(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_release(const_cast<void *>(address));
}
inline void note_acquire(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_acquire(const_cast<void *>(address));
}

} // namespace omp_ext

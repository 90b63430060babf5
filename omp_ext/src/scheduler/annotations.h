// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer has to be told: tasks are handed from thread to thread by a scheduler that it does not see into.
// Nothing happens in programs that are not built with it.
#pragma once

extern "C" {
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);
}

namespace omp_ext {

inline bool is_under_tsan() { return __tsan_acquire && __tsan_release; }

// What was done before releasing an address happens before what follows an acquisition of it.
inline void note_release(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_release(const_cast<void *>(address));
}
inline void note_acquire(const void *address) {
    if (__builtin_expect(is_under_tsan(), 0)) __tsan_acquire(const_cast<void *>(address));
}

} // namespace omp_ext

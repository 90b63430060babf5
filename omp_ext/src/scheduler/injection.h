// SPDX-License-Identifier: Apache-2.0
// Random sleeps at the points where threads meet, in the library that the tests load to look for hangs; nothing in the
// one that is installed.
#pragma once

#ifdef OMP_EXT_INJECT_SLEEPS
#include <cstdint>
#include <sched.h>
#include <unistd.h>
#endif

namespace omp_ext {

#ifdef OMP_EXT_INJECT_SLEEPS
inline void inject_sleep() {
    static thread_local uint32_t state = static_cast<uint32_t>(gettid()) * 2654435761u + 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    // The first few thousand interruptions are dense; then they become rare, lest programs with very many tasks not end.
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

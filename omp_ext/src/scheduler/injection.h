// SPDX-License-Identifier: Apache-2.0
// Random sleeps at points where threads meet, compiled only into the library that tests search for hangs.
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

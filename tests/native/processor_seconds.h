// SPDX-License-Identifier: Apache-2.0
// Times code in tests. Other programs may delay the code, so this measures CPU time, and takes the fastest round.
#pragma once

#include <algorithm>
#include <ctime>

#include "process/clock.h"

namespace ompass {

// Calls work() n_rounds times. Returns the calling thread's CPU time in the fastest call, in seconds.
template <typename Work>
double processor_seconds(int n_rounds, Work &&work) {
    uint64_t fastest = UINT64_MAX;
    for (int round = 0; round < n_rounds; round++) {
        const uint64_t begin = clock::read_ns(CLOCK_THREAD_CPUTIME_ID);
        work();
        fastest = std::min(fastest, clock::read_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
    }
    return 1e-9 * static_cast<double>(fastest);
}

} // namespace ompass

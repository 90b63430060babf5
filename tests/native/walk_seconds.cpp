// SPDX-License-Identifier: Apache-2.0
#include "walk_seconds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "events/walker.h"

namespace ompass {

double seconds_of_walk(const std::string &directory, uint32_t thread) {
    RunFiles run;
    TraceIndex index;
    EXPECT_FALSE(open_run(directory, run));
    EXPECT_FALSE(read_trace_index(run, index));
    double fastest = 1e9;
    for (int round = 0; round < 3; round++) {
        IndexedObserver observer(index);
        const auto begin = std::chrono::steady_clock::now();
        ThreadWalk<IndexedObserver> walk(run, thread, observer);
        EXPECT_FALSE(walk_thread(walk));
        fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return fastest;
}

} // namespace ompass

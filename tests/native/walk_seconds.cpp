// SPDX-License-Identifier: Apache-2.0
#include "walk_seconds.h"

#include <gtest/gtest.h>

#include "events/walker.h"
#include "processor_seconds.h"

namespace ompass {

double seconds_of_walk(const std::string &directory, uint32_t thread) {
    RunFiles run;
    TraceIndex index;
    EXPECT_FALSE(open_run(directory, run));
    EXPECT_FALSE(read_trace_index(run, index));
    return processor_seconds(3, [&] {
        IndexedObserver observer(index);
        ThreadWalk<IndexedObserver> walk(run, thread, observer);
        EXPECT_FALSE(walk_thread(walk));
    });
}

} // namespace ompass

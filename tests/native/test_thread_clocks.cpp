// SPDX-License-Identifier: Apache-2.0
#include "perf/thread_clocks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "process/clock.h"

namespace ompass {
namespace {

TEST(ThreadClocks, unused_clocks_are_never_read) {
    const ThreadClocks clocks;
    EXPECT_FALSE(clocks.is_due(uint64_t{1} << 62));
}

TEST(ThreadClocks, short_regions_share_a_reading_and_long_ones_do_not) {
    clock::initialize();
    clock::set_rate(clock::read_both());
    ThreadClocks clocks;
    const uint64_t begin = clock::now(), short_after = clock::from_ns(2'000), long_after = clock::from_ns(1'000'000);
    clocks.begin(static_cast<uint32_t>(gettid()), begin);
    EXPECT_FALSE(clocks.is_due(begin + short_after));
    EXPECT_TRUE(clocks.is_due(begin + long_after));
    clocks.take(begin + long_after);
    EXPECT_FALSE(clocks.is_due(begin + long_after + short_after));
    EXPECT_TRUE(clocks.is_due(begin + 2 * long_after));
    clocks.end();
}

} // namespace
} // namespace ompass

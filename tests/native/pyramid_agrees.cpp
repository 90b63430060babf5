// SPDX-License-Identifier: Apache-2.0
#include "pyramid_agrees.h"

#include <gtest/gtest.h>

#include <array>

#include "analyses/pyramid.h"

namespace ompass {

void check_pyramid(const std::string &directory, const std::vector<ThreadAccount> &replayed) {
    Pyramid pyramid;
    ASSERT_FALSE(pyramid.open(directory, false));
    std::array<uint64_t, format::kStates> spent = {};
    uint64_t n_ready = 0, n_ran = 0;
    for (const ThreadAccount &account : replayed) {
        for (const format::RegionSlot &region : account.regions)
            for (size_t state = 0; state < spent.size(); state++) spent[state] += region.state_ticks[state];
        for (const format::ConstructSlot &construct : account.constructs) n_ready += construct.n_ready;
    }
    for (const auto &by_creator : pyramid.ran())
        for (const uint64_t n : by_creator) n_ran += n;
    EXPECT_EQ(n_ran, n_ready);
    std::vector<uint32_t> threads(pyramid.run().threads.size());
    for (uint32_t thread = 0; thread < threads.size(); thread++) threads[thread] = thread;
    WindowIntervals all;
    ASSERT_FALSE(pyramid.read_intervals(threads, 0, pyramid.end_ns(), 1'000'000'000, all));
    const RunClock clock(*pyramid.run().process);
    for (const auto &[state, ns] : pyramid.totals(Dimension::kState))
        EXPECT_NEAR(static_cast<double>(ns), static_cast<double>(clock.ns(spent[state])),
                    static_cast<double>(all.rows.size()));
}

void open_pyramid(const std::string &directory) {
    Pyramid pyramid;
    (void)pyramid.open(directory, false);
}

} // namespace ompass

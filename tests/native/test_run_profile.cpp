// SPDX-License-Identifier: Apache-2.0
// Tests rows made from invented statistics: limits, absurd values as in a damaged log, and the sum of two rows.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "format/run_profile.h"

namespace ompass {
namespace {

class MadeAccount : public testing::Test {
protected:
    MadeAccount() {
        process_.rate = uint64_t{1} << 32; // a tick is a nanosecond
        process_.min_create_gap = 100;     // without wrappers, creation is estimated
        run_.process = &process_;
        run_.threads.resize(1);
        run_.threads[0].header = &thread_;
        accounts_.resize(1);
    }

    RunProfile profile() { return make_profile(run_, accounts_, false); }

    format::ProcessHeader process_{};
    format::ThreadHeader thread_{};
    RunFiles run_;
    std::vector<ThreadAccount> accounts_;
};

// The tool computes its limits from its first estimate of the clock's rate. A reader must compute the same limits, so
// that a gap equal to a limit counts the same.
TEST_F(MadeAccount, LimitsEqualTheToolsForAnyFinalRate) {
    process_.clock_kind = format::ClockKind::kTsc;
    process_.rate = (uint64_t{1000} << 32) / 2250 + 1;
    process_.calibration_ticks = 1'000;
    process_.latest_ticks = 1'000 + 22'500'001;
    process_.latest_monotonic_ns = 10'000'000;
    const RunClock clock(process_);
    EXPECT_EQ(clock.ticks(1000), 2250u);
    EXPECT_EQ(clock.limit_ticks(1000), 2249u);
    EXPECT_EQ(clock.limit_ticks(1000), format::limit_ticks(1000, process_.rate));
    process_.rate = 0; // no tool writes this
    EXPECT_EQ(RunClock(process_).limit_ticks(1000), 2250u);
    EXPECT_EQ(format::limit_ticks(1000, uint64_t{1} << 32), 1000u);
    EXPECT_EQ(format::limit_ticks(60'000'000'000, uint64_t{1} << 32), 60'000'000'000u);
}

// Under UBSan, an undefined conversion or overflow ends the test.
TEST_F(MadeAccount, AbsurdCountsAreConvertedUpToTheLimit) {
    format::ConstructSlot &construct = accounts_[0].construct(1);
    construct.n_deferred = ~uint64_t{0};
    format::RegionSlot &region = accounts_[0].region(2);
    region.n_instances = 1;
    region.n_created = ~uint64_t{0};
    region.domain = uint64_t{1} << 63;
    region.state_ticks[static_cast<size_t>(format::State::kWork)] = ~uint64_t{0};
    const RunProfile made = profile();
    ASSERT_EQ(made.constructs.size(), 1u);
    EXPECT_EQ(made.constructs[0].create_ns, ~uint64_t{0});
    ASSERT_EQ(made.regions.size(), 1u);
    const RegionRow &row = made.regions[0];
    EXPECT_EQ(row.domain, INT64_MAX);
    EXPECT_EQ(row.create_ns, ~uint64_t{0} / 10 * 9 + 4); // limited to nine tenths of the work
    EXPECT_EQ(row.work_ns + row.create_ns, row.total_ns);
}

TEST_F(MadeAccount, RowsAddUpByTheRuleOfEachFigure) {
    format::ConstructSlot &slot = accounts_[0].construct(1);
    slot.n_timed = 2, slot.min_ticks = 5, slot.max_ticks = 9, slot.histogram[2] = 1, slot.histogram[3] = 1;
    slot.own_ticks = 14;
    const ConstructRow one = profile().constructs[0];
    ConstructRow other = one;
    other.thread = 1, other.min_ns = 3, other.max_ns = 8;
    const ConstructRow both = one + other;
    EXPECT_EQ(both.construct, 1);
    EXPECT_EQ(both.thread, 0u);
    EXPECT_EQ(both.n_timed, 4u);
    EXPECT_EQ(both.min_ns, 3u);
    EXPECT_EQ(both.max_ns, 9u);
    EXPECT_EQ(both.work_ns, 28u);
    EXPECT_EQ(both.histogram.values[2], 2u);
    other.n_timed = other.min_ns = other.max_ns = 0; // a thread without timed tasks has no minimum
    EXPECT_EQ((one + other).min_ns, 5u);
    EXPECT_EQ((other + one).min_ns, 5u);
}

} // namespace
} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Tests the pool of a thread's entries in process.log. The thread takes an entry for each region that it leads.
#include "log/instance_pool.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "log/process_log.h"
#include "recording_fixture.h"

namespace ompass {
namespace {

using format::RegionInstance;

class InstancePoolTest : public Recording {};

// Takes an entry for a region with n_workers workers.
RegionInstance *take(InstancePool &pool, int n_workers) {
    RegionInstance *entry = pool.take();
    entry->n_open = 1 + n_workers;
    return entry;
}

TEST_F(InstancePoolTest, an_entry_is_reused_only_when_all_threads_have_closed_their_parts) {
    begin("profile");
    InstancePool pool{};
    RegionInstance *first = take(pool, 2);
    pool.give_back(first);
    InstancePool::close(first);
    RegionInstance *second = take(pool, 0);
    EXPECT_NE(second, first);
    InstancePool::close(first);
    pool.give_back(second);
    EXPECT_EQ(pool.take(), first);
    EXPECT_EQ(pool.take(), second);
}

TEST_F(InstancePoolTest, a_taken_entry_has_zeros_and_a_sequence_of_its_own) {
    begin("profile");
    InstancePool pools[2] = {};
    std::set<uint64_t> sequences;
    for (int i = 0; i < 5000; i++) {
        RegionInstance *entry = take(pools[i % 2], 0);
        EXPECT_TRUE(sequences.insert(entry->sequence).second);
        EXPECT_EQ(entry->end | entry->last_arrival[0] | entry->waited_for[1] | entry->has_tasks, 0u);
        entry->end = entry->last_arrival[0] = entry->waited_for[1] = entry->has_tasks = 1;
        pools[i % 2].give_back(entry);
    }
}

TEST_F(InstancePoolTest, workers_that_never_leave_cost_no_further_entries) {
    begin("profile");
    InstancePool pool{};
    constexpr int kStuck = 300;
    for (int i = 0; i < kStuck; i++) pool.give_back(take(pool, 1));
    std::set<RegionInstance *> used;
    for (int i = 0; i < 5'000; i++) {
        RegionInstance *entry = take(pool, 0);
        used.insert(entry);
        pool.give_back(entry);
    }
    EXPECT_EQ(used.size(), 1u);
}

TEST_F(InstancePoolTest, an_ended_thread_leaves_its_entries_to_others) {
    begin("profile");
    InstancePool ending{}, other{};
    RegionInstance *free = take(ending, 0), *open = take(ending, 1);
    ending.give_back(free);
    ending.give_back(open);
    ending.clear();
    EXPECT_EQ(other.take(), free);
    InstancePool::close(open);
    EXPECT_EQ(other.take(), open);
}

// Workers close their parts while the primary leads the next regions. No two regions may use an entry at once.
TEST_F(InstancePoolTest, workers_close_parts_while_entries_are_reused) {
    begin("profile");
    constexpr int kWorkers = 3, kRegions = 5'000, kAhead = 8;
    InstancePool pool{};
    std::vector<std::atomic<RegionInstance *>> of_region(kRegions);
    std::atomic<int> n_closed[kWorkers] = {}, n_wrong{0};
    std::vector<std::thread> workers;
    for (int worker = 0; worker < kWorkers; worker++)
        workers.emplace_back([&, worker] {
            for (int region = 0; region < kRegions; region++) {
                RegionInstance *entry;
                while (!(entry = of_region[region].load(std::memory_order_acquire))) std::this_thread::yield();
                n_wrong += entry->id != static_cast<uint64_t>(region);
                InstancePool::close(entry);
                n_closed[worker].store(region + 1, std::memory_order_relaxed);
            }
        });
    for (int region = 0; region < kRegions; region++) {
        for (auto &closed : n_closed)
            while (closed.load(std::memory_order_relaxed) + kAhead < region) std::this_thread::yield();
        RegionInstance *entry = take(pool, kWorkers);
        entry->id = static_cast<uint64_t>(region);
        of_region[region].store(entry, std::memory_order_release);
        pool.give_back(entry);
    }
    for (std::thread &worker : workers) worker.join();
    EXPECT_EQ(n_wrong, 0);
}

} // namespace
} // namespace ompass

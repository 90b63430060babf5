// SPDX-License-Identifier: Apache-2.0
// Tests the memory of light tasks: blocks are whole cache lines, are reused, and may be returned by other threads.
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#include <vector>

#include "scheduler/block_pool.h"
#include "scheduler/deque.h"

namespace {

using omp_ext::BlockPool;
using omp_ext::Deque;

TEST(BlockPool, GivesExclusiveCacheLines) {
    BlockPool pool;
    std::set<char *> lines;
    for (int i = 0; i < 500; i++) {
        const size_t n_lines = 1 + static_cast<size_t>(i) % BlockPool::kMostLines;
        auto *block = static_cast<char *>(pool.take(n_lines));
        EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % BlockPool::kLine, 0u);
        memset(block, i, n_lines * BlockPool::kLine);
        for (size_t line = 0; line < n_lines; line++) EXPECT_TRUE(lines.insert(block + line * BlockPool::kLine).second);
    }
}

TEST(BlockPool, GivesTheLastReturnedBlockFirst) {
    BlockPool pool;
    void *first = pool.take(3), *second = pool.take(3);
    pool.give(first, 3);
    pool.give(second, 3);
    EXPECT_NE(pool.take(4), second);
    EXPECT_EQ(pool.take(3), second);
    EXPECT_EQ(pool.take(3), first);
}

TEST(BlockPool, KeepsAsManyBlocksOfOthersAsItHasLent) {
    BlockPool here, there;
    void *mine = here.take(3), *yours = there.take(3), *more = there.take(3);
    here.lend(3);
    here.keep(yours, 3, there);
    EXPECT_EQ(here.take(3), yours);
    here.keep(more, 3, there);
    EXPECT_NE(here.take(3), more);

    // The pool gets its lent block back, so it keeps no other block instead.
    here.lend(3);
    here.give_back(mine, 3, true);
    EXPECT_EQ(here.take(3), mine); // the empty pool found the returned block
    here.keep(yours, 3, there);
    here.lend(3);
    here.take_back();
    here.keep(mine, 3, there);
    std::set<void *> of_there;
    for (int i = 0; i < 3; i++) of_there.insert(there.take(3));
    EXPECT_EQ(of_there, (std::set<void *>{mine, yours, more}));
}

// Stolen tasks and dependences return blocks that no lend() has counted.
TEST(BlockPool, CountsNoReturnOfABlockThatWasNotLent) {
    BlockPool here, there;
    void *mine = here.take(3), *stolen = here.take(3), *yours = there.take(3);
    EXPECT_TRUE(here.lend(3));
    here.give_back(stolen, 3, false);
    here.keep(yours, 3, there); // looks at the returned block first
    EXPECT_EQ(here.take(3), yours);
    EXPECT_EQ(here.take(3), stolen);
    here.give(mine, 3);
}

// Tasks create tasks for the next domain, and so on: the first thread only sends blocks, the last one only receives.
TEST(BlockPool, DoesNotGrowWhenTasksMoveInOneDirection) {
    constexpr int kPools = 3, kRounds = 20'000, kInUse = 8;
    BlockPool pools[kPools];
    std::set<void *> seen;
    for (int round = 0; round < kRounds; round++)
        for (int from = 0; from + 1 < kPools; from++) {
            void *blocks[kInUse];
            for (void *&block : blocks) {
                seen.insert(block = pools[from].take(3));
                pools[from].lend(3);
            }
            for (void *block : blocks) pools[from + 1].keep(block, 3, pools[from]);
        }
    EXPECT_LT(seen.size(), kPools * 1024u);
}

TEST(BlockPool, LeavesLargeBlocksToMalloc) {
    BlockPool pool, there;
    constexpr size_t kLines = BlockPool::kMostLines + 1;
    EXPECT_FALSE(pool.lend(kLines));
    void *yours = there.take(3);
    pool.keep(yours, 3, there);
    EXPECT_NE(pool.take(3), yours); // it has lent nothing
    void *one = pool.take(kLines), *other = pool.take(kLines);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(one) % BlockPool::kLine, 0u);
    memset(one, 1, kLines * BlockPool::kLine);
    pool.give(one, kLines);
    pool.give_back(other, kLines, false);
}

// One thread takes blocks and others return most of them, as with tasks: the number of blocks stays limited.
TEST(BlockPool, GetsBackBlocksFromOtherThreads) {
    constexpr int kThieves = 3, kBlocks = 200'000, kInUse = 64;
    struct Block {
        size_t n_lines;
        int number, check;
    };
    BlockPool pool;
    Deque<Block> deque;
    std::atomic<int> n_run{0};
    std::atomic<bool> is_over{false};
    std::set<Block *> seen;
    const auto run = [&](Block *block, bool is_own) {
        EXPECT_EQ(block->check, ~block->number);
        is_own ? pool.give(block, block->n_lines) : pool.give_back(block, block->n_lines, false);
        n_run.fetch_add(1);
    };
    std::vector<std::thread> thieves;
    thieves.reserve(kThieves);
    for (int i = 0; i < kThieves; i++)
        thieves.emplace_back([&] {
            while (!is_over.load()) {
                Block *block = nullptr;
                if (deque.steal(&block) == omp_ext::StealResult::kTaken)
                    run(block, false);
                else
                    std::this_thread::yield();
            }
        });
    for (int i = 0; i < kBlocks; i++) {
        const size_t n_lines = 1 + static_cast<size_t>(i % 5);
        auto *block = static_cast<Block *>(pool.take(n_lines));
        *block = {n_lines, i, ~i};
        seen.insert(block);
        deque.push(block, 0);
        if (i % 3 == 0)
            if (Block *own = deque.pop(0)) run(own, true);
        while (i - n_run.load() > kInUse) std::this_thread::yield();
    }
    while (n_run.load() < kBlocks) std::this_thread::yield();
    is_over.store(true);
    for (std::thread &thief : thieves) thief.join();
    EXPECT_LT(seen.size(), 5u * 4096u);
}

} // namespace

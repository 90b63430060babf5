// SPDX-License-Identifier: Apache-2.0
// Compares chains of steps with plain copies, while chains branch, end and are compacted. Every chain must keep its
// length and its tasks. When all chains have ended, no step may be left. Tests in Python check whole graphs.
#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "analyses/critical_path.h"

namespace ompass {
namespace {

using Plain = std::vector<std::pair<uint64_t, uint64_t>>; // task, ticks; intervals of one task joined

struct Chain {
    uint32_t step = 0;
    uint64_t task = 0;
    Plain plain;
};

Plain read_back(const StepPool &pool, uint32_t step) {
    Plain found;
    for (; step; step = pool[step].previous) {
        if (!found.empty() && found.back().first == pool[step].task)
            found.back().second += pool[step].ticks;
        else
            found.emplace_back(pool[step].task, pool[step].ticks);
    }
    return {found.rbegin(), found.rend()};
}

TEST(StepPool, KeepsEveryChainWhileOthersBranchAndEnd) {
    for (unsigned seed = 0; seed < 20; seed++) {
        std::minstd_rand random(seed + 1);
        StepPool pool(16); // small, to be compacted constantly
        std::vector<Chain> chains = {{0, 1, {}}};
        uint64_t next_task = 2;
        for (int i = 0; i < 5000; i++) {
            Chain &chain = chains[random() % chains.size()];
            switch (random() % 4) {
            case 0: // a child branches off
                chains.push_back({pool.share(chain.step), next_task++, chain.plain});
                break;
            case 1: // a chain ends
                if (chains.size() > 1) {
                    pool.release(chain.step);
                    std::swap(chain, chains.back());
                    chains.pop_back();
                }
                break;
            default: { // a chain continues
                const uint64_t ticks = random() % 100;
                chain.step = pool.extend(chain.step, chain.task, ticks, 0, 0, 0, 0);
                if (!chain.plain.empty() && chain.plain.back().first == chain.task)
                    chain.plain.back().second += ticks;
                else
                    chain.plain.emplace_back(chain.task, ticks);
            }
            }
        }
        for (const Chain &chain : chains) ASSERT_EQ(read_back(pool, chain.step), chain.plain) << "seed " << seed;
        for (const Chain &chain : chains) pool.release(chain.step);
        EXPECT_EQ(pool.n_live(), 0u);
    }
}

TEST(StepPool, AProducerWhoseTasksEndTakesNoMemory) {
    StepPool pool(1000);
    uint32_t producer = 0;
    std::vector<uint32_t> children(100);
    for (uint64_t i = 0; i < 200000; i++) {
        producer = pool.extend(producer, 1, 5, 0, 0, 0, 0);
        uint32_t &child = children[i % children.size()];
        pool.release(child);
        child = pool.extend(pool.share(producer), 2 + i, 3, 0, 0, 0, 0);
    }
    EXPECT_LT(pool.n_live(), 3000u);
    uint64_t length = 0;
    for (uint32_t step = producer; step; step = pool[step].previous) length += pool[step].ticks;
    EXPECT_EQ(length, 200000u * 5);
}

} // namespace
} // namespace ompass

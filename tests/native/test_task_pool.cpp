// SPDX-License-Identifier: Apache-2.0
// Task states move between threads; none may be lost, issued twice, or leaked.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "accounting/task_state.h"
#include "broken_invariants.h"

namespace ompass {
namespace {

TEST(TaskPool, gives_out_distinct_states_that_know_their_owner) {
    auto pool = std::make_unique<TaskPool>();
    pool->set_owner(7);
    std::set<TaskState *> given;
    for (int i = 0; i < 5000; i++) {
        TaskState *state = pool->take();
        ASSERT_NE(state, nullptr);
        EXPECT_EQ(state->creator, 7);
        EXPECT_TRUE(given.insert(state).second);
    }
}

TEST(TaskPool, peek_does_not_take) {
    auto pool = std::make_unique<TaskPool>();
    TaskState *seen = pool->peek();
    EXPECT_EQ(pool->peek(), seen);
    EXPECT_EQ(pool->take(), seen);
    EXPECT_NE(pool->peek(), seen);
}

TEST(TaskPool, returned_states_are_not_reissued_immediately) {
    auto pool = std::make_unique<TaskPool>();
    TaskState *state = pool->take();
    pool->give_back_delayed(state);
    for (int i = 0; i < 200; i++) {
        TaskState *other = pool->take();
        EXPECT_NE(other, state);
        pool->give_back_delayed(other);
    }
}

// One thread creates all tasks and another completes them. Many tasks must need no more memory than a few.
TEST(TaskPool, memory_stays_bounded_when_another_thread_frees) {
    auto producer = std::make_unique<TaskPool>(), consumer = std::make_unique<TaskPool>();
    constexpr size_t kInFlight = 128;
    std::array<std::atomic<TaskState *>, kInFlight> queue{};
    std::atomic<bool> done{false};
    std::thread other([&] {
        size_t place = 0;
        while (true) {
            TaskState *state = queue[place].exchange(nullptr, std::memory_order_acquire);
            if (!state) {
                if (done) return;
                continue;
            }
            consumer->give_back_to(*producer, state);
            place = (place + 1) % kInFlight;
        }
    });
    std::set<TaskState *> distinct;
    for (size_t i = 0; i < 200'000; i++) {
        TaskState *state = producer->take();
        distinct.insert(state);
        auto &slot = queue[i % kInFlight];
        while (slot.load(std::memory_order_relaxed)) {}
        slot.store(state, std::memory_order_release);
    }
    done = true;
    other.join();
    EXPECT_LT(distinct.size(), 4096u);
}

TEST(TaskPool, detects_a_state_in_use_or_of_another_pool) {
    const auto give_back = [](void (*spoil)(TaskState &)) {
        auto pool = std::make_unique<TaskPool>();
        pool->set_owner(7);
        TaskState *state = pool->take();
        spoil(*state);
        pool->give_back(state);
    };
    OMPASS_EXPECT_NOTICED(give_back([](TaskState &state) { state.creator = 8; }), "creator == owner_");
    OMPASS_EXPECT_NOTICED(give_back([](TaskState &state) { state.creating = 1; }), "creating == 0");
    OMPASS_EXPECT_NOTICED(give_back([](TaskState &state) { state.n_predecessors = 2; }), "n_predecessors == 0");
}

} // namespace
} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Runs all interleavings of the smallest cases; of larger cases, only those with few preemptions. The deque neither
// loses nor duplicates tasks, a barrier ends only after the last task, and each task runs once, after its predecessors.
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <utility>

#include "interleavings.h"
#include "scheduler/dependence_node.h"
#include "scheduler/deque.h"
#include "scheduler/termination.h"

namespace {

using interleavings::Explorer;
using interleavings::Step;
using omp_ext::StealResult;

// Sanitizers cannot follow coroutines with separate stacks.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "coroutines"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SKIP_UNDER_SANITIZERS() GTEST_SKIP() << "coroutines"
#endif
#endif
#ifndef SKIP_UNDER_SANITIZERS
#define SKIP_UNDER_SANITIZERS() (void)0
#endif

struct Item {
    int n_taken = 0;
};

using ModelDeque = omp_ext::Deque<Item, Step>;

struct Case {
    std::array<Item, 4> items{};
    std::unique_ptr<ModelDeque> deque;
    explicit Case(int64_t capacity) : deque(std::make_unique<ModelDeque>(capacity)) {}

    void push(size_t i) { deque->push(&items[i], static_cast<uint16_t>(i)); }
    void pop(int64_t mark = 0) {
        if (Item *item = deque->pop(mark)) item->n_taken++;
    }
    void steal(uint16_t min_tag = 0) {
        Item *item = nullptr;
        if (deque->steal(&item, min_tag) == StealResult::kTaken) item->n_taken++;
    }
    // Checks that each task was taken once; takes the remaining ones.
    void expect_each_once(size_t n) {
        while (Item *item = deque->pop(0)) item->n_taken++;
        for (size_t i = 0; i < n; i++) ASSERT_EQ(items[i].n_taken, 1) << "item " << i;
    }
};

using Act = std::function<void(Case &)>;

// Runs the workers' operations on one deque in each order that the explorer chooses. Returns the number of orders.
uint64_t explore(Explorer explorer, int64_t capacity, const Act &prepare, const std::vector<Act> &workers,
                 const Act &check) {
    std::unique_ptr<Case> state;
    return explorer.explore(
        [&] {
            state = std::make_unique<Case>(capacity);
            prepare(*state);
            std::vector<std::function<void()>> acts;
            for (const Act &worker : workers) acts.emplace_back([&state, &worker] { worker(*state); });
            return acts;
        },
        [&] { check(*state); });
}

void nothing(Case &) {}
void push_first(Case &state) { state.push(0); }
void steal_once(Case &state) { state.steal(); }
void steal_twice(Case &state) {
    state.steal();
    state.steal();
}
Act each_once(size_t n) {
    return [n](Case &state) { state.expect_each_once(n); };
}

TEST(DequeInterleavings, OwnerAndThiefCompeteForTheLastItem) {
    SKIP_UNDER_SANITIZERS();
    const auto owner = [](Case &state) {
        state.push(0);
        state.pop();
    };
    EXPECT_GT(explore(Explorer(), 4, nothing, {owner, steal_once}, each_once(1)), 1000u); // all interleavings
}

TEST(DequeInterleavings, OwnerAndThiefTakeEachItemOnce) {
    SKIP_UNDER_SANITIZERS();
    const auto owner = [](Case &state) {
        state.push(1);
        state.pop();
        state.pop();
    };
    EXPECT_GT(explore(Explorer(4), 4, push_first, {owner, steal_twice}, each_once(2)), 1000u);
}

TEST(DequeInterleavings, TwoThievesAndTheOwnerCompeteForTheLastItem) {
    SKIP_UNDER_SANITIZERS();
    const auto owner = [](Case &state) { state.pop(); };
    EXPECT_GT(explore(Explorer(4), 4, push_first, {owner, steal_once, steal_once}, each_once(1)), 1000u);
}

TEST(DequeInterleavings, NothingIsLostWhileTheDequeGrows) {
    SKIP_UNDER_SANITIZERS();
    const auto owner = [](Case &state) {
        for (size_t i = 0; i < 4; i++) state.push(i);
        state.pop();
    };
    EXPECT_GT(explore(Explorer(3), 1, nothing, {owner, steal_twice}, each_once(4)), 1000u);
}

TEST(DequeInterleavings, ItemsBelowTheMarkAndOfLowTagsStay) {
    SKIP_UNDER_SANITIZERS();
    const auto owner = [](Case &state) {
        const int64_t mark = state.deque->bottom();
        state.push(1);
        state.pop(mark);
        state.pop(mark);
    };
    const auto check = [](Case &state) {
        ASSERT_EQ(state.items[0].n_taken, 0);
        state.expect_each_once(2);
    };
    explore(Explorer(4), 4, push_first, {owner, [](Case &state) { state.steal(1); }}, check);
}

// A barrier of two workers. A task of level k puts a task of level k - 1 into a bag from which both workers take.
struct Barrier {
    static constexpr int kWorkers = 2;
    std::array<Step<uint64_t>, kWorkers> created{}, done{};
    Step<uint64_t> arrived{0};
    std::array<Step<int>, 3> bag{}; // tasks by level
    int n_really_left = 0; // true number of incomplete tasks, for the check; not a Step
    bool ended_early = false;
    int n_ended = 0;

    struct Counts {
        const Barrier &barrier;
        int n_workers() const { return kWorkers; }
        uint64_t n_arrived() const { return barrier.arrived.load(); }
        uint64_t n_done(int i) const { return barrier.done[static_cast<size_t>(i)].load(); }
        uint64_t n_created(int i) const { return barrier.created[static_cast<size_t>(i)].load(); }
        uint64_t n_done_by_events() const { return 0; }
    };

    void add(Step<uint64_t> &count) { count.store(count.load() + 1); }
    void create(size_t worker, size_t level) {
        n_really_left++;
        add(created[worker]);
        bag[level].fetch_add(1);
    }
    bool run_one(size_t worker) {
        for (size_t level = bag.size(); level-- > 0;) {
            int n = bag[level].load();
            if (n == 0 || !bag[level].compare_exchange_strong(n, n - 1)) continue;
            if (level > 0) create(worker, level - 1);
            n_really_left--;
            add(done[worker]);
            return true;
        }
        return false;
    }
    void run(size_t worker, int level) {
        if (level >= 0) create(worker, static_cast<size_t>(level));
        arrived.fetch_add(1);
        for (int round = 0; round < 6; round++) { // enough for all tasks and some failed searches
            if (run_one(worker)) continue;
            if (!omp_ext::barrier_may_end(Counts{*this}, kWorkers)) continue;
            ended_early |= n_really_left != 0;
            n_ended++;
            return;
        }
    }
};

TEST(TerminationInterleavings, NoBarrierEndsBeforeTheLastTask) {
    SKIP_UNDER_SANITIZERS();
    for (const auto &[first, second] : {std::pair{1, -1}, {0, 0}, {2, -1}}) {
        std::unique_ptr<Barrier> state;
        uint64_t n_ended = 0;
        const uint64_t n = Explorer(2).explore(
            [&]() -> std::vector<std::function<void()>> {
                state = std::make_unique<Barrier>();
                return {[&, level = first] { state->run(0, level); }, [&, level = second] { state->run(1, level); }};
            },
            [&] {
                ASSERT_FALSE(state->ended_early);
                n_ended += state->n_ended > 0;
            });
        EXPECT_GT(n, 1000u);
        EXPECT_GT(n_ended, n / 2); // the barrier ends in most orders
    }
}

// Reads the two sums in the wrong order: the checker must find a barrier that ends early.
TEST(TerminationInterleavings, TheCheckerFindsAWrongProtocol) {
    SKIP_UNDER_SANITIZERS();
    std::unique_ptr<Barrier> state;
    bool found = false;
    struct Wrong {
        Barrier::Counts counts;
        int n_workers() const { return counts.n_workers(); }
        uint64_t n_arrived() const { return counts.n_arrived(); }
        uint64_t n_done(int i) const { return counts.n_created(i); }
        uint64_t n_created(int i) const { return counts.n_done(i); }
        uint64_t n_done_by_events() const { return 0; }
    };
    Explorer(3).explore(
        [&]() -> std::vector<std::function<void()>> {
            state = std::make_unique<Barrier>();
            return {[&] {
                        state->create(0, 2);
                        state->arrived.fetch_add(1);
                        while (state->run_one(0)) {}
                    },
                    [&] {
                        state->arrived.fetch_add(1);
                        for (int i = 0; i < 3; i++)
                            if (omp_ext::barrier_may_end(Wrong{{*state}}, 2)) {
                                found |= state->n_really_left != 0;
                                return;
                            }
                    }};
        },
        [] {});
    EXPECT_TRUE(found);
}

// Other threads complete nodes 0 and 1. The creator, thread 0, makes nodes 2 and 3, which depend on them. Each node is
// in one list of the creator.
struct Dependences {
    using Node = omp_ext::GraphNode<Step>;

    std::array<std::unique_ptr<Node>, 4> nodes;
    std::array<int, 4> n_released{}, n_freed{}, n_incomplete{};

    Dependences() {
        for (auto &node : nodes) node = std::make_unique<Node>(nullptr);
        for (const size_t i : {0, 1}) {
            nodes[i]->end_creation();
            n_incomplete[i] = 1;
        }
    }

    size_t number_of(const Node &node) const {
        for (size_t i = 0; i < nodes.size(); i++)
            if (nodes[i].get() == &node) return i;
        return nodes.size();
    }
    void release(size_t i) {
        n_released[i]++;
        for (const size_t earlier : {0, 1}) ASSERT_EQ(n_incomplete[earlier] & wants[i][earlier], 0);
    }
    void create(size_t i, const std::vector<size_t> &predecessors) {
        for (const size_t earlier : predecessors) {
            wants[i][earlier] = 1;
            nodes[earlier]->add_successor(*nodes[i], 0, [&]() -> Node::EdgeBlock * { return nullptr; });
        }
        if (nodes[i]->end_creation()) release(i);
    }
    void unlist(size_t i) {
        if (--nodes[i]->n_lists == 0 && nodes[i]->unlist()) n_freed[i]++;
    }
    void complete(size_t i) {
        n_incomplete[i] = 0;
        if (nodes[i]->close([&](Node &successor, Node::Link) {
                if (successor.release_one() == 1) release(number_of(successor));
            }))
            n_freed[i]++;
    }

private:
    std::array<std::array<int, 2>, 4> wants{}; // node, predecessor
};

using GraphAct = std::function<void(Dependences &)>;

uint64_t explore_dependences(Explorer explorer, const std::vector<GraphAct> &threads, const GraphAct &check) {
    std::unique_ptr<Dependences> state;
    return explorer.explore(
        [&] {
            state = std::make_unique<Dependences>();
            std::vector<std::function<void()>> bodies;
            for (const GraphAct &thread : threads) bodies.emplace_back([&state, &thread] { thread(*state); });
            return bodies;
        },
        [&] { check(*state); });
}

void complete_first(Dependences &state) { state.complete(0); }
void complete_second(Dependences &state) { state.complete(1); }

TEST(DependenceInterleavings, EachSuccessorOfATaskIsReleasedOnce) {
    SKIP_UNDER_SANITIZERS();
    const auto create = [](Dependences &state) {
        state.create(2, {0});
        state.create(3, {0});
        state.unlist(0);
    };
    const auto check = [](Dependences &state) {
        ASSERT_EQ(state.n_released[2], 1);
        ASSERT_EQ(state.n_released[3], 1);
        ASSERT_EQ(state.n_freed[0], 1);
    };
    EXPECT_GT(explore_dependences(Explorer(), {create, complete_first}, check), 50u); // all interleavings
}

TEST(DependenceInterleavings, ATaskIsReleasedAfterTheLastOfItsPredecessors) {
    SKIP_UNDER_SANITIZERS();
    const auto create = [](Dependences &state) {
        state.create(2, {0, 1});
        state.unlist(1);
        state.create(3, {0});
        state.unlist(0);
    };
    const auto check = [](Dependences &state) {
        ASSERT_EQ(state.n_released[2], 1);
        ASSERT_EQ(state.n_released[3], 1);
        ASSERT_EQ(state.n_freed[0], 1);
        ASSERT_EQ(state.n_freed[1], 1);
    };
    EXPECT_GT(explore_dependences(Explorer(4), {create, complete_first, complete_second}, check), 1000u);
}

TEST(DependenceInterleavings, AnArmedWaitIsResumedOnce) {
    SKIP_UNDER_SANITIZERS();
    uint64_t n_armed = 0, n_over = 0;
    int n_resumed = 0;
    bool is_armed = false;
    const auto wait = [&](Dependences &state) {
        n_resumed = 0;
        is_armed = false;
        Dependences::Node &node = *state.nodes[2];
        for (const size_t earlier : {0, 1})
            state.nodes[earlier]->add_successor(node, 0, [&]() -> Dependences::Node::EdgeBlock * { return nullptr; });
        if (node.end_creation()) return;
        is_armed = node.arm(*reinterpret_cast<omp_ext::Suspension *>(&node));
    };
    const auto finish = [&](size_t i) {
        return [&, i](Dependences &state) {
            state.nodes[i]->close([&](Dependences::Node &successor, Dependences::Node::Link) {
                n_resumed += successor.release_one() == Dependences::Node::kArmed + 1;
            });
        };
    };
    const auto check = [&](Dependences &state) {
        ASSERT_TRUE(state.nodes[2]->is_ready());
        ASSERT_EQ(n_resumed, is_armed ? 1 : 0);
        (is_armed ? n_armed : n_over)++;
    };
    explore_dependences(Explorer(4), {wait, finish(0), finish(1)}, check);
    EXPECT_GT(n_armed, 10u);
    EXPECT_GT(n_over, 10u);
}

// Closes a node in two steps: the checker must find a successor that is never released.
TEST(DependenceInterleavings, TheCheckerFindsAWrongProtocol) {
    SKIP_UNDER_SANITIZERS();
    bool found = false;
    const auto create = [](Dependences &state) { state.create(2, {0}); };
    const auto close_wrongly = [](Dependences &state) {
        state.n_incomplete[0] = 0;
        const auto newest = state.nodes[0]->successors.load();
        state.nodes[0]->successors.store(Dependences::Node::kComplete);
        if (newest && state.nodes[2]->release_one() == 1) state.release(2);
    };
    explore_dependences(Explorer(), {create, close_wrongly},
                        [&](Dependences &state) { found |= state.n_released[2] == 0; });
    EXPECT_TRUE(found);
}

} // namespace

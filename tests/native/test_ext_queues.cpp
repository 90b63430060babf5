// SPDX-License-Identifier: Apache-2.0
// The deque, the inbox and the dependence graph with real threads; also for ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "scheduler/dependences.h"
#include "scheduler/deque.h"
#include "scheduler/mailbox.h"
#include "scheduler/task.h"

namespace {

using omp_ext::Deque;
using omp_ext::is_descendant;
using omp_ext::Letter;
using omp_ext::Mailbox;
using omp_ext::Sender;
using omp_ext::StealResult;
using omp_ext::Task;

struct Item {
    std::atomic<int> n_taken{0};
    int payload = 0; // written before the push, read after the take: a race if the order is wrong
};

TEST(Deque, TakesTheNewestAndStealsTheOldest) {
    Deque<Item> deque(2);
    Item items[5];
    for (Item &item : items) deque.push(&item, 7);
    Item *stolen = nullptr;
    ASSERT_EQ(deque.steal(&stolen), StealResult::kTaken);
    EXPECT_EQ(stolen, &items[0]);
    EXPECT_EQ(deque.steal(&stolen, 8), StealResult::kRefused);
    EXPECT_EQ(deque.pop(0), &items[4]);
    EXPECT_EQ(deque.pop(4), nullptr); // items[3] has the number 3
    EXPECT_EQ(deque.pop(3), &items[3]);
    EXPECT_EQ(deque.size_hint(), 2);
}

TEST(Deque, KnowsTheTagOfTheNewest) {
    Deque<Item> deque(2);
    Item items[2];
    EXPECT_EQ(deque.newest_tag(), -1);
    deque.push(&items[0], UINT16_MAX);
    EXPECT_EQ(deque.newest_tag(), UINT16_MAX);
    deque.push(&items[1], 7);
    EXPECT_EQ(deque.newest_tag(), 7);
    deque.pop(0);
    Item *stolen = nullptr;
    deque.steal(&stolen);
    EXPECT_EQ(deque.newest_tag(), -1);
}

TEST(Task, KnowsItsAncestorsAtAnyDepth) {
    constexpr size_t kTasks = 70'000; // more than the range of depths
    const std::unique_ptr<Task[]> chain(new Task[kTasks]), other(new Task[kTasks]);
    for (Task *tasks : {chain.get(), other.get()})
        for (size_t i = 0; i < kTasks; i++) {
            tasks[i].parent = i > 0 ? &tasks[i - 1] : nullptr;
            tasks[i].depth = static_cast<uint16_t>(std::min<size_t>(i, UINT16_MAX));
        }
    for (const size_t i : {size_t{0}, size_t{1}, size_t{65'534}, size_t{65'535}, size_t{65'536}, kTasks - 1})
        for (const size_t k : {size_t{0}, size_t{1}, size_t{65'534}, size_t{65'535}, size_t{65'536}, kTasks - 1}) {
            EXPECT_EQ(is_descendant(&chain[i], &chain[k]), k <= i) << i << " of " << k;
            EXPECT_FALSE(is_descendant(&chain[i], &other[k])) << i << " of " << k;
        }
}

TEST(Deque, NeitherLosesNorDuplicatesTasksUnderThieves) {
    constexpr int kItems = 200'000, kThieves = 3;
    Deque<Item> deque(2);
    std::unique_ptr<Item[]> items(new Item[kItems]);
    std::atomic<bool> is_over{false};
    std::atomic<long> sum{0};
    std::vector<std::thread> thieves;
    for (int t = 0; t < kThieves; t++)
        thieves.emplace_back([&] {
            while (!is_over.load(std::memory_order_acquire) || deque.size_hint() > 0) {
                Item *item = nullptr;
                if (deque.steal(&item) != StealResult::kTaken) {
                    std::this_thread::yield();
                    continue;
                }
                item->n_taken.fetch_add(1, std::memory_order_relaxed);
                sum.fetch_add(item->payload, std::memory_order_relaxed);
            }
        });
    long expected = 0;
    for (int i = 0; i < kItems; i++) {
        items[i].payload = i;
        expected += i;
        deque.push(&items[i], 0);
        if (i % 3 != 0) continue;
        if (Item *item = deque.pop(0)) {
            item->n_taken.fetch_add(1, std::memory_order_relaxed);
            sum.fetch_add(item->payload, std::memory_order_relaxed);
        }
    }
    is_over.store(true, std::memory_order_release);
    for (std::thread &thief : thieves) thief.join();
    for (int i = 0; i < kItems; i++) ASSERT_EQ(items[i].n_taken.load(), 1) << i;
    EXPECT_EQ(sum.load(), expected);
}

struct Mail : Letter {
    Mail() { depth = 0; }
    std::atomic<int> n_taken{0};
    int payload = 0;
};

TEST(Mailbox, KeepsTheOrderAndSkipsWhatDoesNotFit) {
    Mailbox box;
    Sender sender;
    Mail mail[3];
    EXPECT_FALSE(box.may_have(0));
    for (uint16_t i = 0; i < 3; i++) {
        mail[i].depth = i + 7;
        box.put(&mail[i], &sender, false);
    }
    EXPECT_TRUE(box.may_have(7));
    EXPECT_FALSE(box.may_have(8));
    EXPECT_EQ(box.take(3, [&](const Letter *letter) { return letter != &mail[0]; }), &mail[1]);
    EXPECT_EQ(box.take(1, [&](const Letter *letter) { return letter != &mail[0]; }), nullptr);
    EXPECT_EQ(Mailbox::claim(&sender, 9, [](const Mailbox &) { return true; }), &mail[2]); // newest first
    EXPECT_EQ(Mailbox::claim(&sender, 9, [](const Mailbox &) { return false; }), nullptr);
    EXPECT_EQ(box.depth(), 1u);
    EXPECT_EQ(box.max_depth(), 3u);
    box.put(&mail[2], &sender, true);
    EXPECT_TRUE(box.may_have(9));
    box.take(1, [](const Letter *) { return true; });
    EXPECT_FALSE(box.may_have(8));
    box.take(1, [](const Letter *) { return true; });
    EXPECT_FALSE(box.may_have(0));
}

TEST(Mailbox, SentEntriesComeFirstNewestFirst) {
    Mailbox box;
    Sender sender;
    Mail mail[4];
    box.put(&mail[0], &sender, true);
    for (int i = 1; i < 3; i++) box.send(&mail[i]);
    EXPECT_FALSE(box.empty());
    EXPECT_TRUE(box.may_have(9)); // not checked yet
    EXPECT_EQ(box.depth(), 3u);
    EXPECT_EQ(box.take(2, [&](const Letter *letter) { return letter != &mail[2]; }), &mail[1]);
    EXPECT_FALSE(box.may_have(9));
    box.send(&mail[3]);
    EXPECT_EQ(Mailbox::claim(&sender, 9, [](const Mailbox &) { return true; }), &mail[0]);
    for (const int i : {3, 2}) EXPECT_EQ(box.take(1, [](const Letter *) { return true; }), &mail[i]);
    EXPECT_TRUE(box.empty());
    EXPECT_EQ(box.max_depth(), 3u);
}

TEST(Mailbox, SentEntriesAreTakenInOrderAfterAnyNumberOfReceives) {
    Mailbox box;
    Sender sender;
    Mail mail[40];
    const auto any = [](const Letter *) { return true; };
    const auto none = [](const Letter *) { return false; };
    const Letter *next = nullptr;
    const auto see_next = [&](const Letter *letter) { next = letter; };
    box.put(&mail[0], &sender, true);
    for (int i = 1; i < 36; i++) {
        box.send(&mail[i]);
        if (i % 2 == 0) { // received, but left in place
            EXPECT_EQ(box.take_first(none, see_next), nullptr);
        }
    }
    EXPECT_EQ(next, nullptr);
    for (int i = 35; i > 20; i--) {
        EXPECT_EQ(box.take_first(any, see_next), &mail[i]);
        EXPECT_EQ(next, &mail[i - 1]);
    }
    box.put(&mail[36], &sender, true);
    EXPECT_EQ(box.depth(), 22u);
    for (const int i : {36, 20}) EXPECT_EQ(box.take_first(any, see_next), &mail[i]);
    box.send(&mail[37]);
    box.put(&mail[38], &sender, false);
    EXPECT_EQ(box.take(40, [&](const Letter *letter) { return letter == &mail[7]; }), &mail[7]);
    EXPECT_EQ(box.take_first(any, see_next), &mail[37]);
    for (int i = 19; i > 0; i--)
        if (i != 7) {
            EXPECT_EQ(box.take_first(any, see_next), &mail[i]);
        }
    for (const int i : {0, 38}) EXPECT_EQ(box.take_first(any, see_next), &mail[i]);
    EXPECT_TRUE(box.empty());
    EXPECT_FALSE(box.may_have(0));
    EXPECT_EQ(box.max_depth(), 36u);
}

TEST(Mailbox, ManyEntriesCanBeSentBeforeOneIsTaken) {
    constexpr int kLetters = 70'000;
    Mailbox box;
    const std::unique_ptr<Mail[]> mail(new Mail[kLetters]);
    for (int i = 0; i < kLetters; i++) box.send(&mail[i]);
    const auto any = [](const Letter *) { return true; };
    for (int i = kLetters - 1; i >= 0; i--) {
        ASSERT_EQ(box.take_first(any, [](const Letter *) {}), &mail[i]);
        ASSERT_EQ(box.depth(), static_cast<uint64_t>(i));
    }
}

TEST(Mailbox, EachEntryIsTakenOrClaimedOnce) {
    constexpr int kLetters = 20'000, kSenders = 2;
    Mailbox boxes[2];
    std::unique_ptr<Mail[]> mail[kSenders] = {std::unique_ptr<Mail[]>(new Mail[kLetters]),
                                              std::unique_ptr<Mail[]>(new Mail[kLetters])};
    Sender senders[kSenders];
    std::atomic<int> n_left{kLetters * kSenders};
    std::vector<std::thread> threads;
    const auto count = [&](Letter *letter) {
        auto *one = static_cast<Mail *>(letter);
        EXPECT_EQ(one->payload, 1);
        one->n_taken.fetch_add(1, std::memory_order_relaxed);
        n_left.fetch_sub(1, std::memory_order_relaxed);
    };
    for (int s = 0; s < kSenders; s++)
        threads.emplace_back([&, s] {
            for (int i = 0; i < kLetters; i++) {
                mail[s][i].payload = 1;
                if (i % 3 == 0)
                    boxes[i % 2].send(&mail[s][i]);
                else
                    boxes[i % 2].put(&mail[s][i], &senders[s], i % 5 == 0);
                if (i % 4 == 0)
                    if (Letter *own = Mailbox::claim(&senders[s], 4, [&](const Mailbox &box) { return &box == boxes; }))
                        count(own);
            }
        });
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            for (unsigned n = 0; n_left.load(std::memory_order_relaxed) > 0;) {
                const auto any = [](const Letter *) { return true; };
                Letter *letter = n++ % 3 == 0 ? boxes[t].take(4, any) : boxes[t].take_first(any, [](const Letter *) {});
                if (letter)
                    count(letter);
                else
                    std::this_thread::yield();
            }
        });
    for (std::thread &thread : threads) thread.join();
    for (const auto &of_sender : mail)
        for (int i = 0; i < kLetters; i++) ASSERT_EQ(of_sender[i].n_taken.load(), 1);
    for (Sender &sender : senders) EXPECT_EQ(sender.first.load(), nullptr);
}

// A graph whose tasks are numbers; it records the tasks that become ready.
struct Graph {
    omp_ext::DependenceTable *table = nullptr;
    std::vector<omp_ext::DependenceNode *> nodes;
    std::vector<size_t> ready;

    ~Graph() {
        if (table) destroy(table);
    }
    static omp_ext::Task *name(size_t i) { return reinterpret_cast<omp_ext::Task *>(i + 1); }
    size_t create(std::vector<omp_ext::Dependence> dependences) {
        const size_t i = nodes.size();
        nodes.push_back(enter(table, dependences.data(), static_cast<int>(dependences.size()), name(i)));
        if (release_creation(nodes[i])) ready.push_back(i);
        return i;
    }
    void complete_task(size_t i) {
        complete(
            nodes[i],
            [](void *graph, omp_ext::Task *task) {
                static_cast<Graph *>(graph)->ready.push_back(reinterpret_cast<size_t>(task) - 1);
            },
            this, [](omp_ext::Suspension &) {});
    }
    bool is_ready(size_t i) const { return std::find(ready.begin(), ready.end(), i) != ready.end(); }
};

constexpr auto kIn = omp_ext::DependenceKind::kIn;
constexpr auto kInOut = omp_ext::DependenceKind::kInOut;
constexpr auto kInOutSet = omp_ext::DependenceKind::kInOutSet;

TEST(Dependences, ReadersRunConcurrentlyAfterTheWriter) {
    int x = 0;
    Graph graph;
    const size_t writer = graph.create({{&x, kInOut}});
    const size_t first = graph.create({{&x, kIn}}), second = graph.create({{&x, kIn}});
    const size_t last = graph.create({{&x, kInOut}});
    EXPECT_TRUE(graph.is_ready(writer));
    EXPECT_FALSE(graph.is_ready(first) || graph.is_ready(second) || graph.is_ready(last));
    graph.complete_task(writer);
    EXPECT_TRUE(graph.is_ready(first) && graph.is_ready(second));
    graph.complete_task(second);
    EXPECT_FALSE(graph.is_ready(last));
    graph.complete_task(first);
    EXPECT_TRUE(graph.is_ready(last));
    graph.complete_task(last);
}

TEST(Dependences, SetsRunConcurrentlyButAfterReaders) {
    int x = 0;
    Graph graph;
    const size_t reader = graph.create({{&x, kIn}});
    const size_t first = graph.create({{&x, kInOutSet}}), second = graph.create({{&x, kInOutSet}});
    const size_t after = graph.create({{&x, kIn}});
    EXPECT_FALSE(graph.is_ready(first) || graph.is_ready(second));
    graph.complete_task(reader);
    EXPECT_TRUE(graph.is_ready(first) && graph.is_ready(second));
    graph.complete_task(first);
    EXPECT_FALSE(graph.is_ready(after));
    graph.complete_task(second);
    EXPECT_TRUE(graph.is_ready(after));
    graph.complete_task(after);
}

TEST(Dependences, AllMemoryIsEveryAddress) {
    int x = 0, y = 0;
    Graph graph;
    const size_t one = graph.create({{&x, kInOut}}), all = graph.create({{nullptr, kInOut}});
    const size_t other = graph.create({{&y, kIn}});
    EXPECT_FALSE(graph.is_ready(all) || graph.is_ready(other));
    graph.complete_task(one);
    EXPECT_TRUE(graph.is_ready(all));
    EXPECT_FALSE(graph.is_ready(other));
    graph.complete_task(all);
    EXPECT_TRUE(graph.is_ready(other));
    graph.complete_task(other);
}

TEST(Dependences, AnAddressNamedTwiceCountsOnce) {
    int x = 0;
    Graph graph;
    const size_t first = graph.create({{&x, kInOut}, {&x, kIn}});
    const size_t second = graph.create({{&x, kIn}, {&x, kInOut}});
    EXPECT_TRUE(graph.is_ready(first));
    EXPECT_FALSE(graph.is_ready(second));
    graph.complete_task(first);
    EXPECT_EQ(graph.ready, (std::vector<size_t>{first, second}));
    graph.complete_task(second);
}

} // namespace

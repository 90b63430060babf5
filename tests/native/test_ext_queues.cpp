// SPDX-License-Identifier: Apache-2.0
// Tests the deque, the inbox and the dependence graph with real threads, also under ThreadSanitizer.
#include <algorithm>
#include <atomic>
#include <ctime>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "scheduler/block_pool.h"
#include "scheduler/dependences.h"
#include "scheduler/deque.h"
#include "scheduler/inbox.h"
#include "scheduler/task.h"

namespace {

using omp_ext::ChildList;
using omp_ext::Deque;
using omp_ext::Inbox;
using omp_ext::is_descendant;
using omp_ext::QueueEntry;
using omp_ext::StealResult;
using omp_ext::Task;

struct Item {
    std::atomic<int> n_taken{0};
    int payload = 0; // written before the push and read after the take; a wrong order is a data race
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
    constexpr size_t kTasks = 70'000; // more than the range of QueueEntry::depth
    const std::unique_ptr<Task[]> chain(new Task[kTasks]), other(new Task[kTasks]);
    for (Task *tasks : {chain.get(), other.get()})
        for (size_t i = 0; i < kTasks; i++) {
            tasks[i].parent = i > 0 ? &tasks[i - 1] : nullptr;
            tasks[i].level = static_cast<uint32_t>(i);
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

struct Entry : QueueEntry {
    Entry() { depth = 0; }
    std::atomic<int> n_taken{0};
    int payload = 0;
};

TEST(Inbox, KeepsTheOrderAndSkipsEntriesThatDoNotFit) {
    Inbox inbox;
    ChildList sender;
    Entry mail[3];
    EXPECT_FALSE(inbox.may_have(0));
    for (uint16_t i = 0; i < 3; i++) {
        mail[i].depth = i + 7;
        inbox.put(&mail[i], &sender, false);
    }
    EXPECT_TRUE(inbox.may_have(7));
    EXPECT_FALSE(inbox.may_have(8));
    EXPECT_EQ(inbox.take(3, [&](const QueueEntry *entry) { return entry != &mail[0]; }), &mail[1]);
    EXPECT_EQ(inbox.take(1, [&](const QueueEntry *entry) { return entry != &mail[0]; }), nullptr);
    EXPECT_EQ(Inbox::claim(&sender, 9, [](const Inbox &) { return true; }), &mail[2]); // newest first
    EXPECT_EQ(Inbox::claim(&sender, 9, [](const Inbox &) { return false; }), nullptr);
    EXPECT_EQ(inbox.size(), 1u);
    EXPECT_EQ(inbox.max_size(), 3u);
    inbox.put(&mail[2], &sender, true);
    EXPECT_TRUE(inbox.may_have(9));
    inbox.take(1, [](const QueueEntry *) { return true; });
    EXPECT_FALSE(inbox.may_have(8));
    inbox.take(1, [](const QueueEntry *) { return true; });
    EXPECT_FALSE(inbox.may_have(0));
}

TEST(Inbox, SentEntriesComeFirstNewestFirst) {
    Inbox inbox;
    ChildList sender;
    Entry mail[4];
    inbox.put(&mail[0], &sender, true);
    for (int i = 1; i < 3; i++) inbox.send(&mail[i]);
    EXPECT_FALSE(inbox.empty());
    EXPECT_TRUE(inbox.may_have(9)); // the depth of sent tasks is unknown
    EXPECT_EQ(inbox.size(), 3u);
    EXPECT_EQ(inbox.take(2, [&](const QueueEntry *entry) { return entry != &mail[2]; }), &mail[1]);
    EXPECT_FALSE(inbox.may_have(9));
    inbox.send(&mail[3]);
    EXPECT_EQ(Inbox::claim(&sender, 9, [](const Inbox &) { return true; }), &mail[0]);
    for (const int i : {3, 2}) EXPECT_EQ(inbox.take(1, [](const QueueEntry *) { return true; }), &mail[i]);
    EXPECT_TRUE(inbox.empty());
    EXPECT_EQ(inbox.max_size(), 3u);
}

TEST(Inbox, SentEntriesAreTakenInOrderAfterAnyNumberOfReceives) {
    Inbox inbox;
    ChildList sender;
    Entry mail[40];
    const auto any = [](const QueueEntry *) { return true; };
    const auto none = [](const QueueEntry *) { return false; };
    const QueueEntry *next = nullptr;
    const auto see_next = [&](const QueueEntry *entry) { next = entry; };
    inbox.put(&mail[0], &sender, true);
    for (int i = 1; i < 36; i++) {
        inbox.send(&mail[i]);
        if (i % 2 == 0) { // received, but left in place
            EXPECT_EQ(inbox.take_first(none, see_next), nullptr);
        }
    }
    EXPECT_EQ(next, nullptr);
    for (int i = 35; i > 20; i--) {
        EXPECT_EQ(inbox.take_first(any, see_next), &mail[i]);
        EXPECT_EQ(next, &mail[i - 1]);
    }
    inbox.put(&mail[36], &sender, true);
    EXPECT_EQ(inbox.size(), 22u);
    for (const int i : {36, 20}) EXPECT_EQ(inbox.take_first(any, see_next), &mail[i]);
    inbox.send(&mail[37]);
    inbox.put(&mail[38], &sender, false);
    EXPECT_EQ(inbox.take(40, [&](const QueueEntry *entry) { return entry == &mail[7]; }), &mail[7]);
    EXPECT_EQ(inbox.take_first(any, see_next), &mail[37]);
    for (int i = 19; i > 0; i--)
        if (i != 7) {
            EXPECT_EQ(inbox.take_first(any, see_next), &mail[i]);
        }
    for (const int i : {0, 38}) EXPECT_EQ(inbox.take_first(any, see_next), &mail[i]);
    EXPECT_TRUE(inbox.empty());
    EXPECT_FALSE(inbox.may_have(0));
    EXPECT_EQ(inbox.max_size(), 36u);
}

TEST(Inbox, ManyEntriesCanBeSentBeforeOneIsTaken) {
    constexpr int kEntries = 70'000;
    Inbox inbox;
    const std::unique_ptr<Entry[]> mail(new Entry[kEntries]);
    for (int i = 0; i < kEntries; i++) inbox.send(&mail[i]);
    const auto any = [](const QueueEntry *) { return true; };
    for (int i = kEntries - 1; i >= 0; i--) {
        ASSERT_EQ(inbox.take_first(any, [](const QueueEntry *) {}), &mail[i]);
        ASSERT_EQ(inbox.size(), static_cast<uint64_t>(i));
    }
}

TEST(Inbox, EachEntryIsTakenOrClaimedOnce) {
    constexpr int kEntries = 20'000, kParents = 2;
    Inbox inboxes[2];
    std::unique_ptr<Entry[]> mail[kParents] = {std::unique_ptr<Entry[]>(new Entry[kEntries]),
                                               std::unique_ptr<Entry[]>(new Entry[kEntries])};
    ChildList parents[kParents];
    std::atomic<int> n_left{kEntries * kParents};
    std::vector<std::thread> threads;
    const auto count = [&](QueueEntry *entry) {
        auto *one = static_cast<Entry *>(entry);
        EXPECT_EQ(one->payload, 1);
        one->n_taken.fetch_add(1, std::memory_order_relaxed);
        n_left.fetch_sub(1, std::memory_order_relaxed);
    };
    for (int s = 0; s < kParents; s++)
        threads.emplace_back([&, s] {
            for (int i = 0; i < kEntries; i++) {
                mail[s][i].payload = 1;
                if (i % 3 == 0)
                    inboxes[i % 2].send(&mail[s][i]);
                else
                    inboxes[i % 2].put(&mail[s][i], &parents[s], i % 5 == 0);
                if (i % 4 == 0)
                    if (QueueEntry *own =
                            Inbox::claim(&parents[s], 4, [&](const Inbox &inbox) { return &inbox == inboxes; }))
                        count(own);
            }
        });
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            for (unsigned n = 0; n_left.load(std::memory_order_relaxed) > 0;) {
                const auto any = [](const QueueEntry *) { return true; };
                QueueEntry *entry =
                    n++ % 3 == 0 ? inboxes[t].take(4, any) : inboxes[t].take_first(any, [](const QueueEntry *) {});
                if (entry)
                    count(entry);
                else
                    std::this_thread::yield();
            }
        });
    for (std::thread &thread : threads) thread.join();
    for (const auto &of_sender : mail)
        for (int i = 0; i < kEntries; i++) ASSERT_EQ(of_sender[i].n_taken.load(), 1);
    for (ChildList &sender : parents) EXPECT_EQ(sender.first.load(), nullptr);
}

// A graph whose tasks are numbers; it records the tasks that become ready.
struct Graph {
    omp_ext::BlockPool blocks;
    omp_ext::DependenceTable *table = nullptr;
    std::vector<omp_ext::DependenceNode *> nodes;
    std::vector<size_t> ready;

    ~Graph() {
        if (table) destroy(table, blocks);
    }
    static omp_ext::Task *name(size_t i) { return reinterpret_cast<omp_ext::Task *>(i + 1); }
    size_t create(std::vector<omp_ext::Dependence> dependences) {
        const size_t i = nodes.size();
        nodes.push_back(enter(table, blocks, dependences.data(), static_cast<int>(dependences.size()), name(i)));
        if (release_creation(nodes[i])) ready.push_back(i);
        return i;
    }
    void complete_task(size_t i) {
        const bool must_free = complete(
            nodes[i],
            [](void *graph, omp_ext::Task *task) {
                static_cast<Graph *>(graph)->ready.push_back(reinterpret_cast<size_t>(task) - 1);
            },
            this, [](omp_ext::Suspension &) {});
        if (must_free) free_node(nodes[i], blocks);
    }
    bool is_ready(size_t i) const { return std::find(ready.begin(), ready.end(), i) != ready.end(); }
    size_t n_different_nodes() const { return std::set(nodes.begin(), nodes.end()).size(); }
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

// Complete tasks must not slow down later calls. If they did, each of these tests would take minutes.
constexpr int kMany = 100'000;
constexpr int kMostSeconds = 10; // of processor time, also under a sanitizer

double processor_seconds() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

void wait_often(Graph &graph, const omp_ext::Dependence &dependence) {
    const double begin = processor_seconds();
    for (int i = 0; i < kMany && processor_seconds() - begin < kMostSeconds; i++) {
        omp_ext::DependenceNode *node = enter_wait(*graph.table, graph.blocks, &dependence, 1);
        release_creation(node);
        EXPECT_TRUE(node->is_ready());
        free_node(node, graph.blocks);
    }
    EXPECT_LT(processor_seconds() - begin, kMostSeconds);
}

TEST(Dependences, WaitsDoNotVisitCompleteReaders) {
    int x = 0;
    Graph graph;
    for (int i = 0; i < kMany; i++) graph.create({{&x, kIn}});
    for (size_t i = 0; i < kMany; i++) graph.complete_task(i);
    wait_often(graph, {&x, kInOut});
}

TEST(Dependences, WaitsForAllMemoryDoNotVisitCompleteTasks) {
    std::vector<int> memory(kMany);
    Graph graph;
    for (int &x : memory) graph.create({{&x, kInOut}});
    for (size_t i = 0; i < kMany; i++) graph.complete_task(i);
    wait_often(graph, {nullptr, kInOut});
}

TEST(Dependences, ReadersDoNotVisitACompleteSet) {
    int x = 0;
    Graph graph;
    for (int i = 0; i < kMany; i++) graph.create({{&x, kInOutSet}});
    for (size_t i = 0; i < kMany; i++) graph.complete_task(i);
    const double begin = processor_seconds();
    for (size_t i = kMany; i < 2 * kMany && processor_seconds() - begin < kMostSeconds; i++)
        graph.complete_task(graph.create({{&x, kIn}}));
    EXPECT_LT(processor_seconds() - begin, kMostSeconds);
}

TEST(Dependences, AWriterFollowsTheReadersThatRemain) {
    int x = 0;
    Graph graph;
    for (int i = 0; i < 1000; i++) {
        const size_t reader = graph.create({{&x, kIn}});
        if (reader % 10 != 0) graph.complete_task(reader);
    }
    const size_t writer = graph.create({{&x, kInOut}});
    for (size_t i = 0; i < 1000; i += 10) {
        EXPECT_FALSE(graph.is_ready(writer));
        graph.complete_task(i);
    }
    EXPECT_TRUE(graph.is_ready(writer));
    graph.complete_task(writer);
}

TEST(Dependences, ReadersOfTheResultBecomeReadyLast) {
    int x = 0, y = 0;
    Graph graph;
    const size_t task = graph.create({{&x, kInOut}, {&y, kIn}});
    const size_t reader = graph.create({{&x, kIn}}), other_reader = graph.create({{&x, kIn}});
    const size_t next_writer = graph.create({{&y, kInOut}}); // uses nothing that the task wrote
    graph.complete_task(task);
    EXPECT_EQ(graph.ready, (std::vector<size_t>{task, next_writer, other_reader, reader}));
    for (const size_t i : {reader, other_reader, next_writer}) graph.complete_task(i);
}

TEST(Dependences, NodesOfCompleteTasksAreReused) {
    int x = 0;
    std::vector<int> memory(kMany);
    Graph chain, many_addresses, emptied;
    for (size_t i = 0; i < kMany; i++) {
        chain.create({{&x, kInOut}, {&memory[i % 3], kIn}});
        if (i > 0) chain.complete_task(i - 1);
        many_addresses.complete_task(many_addresses.create({{&memory[i], kInOut}}));
        emptied.create({{&memory[i], kInOut}, {&memory[i / 2], kIn}});
        if (i % 100 != 99) continue;
        for (size_t j = i - 99; j <= i; j++) emptied.complete_task(j);
        clear(*emptied.table, emptied.blocks);
        EXPECT_TRUE(is_empty(*emptied.table));
    }
    EXPECT_LT(chain.n_different_nodes(), 100u);
    EXPECT_LT(many_addresses.n_different_nodes(), 100u);
    EXPECT_LT(emptied.n_different_nodes(), 200u);
    chain.complete_task(kMany - 1);
}

// One thread creates tasks. Two other threads, and sometimes the creator, run them. Tasks read and write ints without
// synchronization, so a wrong order is a data race.
struct RandomProgram {
    static constexpr size_t kTasks = 20'000, kInts = 24;

    struct Task {
        omp_ext::DependenceNode *node = nullptr;
        std::vector<omp_ext::Dependence> dependences;
        unsigned sum = 0;
    };
    std::vector<Task> tasks{kTasks};
    std::vector<unsigned> memory = std::vector<unsigned>(kInts);
    std::mutex mutex;
    std::vector<size_t> ready;
    std::atomic<size_t> n_done{0};
    omp_ext::BlockPool blocks;

    explicit RandomProgram(unsigned seed) {
        std::mt19937 random(seed);
        for (Task &task : tasks) {
            const unsigned n = random() % 97 == 0 ? 12 : 1 + random() % 4;
            for (unsigned i = 0; i < n; i++)
                task.dependences.push_back({&memory[random() % kInts], random() % 3 ? kIn : kInOut});
            if (random() % 499 == 0) task.dependences.push_back({nullptr, kInOut});
        }
    }
    void run_body(size_t i) {
        Task &task = tasks[i];
        const bool is_all = !task.dependences.back().address;
        if (is_all) {
            for (unsigned &value : memory) value = value * 3 + static_cast<unsigned>(i);
            return;
        }
        for (const omp_ext::Dependence &one : task.dependences) task.sum += *static_cast<const unsigned *>(one.address);
        for (const omp_ext::Dependence &one : task.dependences)
            if (one.kind == kInOut) *const_cast<unsigned *>(static_cast<const unsigned *>(one.address)) += task.sum + 1;
    }
    void start(size_t i) {
        const std::lock_guard guard(mutex);
        ready.push_back(i);
    }
    bool run_one() {
        size_t i = 0;
        {
            const std::lock_guard guard(mutex);
            if (ready.empty()) return false;
            i = ready.back();
            ready.pop_back();
        }
        run_body(i);
        omp_ext::DependenceNode *node = tasks[i].node;
        const bool must_free = complete(
            node,
            [](void *program, omp_ext::Task *task) {
                static_cast<RandomProgram *>(program)->start(reinterpret_cast<size_t>(task) - 1);
            },
            this, [](omp_ext::Suspension &) {});
        if (must_free) give_node_back(node, blocks);
        n_done.fetch_add(1);
        return true;
    }
    void run_on_threads() {
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; t++)
            threads.emplace_back([this] {
                while (n_done.load() < kTasks)
                    if (!run_one()) std::this_thread::yield();
            });
        omp_ext::DependenceTable *table = nullptr;
        for (size_t i = 0; i < kTasks; i++) {
            const auto &list = tasks[i].dependences;
            tasks[i].node = enter(table, blocks, list.data(), static_cast<int>(list.size()), Graph::name(i));
            omp_ext::DependenceNode *node = tasks[i].node;
            if (release_creation(node)) start(i);
            if (i % 64 == 0) run_one();
        }
        for (std::thread &thread : threads) thread.join();
        EXPECT_EQ(n_done.load(), kTasks);
        destroy(table, blocks);
    }
};

TEST(Dependences, ThreadsRunTasksInTheOrderOfTheirDependences) {
    for (const unsigned seed : {1u, 2u, 3u}) {
        RandomProgram serial(seed), threaded(seed);
        for (size_t i = 0; i < RandomProgram::kTasks; i++) serial.run_body(i);
        threaded.run_on_threads();
        EXPECT_EQ(threaded.memory, serial.memory);
        for (size_t i = 0; i < RandomProgram::kTasks; i++) ASSERT_EQ(threaded.tasks[i].sum, serial.tasks[i].sum);
    }
}

} // namespace

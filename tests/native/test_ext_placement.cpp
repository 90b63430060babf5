// SPDX-License-Identifier: Apache-2.0
// Tests the domains of memory: homes, the cache of pages, and allocations with right and wrong arguments. The machine
// of most tests is only a description, so the calls alone determine the domain of a page. Tests in a virtual machine
// with four nodes check that pages really move.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "placement/placement.h"

using namespace omp_ext;
using Level = DomainRequest::Level;

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

TEST(Homes, agree_with_a_table_by_page) {
    std::mt19937 random(7);
    std::map<uintptr_t, int> truth; // page to domain
    Homes homes;
    for (int step = 0; step < 3000; step++) {
        const uintptr_t begin = random() % 200, end = begin + 1 + random() % 40;
        const int domain = static_cast<int>(random() % 5) - 1;
        if (domain < 0)
            homes.erase(begin * kPage, end * kPage);
        else
            homes.set(begin * kPage, end * kPage, domain);
        for (uintptr_t page = begin; page < end; page++) truth[page] = domain;
        const uintptr_t asked = random() % 250;
        const int expected = truth.contains(asked) ? truth[asked] : -1;
        ASSERT_EQ(homes.find(asked * kPage + random() % kPage, kPage, 4), expected) << "step " << step;
        ASSERT_LE(homes.size(), 240u);
    }
}

TEST(Homes, keep_count_of_interleaved_pages_when_a_piece_is_cut_out) {
    Homes homes;
    homes.set(10 * kPage, 20 * kPage, Homes::kInterleaved);
    homes.set(13 * kPage, 15 * kPage, 2);
    for (uintptr_t page = 10; page < 20; page++)
        EXPECT_EQ(homes.find(page * kPage, kPage, 3), page == 13 || page == 14 ? 2 : static_cast<int>((page - 10) % 3));
}

TEST(Homes, forget_all_but_kept_ranges) {
    Homes homes;
    homes.set(1 * kPage, 3 * kPage, 1);
    homes.set(5 * kPage, 6 * kPage, 1);
    homes.erase_all_outside({{5 * kPage, 2 * kPage}});
    EXPECT_EQ(homes.find(1 * kPage, kPage, 2), Homes::kUnknown);
    EXPECT_EQ(homes.find(5 * kPage, kPage, 2), 1);
}

TEST(PageCache, returns_only_what_was_stored_last) {
    auto cache = std::make_unique<PageCache>();
    std::mt19937_64 random(11);
    std::map<uintptr_t, int> stored;
    // Few distinct slots, many tags: pages evict each other.
    const auto any_page = [&] {
        return (random() % 64) | (random() % 16) << PageCache::kSlotBits | (random() % 4) << 40;
    };
    int n_hits = 0;
    for (int step = 0; step < 200000; step++) {
        const uintptr_t page = any_page();
        if (random() % 8 == 0) {
            const uintptr_t end = page + random() % 4;
            cache->forget(page, end);
            for (uintptr_t gone = page; gone < end; gone++) stored.erase(gone);
        } else if (random() % 2 == 0) {
            stored[page] = static_cast<int>(random() % 1024);
            cache->store(page, stored[page], 5, cache->version());
        }
        const uintptr_t asked = any_page();
        const int found = cache->find(asked, 5);
        if (found == PageCache::kUnknown) continue;
        n_hits++;
        ASSERT_TRUE(stored.contains(asked));
        ASSERT_EQ(found, stored[asked]);
    }
    EXPECT_GT(n_hits, 1000);
}

TEST(PageCache, holds_as_many_consecutive_pages_as_it_has_slots) {
    auto cache = std::make_unique<PageCache>();
    const uintptr_t first = 0x7f12'3456'7, n = uintptr_t{1} << PageCache::kSlotBits;
    for (uintptr_t page = first; page < first + n / 2; page++) cache->store(page, 3, 0, cache->version());
    size_t n_held = 0;
    for (uintptr_t page = first; page < first + n / 2; page++) n_held += cache->find(page, 0) == 3;
    EXPECT_GT(n_held, n / 2 * 9 / 10);
    cache->forget_all();
    for (uintptr_t page = first; page < first + n / 2; page++) ASSERT_EQ(cache->find(page, 0), PageCache::kUnknown);
}

TEST(PageCache, keeps_an_answer_for_a_limited_time) {
    auto cache = std::make_unique<PageCache>();
    cache->store(42, 1, 1000, cache->version());
    EXPECT_EQ(cache->find(42, 1000 + PageCache::kLifetime_s - 1), 1);
    EXPECT_EQ(cache->find(42, 1000 + PageCache::kLifetime_s), PageCache::kUnknown);
    cache->store(42, 2, 0xffff, cache->version()); // the clock exceeds the bits that the cache stores
    EXPECT_EQ(cache->find(42, 0x10001), 2);
}

TEST(PageCache, stores_no_answer_from_before_a_move) {
    auto cache = std::make_unique<PageCache>();
    const uint64_t before = cache->version();
    cache->forget(42, 43);
    cache->store(42, 1, 0, before);
    EXPECT_EQ(cache->find(42, 0), PageCache::kUnknown);
    cache->store(42, 1, 0, cache->version());
    EXPECT_EQ(cache->find(42, 0), 1);
}

class Memory : public testing::Test {
protected:
    const Topology topology = read_topology({Level::kUsual, 0, "pack:4 numa:1 core:2 pu:1"}, {});
    const std::unique_ptr<Placement> placement = std::make_unique<Placement>(topology);

    int likely(const void *address, size_t size_bytes) const {
        const ByteRange range{address, size_bytes};
        return placement->likely_domain(&range, 1);
    }
    static char *at(void *memory, size_t bytes) { return static_cast<char *>(memory) + bytes; }
};

TEST_F(Memory, of_a_domain_is_known_until_it_is_freed) {
    char *memory = static_cast<char *>(placement->allocate(3 * kPage - 1, 2));
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(std::all_of(memory, memory + 3 * kPage, [](char byte) { return byte == 0; }));
    memory[3 * kPage - 2] = 1;
    for (size_t page = 0; page < 3; page++) EXPECT_EQ(placement->domain_holding_most({memory + page * kPage, 1}), 2);
    EXPECT_EQ(likely(memory, 3 * kPage), 2);
    EXPECT_EQ(placement->domain_holding_most({memory + 3 * kPage, 1}), -1);
    EXPECT_TRUE(placement->free(memory));
    EXPECT_EQ(placement->domain_holding_most({memory, 1}), -1);
    EXPECT_EQ(likely(memory, 3 * kPage), -1);
}

TEST_F(Memory, is_freed_once_and_only_where_it_begins) {
    void *memory = placement->allocate(2 * kPage, 1);
    int on_the_stack = 0;
    EXPECT_FALSE(placement->free(at(memory, kPage)));
    EXPECT_FALSE(placement->free(at(memory, 1)));
    EXPECT_FALSE(placement->free(&on_the_stack));
    EXPECT_FALSE(placement->free(nullptr));
    EXPECT_EQ(placement->domain_holding_most({memory, 2 * kPage}), 1);
    EXPECT_TRUE(placement->free(memory));
    EXPECT_FALSE(placement->free(memory));
}

TEST_F(Memory, that_cannot_be_allocated_is_null) {
    EXPECT_EQ(placement->allocate(0, 1), nullptr);
    EXPECT_EQ(placement->allocate(SIZE_MAX, 1), nullptr);
    EXPECT_EQ(placement->allocate(SIZE_MAX - kPage, 1), nullptr);
    EXPECT_EQ(placement->allocate(SIZE_MAX / 2, Homes::kUnknown), nullptr);
}

TEST_F(Memory, interleaved_alternates_between_the_domains) {
    void *memory = placement->allocate(9 * kPage, Homes::kInterleaved);
    for (int page = 0; page < 9; page++)
        EXPECT_EQ(placement->domain_holding_most({at(memory, static_cast<size_t>(page) * kPage), kPage}), page % 4);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, moves_by_whole_pages) {
    void *memory = placement->allocate(4 * kPage, 0);
    EXPECT_EQ(placement->move(at(memory, kPage + 5), kPage, 3), MoveResult::kIncomplete) << "nothing moves here";
    const int expected[] = {0, 3, 3, 0};
    for (size_t page = 0; page < 4; page++) EXPECT_EQ(likely(at(memory, page * kPage), 1), expected[page]);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, that_is_not_mapped_is_not_moved) {
    EXPECT_EQ(placement->move(nullptr, kPage, 1), MoveResult::kInvalid);
    EXPECT_EQ(placement->move(reinterpret_cast<void *>(UINTPTR_MAX - 10), 100, 1), MoveResult::kInvalid);
    EXPECT_EQ(placement->move(reinterpret_cast<void *>(UINTPTR_MAX - 10), 5, 1), MoveResult::kInvalid);
    void *freed = placement->allocate(4 * kPage, 0);
    EXPECT_TRUE(placement->free(freed));
    EXPECT_EQ(placement->move(freed, 4 * kPage, 1), MoveResult::kInvalid);
    EXPECT_EQ(placement->domain_holding_most({freed, 4 * kPage}), -1);
    void *partly = mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at(partly, 2 * kPage), kPage);
    EXPECT_EQ(placement->move(partly, 4 * kPage, 1), MoveResult::kInvalid);
    EXPECT_EQ(placement->domain_holding_most({partly, 4 * kPage}), -1);
    EXPECT_EQ(placement->move(partly, 0, 1), MoveResult::kDone);
    munmap(partly, 4 * kPage);
}

TEST_F(Memory, on_the_stack_or_heap_may_be_moved) {
    std::vector<char> heap(3 * kPage);
    placement->move(heap.data(), heap.size(), 3);
    EXPECT_EQ(likely(heap.data(), heap.size()), 3);
    placement->forget();
    EXPECT_EQ(likely(heap.data(), heap.size()), -1) << "its memory may have been reused";
}

TEST_F(Memory, keeps_the_domain_of_allocations_when_pages_are_forgotten) {
    void *memory = placement->allocate(2 * kPage, 1);
    placement->forget();
    EXPECT_EQ(likely(memory, 2 * kPage), 1);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, belongs_to_the_domain_of_most_of_its_bytes) {
    char *memory = static_cast<char *>(placement->allocate(8 * kPage, 0));
    placement->move(memory + 5 * kPage, 3 * kPage, 2);
    const auto both = [&](size_t begin, size_t end, int expected) {
        EXPECT_EQ(placement->domain_holding_most({memory + begin, end - begin}), expected) << begin << " to " << end;
        EXPECT_EQ(likely(memory + begin, end - begin), expected) << begin << " to " << end;
    };
    both(0, 8 * kPage, 0);
    both(3 * kPage, 8 * kPage, 2);
    both(4 * kPage, 6 * kPage, 0); // equal parts: the lower number
    both(4 * kPage + 1, 6 * kPage, 2); // bytes count, not pages
    both(5 * kPage - 100, 5 * kPage + 99, 0); // small ranges over a border
    both(5 * kPage - 99, 5 * kPage + 100, 2);
    const ByteRange ranges[] = {{memory, kPage}, {memory + 5 * kPage, 3 * kPage}, {nullptr, 0}, {memory, kPage}};
    EXPECT_EQ(placement->likely_domain(ranges, 4), 2) << "ranges are counted together";
    EXPECT_EQ(placement->likely_domain(ranges, 1), 0);
    EXPECT_EQ(placement->likely_domain(ranges, 0), -1);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, of_many_pages_is_judged_by_a_sample) {
    constexpr size_t kPages = 100 * Placement::kSampledPages + 37;
    char *memory = static_cast<char *>(placement->allocate(kPages * kPage, 1));
    placement->move(memory, kPages * kPage * 2 / 5, 3);
    EXPECT_EQ(likely(memory, kPages * kPage), 1);
    placement->move(memory, kPages * kPage * 3 / 5, 3);
    EXPECT_EQ(likely(memory, kPages * kPage), 3);
    EXPECT_EQ(placement->domain_holding_most({memory, kPages * kPage}), 3);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, is_examined_in_ranges_of_any_length) {
    EXPECT_EQ(placement->domain_holding_most({nullptr, size_t{1} << 62}), -1);
    EXPECT_EQ(placement->domain_holding_most({reinterpret_cast<void *>(5), SIZE_MAX - 5}), -1);
    EXPECT_EQ(placement->domain_holding_most({reinterpret_cast<void *>(SIZE_MAX - 5000), 5000}), -1);
    // No page is touched; the calls alone determine the domain of each page.
    constexpr size_t kBytes = size_t{16} << 30;
    auto *memory = static_cast<char *>(placement->allocate(kBytes, 3));
    if (!memory) GTEST_SKIP() << "16 GiB of address space are not available";
    EXPECT_EQ(placement->domain_holding_most({memory + 1, kBytes - 2}), 3);
    placement->free(memory);
}

TEST_F(Memory, with_a_wrong_address_has_no_domain) {
    EXPECT_EQ(likely(nullptr, 100), -1);
    EXPECT_EQ(likely(reinterpret_cast<void *>(UINTPTR_MAX - 10), 100), -1);
    EXPECT_EQ(likely(reinterpret_cast<void *>(1), SIZE_MAX - 1), -1);
    EXPECT_EQ(placement->domain_holding_most({nullptr, 0}), -1);
    EXPECT_EQ(placement->domain_holding_most({reinterpret_cast<void *>(UINTPTR_MAX - 10), 100}), -1);
}

TEST(MemoryOfManyDomains, belongs_to_the_last_one_if_that_holds_most) {
    constexpr size_t kDomains = 100;
    const Topology many = read_topology({Level::kUsual, 0, "pack:100 numa:1 core:1 pu:1"}, {});
    ASSERT_EQ(many.domains.size(), kDomains);
    const auto placement = std::make_unique<Placement>(many);
    char *memory = static_cast<char *>(placement->allocate(2 * kDomains * kPage, kDomains - 1));
    for (size_t i = 0; i < kDomains; i++) placement->move(memory + i * kPage, kPage, static_cast<int>(i));
    EXPECT_EQ(placement->domain_holding_most({memory, 2 * kDomains * kPage}), kDomains - 1);
    std::vector<ByteRange> pages;
    for (size_t i = 0; i < 2 * kDomains; i++) pages.push_back({memory + i * kPage, kPage});
    EXPECT_EQ(placement->likely_domain(pages.data(), pages.size()), kDomains - 1);
    EXPECT_TRUE(placement->free(memory));
}

TEST(MemoryOfOneDomain, is_all_in_that_domain) {
    const Topology one = read_topology({Level::kParts, 1, {}}, CpuSet::of_calling_thread());
    const auto placement = std::make_unique<Placement>(one);
    const ByteRange range{&one, sizeof one};
    EXPECT_EQ(placement->likely_domain(&range, 1), 0);
}

// hwloc reports an error if a node does not exist; the memory is usable nevertheless.
TEST(MemoryOfAnAbsentNode, is_usable) {
    Topology topology = read_topology({Level::kParts, 2, {}}, CpuSet::of_calling_thread());
    if (!topology.places_memory) GTEST_SKIP() << "needs an hwloc that places memory";
    topology.domains[1].nodes = topology.domains[1].nodes_to_fill = {999};
    const auto placement = std::make_unique<Placement>(topology);
    char *memory = static_cast<char *>(placement->allocate(2 * kPage, 1));
    ASSERT_NE(memory, nullptr);
    memory[2 * kPage - 1] = 1;
    EXPECT_EQ(placement->move(memory, kPage, 1), MoveResult::kIncomplete);
    EXPECT_EQ(memory[2 * kPage - 1], 1);
    EXPECT_TRUE(placement->free(memory));
}

TEST_F(Memory, may_be_queried_while_others_allocate_move_and_free) {
    char *shared = static_cast<char *>(placement->allocate(16 * kPage, 1));
    std::atomic<bool> stop = false;
    std::atomic<int> n_wrong = 0;
    std::vector<std::thread> askers;
    for (int i = 0; i < 2; i++)
        askers.emplace_back([&] {
            while (!stop) {
                const int domain = likely(shared, 16 * kPage);
                n_wrong += domain != 1 && domain != 2;
            }
        });
    for (int round = 0; round < 500; round++) {
        placement->move(shared, 16 * kPage, 1 + round % 2);
        void *other = placement->allocate(kPage * static_cast<size_t>(1 + round % 7), round % 4);
        if (round % 50 == 0) placement->forget();
        EXPECT_TRUE(placement->free(other));
    }
    stop = true;
    for (std::thread &asker : askers) asker.join();
    EXPECT_EQ(n_wrong, 0);
    EXPECT_EQ(likely(shared, 16 * kPage), 2) << "no answer from before the last move was kept";
    EXPECT_TRUE(placement->free(shared));
}

} // namespace

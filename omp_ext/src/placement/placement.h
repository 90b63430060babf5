// SPDX-License-Identifier: Apache-2.0
// Memory and domains: allocates, moves and frees pages, and finds the domain of an address. Owns what is known of
// memory that our calls placed; machine and domains are topology.h's, answers that are kept are page_cache.h's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "placement/page_cache.h"
#include "placement/topology.h"

namespace omp_ext {

struct ByteRange {
    const void *address;
    size_t size_bytes;
};

// The domains that calls of ours gave to memory, by address. Where pages tell nothing - domains that share a node, pages
// not yet touched, machines that are only described - this is what places tasks. Not for several threads at once.
class Homes {
public:
    static constexpr int kUnknown = -1;
    static constexpr int kInterleaved = -2; // page i of the range belongs to domain i modulo their number

    void set(uintptr_t begin, uintptr_t end, int domain);
    void erase(uintptr_t begin, uintptr_t end);
    void erase_all_outside(const std::map<uintptr_t, size_t> &kept); // begin to bytes
    int find(uintptr_t address, uintptr_t page_bytes, int n_domains) const;
    size_t size() const { return ranges_.size(); }

private:
    struct Range {
        uintptr_t end;
        uintptr_t origin; // where the range began when it was set; pieces of it keep this
        int domain;
    };
    std::map<uintptr_t, Range> ranges_; // by begin; they do not overlap
};

enum class MoveResult { kDone, kInvalid, kIncomplete };

// Any thread may call anything.
class Placement {
public:
    explicit Placement(const Topology &topology);

    // Whole pages, zeroed; null when there are none. `domain`: Homes::kUnknown for first touch, Homes::kInterleaved, or one.
    void *allocate(size_t size_bytes, int domain);
    // False, and nothing happens, when the address was not allocated here or is freed already. The size is our own.
    bool free(void *address);
    MoveResult move(void *address, size_t size_bytes, int domain);

    // Asks the system, page by page.
    int domain_holding_most(ByteRange range);
    // The same by the cache and, of ranges with more than kSampledPages pages, by as many evenly spaced ones: well under a
    // microsecond when they are cached. -1: unknown.
    int likely_domain(const ByteRange *ranges, size_t n_ranges);

    // Nothing that was found or that move() said holds any longer; what allocate() said does.
    void forget();

    // Around a fork: the child must not inherit what another thread was in the middle of.
    void lock_for_fork() { mutex_.lock(); }
    void unlock_after_fork() { mutex_.unlock(); }

    static constexpr size_t kSampledPages = 32;

private:
    bool place(uintptr_t begin, uintptr_t end, int domain);
    void find_domains(const uintptr_t *addresses, size_t n, int *domains);
    bool all_pages_in(uintptr_t begin, uintptr_t end, int domain);
    int domain_of_node(int node) const;
    bool ask_system(const uintptr_t *addresses, size_t n, int *nodes);

    const Topology &topology_;
    const uintptr_t page_bytes_;
    unsigned page_shift_ = 0;
    std::vector<int> domain_of_node_; // -1: none, or shared
    bool nodes_tell_domains_ = false; // of some node
    std::atomic<bool> may_ask_;
    PageCache cache_;
    std::mutex mutex_; // guards the following
    Homes homes_;
    std::map<uintptr_t, size_t> allocated_; // address to bytes
};

} // namespace omp_ext

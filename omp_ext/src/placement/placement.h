// SPDX-License-Identifier: Apache-2.0
// Allocates, moves and frees pages, and finds the domain of an address. Owns the record of memory that the API placed;
// page_cache.h keeps answers of the system.
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

// The domains that the API gave to memory, by address. Used where pages do not reveal a domain: domains that share a
// node, untouched pages, machines that OMP_EXT_DOMAINS describes. Not thread-safe.
class Homes {
public:
    static constexpr int kUnknown = -1;
    static constexpr int kInterleaved = -2; // page i of the range belongs to domain i % n_domains

    void set(uintptr_t begin, uintptr_t end, int domain);
    void erase(uintptr_t begin, uintptr_t end);
    void erase_all_outside(const std::map<uintptr_t, size_t> &kept); // kept: sizes in bytes, by address
    int find(uintptr_t address, uintptr_t page_bytes, int n_domains) const;
    size_t size() const { return ranges_.size(); }

private:
    struct Range {
        uintptr_t end;
        uintptr_t origin; // start of the range when it was set; its pieces keep this
        int domain;
    };
    std::map<uintptr_t, Range> ranges_; // by begin; they do not overlap
};

enum class MoveResult { kDone, kInvalid, kIncomplete };

// Thread-safe.
class Placement {
public:
    explicit Placement(const Topology &topology);

    // Returns whole, zeroed pages; null for 0 bytes, or without enough memory. `domain`: Homes::kUnknown for first
    // touch, Homes::kInterleaved, or a domain.
    void *allocate(size_t size_bytes, int domain);
    // Frees an allocation. Returns false if the address was not allocated here or is already free.
    bool free(void *address);
    MoveResult move(void *address, size_t size_bytes, int domain);

    // Returns the domain that holds most of the range. Asks the system about every page, or about evenly spaced pages
    // of a very long range.
    int domain_holding_most(ByteRange range);
    // Returns the domain that probably holds most of the ranges; -1: unknown. Looks at kSampledPages evenly spaced
    // pages of a longer range. Asks the system about pages that the cache lacks. Takes well below a microsecond if it
    // lacks none.
    int likely_domain(const ByteRange *ranges, size_t n_ranges);

    // Forgets the system's answers, and the domains of memory that was not allocated here.
    void forget();

    // Called around a fork, so the child does not inherit a locked mutex.
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
    bool nodes_identify_domains_ = false; // some node belongs to one domain only
    std::atomic<bool> may_ask_;
    PageCache cache_;
    std::mutex mutex_; // guards the following
    Homes homes_;
    std::map<uintptr_t, size_t> allocated_; // sizes in bytes, by address
};

} // namespace omp_ext

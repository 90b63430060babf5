// SPDX-License-Identifier: Apache-2.0
// Places pages through hwloc and asks the kernel where they are (move_pages without targets). Containers may forbid
// both. Memory then stays usable, and one message per kind of call reports the refusal.
#include "placement/placement.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "options.h"
#include "placement/hwloc_library.h"

namespace omp_ext {

namespace {

// Maximum number of recorded ranges of moved memory. It is limited, because programs may free such memory without
// calling this library.
constexpr size_t kMaxForeignRanges = size_t{1} << 16;
constexpr size_t kPagesPerQuestion = 512;
// Maximum number of pages to query in a range, which takes some 50 ms. In a larger range the queried pages are evenly
// spaced.
constexpr uintptr_t kMaxPagesAsked = uintptr_t{1} << 20;

uint32_t now_s() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<uint32_t>(now.tv_sec);
}

class BytesByDomain {
public:
    explicit BytesByDomain(size_t n_domains) : bytes_(n_domains) {}

    void add(int domain, uint64_t bytes) {
        if (domain >= 0) bytes_[static_cast<size_t>(domain)] += bytes;
    }
    // Returns the domain with the most bytes, on a tie the lowest; -1 if there are no bytes.
    int most() const {
        const auto most = std::max_element(bytes_.begin(), bytes_.end());
        return most != bytes_.end() && *most > 0 ? static_cast<int>(most - bytes_.begin()) : -1;
    }

private:
    std::vector<uint64_t> bytes_;
};

} // namespace

void Homes::set(uintptr_t begin, uintptr_t end, int domain) {
    erase(begin, end);
    ranges_[begin] = {end, begin, domain};
}

void Homes::erase(uintptr_t begin, uintptr_t end) {
    auto range = ranges_.lower_bound(begin);
    if (range != ranges_.begin() && std::prev(range)->second.end > begin) --range;
    while (range != ranges_.end() && range->first < end) {
        const auto [from, old] = *range;
        range = ranges_.erase(range);
        if (from < begin) ranges_[from] = {begin, old.origin, old.domain};
        if (old.end > end) ranges_[end] = {old.end, old.origin, old.domain};
    }
}

void Homes::erase_all_outside(const std::map<uintptr_t, size_t> &kept) {
    std::erase_if(ranges_, [&](const auto &entry) {
        auto around = kept.upper_bound(entry.first);
        if (around == kept.begin()) return true;
        --around;
        return entry.second.end > around->first + around->second;
    });
}

int Homes::find(uintptr_t address, uintptr_t page_bytes, int n_domains) const {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return kUnknown;
    const auto &[end, origin, domain] = std::prev(range)->second;
    if (address >= end) return kUnknown;
    if (domain != kInterleaved) return domain;
    return static_cast<int>((address - origin) / page_bytes % static_cast<uintptr_t>(n_domains));
}

Placement::Placement(const Topology &topology)
    : topology_(topology), page_bytes_(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE))), may_ask_(topology.finds_pages) {
    page_shift_ = static_cast<unsigned>(std::countr_zero(page_bytes_));
    for (const Domain &domain : topology.domains)
        for (const unsigned node : domain.nodes) {
            if (node >= domain_of_node_.size()) domain_of_node_.resize(node + 1, -1);
            domain_of_node_[node] = topology.only_domain_of_node(node);
            nodes_identify_domains_ |= domain_of_node_[node] >= 0;
        }
}

int Placement::domain_of_node(int node) const {
    return node >= 0 && static_cast<size_t>(node) < domain_of_node_.size() ? domain_of_node_[static_cast<size_t>(node)]
                                                                           : -1;
}

// Finds the node of each page; negative: unknown. Returns false if the system does not answer.
bool Placement::ask_system(const uintptr_t *addresses, size_t n, int *nodes) {
    if (!may_ask_.load(std::memory_order_relaxed)) return false;
    const int saved = errno;
    const long answer = syscall(SYS_move_pages, 0, n, addresses, nullptr, nodes, 0);
    const int error = errno;
    errno = saved;
    if (answer >= 0) return true;
    if (error == EPERM || error == ENOSYS || error == EACCES) {
        if (may_ask_.exchange(false))
            say("the system does not report where pages lie (move_pages: %s; containers need the capability SYS_NICE): "
                "only memory placed by omp_affinity_* has a domain",
                strerror(error));
    }
    return false;
}

void Placement::find_domains(const uintptr_t *addresses, size_t n, int *domains) {
    std::fill_n(domains, n, -1);
    if (nodes_identify_domains_ && ask_system(addresses, n, domains))
        for (size_t i = 0; i < n; i++) domains[i] = domain_of_node(domains[i]);
    const std::lock_guard guard(mutex_);
    for (size_t i = 0; i < n; i++)
        if (domains[i] < 0)
            domains[i] = homes_.find(addresses[i], page_bytes_, static_cast<int>(topology_.domains.size()));
}

// True unless the system reports that a page is outside the domain.
bool Placement::all_pages_in(uintptr_t begin, uintptr_t end, int domain) {
    const auto &wanted = topology_.domains[static_cast<size_t>(domain)].nodes_to_fill;
    uintptr_t pages[kPagesPerQuestion];
    int nodes[kPagesPerQuestion];
    while (begin < end) {
        size_t n = 0;
        for (; n < kPagesPerQuestion && begin < end; begin += page_bytes_) pages[n++] = begin;
        if (!ask_system(pages, n, nodes)) return true;
        for (size_t i = 0; i < n; i++)
            if (nodes[i] >= 0 &&
                std::find(wanted.begin(), wanted.end(), static_cast<unsigned>(nodes[i])) == wanted.end())
                return false;
    }
    return true;
}

// Sets the memory policy of the pages and moves those that exist. Returns false with errno if the system refuses.
bool Placement::place(uintptr_t begin, uintptr_t end, int domain) {
    const HwlocLibrary *hwloc = hwloc_library();
    if (!hwloc || !topology_.places_memory) {
        errno = ENOSYS;
        return false;
    }
    hwloc_bitmap_t nodes = hwloc->bitmap_alloc();
    for (size_t i = 0; i < topology_.domains.size(); i++)
        if (domain == Homes::kInterleaved || static_cast<int>(i) == domain)
            for (const unsigned node : topology_.domains[i].nodes_to_fill) hwloc->bitmap_set(nodes, node);
    const auto policy = domain == Homes::kInterleaved ? HWLOC_MEMBIND_INTERLEAVE : HWLOC_MEMBIND_BIND;
    // Omits HWLOC_MEMBIND_STRICT, with which the kernel would kill the program on a full node.
    const int result = hwloc->set_area_membind(topology_.machine, reinterpret_cast<void *>(begin), end - begin, nodes,
                                               policy, HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE);
    const int error = errno;
    hwloc->bitmap_free(nodes);
    errno = error;
    return result == 0;
}

void *Placement::allocate(size_t size_bytes, int domain) {
    if (size_bytes == 0 || size_bytes > SIZE_MAX - page_bytes_) return nullptr;
    const size_t length = (size_bytes + page_bytes_ - 1) & ~(page_bytes_ - 1);
    void *memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory);
    if (domain != Homes::kUnknown && topology_.places_memory && !place(begin, begin + length, domain)) {
        static std::atomic_flag reported;
        if (!reported.test_and_set())
            say("the system does not place memory (%s%s): a page lies where it is first touched", strerror(errno),
                errno == EPERM ? "; containers need the capability SYS_NICE" : "");
    }
    const std::lock_guard guard(mutex_);
    allocated_[begin] = length;
    homes_.erase(begin, begin + length); // removes the record of memory that the program unmapped itself
    if (domain != Homes::kUnknown) homes_.set(begin, begin + length, domain);
    cache_.forget(begin >> page_shift_, (begin + length) >> page_shift_);
    return memory;
}

bool Placement::free(void *address) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    size_t length = 0;
    {
        const std::lock_guard guard(mutex_);
        const auto found = allocated_.find(begin);
        if (found == allocated_.end()) return false;
        length = found->second;
        allocated_.erase(found);
        homes_.erase(begin, begin + length);
    }
    munmap(address, length);
    cache_.forget(begin >> page_shift_, (begin + length) >> page_shift_);
    return true;
}

MoveResult Placement::move(void *address, size_t size_bytes, int domain) {
    const uintptr_t given = reinterpret_cast<uintptr_t>(address);
    if (!address || given + size_bytes < given || given + size_bytes > UINTPTR_MAX - page_bytes_)
        return MoveResult::kInvalid;
    if (size_bytes == 0) return MoveResult::kDone;
    const uintptr_t begin = given & ~(page_bytes_ - 1);
    const uintptr_t end = (given + size_bytes + page_bytes_ - 1) & ~(page_bytes_ - 1);
    // On Linux, msync fails for unmapped memory, and changes nothing.
    if (msync(reinterpret_cast<void *>(begin), end - begin, MS_ASYNC) != 0) return MoveResult::kInvalid;
    const bool is_placed = place(begin, end, domain);
    {
        const std::lock_guard guard(mutex_);
        if (homes_.size() < kMaxForeignRanges + allocated_.size()) homes_.set(begin, end, domain);
        cache_.forget(begin >> page_shift_, end >> page_shift_);
    }
    return is_placed && all_pages_in(begin, end, domain) ? MoveResult::kDone : MoveResult::kIncomplete;
}

int Placement::domain_holding_most(ByteRange range) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(range.address);
    const uintptr_t end = begin + range.size_bytes;
    if (range.size_bytes == 0 || end < begin) return -1;
    const uintptr_t first = begin >> page_shift_, n_pages = ((end - 1) >> page_shift_) - first + 1;
    const uintptr_t n_pages_each = (n_pages - 1) / kMaxPagesAsked + 1;
    BytesByDomain bytes_by_domain(topology_.domains.size());
    uintptr_t addresses[kPagesPerQuestion + 1]; // one more for the end of the last query
    int domains[kPagesPerQuestion];
    for (uintptr_t page = 0; page < n_pages;) {
        size_t n = 0;
        for (; n < kPagesPerQuestion && page < n_pages; page += n_pages_each)
            addresses[n++] = page == 0 ? begin : (first + page) << page_shift_;
        addresses[n] = page < n_pages ? (first + page) << page_shift_ : end;
        find_domains(addresses, n, domains);
        for (size_t i = 0; i < n; i++) bytes_by_domain.add(domains[i], addresses[i + 1] - addresses[i]);
    }
    return bytes_by_domain.most();
}

int Placement::likely_domain(const ByteRange *ranges, size_t n_ranges) {
    if (topology_.domains.size() == 1) return 0;
    BytesByDomain bytes_by_domain(topology_.domains.size());
    const uint32_t now = now_s();
    for (size_t r = 0; r < n_ranges; r++) {
        const uintptr_t begin = reinterpret_cast<uintptr_t>(ranges[r].address);
        const uintptr_t end = begin + ranges[r].size_bytes;
        if (ranges[r].size_bytes == 0 || end < begin) continue;
        const uintptr_t first = begin >> page_shift_, n_pages = ((end - 1) >> page_shift_) - first + 1;
        const size_t n_samples = std::min<uintptr_t>(n_pages, kSampledPages);
        uintptr_t missing[kSampledPages];
        uint64_t missing_bytes[kSampledPages];
        size_t n_missing = 0;
        // Each sample represents the bytes up to the next one. The stride is in 65536ths of a page.
        const uintptr_t stride = (n_pages << 16) / n_samples;
        uintptr_t from = begin;
        for (size_t i = 0; i < n_samples; i++) {
            const uintptr_t next = (first + ((i + 1) * stride >> 16)) << page_shift_;
            const uintptr_t to = i + 1 == n_samples ? end : next;
            const int domain = cache_.find(from >> page_shift_, now);
            if (domain >= 0) {
                bytes_by_domain.add(domain, to - from);
            } else {
                missing[n_missing] = from;
                missing_bytes[n_missing++] = to - from;
            }
            from = to;
        }
        if (n_missing == 0) continue;
        const uint64_t version = cache_.version();
        int domains[kSampledPages];
        find_domains(missing, n_missing, domains);
        for (size_t i = 0; i < n_missing; i++) {
            if (domains[i] >= 0) cache_.store(missing[i] >> page_shift_, domains[i], now, version);
            bytes_by_domain.add(domains[i], missing_bytes[i]);
        }
    }
    return bytes_by_domain.most();
}

void Placement::forget() {
    const std::lock_guard guard(mutex_);
    homes_.erase_all_outside(allocated_);
    cache_.forget_all();
}

} // namespace omp_ext

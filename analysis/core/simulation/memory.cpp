// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace ompass::simulation {

namespace {

constexpr uint32_t kPrefetched = 4; // prefetched blocks per access

uint32_t at(const std::vector<uint32_t> &of_thread, uint32_t thread) {
    if (of_thread.empty()) return 0;
    return of_thread[thread < of_thread.size() ? thread : thread % of_thread.size()];
}

uint32_t n_of(const std::vector<uint32_t> &of_thread) {
    return of_thread.empty() ? 1 : *std::ranges::max_element(of_thread) + 1;
}

} // namespace

uint32_t MemorySystem::n_nodes() const { return n_of(node_of_thread); }
uint32_t MemorySystem::n_caches(size_t level) const { return n_of(levels[level].of_thread); }

// ---------------------------------------------------------------- one cache

BlockCache::BlockCache(uint64_t n_blocks)
    : n_ways_(static_cast<uint32_t>(std::clamp<uint64_t>(n_blocks, 1, kWays))),
      sets_(std::clamp<uint64_t>(n_blocks / kWays, 1, ~0u)), reciprocal_(~uint64_t{0} / sets_.size() + 1) {}

BlockCache::Found BlockCache::touch(uint32_t block, uint32_t version, uint32_t next) {
    Line *lines = sets_[set_of(block)].lines;
    uint32_t way = 0;
    while (way < n_ways_ && lines[way].block != block) way++;
    Found found = Found::kNo;
    if (way < n_ways_) {
        found = lines[way].version == version ? Found::kYes : Found::kInvalid;
        for (; way > 0; way--) lines[way] = lines[way - 1];
    } else if (n_ways_ == kWays) {
        std::memmove(lines + 1, lines, (kWays - 1) * sizeof *lines); // constant length
    } else {
        for (way--; way > 0; way--) lines[way] = lines[way - 1];
    }
    lines[0] = {block, next};
    return found;
}

bool BlockCache::holds(uint32_t block, uint32_t version) const {
    const Line *lines = sets_[set_of(block)].lines;
    return std::any_of(lines, lines + n_ways_,
                       [&](const Line &line) { return line.block == block && line.version == version; });
}

// ---------------------------------------------------------------- all caches

DataBlocks::DataBlocks(const TaskProgram &program, const MemorySystem &system)
    : block_bytes(system.block_bytes), page_bytes(system.page_bytes) {
    const uint64_t size = block_bytes;
    std::vector<std::pair<uint64_t, uint64_t>> touched; // ranges of blocks: the first, and the one after the last
    touched.reserve(program.accesses.size());
    for (const DataAccess &access : program.accesses)
        touched.emplace_back(access.address / size, (access.address + access.bytes - 1) / size + 1);
    std::ranges::sort(touched);
    size_t n = 0;
    for (const auto &range : touched) {
        if (n && range.first <= touched[n - 1].second)
            touched[n - 1].second = std::max(touched[n - 1].second, range.second);
        else
            touched[n++] = range;
    }
    touched.resize(n);
    std::vector<uint32_t> first_of; // number of the first block of each range
    uint32_t n_blocks = 0;
    uint64_t last_page = ~uint64_t{0};
    const uint64_t page_size = std::max<uint64_t>(size, page_bytes);
    for (const auto &[first, end] : touched) {
        first_of.push_back(n_blocks);
        for (uint64_t block = first; block < end; block++, n_blocks++) {
            if (block * size / page_size != last_page) n_pages++;
            last_page = block * size / page_size;
            page.push_back(n_pages - 1);
        }
    }
    ranges.reserve(program.accesses.size());
    for (const DataAccess &access : program.accesses) {
        const uint64_t first = access.address / size;
        const auto range = std::ranges::upper_bound(touched, first, {}, &std::pair<uint64_t, uint64_t>::first) - 1;
        const auto offset = static_cast<uint32_t>(first - range->first);
        ranges.push_back({first_of[static_cast<size_t>(range - touched.begin())] + offset,
                          static_cast<uint32_t>((access.address + access.bytes - 1) / size - first + 1)});
    }
}

Memory::Memory(const TaskProgram &program, const MemorySystem &system, std::shared_ptr<const DataBlocks> blocks)
    : program_(program), system_(system),
      numbers_(blocks && blocks->fits(system) ? std::move(blocks) : std::make_shared<DataBlocks>(program, system)),
      blocks_(numbers_->page.size()) {
    const uint64_t size = system.block_bytes;
    const uint32_t n_pages = numbers_->n_pages;
    node_.assign(n_pages, kUntouched);
    const uint32_t n_nodes = system.n_nodes();
    if (system.interleaved)
        for (uint32_t i = 0; i < n_pages; i++) node_[i] = static_cast<uint16_t>(i % n_nodes);
    for (size_t level = 0; level < system.levels.size(); level++)
        caches_.emplace_back(system.n_caches(level), BlockCache(system.levels[level].bytes / size));
    for (const CacheLevel &level : system.levels)
        n_threads_ = std::max(n_threads_, static_cast<uint32_t>(level.of_thread.size()));
    for (uint32_t thread = 0; thread < n_threads_; thread++)
        for (size_t level = 0; level < caches_.size(); level++)
            above_.push_back(&caches_[level][at(system.levels[level].of_thread, thread)]);
    const std::vector<uint32_t> &groups = system.levels.back().of_thread;
    node_of_group_.resize(n_of(groups));
    for (uint32_t thread = 0; thread < groups.size(); thread++)
        node_of_group_[groups[thread]] = at(system.node_of_thread, thread);
    free_at_.resize(n_nodes);
    from_.resize(system.levels.size() + 2 * size_t{n_nodes});
    counts_.levels.resize(system.levels.size());
    counts_.link_bytes.resize(size_t{n_nodes} * n_nodes);
}

void Memory::prefetch(uint32_t number, uint32_t thread) const {
    const auto [first, n] = numbers_->ranges[number];
    BlockCache *const *caches = above(thread);
    for (uint32_t block = first; block < first + std::min(n, kPrefetched); block++) {
        __builtin_prefetch(&blocks_[block]);
        for (size_t level = 0; level < caches_.size(); level++) caches[level]->prefetch(block);
    }
}

uint64_t Memory::access(uint32_t number, uint32_t thread, uint64_t now, double scale) {
    const DataAccess &access = program_.accesses[number];
    const size_t n_levels = system_.levels.size(), n_nodes = free_at_.size();
    const uint32_t here = at(system_.node_of_thread, thread);
    const auto group = static_cast<uint16_t>(at(system_.levels.back().of_thread, thread));
    std::ranges::fill(from_, Bytes{});
    BlockCache *const *caches = above(thread);
    uint64_t begin = access.address, left = access.bytes;
    for (uint32_t block = numbers_->ranges[number].first; left; block++) {
        const uint64_t bytes = std::min(left, system_.block_bytes - begin % system_.block_bytes);
        begin += bytes, left -= bytes;
        Block &state = blocks_[block];
        // A write touches the block in all caches of the thread, a read up to the cache that has it.
        const uint32_t version = state.version;
        state.version += access.write;
        size_t found_in = n_levels;
        for (size_t level = 0; level < n_levels && (access.write || found_in == n_levels); level++) {
            const BlockCache::Found found = caches[level]->touch(block, version, state.version);
            if (found_in < n_levels) continue;
            if (found == BlockCache::Found::kYes) {
                found_in = level;
                continue;
            }
            counts_.levels[level].misses++;
            counts_.levels[level].invalid += found == BlockCache::Found::kInvalid;
        }
        if (found_in < n_levels) {
            counts_.levels[found_in].hits++;
            from_[found_in].n += bytes;
        } else {
            uint16_t &home = node_[numbers_->page[block]];
            if (home == kUntouched) home = static_cast<uint16_t>(here);
            const bool dirty = state.writer != kUntouched && state.writer != group &&
                               caches_.back()[state.writer].holds(block, version); // else evicted and written back
            from_[n_levels + (dirty ? n_nodes + node_of_group_[state.writer] : home)].n += bytes;
            state.writer = kUntouched; // the other cache has written it back
        }
        if (access.write) state.writer = group;
    }
    double ns = 0;
    for (size_t level = 0; level < n_levels; level++) ns += from_[level].ns(system_.levels[level].distance);
    for (uint32_t node = 0; node < n_nodes; node++) {
        const Bytes memory = from_[n_levels + node], cache = from_[n_levels + n_nodes + node];
        counts_.link_bytes[node * n_nodes + here] += memory.n + cache.n;
        ns += cache.ns(system_.other_cache);
        if (memory.n == 0) continue;
        const double alone = memory.ns(node == here ? system_.local : system_.remote);
        const double arrives = static_cast<double>(now) + ns;
        free_at_[node] = std::max(free_at_[node], arrives) + static_cast<double>(memory.n) * system_.node_ns_per_byte;
        const double waited = std::max(0.0, free_at_[node] - arrives - alone);
        counts_.waited_ns += static_cast<uint64_t>(scale * waited);
        ns += alone + waited;
    }
    const auto whole = static_cast<uint64_t>(std::llround(scale * ns));
    counts_.memory_ns += whole;
    return whole;
}

RecordedMemory recorded_memory(const TaskProgram &program, const MemorySystem &recorded) {
    RecordedMemory found;
    found.scale.assign(program.accesses.size(), 1.0F);
    MemorySystem idle = recorded; // without the load of its nodes, which is unknown
    idle.node_ns_per_byte = 0;
    found.blocks = std::make_shared<DataBlocks>(program, idle);
    Memory memory(program, idle, found.blocks);
    for (uint32_t i = 0; i < program.accesses.size(); i++)
        found.ns.push_back(memory.access(i, program.accesses[i].thread, 0));
    // A kernel took at least as long as its accesses.
    uint64_t modelled = 0, worked = 0;
    std::vector<uint32_t> of_kernel;
    for (const Operation operation : program.operations) {
        const OpKind kind = operation.kind();
        if (kind == OpKind::kAccess) {
            of_kernel.push_back(static_cast<uint32_t>(operation.value()));
            modelled += found.ns[of_kernel.back()];
        } else if (kind == OpKind::kKernelBegin) {
            worked = 0;
        } else if (kind == OpKind::kWork) {
            worked += operation.value();
        } else if ((kind == OpKind::kKernelEnd || kind == OpKind::kEnd) && !of_kernel.empty()) {
            for (const uint32_t access : of_kernel)
                if (modelled > worked) {
                    found.scale[access] =
                        static_cast<float>(static_cast<double>(worked) / static_cast<double>(modelled));
                    found.ns[access] =
                        static_cast<uint64_t>(double{found.scale[access]} * static_cast<double>(found.ns[access]));
                }
            of_kernel.clear();
            modelled = 0;
        }
    }
    return found;
}

} // namespace ompass::simulation

// SPDX-License-Identifier: Apache-2.0
// Models caches and memory from the data that kernels declare. A block enters the caches of the thread that touches it,
// and replaces the least recently used block. A write invalidates the copies in all other caches. The first thread of
// another last-level cache that touches a written block gets it from the writer's last-level cache, if that cache still
// has it. The block is then also in memory. A page belongs to the node that touches it first, or pages are interleaved.
// The time of a block depends on the cache or node that has it and, in memory, on the load of the node. Writing lines
// back takes no time.
//
//   time of a kernel  =  recorded time  -  modelled time of its data on the recording machine  +  modelled time here
//
// If the modelled time on the recording machine exceeds the recorded time, both modelled times are scaled down equally.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Time of an access to a cache or memory: latency_ns + n bytes * ns_per_byte.
struct Distance {
    double latency_ns = 0, ns_per_byte = 0;
};

struct CacheLevel {
    uint64_t bytes = 0; // size of one cache
    Distance distance;
    std::vector<uint32_t> of_thread; // number of the cache of each thread
};

struct MemorySystem {
    std::vector<CacheLevel> levels; // the first level first; empty: memory is not modelled
    std::vector<uint32_t> node_of_thread;
    Distance local, remote;
    Distance other_cache; // to a block that another last-level cache has modified
    double node_ns_per_byte = 0; // of a node, whose bandwidth all threads share
    uint32_t block_bytes = 1024, page_bytes = 4096;
    bool interleaved = false;

    uint32_t n_nodes() const;
    uint32_t n_caches(size_t level) const;
};

struct MemoryCounts {
    struct Level {
        uint64_t hits = 0, misses = 0, invalid = 0; // blocks; invalid: misses because another cache wrote the block
    };
    std::vector<Level> levels;
    std::vector<uint64_t> link_bytes; // by node of the memory or cache (row) and node of the thread (column)
    uint64_t waited_ns = 0; // part of memory_ns in which accesses wait for busy nodes
    uint64_t memory_ns = 0; // total time of all accesses
};

// A set-associative cache. Each set has the most recently used block first.
class BlockCache {
public:
    explicit BlockCache(uint64_t n_blocks);
    enum class Found : uint8_t { kNo, kInvalid, kYes };
    // Looks up `version` of the block. Makes the block the most recently used of its set, in version `next`.
    Found touch(uint32_t block, uint32_t version, uint32_t next);
    bool holds(uint32_t block, uint32_t version) const;
    void prefetch(uint32_t block) const { __builtin_prefetch(&sets_[set_of(block)]); }

private:
    static constexpr uint32_t kWays = 8;
    struct Line {
        uint32_t block = ~0u, version = 0;
    };
    struct alignas(64) Set {
        Line lines[kWays];
    };
    // Returns block % sets_.size() without a division.
    uint32_t set_of(uint32_t block) const {
        const uint64_t fraction = reciprocal_ * block;
        return static_cast<uint32_t>(static_cast<unsigned __int128>(fraction) * sets_.size() >> 64);
    }
    uint32_t n_ways_;
    std::vector<Set> sets_;
    uint64_t reciprocal_;
};

// The blocks that the accesses of a program touch, numbered by address: the blocks of an access are a range.
struct DataBlocks {
    DataBlocks(const TaskProgram &program, const MemorySystem &system);
    bool fits(const MemorySystem &system) const {
        return block_bytes == system.block_bytes && page_bytes == system.page_bytes;
    }
    struct Range {
        uint32_t first; // block
        uint32_t n;
    };
    uint32_t block_bytes, page_bytes, n_pages = 0;
    std::vector<Range> ranges; // by access
    std::vector<uint32_t> page; // by block
};

class Memory {
public:
    // blocks: the blocks of the program; computed if null, or if their sizes differ from the sizes of `system`.
    Memory(const TaskProgram &program, const MemorySystem &system, std::shared_ptr<const DataBlocks> blocks = nullptr);
    // Simulates an access that begins at `now`. Returns its time in ns, multiplied by `scale` (RecordedMemory).
    uint64_t access(uint32_t number, uint32_t thread, uint64_t now, double scale = 1);
    // Prefetches the model's entries for a coming access into the host's cache.
    void prefetch(uint32_t number, uint32_t thread) const;
    const MemoryCounts &counts() const { return counts_; }

private:
    static constexpr uint16_t kUntouched = 0xffff;

    struct Block {
        uint32_t version = 0; // number of writes
        uint16_t writer = kUntouched; // last-level cache that modified it last, unless another has read it since
    };
    struct Bytes {
        uint64_t n = 0;
        double ns(Distance distance) const {
            return n ? distance.latency_ns + static_cast<double>(n) * distance.ns_per_byte : 0;
        }
    };
    // Returns the caches of a thread, the first level first.
    BlockCache *const *above(uint32_t thread) const {
        return &above_[size_t{thread < n_threads_ ? thread : thread % n_threads_} * caches_.size()];
    }

    const TaskProgram &program_;
    const MemorySystem &system_;
    const std::shared_ptr<const DataBlocks> numbers_;
    std::vector<Block> blocks_;
    std::vector<uint16_t> node_; // by page
    std::vector<std::vector<BlockCache>> caches_; // by level
    uint32_t n_threads_ = 1; // number of threads in the description of the system
    std::vector<BlockCache *> above_; // by thread and level
    std::vector<uint32_t> node_of_group_; // by last-level cache
    std::vector<double> free_at_; // time at which each node has served its accesses
    std::vector<Bytes> from_; // scratch: by level, then by node, then other caches by node
    MemoryCounts counts_;
};

// The accesses of a program on the recording machine.
struct RecordedMemory {
    std::vector<float> scale; // by access: factor that reduces the modelled time
    std::vector<uint64_t> ns; // by access: its share of the recorded time
    std::shared_ptr<const DataBlocks> blocks;
};
RecordedMemory recorded_memory(const TaskProgram &program, const MemorySystem &recorded);

} // namespace ompass::simulation

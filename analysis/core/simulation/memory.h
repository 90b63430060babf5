// SPDX-License-Identifier: Apache-2.0
// Caches and memory, by the data that kernels declare. A block of data is in those caches above a thread that touched it
// and have not replaced it since, the least recently used first; a write makes the copies in all other caches invalid. A page
// belongs to the node that touched it first, or pages go round the nodes. What a block takes depends on where it is found,
// and in memory on how busy its node is. Lines that are written back take no time.
//
//   time of a kernel  =  its recorded time  -  what its data took on the recording machine  +  what they take here
//
// both by this model; where the model gives the recording machine more than the kernel took, its part is scaled down to that.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "task_program.h"

namespace ompass::simulation {

// Latency of the first byte, and what each further one takes.
struct Distance {
    double latency_ns = 0, ns_per_byte = 0;
};

struct CacheLevel {
    uint64_t bytes = 0; // of one cache
    Distance distance;
    std::vector<uint32_t> of_thread; // which cache a thread has
};

struct MemorySystem {
    std::vector<CacheLevel> levels; // from the thread outwards; empty: memory is not modelled
    std::vector<uint32_t> node_of_thread;
    Distance local, remote;
    Distance other_cache; // of a block that was written under another last-level cache
    double node_ns_per_byte = 0; // of all threads together
    uint32_t block_bytes = 1024, page_bytes = 4096;
    bool interleaved = false;

    uint32_t n_nodes() const;
    uint32_t n_caches(size_t level) const;
};

struct MemoryCounts {
    struct Level {
        uint64_t hits = 0, misses = 0, invalid = 0; // blocks; invalid: misses for another's write
    };
    std::vector<Level> levels;
    std::vector<uint64_t> link_bytes; // from node to node, row by row; of memory and of other caches
    uint64_t waited_ns = 0; // for busy nodes
    uint64_t memory_ns = 0; // all that blocks took
};

// One cache: sets of blocks whose numbers are alike, each with the latest first, as hardware has them.
class BlockCache {
public:
    explicit BlockCache(uint64_t n_blocks);
    enum class Found : uint8_t { kNo, kInvalid, kYes };
    // Whether it holds this version of the block, of which it then holds version `next`, as the latest of its set.
    Found touch(uint32_t block, uint32_t version, uint32_t next);
    void prefetch(uint32_t block) const { __builtin_prefetch(&sets_[set_of(block)]); }

private:
    static constexpr uint32_t kWays = 8;
    struct Line {
        uint32_t block = ~0u, version = 0;
    };
    struct alignas(64) Set {
        Line lines[kWays];
    };
    // block % sets_.size(), by multiplications
    uint32_t set_of(uint32_t block) const {
        const uint64_t fraction = reciprocal_ * block;
        return static_cast<uint32_t>(static_cast<unsigned __int128>(fraction) * sets_.size() >> 64);
    }
    uint32_t n_ways_;
    std::vector<Set> sets_;
    uint64_t reciprocal_;
};

// The blocks that a program's accesses touch, numbered in the order of their addresses, so that a range stays one.
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
    // `blocks`: the program's, if they are known.
    Memory(const TaskProgram &program, const MemorySystem &system, std::shared_ptr<const DataBlocks> blocks = nullptr);
    // What an access takes if it begins now.
    uint64_t access(uint32_t number, uint32_t thread, uint64_t now);
    // An access comes soon: fetches what it will need.
    void prefetch(uint32_t number, uint32_t thread) const;
    const MemoryCounts &counts() const { return counts_; }

private:
    static constexpr uint16_t kUntouched = 0xffff;

    struct Block {
        uint32_t version = 0; // of its contents: the writes
        uint16_t writer = kUntouched; // last-level cache under which it was written last, if it is not written back
    };
    struct Bytes {
        uint64_t n = 0;
        double ns(Distance distance) const {
            return n ? distance.latency_ns + static_cast<double>(n) * distance.ns_per_byte : 0;
        }
    };
    // The caches above a thread, from the first level on.
    BlockCache *const *above(uint32_t thread) const {
        return &above_[size_t{thread < n_threads_ ? thread : thread % n_threads_} * caches_.size()];
    }

    const TaskProgram &program_;
    const MemorySystem &system_;
    const std::shared_ptr<const DataBlocks> numbers_;
    std::vector<Block> blocks_;
    std::vector<uint16_t> node_; // by page
    std::vector<std::vector<BlockCache>> caches_; // by level
    uint32_t n_threads_ = 1; // that the system names
    std::vector<BlockCache *> above_; // by thread and level
    std::vector<uint32_t> node_of_group_; // by last-level cache
    std::vector<double> free_at_; // by node
    std::vector<Bytes> from_; // scratch: by level, then by node, then other caches by node
    MemoryCounts counts_;
};

// By access: what it takes here for each ns that it takes in the model, and what it took of the recorded time.
struct RecordedMemory {
    std::vector<float> scale;
    std::vector<uint32_t> ns;
    std::shared_ptr<const DataBlocks> blocks;
};
RecordedMemory recorded_memory(const TaskProgram &program, const MemorySystem &recorded);

} // namespace ompass::simulation

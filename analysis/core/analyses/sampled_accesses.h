// SPDX-License-Identifier: Apache-2.0
// An access as the stream of a cache group takes it, and which pieces of it are in a spatial sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ompass {

// One declared access, or one piece of it. All pieces of an access are one moment.
struct Access {
    uint64_t begin;
    uint64_t bytes;    // above 0, and begin + bytes does not wrap
    uint32_t kernel;   // construct
    uint16_t group;    // cache group
    bool write;
    bool more;         // the next one is a piece of the same access
};
static_assert(sizeof(Access) == 24);

// Spatial sampling: the address space is cut into blocks of 2^block_shift bytes, and a block belongs to the sample when
// its hash is below a threshold, in every access alike.
struct Sampling {
    double rate = 1; // 1: everything, uncut
    unsigned block_shift = 12;

    bool all() const { return rate >= 1; }
    static uint64_t hash(uint64_t block) {
        block = (block ^ block >> 31) * 0x9e3779b97f4a7c15u;
        return (block ^ block >> 29) * 0xbf58476d1ce4e5b9u;
    }
    // The random part of the sample that an address belongs to, by bits that the choice of the sample has left random.
    static constexpr size_t kReplicates = 32;
    uint8_t replicate(uint64_t address) const {
        return static_cast<uint8_t>(hash(address >> block_shift) % kReplicates);
    }
    uint64_t threshold() const { return all() ? ~uint64_t{0} : static_cast<uint64_t>(rate * 0x1p64); }
};

// Takes the pieces of accesses that are in the sample.
class Sampler {
public:
    explicit Sampler(Sampling sampling)
        : all_(sampling.all()), shift_(sampling.block_shift), threshold_(sampling.threshold()) {}

    bool all() const { return all_; } // there is no sample: accesses stay whole

    // Appends the pieces of the access that are in the sample; most accesses lie in one block, and are not.
    void append(const Access &access, std::vector<Access> &pieces) const {
        const uint64_t first = access.begin >> shift_, last = (access.begin + access.bytes - 1) >> shift_;
        if (first == last && Sampling::hash(first) >= threshold_) return;
        append_blocks(access, first, last, pieces);
    }

private:
    void append_blocks(const Access &access, uint64_t first, uint64_t last, std::vector<Access> &pieces) const;

    bool all_;
    unsigned shift_;
    uint64_t threshold_;
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Defines an access in the stream of a cache group. Selects the pieces of accesses that are in a spatial sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ompass {

// One declared access, or one piece of it. All pieces of an access share one moment.
struct Access {
    uint64_t begin;
    uint64_t bytes; // above 0, and begin + bytes does not wrap
    uint32_t kernel; // construct
    uint16_t group; // cache group
    bool write;
    bool more; // the next element is a piece of the same access
};
static_assert(sizeof(Access) == 24);

// Spatial sampling: a block of 2^block_shift bytes is in the sample if the hash of its number is below a threshold.
struct AccessSampling {
    double rate = 1; // 1: all accesses, not cut into blocks
    unsigned block_shift = 12;

    bool all() const { return rate >= 1; }
    static uint64_t hash(uint64_t block) {
        block = (block ^ block >> 31) * 0x9e3779b97f4a7c15u;
        return (block ^ block >> 29) * 0xbf58476d1ce4e5b9u;
    }
    static constexpr size_t kReplicates = 32;
    // Returns the part of the sample that contains the address. The low bits of the hash select the part, because they
    // remain random in a sample.
    uint8_t replicate(uint64_t address) const {
        return static_cast<uint8_t>(hash(address >> block_shift) % kReplicates);
    }
    uint64_t threshold() const { return all() ? ~uint64_t{0} : static_cast<uint64_t>(rate * 0x1p64); }
};

// Selects the pieces of accesses that are in the sample.
class Sampler {
public:
    explicit Sampler(AccessSampling sampling)
        : all_(sampling.all()), shift_(sampling.block_shift), threshold_(sampling.threshold()) {}

    bool all() const { return all_; } // true: accesses are neither sampled nor cut

    // Appends the sampled pieces of the access. Most accesses are in one block that is not sampled.
    void append(const Access &access, std::vector<Access> &pieces) const {
        const uint64_t first = access.begin >> shift_, last = (access.begin + access.bytes - 1) >> shift_;
        if (first == last && AccessSampling::hash(first) >= threshold_) return;
        append_blocks(access, first, last, pieces);
    }

private:
    void append_blocks(const Access &access, uint64_t first, uint64_t last, std::vector<Access> &pieces) const;

    bool all_;
    unsigned shift_;
    uint64_t threshold_;
};

} // namespace ompass

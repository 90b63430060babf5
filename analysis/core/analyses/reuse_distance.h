// SPDX-License-Identifier: Apache-2.0
// Kernel reuse distance (Pericàs et al.): for every byte of every access, how many distinct bytes the stream of its
// cache group touched since its last access. Exact, for ranges that overlap in any way; see docs/reuse-distance.md.
// Owns the stream of one group; access_reader makes the stream, krd_analysis runs all groups of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "last_touches.h"
#include "recency_weights.h"

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

// Bytes of accesses by reuse distance. cold + coherence + close + near + far are all of them, and the bins hold close,
// near and far ones.
struct ReuseTally {
    uint64_t cold = 0;      // never touched before in this stream
    uint64_t coherence = 0; // touched before, but written by another group since
    uint64_t close = 0, near = 0, far = 0;
    std::array<uint64_t, 64> bins = {}; // bin k: the smallest 2^k >= max(distance, 1)

    void add(const ReuseTally &other);
};

// What a sampled stream keeps besides: the distribution in fine bins, apart for kReplicates random parts of the sampled
// blocks. The spread over the parts is what the error bound is made of.
struct SampleTally {
    static constexpr size_t kReplicates = 32;
    static constexpr size_t kBinsPerOctave = 8;
    static constexpr size_t kCold = 64 * kBinsPerOctave, kCoherence = kCold + 1, kBins = kCold + 2;
    static size_t bin(uint64_t distance); // distance d is in bin b: lower_edge(b) <= d < lower_edge(b + 1)

    std::array<std::array<uint64_t, kBins>, kReplicates> bytes = {};
};

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

class ReuseStream {
public:
    struct Classes {
        uint64_t l2_bytes, llc_bytes; // close <= l2_bytes, near <= llc_bytes, far above
    };

    ReuseStream(uint16_t group, Classes classes, Sampling sampling, size_t n_kernels);

    // The next accesses of all groups, in order of time; an access never spans two batches. Those of other groups matter
    // by what they invalidate, if `coherent`.
    void process(std::span<const Access> batch, bool coherent);

    // By kernel (construct). In a sampled stream: of the sampled bytes, at distances scaled to the whole.
    const std::vector<ReuseTally> &kernels() const { return kernels_; }
    const SampleTally *sample() const { return sample_.get(); } // null in an exact stream
    uint64_t distinct_bytes() const { return distinct_bytes_; }
    size_t memory_bytes() const { return weights_.memory_bytes() + touches_.memory_bytes(); }

private:
    void touch(const Access *pieces, size_t n_pieces);
    void count_piece(const Access &piece);
    void move_piece(const Access &piece, RecencyWeights::Slot slot);
    void invalidate(const Access &write);
    void count(const Access &piece, uint64_t bytes, uint64_t distance, bool invalid);
    void count_cold(const Access &piece, uint64_t bytes);
    // Inlined by force: gcc takes a function that only prefetches for one without effect, and drops the call.
    [[gnu::always_inline]] void look_ahead(const Access &access) const {
        if (access.group == group_ || access.write) __builtin_prefetch(&touches_.first_guess(access.begin), 1);
    }
    [[gnu::always_inline]] void look_at_weights(const Access &access) const {
        if (access.group != group_) return;
        if (const TouchedRange *known = touches_.find(access.begin)) weights_.prefetch(known->slot);
    }
    uint64_t &sample_bin(const Access &piece, size_t bin);
    void make_room();

    uint16_t group_;
    Classes classes_;
    Sampling sampling_;
    double scale_; // sampled distances to distances
    RecencyWeights weights_;
    LastTouches touches_;
    uint64_t distinct_bytes_ = 0;
    std::vector<uint64_t> overlapped_; // scratch of move_piece
    std::vector<ReuseTally> kernels_;
    std::unique_ptr<SampleTally> sample_;
};

} // namespace ompass

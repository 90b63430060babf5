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

#include "recency_weights.h"
#include "sampled_accesses.h"
#include "touch_moves.h"

namespace ompass {

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
    static constexpr size_t kReplicates = Sampling::kReplicates;
    static constexpr size_t kBinsPerOctave = 8;
    static constexpr size_t kCold = 64 * kBinsPerOctave, kCoherence = kCold + 1, kBins = kCold + 2;
    static size_t bin(uint64_t distance); // distance d is in bin b: lower_edge(b) <= d < lower_edge(b + 1)

    std::array<std::array<uint64_t, kBins>, kReplicates> bytes = {};
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

    // The same in two stages that two threads may run at once: for each batch begin_batch(), then find() for this batch and
    // count() for the one before. The end takes another begin_batch() and count().
    bool has_room(size_t n_accesses) const { return weights_.has_room(found_.size() + n_accesses); }
    void
    begin_batch(size_t n_accesses); // long when there is no room: renumbers moments, and counts what is to be counted
    void find(std::span<const Access> batch, bool coherent) { touch_moves_.find(batch, coherent, found_); }
    void count();

    // By kernel (construct). In a sampled stream: of the sampled bytes, at distances scaled to the whole.
    const std::vector<ReuseTally> &kernels() const { return kernels_; }
    const SampleTally *sample() const { return sample_.get(); } // null in an exact stream
    uint64_t distinct_bytes() const { return distinct_bytes_; }
    size_t memory_bytes() const { return weights_.memory_bytes() + touch_moves_.memory_bytes(); }

private:
    void count_move(const Move &move);

    Classes classes_;
    double scale_; // sampled distances to distances
    TouchMoves touch_moves_;
    MoveList found_, counted_; // the moves of this batch and of the one before; count() empties the latter
    RecencyWeights weights_;
    uint64_t distinct_bytes_ = 0;
    std::vector<ReuseTally> kernels_;
    std::unique_ptr<SampleTally> sample_;
};

} // namespace ompass

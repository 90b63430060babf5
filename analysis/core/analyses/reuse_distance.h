// SPDX-License-Identifier: Apache-2.0
// Kernel reuse distance (Pericàs et al.): for each byte of each access, the number of distinct bytes that its cache
// group touched since the last access to that byte. Exact without sampling, for any overlap (docs/reuse-distance.md).
// Processes the stream of one group; access_reader produces it, and krd_analysis runs all groups.
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

// Bytes by reuse distance: cold + coherence + close + near + far. The bins hold the close, near and far bytes.
struct ReuseBytes {
    uint64_t cold = 0;      // never touched before in this stream
    uint64_t coherence = 0; // touched before, but written by another group since
    uint64_t close = 0, near = 0, far = 0;
    std::array<uint64_t, 64> bins = {}; // bin 0: distances up to 1; bin k: above 2^(k - 1), up to 2^k

    void add(const ReuseBytes &other);
};

// Bytes of a sampled stream by reuse distance in fine bins, for each of kReplicates random parts of the sampled blocks.
// The differences between the parts bound the error.
struct SampleBytes {
    static constexpr size_t kReplicates = AccessSampling::kReplicates;
    static constexpr size_t kBinsPerOctave = 8;
    static constexpr size_t kCold = 64 * kBinsPerOctave, kCoherence = kCold + 1, kBins = kCold + 2;
    static size_t bin(uint64_t distance); // returns the bin of a distance; bins ascend with distances

    std::array<std::array<uint64_t, kBins>, kReplicates> bytes = {};
};

class ReuseStream {
public:
    struct Classes {
        uint64_t l2_bytes, llc_bytes; // close <= l2_bytes, near <= llc_bytes, far above
    };

    ReuseStream(uint16_t group, Classes classes, AccessSampling sampling, size_t n_kernels);

    // Processes the next accesses of all groups, in order of time. An access never spans two batches. If `coherent`,
    // writes of other groups invalidate bytes. Other accesses of these groups have no effect.
    void process(std::span<const Access> batch, bool coherent);

    // The stages of process(), for two threads. Call begin_batch() for each batch. Then call find() for this batch
    // while another thread calls count() for the previous one. After the last batch, call begin_batch() and count().
    bool has_room(size_t n_accesses) const { return weights_.has_room(found_.size() + n_accesses); }
    void begin_batch(size_t n_accesses); // without room, also counts all found moves and renumbers moments: slow
    void find(std::span<const Access> batch, bool coherent) { touch_moves_.find(batch, coherent, found_); }
    void count();

    // Returns the bytes by construct. A sampled stream counts only sampled bytes, at distances scaled to all bytes.
    const std::vector<ReuseBytes> &kernels() const { return kernels_; }
    const SampleBytes *sample() const { return sample_.get(); } // null in an exact stream
    uint64_t distinct_bytes() const { return distinct_bytes_; }
    size_t memory_bytes() const { return weights_.memory_bytes() + touch_moves_.memory_bytes(); }

private:
    void count_move(const Move &move);

    Classes classes_;
    double scale_; // factor from a distance in sampled bytes to a distance in all bytes
    TouchMoves touch_moves_;
    MoveList found_, counted_; // moves of this batch; moves of the previous batch, until count()
    RecencyWeights weights_;
    uint64_t distinct_bytes_ = 0;
    std::vector<ReuseBytes> kernels_;
    std::unique_ptr<SampleBytes> sample_;
};

} // namespace ompass

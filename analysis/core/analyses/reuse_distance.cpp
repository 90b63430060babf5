// SPDX-License-Identifier: Apache-2.0
// Processes the stream of one cache group in parts: finds all moves of a part, then counts them. Two loops keep
// more memory accesses in flight than one loop.
#include "reuse_distance.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ompass {

void ReuseBytes::add(const ReuseBytes &other) {
    cold += other.cold;
    coherence += other.coherence;
    close += other.close;
    near += other.near;
    far += other.far;
    for (size_t k = 0; k < bins.size(); k++) bins[k] += other.bins[k];
}

size_t SampleBytes::bin(uint64_t distance) {
    if (distance < kBinsPerOctave) return distance; // bins of one byte each, below the first whole octave
    const auto octave = static_cast<unsigned>(std::bit_width(distance)) - 1;
    constexpr unsigned kBits = std::countr_zero(kBinsPerOctave);
    return octave * kBinsPerOctave + (distance >> (octave - kBits)) % kBinsPerOctave;
}

ReuseStream::ReuseStream(uint16_t group, Classes classes, AccessSampling sampling, size_t n_kernels)
    : classes_(classes), scale_(1 / sampling.rate), touch_moves_(group, sampling), kernels_(n_kernels) {
    if (!sampling.all()) sample_ = std::make_unique<SampleBytes>();
}

void ReuseStream::process(std::span<const Access> batch, bool coherent) {
    constexpr size_t kPart = 1 << 12; // accesses whose data and moves stay in the core's cache
    while (!batch.empty()) {
        size_t n = std::min(kPart, batch.size());
        while (batch[n - 1].more) n++;
        begin_batch(n);
        find(batch.first(n), coherent);
        std::swap(counted_, found_);
        count();
        batch = batch.subspan(n);
    }
}

void ReuseStream::begin_batch(size_t n_accesses) {
    if (!has_room(n_accesses)) {
        std::swap(counted_, found_);
        count();
        weights_.compact(n_accesses, [this](const auto &new_number, RecencyWeights::Slot n_used) {
            touch_moves_.rename_slots(new_number, n_used);
        });
    }
    std::swap(counted_, found_);
}

[[gnu::always_inline]] inline void ReuseStream::count_move(const Move &move) {
    ReuseBytes &by_distance = kernels_[move.kernel];
    if (move.kind == Move::kCold) {
        distinct_bytes_ += move.bytes;
        by_distance.cold += move.bytes;
        if (sample_) sample_->bytes[move.replicate][SampleBytes::kCold] += move.bytes;
        return;
    }
    uint64_t distance = weights_.touch_again(move.from, move.bytes);
    if (move.kind == Move::kCoherence) {
        by_distance.coherence += move.bytes;
        if (sample_) sample_->bytes[move.replicate][SampleBytes::kCoherence] += move.bytes;
        return;
    }
    if (sample_) {
        distance = static_cast<uint64_t>(std::min(static_cast<double>(distance) * scale_, 0x1p63));
        sample_->bytes[move.replicate][SampleBytes::bin(distance)] += move.bytes;
    }
    const auto bin = static_cast<size_t>(std::bit_width(distance - (distance != 0)));
    by_distance.bins[std::min(bin, by_distance.bins.size() - 1)] += move.bytes;
    // Branch-free, because a branch on mixed distances is unpredictable.
    static constexpr uint64_t ReuseBytes::*kClasses[] = {&ReuseBytes::close, &ReuseBytes::near, &ReuseBytes::far};
    const size_t beyond_l2 = distance > classes_.l2_bytes, beyond_llc = distance > classes_.llc_bytes;
    by_distance.*kClasses[beyond_l2 + (beyond_l2 & beyond_llc)] += move.bytes;
}

void ReuseStream::count() {
    // Appends a moment only after its access is counted, because an access's own bytes are not part of its distances.
    // Counts the oldest moves of an access first: the distance of a byte includes those bytes of the access that were
    // last touched after this byte.
    constexpr size_t kAhead = 16;
    uint64_t bytes = 0;
    for (size_t i = 0; i < counted_.size(); i++) {
        if (i + kAhead < counted_.size()) weights_.prefetch(counted_[i + kAhead].from);
        count_move(counted_[i]);
        bytes += counted_[i].bytes;
        if (!counted_[i].ends_moment) continue;
        weights_.append(bytes);
        bytes = 0;
    }
    counted_.clear();
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The stream of one cache group: part by part, finds all moves first and counts them after. Each stage waits for memory at
// many places at once, which one loop over both could not.
#include "reuse_distance.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ompass {

void ReuseTally::add(const ReuseTally &other) {
    cold += other.cold;
    coherence += other.coherence;
    close += other.close;
    near += other.near;
    far += other.far;
    for (size_t k = 0; k < bins.size(); k++) bins[k] += other.bins[k];
}

size_t SampleTally::bin(uint64_t distance) {
    if (distance < kBinsPerOctave) return distance; // bins of one byte each, below the first whole octave
    const auto octave = static_cast<unsigned>(std::bit_width(distance)) - 1;
    constexpr unsigned kBits = std::countr_zero(kBinsPerOctave);
    return octave * kBinsPerOctave + (distance >> (octave - kBits)) % kBinsPerOctave;
}

ReuseStream::ReuseStream(uint16_t group, Classes classes, Sampling sampling, size_t n_kernels)
    : classes_(classes), scale_(1 / sampling.rate), touch_moves_(group, sampling), kernels_(n_kernels) {
    if (!sampling.all()) sample_ = std::make_unique<SampleTally>();
}

void ReuseStream::process(std::span<const Access> batch, bool coherent) {
    constexpr size_t kPart = 1 << 12; // whose accesses and moves stay in the cache of the core
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
    ReuseTally &tally = kernels_[move.kernel];
    if (move.kind == Move::kCold) {
        distinct_bytes_ += move.bytes;
        tally.cold += move.bytes;
        if (sample_) sample_->bytes[move.replicate][SampleTally::kCold] += move.bytes;
        return;
    }
    uint64_t distance = weights_.newer_and_take(move.from, move.bytes);
    if (move.kind == Move::kCoherence) {
        tally.coherence += move.bytes;
        if (sample_) sample_->bytes[move.replicate][SampleTally::kCoherence] += move.bytes;
        return;
    }
    if (sample_) {
        distance = static_cast<uint64_t>(std::min(static_cast<double>(distance) * scale_, 0x1p63));
        sample_->bytes[move.replicate][SampleTally::bin(distance)] += move.bytes;
    }
    const auto bin = static_cast<size_t>(std::bit_width(distance - (distance != 0)));
    tally.bins[std::min(bin, tally.bins.size() - 1)] += move.bytes;
    // No branch: where distances are mixed, nobody could predict it.
    static constexpr uint64_t ReuseTally::*kClasses[] = {&ReuseTally::close, &ReuseTally::near, &ReuseTally::far};
    const size_t beyond_l2 = distance > classes_.l2_bytes, beyond_llc = distance > classes_.llc_bytes;
    tally.*kClasses[beyond_l2 + (beyond_l2 & beyond_llc)] += move.bytes;
}

void ReuseStream::count() {
    // A moment weighs nothing before its access has been counted, as its own bytes are no distance. Of two moves of
    // an access the one from the earlier moment is taken first, so it is still part of no distance of the other.
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

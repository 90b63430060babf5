// SPDX-License-Identifier: Apache-2.0
// The stream of one cache group. An access looks up the last touches of its bytes, counts each at its distance, and then
// moves them all to a moment of their own.
#include "reuse_distance.h"

#include <algorithm>
#include <bit>

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

void Sampler::append_blocks(const Access &access, uint64_t first, uint64_t last, std::vector<Access> &pieces) const {
    const uint64_t last_byte = access.begin + access.bytes - 1, block_bytes = uint64_t{1} << shift_;
    const size_t n_before = pieces.size();
    for (uint64_t block = first; block <= last; block++) {
        if (Sampling::hash(block) >= threshold_) continue;
        Access piece = access;
        piece.begin = std::max(access.begin, block << shift_);
        piece.bytes = std::min(last_byte, (block << shift_) + (block_bytes - 1)) - piece.begin + 1;
        piece.more = true;
        pieces.push_back(piece);
    }
    if (pieces.size() > n_before) pieces.back().more = false;
}

ReuseStream::ReuseStream(uint16_t group, Classes classes, Sampling sampling, size_t n_kernels)
    : group_(group), classes_(classes), sampling_(sampling), scale_(1 / sampling.rate), kernels_(n_kernels) {
    if (!sampling.all()) sample_ = std::make_unique<SampleTally>();
}

void ReuseStream::process(std::span<const Access> batch, bool coherent) {
    // The accesses to come are known, so their entries are fetched while earlier ones are counted.
    constexpr size_t kFar = 20, kNear = 8;
    for (size_t i = 0; i < batch.size();) {
        if (i + kFar < batch.size()) look_ahead(batch[i + kFar]);
        if (i + kNear < batch.size()) look_at_weights(batch[i + kNear]);
        const Access &access = batch[i];
        size_t n_pieces = 1;
        while (batch[i + n_pieces - 1].more) n_pieces++;
        if (access.group == group_)
            touch(&access, n_pieces);
        else if (coherent && access.write)
            for (size_t k = 0; k < n_pieces; k++) invalidate(batch[i + k]);
        i += n_pieces;
    }
}

void ReuseStream::make_room() {
    if (weights_.full()) weights_.compact([this](const auto &new_number) { touches_.rename_slots(new_number); });
}

void ReuseStream::touch(const Access *pieces, size_t n_pieces) {
    make_room();
    TouchedRange *range = n_pieces == 1 ? touches_.find(pieces->begin) : nullptr;
    if (range && range->end == pieces->begin + pieces->bytes) { // just the bytes of an earlier access
        const bool invalid = range->invalid != 0;
        range->invalid = 0;
        if (range->slot == weights_.newest() && weights_.weight(range->slot) == pieces->bytes)
            return count(*pieces, pieces->bytes, 0, invalid); // all of the latest moment: nothing moves
        count(*pieces, pieces->bytes, weights_.newer_and_take(range->slot, pieces->bytes), invalid);
        range->slot = weights_.append(pieces->bytes);
        return;
    }
    if (n_pieces == 1 && !touches_.overlaps(pieces->begin, pieces->begin + pieces->bytes)) {
        count_cold(*pieces, pieces->bytes);
        return touches_.add({pieces->begin, pieces->begin + pieces->bytes, weights_.append(pieces->bytes), 0});
    }
    uint64_t bytes = 0;
    for (size_t k = 0; k < n_pieces; k++) {
        count_piece(pieces[k]);
        bytes += pieces[k].bytes;
    }
    // The bytes count towards no distance of their own access, so they move when all of them are counted.
    const RecencyWeights::Slot slot = weights_.append(bytes);
    for (size_t k = 0; k < n_pieces; k++) move_piece(pieces[k], slot);
}

void ReuseStream::count_piece(const Access &piece) {
    const uint64_t end = piece.begin + piece.bytes;
    uint64_t known = 0;
    touches_.for_each_overlap(piece.begin, end, [&](const TouchedRange &range) {
        const uint64_t bytes = std::min(range.end, end) - std::max(range.begin, piece.begin);
        count(piece, bytes, weights_.newer_than(range.slot), range.invalid != 0);
        known += bytes;
    });
    if (known < piece.bytes) count_cold(piece, piece.bytes - known);
}

// Replaces what is known of these bytes by one range with the given moment.
void ReuseStream::move_piece(const Access &piece, RecencyWeights::Slot slot) {
    const uint64_t end = piece.begin + piece.bytes;
    touches_.cut(piece.begin);
    touches_.cut(end);
    overlapped_.clear();
    touches_.for_each_overlap(piece.begin, end, [&](const TouchedRange &range) {
        weights_.take(range.slot, range.end - range.begin);
        overlapped_.push_back(range.begin);
    });
    const bool begins_alike = !overlapped_.empty() && overlapped_.front() == piece.begin;
    for (size_t k = begins_alike ? 1 : 0; k < overlapped_.size(); k++) touches_.remove(overlapped_[k]);
    if (begins_alike)
        *touches_.find(piece.begin) = {piece.begin, end, slot, 0};
    else
        touches_.add({piece.begin, end, slot, 0});
}

void ReuseStream::invalidate(const Access &write) {
    const uint64_t end = write.begin + write.bytes;
    TouchedRange *range = touches_.find(write.begin);
    if (range && range->end == end) {
        range->invalid = 1;
        return;
    }
    bool any_valid = false;
    touches_.for_each_overlap(write.begin, end, [&](const TouchedRange &known) { any_valid |= known.invalid == 0; });
    if (!any_valid) return;
    touches_.cut(write.begin);
    touches_.cut(end);
    touches_.for_each_overlap(write.begin, end, [](TouchedRange &known) { known.invalid = 1; });
}

uint64_t &ReuseStream::sample_bin(const Access &piece, size_t bin) {
    // Bits of the hash that the choice of the sample has left random.
    const uint64_t hash = Sampling::hash(piece.begin >> sampling_.block_shift);
    return sample_->bytes[hash % SampleTally::kReplicates][bin];
}

void ReuseStream::count(const Access &piece, uint64_t bytes, uint64_t distance, bool invalid) {
    ReuseTally &tally = kernels_[piece.kernel];
    if (sample_) distance = static_cast<uint64_t>(std::min(static_cast<double>(distance) * scale_, 0x1p63));
    if (invalid) {
        tally.coherence += bytes;
        if (sample_) sample_bin(piece, SampleTally::kCoherence) += bytes;
        return;
    }
    const auto bin = static_cast<size_t>(std::bit_width(distance - (distance != 0)));
    tally.bins[std::min(bin, tally.bins.size() - 1)] += bytes;
    (distance <= classes_.l2_bytes ? tally.close : distance <= classes_.llc_bytes ? tally.near : tally.far) += bytes;
    if (sample_) sample_bin(piece, SampleTally::bin(distance)) += bytes;
}

void ReuseStream::count_cold(const Access &piece, uint64_t bytes) {
    distinct_bytes_ += bytes;
    kernels_[piece.kernel].cold += bytes;
    if (sample_) sample_bin(piece, SampleTally::kCold) += bytes;
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Looks up the last touches of each access, and puts the access in their place. Most find just the range of an earlier
// access, in one cache line that was asked for some accesses before.
#include "touch_moves.h"

#include <algorithm>

namespace ompass {

void TouchMoves::find(std::span<const Access> accesses, bool coherent, std::vector<Move> &moves) {
    constexpr size_t kAhead = 32; // as many lines are on their way from memory
    for (size_t i = 0; i < accesses.size();) {
        if (i + kAhead < accesses.size()) {
            const Access &later = accesses[i + kAhead];
            if (later.group == group_ || later.write) touches_.prefetch(later.begin);
        }
        size_t n_pieces = 1;
        while (accesses[i + n_pieces - 1].more) n_pieces++;
        const std::span<const Access> pieces = accesses.subspan(i, n_pieces);
        if (pieces.front().group == group_)
            touch(pieces, moves);
        else if (coherent && pieces.front().write)
            for (const Access &piece : pieces) invalidate(piece);
        i += n_pieces;
    }
}

void TouchMoves::touch(std::span<const Access> pieces, std::vector<Move> &moves) {
    const Access &first = pieces.front();
    TouchedRange *range = pieces.size() == 1 ? touches_.find(first.begin) : nullptr;
    if (range && range->end == first.begin + first.bytes) { // just the bytes of an earlier access
        moves.push_back(move(first, first.bytes, range->slot, range->invalid ? Move::kCoherence : Move::kReuse));
        range->slot = next_slot_;
        range->invalid = 0;
    } else if (pieces.size() == 1 && !touches_.overlaps(first.begin, first.begin + first.bytes)) {
        moves.push_back(move(first, first.bytes, 0, Move::kCold));
        touches_.add({first.begin, first.begin + first.bytes, next_slot_, 0});
    } else {
        const auto n_before = static_cast<ptrdiff_t>(moves.size());
        for (const Access &piece : pieces) find_overlaps(piece, moves);
        for (const Access &piece : pieces) replace(piece);
        std::sort(moves.begin() + n_before, moves.end(),
                  [](const Move &one, const Move &other) { return one.from < other.from; });
    }
    moves.back().ends_moment = true;
    next_slot_++;
}

void TouchMoves::find_overlaps(const Access &piece, std::vector<Move> &moves) {
    const uint64_t end = piece.begin + piece.bytes;
    uint64_t known = 0;
    touches_.for_each_overlap(piece.begin, end, [&](const TouchedRange &range) {
        const uint64_t bytes = std::min(range.end, end) - std::max(range.begin, piece.begin);
        moves.push_back(move(piece, bytes, range.slot, range.invalid ? Move::kCoherence : Move::kReuse));
        known += bytes;
    });
    if (known < piece.bytes) moves.push_back(move(piece, piece.bytes - known, 0, Move::kCold));
}

// Replaces what is known of these bytes by one range of the new moment.
void TouchMoves::replace(const Access &piece) {
    const uint64_t end = piece.begin + piece.bytes;
    touches_.cut(piece.begin);
    touches_.cut(end);
    overlapped_.clear();
    touches_.for_each_overlap(piece.begin, end, [&](const TouchedRange &range) { overlapped_.push_back(range.begin); });
    const bool begins_alike = !overlapped_.empty() && overlapped_.front() == piece.begin;
    for (size_t k = begins_alike ? 1 : 0; k < overlapped_.size(); k++) touches_.remove(overlapped_[k]);
    if (begins_alike)
        *touches_.find(piece.begin) = {piece.begin, end, next_slot_, 0};
    else
        touches_.add({piece.begin, end, next_slot_, 0});
}

void TouchMoves::invalidate(const Access &write) {
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

Move TouchMoves::move(const Access &piece, uint64_t bytes, uint32_t from, Move::Kind kind) const {
    return {bytes, from, piece.kernel, sampling_.all() ? uint8_t{0} : sampling_.replicate(piece.begin), kind, false};
}

} // namespace ompass

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
        const Access &access = accesses[i];
        if (access.group == group_ && !access.more) {
            if (LastTouch *known = touches_.find(access.begin, access.bytes)) { // just the bytes of an earlier access
                Move found = move(access, access.bytes, known->slot, known->invalid ? Move::kCoherence : Move::kReuse);
                found.ends_moment = true;
                moves.push_back(found);
                known->slot = next_slot_++;
                known->invalid = 0;
                i++;
                continue;
            }
        }
        size_t n_pieces = 1;
        while (accesses[i + n_pieces - 1].more) n_pieces++;
        const std::span<const Access> pieces = accesses.subspan(i, n_pieces);
        if (access.group == group_)
            touch(pieces, moves);
        else if (coherent && access.write)
            for (const Access &piece : pieces) invalidate(piece);
        i += n_pieces;
    }
}

void TouchMoves::touch(std::span<const Access> pieces, std::vector<Move> &moves) {
    const Access &first = pieces.front();
    if (pieces.size() == 1 && touches_.add(first.begin, first.begin + first.bytes, next_slot_)) {
        moves.push_back(move(first, first.bytes, 0, Move::kCold));
    } else {
        const auto n_before = static_cast<ptrdiff_t>(moves.size());
        for (const Access &piece : pieces) find_overlaps(piece, moves);
        for (const Access &piece : pieces) touches_.replace(piece.begin, piece.begin + piece.bytes, next_slot_);
        std::sort(moves.begin() + n_before, moves.end(),
                  [](const Move &one, const Move &other) { return one.from < other.from; });
    }
    moves.back().ends_moment = true;
    next_slot_++;
}

void TouchMoves::find_overlaps(const Access &piece, std::vector<Move> &moves) {
    const uint64_t piece_end = piece.begin + piece.bytes;
    uint64_t n_known = 0;
    touches_.for_each_overlap(piece.begin, piece_end, [&](const LastTouch &touch, uint64_t begin, uint64_t end) {
        const uint64_t bytes = std::min(end, piece_end) - std::max(begin, piece.begin);
        moves.push_back(move(piece, bytes, touch.slot, touch.invalid ? Move::kCoherence : Move::kReuse));
        n_known += bytes;
    });
    if (n_known < piece.bytes) moves.push_back(move(piece, piece.bytes - n_known, 0, Move::kCold));
}

void TouchMoves::invalidate(const Access &write) {
    const uint64_t end = write.begin + write.bytes;
    if (LastTouch *known = touches_.find(write.begin, write.bytes)) {
        known->invalid = 1;
        return;
    }
    bool any_valid = false;
    touches_.for_each_overlap(write.begin, end, [&](const LastTouch &touch, auto...) { any_valid |= !touch.invalid; });
    if (!any_valid) return;
    touches_.cut(write.begin);
    touches_.cut(end);
    touches_.for_each_overlap(write.begin, end, [](LastTouch &touch, auto...) { touch.invalid = 1; });
}

Move TouchMoves::move(const Access &piece, uint64_t bytes, uint32_t from, Move::Kind kind) const {
    return {bytes, from, piece.kernel, sampling_.all() ? uint8_t{0} : sampling_.replicate(piece.begin), kind, false};
}

} // namespace ompass

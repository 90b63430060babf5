// SPDX-License-Identifier: Apache-2.0
// Looks up the last touches of each access's bytes, and replaces them. Most accesses have exactly the range of an
// earlier access. find() prefetches the entry of that range some accesses ahead.
#include "touch_moves.h"

#include <algorithm>

namespace ompass {

namespace {

Move::Kind kind_of(const LastTouch &touch) { return touch.invalid ? Move::kCoherence : Move::kReuse; }

} // namespace

void TouchMoves::find(std::span<const Access> accesses, bool coherent, MoveList &moves) {
    constexpr size_t kAhead = 32; // accesses from the prefetch of an entry to its use
    for (size_t i = 0; i < accesses.size();) {
        if (i + kAhead < accesses.size()) {
            const Access &later = accesses[i + kAhead];
            if (later.group == group_ || later.write) touches_.prefetch(later.begin);
        }
        const Access &access = accesses[i];
        size_t n_pieces = 1;
        while (accesses[i + n_pieces - 1].more) n_pieces++;
        const std::span<const Access> pieces = accesses.subspan(i, n_pieces);
        i += n_pieces;
        if (access.group != group_) {
            if (!coherent || !access.write) continue;
            for (const Access &piece : pieces) invalidate(piece);
            continue;
        }
        LastTouch *known = n_pieces == 1 ? touches_.find(access.begin, access.bytes) : nullptr;
        if (known) { // exactly the bytes of an earlier access
            moves.add() = {access.bytes, known->slot, access.kernel, replicate(access), kind_of(*known), true};
            known->slot = next_slot_++;
            known->invalid = 0;
        } else {
            touch(pieces, moves);
        }
    }
}

void TouchMoves::touch(std::span<const Access> pieces, MoveList &moves) {
    const Access &first = pieces.front();
    const uint32_t slot = next_slot_++;
    if (pieces.size() == 1 && touches_.add(first.begin, first.begin + first.bytes, slot)) {
        moves.add() = {first.bytes, 0, first.kernel, replicate(first), Move::kCold, true};
        return;
    }
    const size_t n_before = moves.size();
    for (const Access &piece : pieces) find_overlaps(piece, moves);
    for (const Access &piece : pieces) touches_.replace(piece.begin, piece.begin + piece.bytes, slot);
    std::sort(moves.begin() + n_before, moves.end(),
              [](const Move &one, const Move &other) { return one.from < other.from; });
    (moves.end() - 1)->ends_moment = true;
}

void TouchMoves::find_overlaps(const Access &piece, MoveList &moves) {
    const uint64_t piece_end = piece.begin + piece.bytes;
    uint64_t cold = piece.bytes;
    touches_.for_each_overlap(piece.begin, piece_end, [&](const LastTouch &touch, uint64_t begin, uint64_t end) {
        const uint64_t bytes = std::min(end, piece_end) - std::max(begin, piece.begin);
        moves.add() = {bytes, touch.slot, piece.kernel, replicate(piece), kind_of(touch), false};
        cold -= bytes;
    });
    if (cold > 0) moves.add() = {cold, 0, piece.kernel, replicate(piece), Move::kCold, false};
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

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Turns accesses into moves. Each access creates a moment. The moment's slot in RecencyWeights holds the bytes last
// touched at this moment. A move takes bytes of an access from the slot of their last touch, if any, to the new slot.
// Tracks addresses and the writes of other groups; RecencyWeights computes distances from the moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "last_touches.h"
#include "sampled_accesses.h"

namespace ompass {

// The bytes of one access that have the same last touch. The moves of an access are adjacent, in order of `from`. The
// n-th access creates the n-th moment, so slots are numbered as in RecencyWeights.
struct Move {
    enum Kind : uint8_t { kCold, kCoherence, kReuse };

    uint64_t bytes;
    uint32_t from; // slot of the last touch, unless cold
    uint32_t kernel;
    uint8_t replicate; // part of the sample, see AccessSampling::replicate()
    Kind kind;
    bool ends_moment; // the last move of its access
};
static_assert(sizeof(Move) == 24);

// A vector of moves. add() returns a move to be filled in place, because copying a value just written stalls.
class MoveList {
public:
    Move &add() {
        if (size_ == moves_.size()) moves_.resize(std::max(2 * size_, kFirstSize));
        return moves_[size_++];
    }
    void clear() { size_ = 0; }
    size_t size() const { return size_; }
    Move *begin() { return moves_.data(); }
    Move *end() { return begin() + size_; }
    const Move &operator[](size_t i) const { return moves_[i]; }

private:
    static constexpr size_t kFirstSize = 1 << 12;

    std::vector<Move> moves_; // unused from size_ on
    size_t size_ = 0;
};

class TouchMoves {
public:
    TouchMoves(uint16_t group, AccessSampling sampling) : group_(group), sampling_(sampling) {}

    // Appends the moves of `accesses`, which must be in order of time. If `coherent`, writes of other groups invalidate
    // bytes.
    void find(std::span<const Access> accesses, bool coherent, MoveList &moves);

    // Renumbers the slots; n slots remain.
    template <typename NewNumber>
    void rename_slots(NewNumber new_number, uint32_t n) {
        touches_.rename_slots(new_number);
        next_slot_ = n;
    }
    size_t memory_bytes() const { return touches_.memory_bytes(); }

private:
    void touch(std::span<const Access> pieces, MoveList &moves);
    void find_overlaps(const Access &piece, MoveList &moves);
    void invalidate(const Access &write);
    uint8_t replicate(const Access &piece) const {
        return sampling_.all() ? uint8_t{0} : sampling_.replicate(piece.begin);
    }

    uint16_t group_;
    AccessSampling sampling_;
    LastTouches touches_;
    uint32_t next_slot_ = 0;
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The bytes of a checkpoint: the state of a thread between two events. A run that keeps only the last part of its trace
// (kept.log) has checkpoints in its event extents. A reader can start at a checkpoint, without the earlier events. The
// tool writes checkpoints (accounting/checkpoint). run_files.cpp finds and checks them. walker.h continues from them.
//
// A checkpoint is a sequence of 64-bit words: the head; n_codes constructs; the frames, then the parts, each with the
// innermost first; the kernels, then the loops, each with the outermost first; the slots of the statistics;
// kCheckpointEnd. A slot consists of its id, a bitmap of its nonzero words (two words), and the nonzero words.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "format.h"

namespace ompass::format {

inline constexpr uint64_t kCheckpointEnd = 0x444e45544b434843; // "CHCKTEND"

struct CheckpointHead {
    // The state of a decoder: see EventDecoder::Bookmark.
    uint64_t time, n_ids, address, started;
    uint64_t mark; // start of the open state interval
    uint32_t open_state; // OpenState
    uint32_t wait_place; // argument of the last wait_place event
    uint32_t domain; // 1 + argument of the last domain event; 0: none
    uint32_t creation; // construct of the deferred task whose creation is under way; 0: none
    uint32_t phase; // construct; 0: none
    uint32_t is_dirty; // 1: untimed undeferred tasks ran in the open interval
    uint32_t call; // construct of the MPI call or target construct that the thread is in; 0: none
    uint32_t is_accounted_call; // 0: the call began outside of the accounted time
    uint64_t call_begin;
    uint64_t step_begin; // of the open step of the target construct
    uint32_t n_codes, n_frames, n_parts, n_kernels, n_loops, n_slots;
    uint64_t pool_ticks; // as in ThreadHeader
    OffCpuTicks pool;
};
static_assert(sizeof(CheckpointHead) == 136);

// Flags of a CheckpointFrame.
inline constexpr uint32_t kFrameImplicit = 1, kFrameUndeferred = 2, kFrameTimed = 4, kFrameWaits = 8, kFramePart = 16;

// A task on the thread's stack. The time outside of all tasks has no frame.
struct CheckpointFrame {
    uint64_t id; // 0: undeferred
    uint64_t worked; // as in TaskState
    uint64_t wait_begin; // while it waits
    uint32_t construct; // 0: implicit
    uint32_t flags; // kFrame…
    uint32_t wait_place; // construct of the wait, while it waits
    uint32_t weight; // tasks that a timed undeferred task represents
    uint32_t part; // implicit tasks: 1 + index of their part; 0: none
    uint32_t pad_;
};
static_assert(sizeof(CheckpointFrame) == 48);

// The thread's part in a region.
struct CheckpointPart {
    uint64_t id, begin; // of the region
    uint64_t loop_end, loop_ticks; // of the loop before the next barrier
    uint32_t loop; // its construct; 0: none
    uint32_t construct, level, team_size, n_requested, n_barriers;
    uint32_t is_primary;
    uint32_t pad_;
};
static_assert(sizeof(CheckpointPart) == 64);

// An open kernel or loop.
struct CheckpointOpen {
    uint64_t begin;
    uint32_t construct;
    uint32_t pad_;
};
static_assert(sizeof(CheckpointOpen) == 16);

// Upper limit of n_ids. No run assigns that many ids, and a smaller number cannot overflow the counter in an id.
inline constexpr uint64_t kMostIds = uint64_t{1} << (kThreadShift - 1);
inline constexpr size_t kSlotWords = kSlotBytes / sizeof(uint64_t);
static_assert(kSlotWords <= 128);

} // namespace ompass::format

namespace ompass {

// A checkpoint in memory, with checked bounds.
class Checkpoint {
public:
    // Takes the words. Returns false if they are not a checkpoint.
    bool take(std::vector<uint64_t> words) {
        words_ = std::move(words);
        frames_ = {}, parts_ = {}, kernels_ = {}, loops_ = {};
        uint64_t place = 0;
        if (!copy(&head_, 1, place)) return clear();
        const bool is_known = head_.n_ids < format::kMostIds && head_.n_codes <= format::kInlineCodes &&
                              skip(head_.n_codes, place) && list(frames_, head_.n_frames, place) &&
                              list(parts_, head_.n_parts, place) && list(kernels_, head_.n_kernels, place) &&
                              list(loops_, head_.n_loops, place);
        slots_ = place;
        const auto has_part = [&](const format::CheckpointFrame &frame) { return frame.part <= parts_.size(); };
        const bool is_sound = is_known && std::all_of(frames_.begin(), frames_.end(), has_part);
        return (is_sound && for_each_slot([](uint32_t, const uint64_t *) {})) || clear();
    }
    explicit operator bool() const { return !words_.empty(); }
    const format::CheckpointHead &head() const { return head_; }
    uint32_t code(uint32_t i) const { return static_cast<uint32_t>(words_[sizeof head_ / sizeof(uint64_t) + i]); }
    const std::vector<format::CheckpointFrame> &frames() const { return frames_; } // the innermost first
    const std::vector<format::CheckpointPart> &parts() const { return parts_; } // the innermost first
    const std::vector<format::CheckpointOpen> &kernels() const { return kernels_; }
    const std::vector<format::CheckpointOpen> &loops() const { return loops_; }

    // Calls visit(id, words of the slot) for each slot. Returns false if there are too few or too many words.
    template <typename Visit>
    bool for_each_slot(Visit visit) const {
        uint64_t place = slots_;
        for (uint32_t n = 0; n < head_.n_slots; n++) {
            if (words_.size() - place < 3) return false;
            const uint64_t id = words_[place], *bits = &words_[place + 1];
            place += 3;
            uint64_t slot[128] = {};
            for (unsigned i = 0; i < 128; i++) {
                if (!(bits[i / 64] >> i % 64 & 1)) continue;
                if (place == words_.size()) return false;
                slot[i] = words_[place++];
            }
            visit(static_cast<uint32_t>(id), slot);
        }
        return place + 1 == words_.size() && words_[place] == format::kCheckpointEnd;
    }

private:
    bool clear() {
        words_.clear();
        return false;
    }
    bool skip(uint64_t n_words, uint64_t &place) const {
        if (words_.size() - place < n_words) return false;
        place += n_words;
        return true;
    }
    template <typename T>
    bool copy(T *to, uint64_t n, uint64_t &place) const {
        const uint64_t begin = place;
        if (!skip(n * sizeof(T) / sizeof(uint64_t), place)) return false;
        if (n) memcpy(to, words_.data() + begin, n * sizeof(T));
        return true;
    }
    template <typename T>
    bool list(std::vector<T> &items, uint64_t n, uint64_t &place) const {
        if (words_.size() < n) return false;
        items.resize(n);
        return copy(items.data(), n, place);
    }

    std::vector<uint64_t> words_;
    format::CheckpointHead head_ = {};
    std::vector<format::CheckpointFrame> frames_;
    std::vector<format::CheckpointPart> parts_;
    std::vector<format::CheckpointOpen> kernels_, loops_;
    uint64_t slots_ = 0; // place of the first slot
};

} // namespace ompass

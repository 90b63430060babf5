// SPDX-License-Identifier: Apache-2.0
// thread-NNNNN.log: one thread's header, statistics slots and, in trace mode, events. Only that thread writes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "format/checkpoint.h"
#include "format/format.h"
#include "format/invariants.h"
#include "log/log_file.h"
#include "omp_ext_tool.h"

namespace ompass {

class ThreadLog {
public:
    void create(const std::string &directory, uint32_t index, uint32_t tid, uint64_t now);
    // Starts the trace. Called after the first slots are made: the events are then at the end of the file, where trim()
    // can cut them.
    void start_tracing(uint64_t now);
    // Keeps only the last part of the trace. Called before start_tracing(). When the log wants a checkpoint, it sets
    // both words to recorder::kNever, so that the thread's next event takes the slow path. `then` is the copy of
    // *seen_switch that the extension checks.
    void keep_last(uint32_t *seen_switch, uint32_t *then) { seen_switch_ = seen_switch, then_ = then; }

    format::ThreadHeader &header() { return *header_; }
    bool is_on_disk() const { return file_.is_on_disk(); } // false: no reader will see it
    uint64_t tasks_in_memory() const; // number of completed tasks that are counted in memory only

    // Returns the slot with this thread's statistics of construct `id`, and makes it at the first call. Never null: if
    // memory is exhausted or `id` is beyond the last slot, returns a shared slot that is never read.
    void *slot(uint32_t id) {
        const uint32_t extent = id / format::kSlotsPerExtent;
        if (__builtin_expect(extent < kMaxSlotExtents && slots_[extent] != nullptr, 1))
            return slots_[extent] + id % format::kSlotsPerExtent * format::kSlotBytes;
        return make_slots(id);
    }

    bool tracing() const { return limit_ != nullptr; }
    bool counts_records() const { return tracing() || dropping_; } // records are written, or counted as dropped

    // Append a record. `now` of timed records must not decrease.
    void untimed(format::EventKind kind, uint32_t argument) { put(format::pack_event(kind, argument, 0)); }
    void untimed(format::EventKind kind, uint32_t argument, uint64_t word1) {
        put(format::pack_event(kind, argument, 0), word1);
    }
    void untimed(format::EventKind kind, uint32_t argument, uint64_t word1, uint64_t word2) {
        put(format::pack_event(kind, argument, 0), word1, word2);
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now) {
        put(format::pack_event(kind, argument, delta_to(now)));
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now, uint64_t word1) {
        put(format::pack_event(kind, argument, delta_to(now)), word1);
    }
    void timed(format::EventKind kind, uint32_t argument, uint64_t now, uint64_t word1, uint64_t word2) {
        put(format::pack_event(kind, argument, delta_to(now)), word1, word2);
    }

    // Append the records that most tasks have, in their shortest form.
    void create_untimed(uint32_t construct) { put_half(format::pack_short(format::kCreateShort, construct, 0)); }
    void wait_place(uint32_t construct) { put_half(format::pack_short(format::kWaitPlaceShort, construct, 0)); }
    void create_span(uint64_t ticks, uint64_t now) {
        timed_or_short<format::kCreateSpan, format::kCreateSpanShort>(static_cast<uint32_t>(ticks), now);
    }
    void wait_begin(uint32_t kind, uint64_t now) {
        timed_or_short<format::kWaitBegin, format::kWaitBeginShort>(kind, now);
    }
    void wait_end(uint32_t kind, uint64_t now) { timed_or_short<format::kWaitEnd, format::kWaitEndShort>(kind, now); }
    void complete(uint32_t status, uint64_t now) {
        const uint64_t delta = delta_to(now);
        if (__builtin_expect(format::fits(format::kCompleteShort, 0, delta, status ^ format::kStatusComplete), 1))
            put_half(format::pack_short(format::kCompleteShort, 0, delta));
        else
            put(format::pack_event(format::kComplete, status, delta));
    }
    // `moved`: flag bits of the id word; `latest`: the last id that this thread assigned.
    void start(uint32_t construct, uint64_t id, uint64_t moved, uint64_t latest, uint64_t now) {
        const uint64_t delta = delta_to(now), back = latest - id, distance = id - last_started_;
        last_started_ = id;
        if (format::fits(format::kStartShort, construct, delta, moved | back >> format::kBackBits))
            put_half(format::pack_short(format::kStartShort, construct, delta) | back << format::kBackShift);
        else if (format::fits(format::kStartNear, construct, delta) && format::is_near_start(distance))
            put(format::pack_start_near(construct, moved, distance, delta));
        else
            put(format::pack_event(format::kStart, construct, delta), id | moved);
    }

    void off_cpu(bool blocked, bool guess, uint64_t begin, uint64_t ticks) {
        const uint64_t distance = begin - base_;
        if (format::is_near_absence(distance, ticks))
            put(format::pack_absent_near(blocked, guess, distance, ticks));
        else
            put(format::pack_event(blocked ? format::kBlocked : format::kPreempted, guess, 0), begin, ticks);
    }
    void access(bool write, uint64_t address, uint64_t bytes) {
        const auto distance = static_cast<int64_t>(address - last_address_);
        if (__builtin_expect(format::is_near(distance, bytes), 1))
            put(format::pack_near(write ? format::kWriteNear : format::kReadNear, distance, bytes));
        else
            put(format::pack_event(write ? format::kWrite : format::kRead, 0, 0), address, bytes);
        last_address_ = address;
    }

    // mutex_acquired() appends the end of a wait for a lock. postpone_mutex_acquired() gives that record a later time;
    // returns false if another record has followed or the time does not fit.
    void mutex_acquired(uint32_t argument, uint64_t now) {
        const uint64_t delta = delta_to(now);
        if (uint32_t *place = reserve(2)) {
            const uint64_t word = format::pack_event(format::kMutexAcquired, argument, delta);
            place[1] = static_cast<uint32_t>(word >> 32);
            store(place, word);
            order_.place = place;
            order_.n_bits = kPostponable;
        }
    }
    bool postpone_mutex_acquired(uint64_t now) {
        if (order_.n_bits != kPostponable) return false;
        uint32_t *delta = static_cast<uint32_t *>(order_.place) + 1;
        const uint64_t longer = *delta + (now - base_);
        if (longer >> 32) return false;
        store(delta, longer);
        base_ = now;
        return true;
    }
    uint64_t time() const { return base_; } // of the last timed record

    // Append start and end of an untimed undeferred task, to the last record if it is a kInlineOps with room.
    void inline_begin(unsigned code) { append_op(format::kInlineOpBegin + code); }
    void inline_end() { append_op(format::kInlineOpEnd); }
    // Returns the kInlineOps record, for callers that append to it directly and call append_op() when it is full.
    omp_ext_order &order() { return order_; }
    void append_op(uint32_t op) {
        if (omp_ext_append(&order_, op)) return;
        if (uint32_t *place = reserve(2)) {
            order_.word = format::kInlineOps | uint64_t{op} << 8;
            order_.n_bits = 12;
            order_.place = place;
            store(place, order_.word);
        }
    }
    // Returns a new code for a construct; kInlineCodes if all are in use.
    uint8_t new_inline_code(uint32_t construct) {
        if (n_codes_ == format::kInlineCodes) return format::kInlineCodes;
        untimed(format::kInlineCode, construct);
        codes_[n_codes_] = construct;
        return n_codes_++;
    }

    // ---------------------------------------------------------------- checkpoints

    // Asks for a checkpoint before the thread's next event (`events` == 1), the event after it (2), and so on.
    void want_checkpoint(uint8_t events);
    // Returns true if a checkpoint is due now. Called before each event on the slow path.
    bool takes_checkpoint() {
        if (checkpoint_in_ == 0) return false;
        if (--checkpoint_in_) want_checkpoint(checkpoint_in_);
        return checkpoint_in_ == 0;
    }
    // Begins a new window with a checkpoint. Calls of checkpoint_word() follow, then end_checkpoint(). Returns false if
    // the thread does not trace or recording has ended.
    bool begin_checkpoint();
    void checkpoint_word(uint64_t word);
    void end_checkpoint();
    // Sets the fields that the log knows.
    void describe(format::CheckpointHead &head) const {
        head.time = base_, head.address = last_address_, head.started = last_started_, head.n_codes = n_codes_;
    }
    const uint32_t *codes() const { return codes_; } // constructs by inline code
    // Calls visit(id, slot) for each slot in use.
    template <typename Visit>
    void for_each_slot(Visit visit) const {
        for (uint32_t extent = 0; extent < kMaxSlotExtents; extent++)
            for (uint32_t i = 0; slots_[extent] && i < format::kSlotsPerExtent; i++) {
                const char *slot = slots_[extent] + i * format::kSlotBytes;
                const uint32_t id = extent * format::kSlotsPerExtent + i;
                uint32_t of_slot;
                memcpy(&of_slot, slot, sizeof of_slot);
                if (of_slot == id) visit(id, slot);
            }
    }

    // Cuts the unused end of the file. The log is then complete. Another thread may call it after recording has ended,
    // while the owner still finishes an event.
    void trim();

    // Unmaps the log of an ended thread. header() then returns a header that all such logs share.
    void unmap();

    void stop_tracing(); // further records are counted as dropped

private:
    // The log always writes events into the same mapped window. When the window is full, the log appends a copy of it
    // to the file. Copying takes a third of the time that mapping and touching new pages would take.
    static constexpr size_t kWindowBytes = 64 << 10;
    static constexpr uint32_t kMaxSlotExtents = 2048;
    static constexpr unsigned kNoOps = 64, kPostponable = 65; // values of order_.n_bits

    static void store(uint32_t *place, uint64_t half) {
        __atomic_store_n(place, static_cast<uint32_t>(half), __ATOMIC_RELEASE);
    }

    // Returns room for `halves` half words; null if the thread does not trace or there is no room.
    uint32_t *reserve(unsigned halves) {
        if (__builtin_expect(next_ + halves > limit_, 0) && !refill(halves)) return nullptr;
        uint32_t *place = next_;
        next_ += halves;
        order_.n_bits = kNoOps;
        return place;
    }
    void put_half(uint64_t half) {
        if (uint32_t *place = reserve(1)) store(place, half);
    }
    template <typename... More>
    void put(uint64_t word, More... more) {
        uint32_t *place = reserve(2 + 2 * sizeof...(more));
        if (!place) return;
        if constexpr (sizeof...(more) > 0) {
            const uint64_t words[] = {more...};
            memcpy(place + 2, words, sizeof words);
        }
        place[1] = static_cast<uint32_t>(word >> 32);
        store(place, word);
    }
    // Appends a record, in the short form if it fits. The kinds are template parameters, so that their forms are
    // compile-time constants.
    template <format::EventKind kKind, format::EventKind kShortKind>
    void timed_or_short(uint32_t argument, uint64_t now) {
        const uint64_t delta = delta_to(now);
        if (__builtin_expect(format::fits(kShortKind, argument, delta), 1))
            put_half(format::pack_short(kShortKind, argument, delta));
        else
            put(format::pack_event(kKind, argument, delta));
    }
    uint64_t delta_to(uint64_t now) {
        uint64_t delta = now - base_;
        if (__builtin_expect(delta >> 32, 0)) delta = write_time(now);
        base_ += delta;
        return delta;
    }
    uint64_t write_time(uint64_t now);
    bool refill(unsigned halves); // makes room for a record of this size
    bool open_window();
    bool renew_window();
    void empty_window();
    void publish_window();
    void begin_window(); // places the next record at the start of the window
    void cut_window();
    uint32_t *window_begin() const { return reinterpret_cast<uint32_t *>(window_ + 1); }
    uint32_t *window_end() const { // minus one word that stays zero
        return window_begin() + (window_bytes_ - sizeof *window_) / sizeof(uint32_t) - 2;
    }
    bool try_lock() { return !is_locked_.exchange(true, std::memory_order_acquire); }
    void unlock() { is_locked_.store(false, std::memory_order_release); }
    void *make_slots(uint32_t id);

    uint32_t *next_ = nullptr; // place of the next record
    uint32_t *limit_ = nullptr; // a record that would pass this place calls refill(); null: not tracing
    // The last record if it is a kInlineOps, or a kMutexAcquired (kPostponable).
    omp_ext_order order_ = {0, kNoOps, nullptr, format::kInlineOpEnd, nullptr};
    uint8_t n_codes_ = 0;
    uint32_t codes_[format::kInlineCodes] = {};
    uint64_t base_ = 0; // time of the last timed record
    uint64_t last_address_ = 0; // address of the last access
    uint64_t last_started_ = 0; // id of the last started task
    format::ThreadHeader *header_ = nullptr;
    format::ExtentHeader *window_ = nullptr; // the extent of the latest events; it stays in place
    size_t window_bytes_ = kWindowBytes;
    uint64_t number_ = 0; // of the window
    uint32_t *seen_switch_ = nullptr, *then_ = nullptr; // see keep_last(); null: the whole trace is kept
    uint8_t checkpoint_in_ = 0; // events until a checkpoint is due; 0: none is wanted
    uint64_t n_checkpoint_words_ = 0; // words of the present checkpoint that are in earlier windows
    uint64_t checkpoint_window_ = 0; // number of the window in which the last checkpoint begins
    uint64_t checkpoint_bytes_ = 0, bytes_since_ = 0; // length of the last checkpoint; bytes stored since
    bool dropping_ = false;
    bool is_out_of_slots_ = false; // a construct has no slot
    // Lock for growing or cutting the file. The owner holds it briefly, trim() for good. No thread waits for it.
    std::atomic<bool> is_locked_{false};
    LogFile file_;
    char *slots_[kMaxSlotExtents] = {};
};

} // namespace ompass

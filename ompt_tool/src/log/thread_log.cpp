// SPDX-License-Identifier: Apache-2.0
// Slow paths of a thread log: creation, new extents, limits.
#include "log/thread_log.h"

#include <cstdio>
#include <cstring>

#include "format/statistics.h"
#include "log/kept_trace.h"
#include "log/trace_limit.h"
#include "run_switch.h"

namespace ompass {

namespace {

constexpr size_t kEventBytes = 256; // upper bound of the records of one event and the zero after them
constexpr uint64_t kMaxStepBack = 1 << 26; // most ticks by which one core's counter lags behind another's
constexpr unsigned kWarnPart = 16; // a log asks for a checkpoint when 1/16 of its window is left
// A checkpoint precedes the second event after the request. The first event reports the tasks that libomp_ext.so has
// only counted.
constexpr uint8_t kEventsBefore = 2;
constexpr unsigned kEventsPerCheckpoint = 8; // fewest bytes of events per byte of checkpoints

alignas(64) char spare_slot[format::kSlotBytes]; // for constructs without a slot; shared, never read

} // namespace

void ThreadLog::create(const std::string &directory, uint32_t index, uint32_t tid, uint64_t now) {
    char name[32];
    snprintf(name, sizeof name, "/thread-%05u.log", index);
    file_.create(directory + name);
    header_ = static_cast<format::ThreadHeader *>(file_.header());
    header_->version = format::kVersion;
    header_->header_bytes = format::kHeaderBytes;
    header_->index = index;
    header_->tid = tid;
    header_->first_ticks = header_->mark = now;
    header_->open_instance = ~0ull;
    header_->cpu = ~0u;
    memcpy(header_->magic, format::kThreadMagic, sizeof header_->magic);
}

void ThreadLog::start_tracing(uint64_t now) {
    limit_ = next_ = reinterpret_cast<uint32_t *>(&base_); // not null, because the thread traces; no room yet
    if (refill(0)) timed(format::kOutside, 0, now);
}

void *ThreadLog::make_slots(uint32_t id) {
    const uint32_t extent = id / format::kSlotsPerExtent;
    if (extent >= kMaxSlotExtents && !is_out_of_slots_) {
        is_out_of_slots_ = true;
        LogFile::note_lost(format::kRefusedByBounds);
    }
    if (extent >= kMaxSlotExtents || !try_lock()) return spare_slot;
    char *memory = static_cast<char *>(
        file_.append(format::ExtentKind::kSlots, format::kSlotExtentBytes, extent * format::kSlotsPerExtent, true));
    unlock();
    if (!memory) return spare_slot;
    slots_[extent] = memory + sizeof(format::ExtentHeader);
    return slots_[extent] + id % format::kSlotsPerExtent * format::kSlotBytes;
}

uint64_t ThreadLog::write_time(uint64_t now) {
    if (now < base_) { // another core's counter lags
        OMPASS_ASSERT(base_ - now < kMaxStepBack);
        return 0;
    }
    put(format::pack_event(format::kTime, 0, 0), now);
    base_ = now;
    return 0;
}

bool ThreadLog::refill(unsigned halves) {
    if (!limit_) {
        if (dropping_) header_->n_dropped++;
        return false;
    }
    if (seen_switch_ && window_ && limit_ != window_end()) { // the last part of the window
        limit_ = window_end();
        if (bytes_since_ + window_bytes_ >= kEventsPerCheckpoint * checkpoint_bytes_) want_checkpoint(kEventsBefore);
        if (next_ + halves <= limit_) return true; // false if a checkpoint has filled the window
    }
    if (!try_lock()) return false; // recording has ended
    const bool has_room = window_ ? renew_window() : open_window();
    unlock();
    if (!has_room) {
        if (!seen_switch_) trace_limit::stop_tracing(trace_limit::Reason::kDisk); // no effect after the limit
        stop_tracing();
        header_->n_dropped++;
        return false;
    }
    begin_window();
    return true;
}

void ThreadLog::begin_window() {
    next_ = window_begin();
    limit_ = window_end();
    if (seen_switch_) limit_ -= window_bytes_ / kWarnPart / sizeof(uint32_t);
    order_.n_bits = kNoOps;
}

bool ThreadLog::open_window() {
    if (seen_switch_) {
        window_bytes_ = kept_trace::window_bytes();
        if (!kept_trace::make_room(window_bytes_)) {
            trace_limit::note_lack_of_room();
            return false;
        }
    } else if (!trace_limit::allows(window_bytes_)) {
        return false;
    }
    window_ = static_cast<format::ExtentHeader *>(file_.append(format::ExtentKind::kEvents, window_bytes_, 0, false));
    return window_ != nullptr;
}

// Stores a copy of the window and empties it. Readers find the old window, no window or the new one, even after a kill.
bool ThreadLog::renew_window() {
    if (!seen_switch_ && (!trace_limit::allows(window_bytes_) || !file_.append_copy(window_, window_bytes_)))
        return false;
    empty_window();
    publish_window();
    return true;
}

// Empties the window and takes its number away. With OMPASS_KEEP_LAST, first stores the window in kept.log.
void ThreadLog::empty_window() {
    if (seen_switch_) kept_trace::store(*window_, header_->index, base_);
    number_++;
    bytes_since_ += window_bytes_;
    __atomic_store_n(&window_->first, format::kNoNumber, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memset(static_cast<void *>(window_ + 1), 0, window_bytes_ - sizeof *window_);
    window_->n_checkpoint_words = 0;
    window_->first_checkpoint_word = window_->checkpoint_ticks = 0;
}

void ThreadLog::publish_window() { __atomic_store_n(&window_->first, number_, __ATOMIC_RELEASE); }

void ThreadLog::want_checkpoint(uint8_t events) {
    checkpoint_in_ = events;
    *seen_switch_ = *then_ = recorder::kNever;
}

bool ThreadLog::begin_checkpoint() {
    if (!tracing() || !window_ || !try_lock()) return false;
    empty_window();
    begin_window();
    n_checkpoint_words_ = 0;
    checkpoint_window_ = number_;
    return true;
}

void ThreadLog::checkpoint_word(uint64_t word) {
    if (next_ + 2 > window_end()) { // continues in another window
        n_checkpoint_words_ += window_->n_checkpoint_words;
        publish_window();
        empty_window();
        begin_window();
        window_->first_checkpoint_word = n_checkpoint_words_;
    }
    memcpy(next_, &word, sizeof word);
    next_ += 2;
    window_->n_checkpoint_words++;
}

void ThreadLog::end_checkpoint() {
    checkpoint_word(format::kCheckpointEnd);
    window_->checkpoint_ticks = base_;
    checkpoint_bytes_ = (n_checkpoint_words_ + window_->n_checkpoint_words) * sizeof(uint64_t);
    bytes_since_ = 0;
    publish_window();
    kept_trace::note_checkpoint(header_->index, checkpoint_window_, base_);
    unlock();
}

void ThreadLog::trim() {
    if (!try_lock()) return;
    cut_window();
    file_.end_growth();
}

void ThreadLog::cut_window() {
    if (!window_ || !limit_) return;
    const char *next = reinterpret_cast<char *>(__atomic_load_n(&next_, __ATOMIC_RELAXED));
    const size_t used = static_cast<size_t>(next - reinterpret_cast<char *>(window_)) + kEventBytes;
    const size_t kept = (used + format::kPageBytes - 1) / format::kPageBytes * format::kPageBytes;
    if (kept < window_bytes_) file_.shrink_last(window_, window_bytes_, kept);
}

uint64_t ThreadLog::tasks_in_memory() const {
    uint64_t n_tasks = 0;
    for (const char *slots : slots_) {
        if (!slots || slots == spare_slot || !LogFile::is_in_memory(slots - sizeof(format::ExtentHeader))) continue;
        for (uint32_t i = 0; i < format::kSlotsPerExtent; i++) {
            format::RegionSlot slot;
            memcpy(&slot, slots + i * format::kSlotBytes, sizeof slot);
            if (slot.kind == format::DefinitionKind::kProgram || slot.kind == format::DefinitionKind::kParallel)
                n_tasks += slot.n_tasks;
        }
    }
    return n_tasks;
}

void ThreadLog::unmap() {
    static format::ThreadHeader ended = {};
    trim();
    if (window_) LogFile::release(window_, window_bytes_);
    window_ = nullptr;
    limit_ = next_ = nullptr;
    for (char *&slots : slots_) {
        if (slots && slots != spare_slot)
            LogFile::release(slots - sizeof(format::ExtentHeader), format::kSlotExtentBytes);
        slots = nullptr;
    }
    LogFile::release(header_, format::kHeaderBytes);
    header_ = &ended;
    dropping_ = false;
}

void ThreadLog::stop_tracing() {
    if (!limit_) return;
    limit_ = nullptr;
    next_ = nullptr;
    order_.n_bits = kNoOps;
    dropping_ = true;
}

} // namespace ompass

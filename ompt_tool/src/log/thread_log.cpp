// SPDX-License-Identifier: Apache-2.0
// Slow paths of a thread log: creation, new extents, limits.
#include "log/thread_log.h"

#include <cstdio>
#include <cstring>

#include "format/statistics.h"
#include "log/trace_limit.h"

namespace ompass {

namespace {

// Events are always written into the same window of the file. When it is full, a copy is appended to the file. The copy
// takes a third of the time of mapping and touching new pages.
constexpr size_t kWindowBytes = 64 << 10;

constexpr size_t kEventBytes = 256; // upper bound of the records of one event and the zero after them
constexpr uint64_t kMaxStepBack = 1 << 26; // ticks

alignas(64) char spare_slot[format::kSlotBytes]; // for constructs beyond the last slot; shared, never read

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
    limit_ = next_ = reinterpret_cast<uint32_t *>(&base_); // not null: tracing, without room
    if (refill()) timed(format::kOutside, 0, now);
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

bool ThreadLog::refill() {
    if (!limit_) {
        if (dropping_) header_->n_dropped++;
        return false;
    }
    if (!try_lock()) return false; // recording has ended
    const bool has_room = trace_limit::allows(kWindowBytes) && (window_ ? renew_window() : open_window());
    unlock();
    if (!has_room) {
        trace_limit::stop_tracing(trace_limit::Reason::kDisk); // no effect if the limit was reached
        stop_tracing();
        header_->n_dropped++;
        return false;
    }
    next_ = reinterpret_cast<uint32_t *>(window_ + 1);
    limit_ = next_ + (kWindowBytes - sizeof *window_) / sizeof(uint32_t) - 2;
    order_.n_bits = kNoOps;
    return true;
}

bool ThreadLog::open_window() {
    window_ = static_cast<format::ExtentHeader *>(file_.append(format::ExtentKind::kEvents, kWindowBytes, 0, false));
    return window_ != nullptr;
}

// Appends a copy of the window and empties it. A reader finds the old window, none, or the new one, even after a kill.
bool ThreadLog::renew_window() {
    if (!file_.append_copy(window_, kWindowBytes)) return false;
    const uint64_t number = window_->first + 1;
    __atomic_store_n(&window_->first, format::kNoNumber, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memset(static_cast<void *>(window_ + 1), 0, kWindowBytes - sizeof *window_);
    __atomic_store_n(&window_->first, number, __ATOMIC_RELEASE);
    return true;
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
    if (kept < kWindowBytes) file_.shrink_last(window_, kWindowBytes, kept);
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
    if (window_) LogFile::release(window_, kWindowBytes);
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

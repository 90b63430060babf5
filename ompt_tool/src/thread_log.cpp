// SPDX-License-Identifier: Apache-2.0
// Slow paths of a thread's log: creation, new extents, limits.
#include "thread_log.h"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "options.h"
#include "process_log.h"
#include "recorder.h"

namespace ompass {

namespace {

constexpr size_t kFirstExtentBytes = 64 << 10;
constexpr size_t kLargestExtentBytes = 2 << 20;

alignas(64) char spare_slot[format::kSlotBytes]; // for constructs beyond the last slot; written by many, read by none

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
    limit_ = next_ = &base_; // not null: tracing, with no room yet
    if (refill()) timed(format::kOutside, 0, now);
}

void *ThreadLog::make_slots(uint32_t id) {
    const uint32_t extent = id / format::kSlotsPerExtent;
    if (extent >= kMaxSlotExtents) return spare_slot;
    char *memory = static_cast<char *>(
        file_.append(format::ExtentKind::kSlots, format::kSlotExtentBytes, extent * format::kSlotsPerExtent, true));
    if (!memory) return spare_slot;
    slots_[extent] = memory + sizeof(format::ExtentHeader);
    return slots_[extent] + id % format::kSlotsPerExtent * format::kSlotBytes;
}

uint64_t ThreadLog::write_time(uint64_t now) {
    if (now < base_) return 0; // another core's counter is behind, by less than a transfer between them
    if (uint64_t *place = reserve(2)) {
        place[1] = now;
        store(place, format::pack_event(format::kTime, 0, 0));
    }
    base_ = now;
    return 0;
}

bool ThreadLog::refill() {
    if (!limit_) {
        if (dropping_) header_->n_dropped++;
        return false;
    }
    const size_t bytes = extent_bytes_ == 0                        ? kFirstExtentBytes
                         : extent_bytes_ * 2 < kLargestExtentBytes ? extent_bytes_ * 2
                                                                   : kLargestExtentBytes;
    if (!recorder::may_grow(bytes)) {
        stop_tracing();
        header_->n_dropped++;
        return false;
    }
    void *extent = file_.append(format::ExtentKind::kEvents, bytes, n_extents_, false);
    if (!extent) {
        recorder::stop_all_tracing(2);
        stop_tracing();
        header_->n_dropped++;
        return false;
    }
    if (extent_) LogFile::release(extent_, extent_bytes_);
    extent_ = extent;
    extent_bytes_ = bytes;
    n_extents_++;
    next_ = static_cast<uint64_t *>(extent) + sizeof(format::ExtentHeader) / sizeof(uint64_t);
    limit_ = static_cast<uint64_t *>(extent) + bytes / sizeof(uint64_t) - 1;
    last_ = nullptr;
    ops_shift_ = kNoOps;
    return true;
}

void ThreadLog::trim() {
    if (!extent_ || !limit_) return;
    const size_t used =
        static_cast<size_t>(reinterpret_cast<char *>(next_) - static_cast<char *>(extent_)) + sizeof(uint64_t);
    const size_t kept = (used + format::kPageBytes - 1) / format::kPageBytes * format::kPageBytes;
    if (kept < extent_bytes_) file_.shrink_last(extent_, extent_bytes_, kept);
}

void ThreadLog::unmap() {
    static format::ThreadHeader ended = {};
    trim();
    if (extent_) LogFile::release(extent_, extent_bytes_);
    extent_ = nullptr;
    limit_ = next_ = last_ = nullptr;
    for (char *&slots : slots_) {
        if (slots && slots != spare_slot)
            LogFile::release(slots - sizeof(format::ExtentHeader), format::kSlotExtentBytes);
        slots = nullptr;
    }
    LogFile::release(header_, format::kHeaderBytes);
    header_ = &ended;
}

void ThreadLog::stop_tracing() {
    if (!limit_) return;
    limit_ = nullptr;
    next_ = nullptr;
    last_ = nullptr;
    ops_shift_ = kNoOps;
    dropping_ = true;
}

} // namespace ompass

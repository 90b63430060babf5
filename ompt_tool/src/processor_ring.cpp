// SPDX-License-Identifier: Apache-2.0
// See perf_event_open(2). The kernel's memory order: data_head is read before the records, data_tail written after.
#include "processor_ring.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "clock.h"

namespace ompass {

perf_event_mmap_page ProcessorRing::quiet_page = {};

namespace {

// Room for this many records of 16 bytes, two a switch. Users without privilege share what kernel.perf_event_mlock_kb
// allows, so that the last of many threads get less.
constexpr size_t kPages[] = {8, 2, 1};
constexpr uint64_t kLongestRecord = 64; // with the record of those lost, which comes before it

int open_event() {
    perf_event_attr event = {};
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_DUMMY;
    event.sample_type = PERF_SAMPLE_TIME;
    event.sample_id_all = 1;
    event.context_switch = 1;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    event.watermark = 1; // nobody waits for records
    event.wakeup_watermark = ~0u;
    return static_cast<int>(syscall(SYS_perf_event_open, &event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

} // namespace

bool ProcessorRing::open() {
    const int descriptor = open_event();
    if (descriptor < 0) return false;
    const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    int error = 0;
    for (const size_t pages : kPages) {
        void *memory = mmap(nullptr, (1 + pages) * page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        error = errno;
        if (memory == MAP_FAILED) continue;
        page_ = static_cast<perf_event_mmap_page *>(memory);
        size_ = pages * page_bytes;
        next_ = last_ = known_head_ = 0;
        break;
    }
    ::close(descriptor);
    errno = error;
    return is_open();
}

ProcessorRing &ProcessorRing::operator=(ProcessorRing &&other) {
    std::swap(page_, other.page_);
    std::swap(size_, other.size_);
    return *this;
}

void ProcessorRing::close() {
    if (!is_open()) return;
    munmap(page_, size_ + static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    page_ = &quiet_page;
    size_ = 0;
}

uint64_t ProcessorRing::head() const { return __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE); }

uint64_t ProcessorRing::word(uint64_t place) const {
    const char *records = reinterpret_cast<const char *>(page_) + page_->data_offset;
    return __atomic_load_n(reinterpret_cast<const uint64_t *>(records + (place & (size_ - 1))), __ATOMIC_RELAXED);
}

ProcessorRing::Time ProcessorRing::now() {
    const clock::Reading reading = clock::read_both();
    return {reading.ticks, reading.monotonic_ns};
}

// By the distance from a reading just made, at the rate between that and the first one of the run: the error is that of
// two readings, some 20 ns, however long the run.
uint64_t ProcessorRing::to_recorded(const Time &now, uint64_t monotonic_ns) {
    const clock::Reading &first = clock::state.first;
    const uint64_t before = now.monotonic_ns > monotonic_ns ? now.monotonic_ns - monotonic_ns : 0;
    const uint64_t elapsed = std::max<uint64_t>(now.monotonic_ns - first.monotonic_ns, 1);
    const uint64_t ticks =
        static_cast<uint64_t>(static_cast<unsigned __int128>(before) * (now.counter - first.ticks) / elapsed);
    return clock::recorded(now.counter - ticks);
}

uint64_t ProcessorRing::read(uint64_t place, uint64_t head, const Time &time, Record &record) const {
    const uint64_t first = word(place);
    const auto type = static_cast<uint32_t>(first);
    const auto misc = static_cast<uint16_t>(first >> 32);
    const uint64_t bytes = first >> 48;
    if (bytes < 16 || bytes % 8 != 0 || bytes > head - place) return 0;
    const uint64_t ns = word(place + bytes - 8); // of every record, since all have it last
    record = {Kind::kLost, 0, 0};
    if (type == PERF_RECORD_SWITCH) {
        record.kind = !(misc & PERF_RECORD_MISC_SWITCH_OUT)        ? Kind::kReturned
                      : misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? Kind::kPreempted
                                                                   : Kind::kBlocked;
        record.time = to_recorded(time, ns);
    } else if (type == PERF_RECORD_LOST) {
        record.n = word(place + 16);
    }
    return bytes;
}

bool ProcessorRing::next(Record &record) {
    if (next_ >= known_head_) {
        const uint64_t head = this->head();
        if (next_ >= head || overflown_) return false;
        known_head_ = head;
        overflown_ = size_ - (head - tail()) < kLongestRecord;
        time_ = now();
    }
    const uint64_t bytes = read(next_, known_head_, time_, record);
    last_ = next_;
    next_ = bytes ? next_ + bytes : known_head_;
    return bytes != 0;
}

void ProcessorRing::release() {
    if (is_open()) __atomic_store_n(&page_->data_tail, next_, __ATOMIC_RELEASE);
}

void ProcessorRing::release_but_last() {
    if (is_open()) __atomic_store_n(&page_->data_tail, last_, __ATOMIC_RELEASE);
}

} // namespace ompass

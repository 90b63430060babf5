// SPDX-License-Identifier: Apache-2.0
#include "perf/processor_ring.h"

#include <algorithm>
#include <cerrno>

namespace ompass {

namespace {

// Room for 2,048 records of 16 bytes. The kernel writes a record for each switch out and each switch in.
// kernel.perf_event_mlock_kb limits all rings of an unprivileged user together, so the last of many threads get smaller
// rings.
constexpr size_t kPages = 8, kLeastPages = 1;
constexpr uint64_t kLongestRecord = 64; // including a PERF_RECORD_LOST before it

perf_event_attr switches_event() {
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
    event.watermark = 1; // no wake-ups: no thread waits for records
    event.wakeup_watermark = ~0u;
    return event;
}

// Converts a monotonic time to recorded ticks, from its distance to the reading `now`, at the rate since the first
// reading of the run. The two readings cause an error of some 20 ns, whatever the length of the run.
uint64_t to_recorded(const clock::Reading &now, uint64_t monotonic_ns) {
    const clock::Reading &first = clock::state.first;
    const uint64_t before = now.monotonic_ns > monotonic_ns ? now.monotonic_ns - monotonic_ns : 0;
    const uint64_t elapsed = std::max<uint64_t>(now.monotonic_ns - first.monotonic_ns, 1);
    const uint64_t ticks =
        static_cast<uint64_t>(static_cast<unsigned __int128>(before) * (now.ticks - first.ticks) / elapsed);
    return clock::recorded(now.ticks - ticks);
}

} // namespace

bool ProcessorRing::open() {
    next_ = last_ = known_head_ = 0;
    overflown_ = false;
    errno = ring_.open(switches_event(), kPages, kLeastPages);
    return is_open();
}

uint64_t ProcessorRing::read(uint64_t place, uint64_t head, const clock::Reading &now, Record &record) const {
    const uint64_t bytes = ring_.length(place, head);
    if (bytes < 16) return 0;
    const uint64_t first = ring_.word(place);
    const auto type = static_cast<uint32_t>(first);
    const auto misc = static_cast<uint16_t>(first >> 32);
    record = {Kind::kLost, 0, 0};
    if (type == PERF_RECORD_SWITCH) {
        record.kind = !(misc & PERF_RECORD_MISC_SWITCH_OUT)        ? Kind::kReturned
                      : misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? Kind::kPreempted
                                                                   : Kind::kBlocked;
        record.time = to_recorded(now, ring_.word(place + bytes - 8)); // every record ends with its time
    } else if (type == PERF_RECORD_LOST) {
        record.n = ring_.word(place + 16);
    }
    return bytes;
}

bool ProcessorRing::next(Record &record) {
    if (next_ >= known_head_) {
        const uint64_t head = ring_.head();
        if (next_ >= head || overflown_) return false;
        known_head_ = head;
        overflown_ = !ring_.has_room(kLongestRecord, head);
        now_ = clock::read_both();
    }
    const uint64_t bytes = read(next_, known_head_, now_, record);
    last_ = next_;
    next_ = bytes ? next_ + bytes : known_head_;
    return bytes != 0;
}

} // namespace ompass

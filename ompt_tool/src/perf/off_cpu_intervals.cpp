// SPDX-License-Identifier: Apache-2.0
// A full ring loses records, but the processor-time clock still shows the thread's total off-CPU time. guess() computes
// the off-CPU time that the records lack, and places this time between the last record and the present. It divides the
// time into preempted and blocked in the proportion of the records.
#include "perf/off_cpu_intervals.h"

#include <algorithm>
#include <ctime>
#include <sys/resource.h>

#include "process/clock.h"

namespace ompass {

namespace {

constexpr uint64_t kBetweenReadings = 10'000'000; // nanoseconds; not less, because each reading takes a system call

// With these limits, records cost a thread at most about 1% of its time.
constexpr uint64_t kManySwitches = 256, kManyInNanoseconds = 51'200'000; // 5,000 in a second
constexpr uint64_t kFewInSecond = 1'000;
constexpr uint64_t kLeastPatience = 10'000'000, kMostPatience = 3'200'000'000; // nanoseconds

// These apply while the clock replaces records. A reading takes 0.5 us.
constexpr uint64_t kClockStepNanoseconds = 20'000;
constexpr uint64_t kShortestNanoseconds = 1'500; // less off-CPU time may be an error of the reading
constexpr uint64_t kRanNanoseconds = 200; // a thread runs at least this long in every state interval

constexpr unsigned kMostTries = 100'000;

uint64_t processor_ns() { return clock::read_ns(CLOCK_THREAD_CPUTIME_ID); }

void add(format::OffCpuTicks &sum, bool blocked, uint64_t ticks) { (blocked ? sum.blocked : sum.preempted) += ticks; }

uint64_t part_of(uint64_t whole, uint64_t share, uint64_t of) {
    return of ? static_cast<uint64_t>(static_cast<unsigned __int128>(whole) * share / of) : 0;
}

} // namespace

perf_event_mmap_page OffCpuIntervals::busy_page = [] {
    perf_event_mmap_page page = {};
    page.data_head = 1;
    return page;
}();

bool OffCpuIntervals::open(ProcessorRing &begun, uint32_t tid) {
    ring_.take_over(begun);
    return open(tid);
}

bool OffCpuIntervals::open(uint32_t tid) {
    const bool begun = ring_.is_open();
    if (!begun && !ring_.open()) return false;
    const uint64_t now = clock::now();
    ran_since_ = now - clock::from_ns(processor_ns());
    tid_ = tid;
    known_ = begun ? 0 : now; // ran_since_ covers earlier time; opening may take long
    patience_ns_ = kLeastPatience;
    read_clocks(processor_ns());
    chosen_ns_ = monotonic_ns_;
    return true;
}

void OffCpuIntervals::close() {
    by_clock_ = paused_ = false;
    waits_until_ = 0;
    ring_.close();
}

void OffCpuIntervals::forget_pause() {
    if (is_open()) read_clocks(processor_ns());
}

void OffCpuIntervals::note_creation_after(uint64_t begin) {
    const bool is_first = !next_.end && !by_clock_ && taken_.preempted + taken_.blocked == 0;
    if (is_first && begin < ran_since_) next_ = {begin, ran_since_, true, true};
}

void OffCpuIntervals::read_clocks(uint64_t processor_ns) {
    monotonic_ns_ = clock::monotonic_ns();
    processor_ns_ = processor_ns;
    since_ = {};
}

// Makes the `missing` ticks before `now` the next two off-CPU intervals: one preempted, then one blocked, of `blocked`
// ticks.
void OffCpuIntervals::place_before(uint64_t now, uint64_t missing, uint64_t blocked) {
    next_ = {now - missing, now - blocked, false, true};
    guessed_ = {now - blocked, now, true, true};
}

bool OffCpuIntervals::guess() {
    ring_.forgive();
    const uint64_t now_ns = clock::monotonic_ns();
    const uint64_t ran_ns = processor_ns() - processor_ns_;
    const uint64_t now = clock::now();
    const uint64_t off_cpu = clock::from_ns(now_ns - monotonic_ns_ > ran_ns ? now_ns - monotonic_ns_ - ran_ns : 0);
    const uint64_t recorded = since_.preempted + since_.blocked;
    const uint64_t missing = std::min(off_cpu > recorded ? off_cpu - recorded : 0, now > known_ ? now - known_ : 0);
    place_before(now, missing, recorded ? part_of(missing, since_.blocked, recorded) : missing);
    known_ = now;
    left_ = false;
    read_clocks(processor_ns());
    return missing != 0;
}

bool OffCpuIntervals::ask_clock(uint64_t end) {
    if (end < asks_at_) return false;
    const uint64_t now_ns = clock::monotonic_ns(), on_processor_ns = processor_ns();
    const uint64_t now = clock::now();
    const uint64_t ran_ns = on_processor_ns - processor_ns_;
    const uint64_t off_cpu_ns = now_ns - monotonic_ns_ > ran_ns ? now_ns - monotonic_ns_ - ran_ns : 0;
    // Leaves off-CPU time that exceeds this state interval to the next call. Such time belongs to short state intervals
    // before this one, or to a later one that is accounted at the same moment: the rest of a wait whose last thread
    // arrived long ago. Assumes that the thread ran a little in each state interval.
    const uint64_t since = asked_until_ + clock::from_ns(kRanNanoseconds);
    const uint64_t missing = std::min(clock::from_ns(off_cpu_ns), end - std::min(end, since));
    known_ = now;
    asks_at_ = end + clock::from_ns(kClockStepNanoseconds);
    if (off_cpu_ns < kShortestNanoseconds || missing == 0) return false;
    const Switches before = switches_;
    count_switches();
    const uint64_t left = switches_.left - before.left, taken = switches_.taken - before.taken;
    n_switches_ += left + taken;
    place_before(end, missing, part_of(missing, left, left + taken));
    processor_ns_ = on_processor_ns;
    monotonic_ns_ = now_ns - (off_cpu_ns - std::min(off_cpu_ns, clock::to_ns(missing)));
    return true;
}

void OffCpuIntervals::begin_by_clock() {
    if (held_.exchange(true, std::memory_order_acquire)) return;
    by_clock_ = true;
    by_clock_since_ = clock::now();
    left_ = false;
    known_ = std::max(known_, by_clock_since_);
    asks_at_ = known_ + clock::from_ns(kClockStepNanoseconds);
    read_clocks(processor_ns());
    ring_.close(); // may take long
    held_.store(false, std::memory_order_release);
    count_switches();
}

void OffCpuIntervals::count_switches() {
    rusage use;
    getrusage(RUSAGE_THREAD, &use);
    switches_ = {static_cast<uint64_t>(use.ru_nvcsw), static_cast<uint64_t>(use.ru_nivcsw)};
}

void OffCpuIntervals::end_by_clock() {
    if (held_.exchange(true, std::memory_order_acquire)) return;
    if (!ring_.open()) return held_.store(false, std::memory_order_release);
    const uint64_t now = clock::now();
    asks_at_ = 0;
    ask_clock(now); // opening may have taken long
    known_ = std::max(known_, now);
    clock_ticks_ = clock_ticks(now);
    by_clock_ = false;
    read_clocks(processor_ns());
    held_.store(false, std::memory_order_release);
}

void OffCpuIntervals::pause_records() {
    if (!ring_.is_open() || by_clock_ || next_.end || guessed_.end || left_) return;
    begin_by_clock();
    paused_ = by_clock_;
}

void OffCpuIntervals::resume_records() {
    if (!paused_) return;
    end_by_clock();
    paused_ = false;
    waits_until_ = 0;
    by_clock_since_ = clock::now(); // used if the kernel now refuses records
    chosen_ns_ = clock::monotonic_ns();
    n_switches_ = 0;
}

void OffCpuIntervals::choose_source() {
    if (paused_) return;
    if (!by_clock_ && n_switches_ < kManySwitches) return;
    const uint64_t now_ns = clock::monotonic_ns(), elapsed = now_ns - chosen_ns_;
    if (by_clock_ && elapsed < patience_ns_) return;
    if (by_clock_) {
        if (n_switches_ < part_of(elapsed, kFewInSecond, 1'000'000'000)) end_by_clock();
    } else if (elapsed < part_of(kManyInNanoseconds, n_switches_, kManySwitches)) {
        begin_by_clock();
        patience_ns_ = std::min(2 * patience_ns_, kMostPatience);
    } else {
        patience_ns_ = kLeastPatience;
    }
    chosen_ns_ = now_ns;
    n_switches_ = 0;
}

void OffCpuIntervals::read_records() {
    ProcessorRing::Record record;
    while (!next_.end && ring_.next(record)) {
        const uint64_t time = std::max(record.time, known_); // the converted time may be tens of ns early
        switch (record.kind) {
        case ProcessorRing::Kind::kLost:
            n_lost_ += record.n;
            n_switches_ += record.n / 2;
            break;
        case ProcessorRing::Kind::kReturned:
            if (left_) next_ = {left_time_, time, left_blocked_, false};
            left_ = false;
            known_ = time;
            n_switches_++;
            break;
        default:
            left_ = true;
            left_time_ = known_ = time;
            left_blocked_ = record.kind == ProcessorRing::Kind::kBlocked;
        }
    }
}

bool OffCpuIntervals::load(uint64_t end) {
    if (next_.end) return true;
    if (guessed_.end) {
        next_ = guessed_;
        guessed_ = {};
    } else if (by_clock_) {
        if (!ask_clock(end)) return false;
    } else {
        read_records();
        if (!next_.end) {
            if (ring_.has_overflown()) {
                if (!guess()) next_ = guessed_ = {};
            } else if (clock::monotonic_ns() - monotonic_ns_ > kBetweenReadings) {
                read_clocks(processor_ns());
            }
            if (!next_.end) return false;
        }
    }
    if (!next_.guessed) add(since_, next_.blocked, next_.end - next_.begin);
    return true;
}

format::OffCpuTicks OffCpuIntervals::take_until(uint64_t end, ThreadLog *log) {
    format::OffCpuTicks sum = {};
    while (load(end) && next_.begin < end) {
        const uint64_t until = std::min(next_.end, end), ticks = until - next_.begin;
        add(sum, next_.blocked, ticks);
        if (log && ticks) log->off_cpu(next_.blocked, next_.guessed, next_.begin, ticks);
        asked_until_ = std::max(asked_until_, until); // earliest start of the next guess
        if (until < next_.end) {
            next_.begin = until;
            break;
        }
        next_ = {};
    }
    if (next_.end || guessed_.end)
        ring_.release_but_last(); // page() continues to show a record
    else
        ring_.release();
    taken_ += sum;
    asked_until_ = std::max(asked_until_, end); // `end` may be earlier than in the last call
    if (!next_.end && !guessed_.end && !left_) choose_source();
    waits_until_ = by_clock_ && !next_.end && !guessed_.end ? asks_at_ : 0;
    return sum;
}

format::OffCpuTicks OffCpuIntervals::look_between(uint64_t begin, uint64_t end) const {
    format::OffCpuTicks sum = {};
    for (unsigned tries = 0; held_.exchange(true, std::memory_order_acquire); tries++)
        if (tries == kMostTries) return sum; // the owner may be this thread, in a signal handler
    bool away = false, blocked = false;
    uint64_t since = 0;
    const auto add_between = [&](Interval interval) {
        const uint64_t first = std::max(interval.begin, begin), last = std::min(interval.end, end);
        if (first < last) add(sum, interval.blocked, last - first);
    };
    add_between(next_); // the rest of an interval that take_until() has cut
    add_between(guessed_);
    if (by_clock_) {
        const uint64_t ran_ns = clock::read_ns(clock::processor_time_of(tid_)) - processor_ns_;
        const uint64_t past_ns = clock::monotonic_ns() - monotonic_ns_;
        const uint64_t now = clock::now();
        const uint64_t missing =
            std::min(clock::from_ns(past_ns > ran_ns ? past_ns - ran_ns : 0), now - std::min(now, asked_until_));
        away = true;
        since = now - missing;
        blocked = taken_.blocked > taken_.preempted;
    }
    ring_.peek([&](const ProcessorRing::Record &record) {
        if (record.kind == ProcessorRing::Kind::kReturned) {
            if (away) add_between({since, record.time, blocked, false});
            away = false;
        } else {
            away = true;
            since = record.time;
            blocked = record.kind == ProcessorRing::Kind::kBlocked;
        }
    });
    if (away) add_between({since, end, blocked, false});
    held_.store(false, std::memory_order_release);
    return sum;
}

} // namespace ompass

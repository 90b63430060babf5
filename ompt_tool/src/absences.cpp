// SPDX-License-Identifier: Apache-2.0
// A ring that was full has lost records. How long the thread was absent in all is known still, from its processor-time
// clock: what the records do not tell lies after the last of them, and is preempted and blocked in their proportion.
#include "absences.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "clock.h"

namespace ompass {

namespace {

constexpr uint64_t kBetweenReadings = 10'000'000; // nanoseconds: a system call per reading

uint64_t processor_ns() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

void add(format::AbsentTicks &sum, bool blocked, uint64_t ticks) { (blocked ? sum.blocked : sum.preempted) += ticks; }

} // namespace

bool Absences::open(ProcessorRing &&begun) {
    if (begun.is_open())
        ring_ = std::move(begun);
    else if (!ring_.open())
        return false;
    known_ = 0;
    read_clocks();
    return true;
}

void Absences::read_clocks() {
    monotonic_ns_ = clock::monotonic_ns();
    processor_ns_ = processor_ns();
    since_ = {};
}

bool Absences::guess() {
    ring_.forgive();
    const uint64_t now_ns = clock::monotonic_ns();
    const uint64_t ran_ns = processor_ns() - processor_ns_;
    const uint64_t now = clock::now();
    const uint64_t absent = clock::from_ns(now_ns - monotonic_ns_ > ran_ns ? now_ns - monotonic_ns_ - ran_ns : 0);
    const uint64_t told = since_.preempted + since_.blocked;
    const uint64_t missing = std::min(absent > told ? absent - told : 0, now > known_ ? now - known_ : 0);
    const uint64_t blocked =
        told ? static_cast<uint64_t>(static_cast<unsigned __int128>(missing) * since_.blocked / told) : missing;
    next_ = {now - missing, now - blocked, false};
    guessed_ = {now - blocked, now, true};
    left_ = false;
    known_ = now;
    read_clocks();
    return missing != 0;
}

bool Absences::load(ThreadLog *log) {
    if (next_.end) return true;
    bool is_guess = true;
    if (guessed_.end) {
        next_ = guessed_;
        guessed_ = {};
    } else {
        ProcessorRing::Record record;
        while (!next_.end && ring_.next(record)) {
            const uint64_t time = std::max(record.time, known_); // clocks are read up to tens of ns early
            switch (record.kind) {
            case ProcessorRing::Kind::kLost: n_lost_ += record.n; break;
            case ProcessorRing::Kind::kReturned:
                if (left_) next_ = {left_time_, time, left_blocked_};
                left_ = false;
                known_ = time;
                break;
            default:
                left_ = true;
                left_time_ = known_ = time;
                left_blocked_ = record.kind == ProcessorRing::Kind::kBlocked;
            }
        }
        is_guess = false;
        if (!next_.end) {
            if (ring_.has_overflown()) {
                if (!guess()) next_ = guessed_ = {};
                is_guess = true;
            } else if (clock::monotonic_ns() - monotonic_ns_ > kBetweenReadings) {
                read_clocks();
            }
            if (!next_.end) return false;
        }
    }
    const uint64_t ticks = next_.end - next_.begin;
    if (!is_guess) add(since_, next_.blocked, ticks);
    if (log && ticks) log->untimed(next_.blocked ? format::kBlocked : format::kPreempted, is_guess, next_.begin, ticks);
    return true;
}

format::AbsentTicks Absences::take_until(uint64_t end, ThreadLog *log) {
    format::AbsentTicks sum = {};
    while (load(log) && next_.begin < end) {
        const uint64_t until = std::min(next_.end, end);
        add(sum, next_.blocked, until - next_.begin);
        if (until < next_.end) {
            next_.begin = until;
            break;
        }
        next_ = {};
    }
    if (next_.end || guessed_.end)
        ring_.release_but_last(); // so that it shows that there is something
    else
        ring_.release();
    told_ += sum;
    return sum;
}

format::AbsentTicks Absences::look_between(uint64_t begin, uint64_t end) const {
    format::AbsentTicks sum = {};
    bool away = false, blocked = false;
    uint64_t since = 0;
    const auto add_until = [&](uint64_t until) {
        const uint64_t first = std::max(since, begin), last = std::min(until, end);
        if (first < last) add(sum, blocked, last - first);
    };
    ring_.peek([&](const ProcessorRing::Record &record) {
        if (record.kind == ProcessorRing::Kind::kReturned) {
            if (away) add_until(record.time);
            away = false;
        } else {
            away = true;
            since = record.time;
            blocked = record.kind == ProcessorRing::Kind::kBlocked;
        }
    });
    if (away) add_until(end);
    return sum;
}

} // namespace ompass

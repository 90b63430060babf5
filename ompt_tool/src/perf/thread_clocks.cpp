// SPDX-License-Identifier: Apache-2.0
// Reads schedstat (proc(5)). Without it, divides the off-CPU time into preempted and blocked in the proportion of
// involuntary to voluntary switches.
#include "perf/thread_clocks.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log/sandbox.h"
#include "process/clock.h"

namespace ompass {

namespace {

// Less off-CPU time than this may be an error of the readings.
constexpr uint64_t kNoiseNanoseconds = 5'000;
// Regions shorter than this share a reading with their neighbours. The off-CPU time of longer regions, and of longer
// times between regions, is exact to within this time.
constexpr uint64_t kStepNanoseconds = 50'000;

} // namespace

bool ThreadClocks::read_processor(Reading &reading) const {
    const uint64_t ns = clock::read_ns(clock::processor_time_of(tid_));
    if (ns) reading.processor_ns = ns;
    return ns != 0;
}

void ThreadClocks::read_waits(Reading &reading) {
    char path[64], text[128];
    int file = waits_.get();
    if (file < 0 && !sandbox::is_entered()) {
        snprintf(path, sizeof path, "/proc/self/task/%" PRIu32 "/schedstat", tid_);
        file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0 && waits_.keep(file)) file = waits_.get();
    }
    const ssize_t length = file < 0 || lseek(file, 0, SEEK_SET) != 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0 && file != waits_.get()) close(file);
    if (length > 0) {
        text[length] = 0;
        uint64_t ran = 0;
        if (sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &reading.waited_ns) == 2) return;
    }
    rusage use;
    if (static_cast<uint32_t>(gettid()) != tid_ || getrusage(RUSAGE_THREAD, &use) != 0) return;
    reading.left = static_cast<uint64_t>(use.ru_nvcsw);
    reading.taken = static_cast<uint64_t>(use.ru_nivcsw);
}

void ThreadClocks::begin(uint32_t tid, uint64_t now) {
    tid_ = tid;
    time_ = now;
    if (!read_processor(last_)) tid_ = 0;
    if (!tid_) return;
    read_waits(last_);
    step_ = clock::from_ns(kStepNanoseconds);
    due_ = now + step_;
}

format::OffCpuTicks ThreadClocks::take(uint64_t now) {
    Reading reading = last_;
    if (!tid_ || now <= time_ || !read_processor(reading)) return {};
    const uint64_t ran = clock::from_ns(reading.processor_ns - last_.processor_ns);
    const uint64_t off_cpu = now - time_ > ran ? now - time_ - ran : 0;
    time_ = now;
    due_ = now + step_;
    last_.processor_ns = reading.processor_ns;
    if (off_cpu < clock::from_ns(kNoiseNanoseconds)) return {};
    read_waits(reading);
    uint64_t preempted = std::min(off_cpu, clock::from_ns(reading.waited_ns - last_.waited_ns));
    const uint64_t left = reading.left - last_.left, taken = reading.taken - last_.taken;
    if (left + taken)
        preempted = static_cast<uint64_t>(static_cast<unsigned __int128>(off_cpu) * taken / (left + taken));
    last_ = reading;
    return {preempted, off_cpu - preempted};
}

format::OffCpuTicks ThreadClocks::take_between(uint64_t begin, uint64_t end, uint64_t now, format::OffCpuTicks &rest) {
    const format::OffCpuTicks off_cpu = take(now);
    const auto overlap = [&](uint64_t since, uint64_t until) {
        const uint64_t first = std::max(since, begin), last = std::min(until, end);
        return first < last ? last - first : 0;
    };
    const uint64_t blocked_since = now - std::min(off_cpu.blocked, now);
    const uint64_t preempted_since = blocked_since - std::min(off_cpu.preempted, blocked_since);
    const format::OffCpuTicks inside = {overlap(preempted_since, blocked_since), overlap(blocked_since, now)};
    rest += {off_cpu.preempted - inside.preempted, off_cpu.blocked - inside.blocked};
    return inside;
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Opens the kernel's events, and converts the kernel's records to the records of format/samples.h.
#include "perf/samples.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <utility>

#include "process/clock.h"
#include "process/code_map.h"

namespace ompass {

namespace {

using format::SampleEvent;

// Bytes of the stack in a record of the ring. They usually include the frame of the task's own function.
constexpr uint32_t kStackBytes = 1024;
constexpr unsigned kStackWords = kStackBytes / 8;
constexpr unsigned kMostCallers = 48;

// Three samples usually fit in a page. At the default frequency a ring holds four seconds of the first thread, and one
// second of any other. No event empties the first thread's ring in a long serial part. So that thread has a second ring
// with one in kRare samples; it holds a minute. kernel.perf_event_mlock_kb limits the pages of users without
// privileges.
constexpr size_t kFirstPages = 128, kPages = 32, kRarePages = 64, kLeastPages = 4;
constexpr uint32_t kRare = 32;
constexpr size_t kLongestRecord = 1728; // bytes

// A thread halves its number of samples per second when n_kept_ reaches this number.
constexpr uint32_t kKeptBeforeHalving = 16384;

#if defined(__x86_64__)
constexpr format::Registers kRegisters = format::Registers::kX86;
// PERF_REG_X86_AX, BX, CX, DX, SI, DI, BP, SP, IP, R8 to R15
constexpr uint64_t kRegisterMask = 0x1ff | 0xff << 16;
constexpr unsigned kStackPointer = 7, kProgramCounter = 8; // places among these registers
constexpr unsigned kUnwound[] = {1, 6, 7, 8, 13, 14, 15, 16}; // places of the registers of format::Registers
#elif defined(__aarch64__)
constexpr format::Registers kRegisters = format::Registers::kArm;
constexpr uint64_t kRegisterMask = (1ull << 33) - 1; // PERF_REG_ARM64_X0 to LR, SP, PC
constexpr unsigned kStackPointer = 31, kProgramCounter = 32;
constexpr unsigned kUnwound[] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#else
constexpr format::Registers kRegisters = format::Registers::kNone;
constexpr uint64_t kRegisterMask = 0;
constexpr unsigned kStackPointer = 0, kProgramCounter = 0;
constexpr unsigned kUnwound[] = {0}; // unused
#endif
constexpr unsigned kRegisterCount = std::popcount(kRegisterMask); // in a record of the ring
constexpr unsigned kUnwoundCount = format::n_registers(kRegisters), kValueCount = format::n_values(kRegisters);
static_assert(kUnwoundCount <= std::size(kUnwound) && (!kRegisterCount || kRegisterCount == kValueCount + 1));

perf_event_attr common_event() {
    perf_event_attr event = {};
    event.size = sizeof event;
    event.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
    if (kRegisters != format::Registers::kNone) {
        event.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        event.sample_regs_user = kRegisterMask;
        event.sample_stack_user = kStackBytes;
    }
    event.exclude_kernel = 1; // unprivileged users must not sample the kernel
    event.exclude_hv = 1;
    event.exclude_callchain_kernel = 1;
    event.sample_max_stack = kMostCallers;
    event.use_clockid = 1;
    event.clockid = CLOCK_MONOTONIC;
    event.watermark = 1; // no wake-ups: nothing polls the ring
    event.wakeup_watermark = ~0u;
    return event;
}

// Samples of time have a random period, which changes from time to time. It differs from the mean by at most this part
// of the mean (a tenth). A fixed period would always hit the same one of two tasks that alternate in that period.
constexpr uint64_t kPeriodSpread = 10;
// A change opens another event, which takes some 50 us. The period first changes after 16 samples, or an eighth of a
// second if that is longer. The number of samples until the next change then doubles, at most five times.
constexpr uint32_t kFirstSamples = 16, kFirstPart = 8, kMostDoublings = 5;

// Returns a period that is in step neither with the kernel's ticks nor with round periods of the program.
uint64_t period_of(uint64_t per_second, uint32_t frequency_hz) {
    const uint64_t period = per_second / frequency_hz;
    return std::max<uint64_t>(period - period / 97, 1);
}

// Returns the event that samples the thread's processor time, so the share of samples is the share of time. Samples by
// cycles would depend on the clock frequency.
perf_event_attr task_clock_event(uint64_t period_ns) {
    perf_event_attr event = common_event();
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_TASK_CLOCK;
    event.sample_period = period_ns;
    return event;
}

constexpr uint64_t period_ns_of(uint32_t frequency_hz) {
    return frequency_hz ? std::max<uint64_t>(1'000'000'000 / frequency_hz, 1) : 1;
}

// Returns the event that samples one of a fixed number of loads, so the shares of kinds of loads do not depend on their
// cost. A thread that executes one load per cycle gets the requested frequency.
perf_event_attr load_event(const LoadEvent &found, uint32_t frequency_hz) {
    perf_event_attr event = common_event();
    event.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    event.type = found.type;
    event.config = found.config;
    event.config1 = found.config1;
    event.config2 = found.config2;
    event.precise_ip = found.precise_ip & 3;
    event.exclude_kernel = found.exclude_kernel;
    event.exclude_hv = found.exclude_kernel;
    const uint64_t period = period_of(clock::from_ns(1'000'000'000), frequency_hz);
    event.sample_period = (period + found.period_unit - 1) / found.period_unit * found.period_unit;
    return event;
}

// Windows of begin_windows(): their length, the mean distance of their begins in lengths, and the limits of the period
// in a window. Within these limits, there are as many samples as without windows. Below 200 Hz there are more, so that
// a thread that hardly runs in a window has a sample, too.
constexpr uint64_t kWindow = 8'000'000, kWindowDistance = 12; // nanoseconds, lengths
constexpr uint64_t kLeastPeriod = 80'000, kMostPeriod = 400'000; // nanoseconds

uint64_t word_at(const uint64_t *words, size_t n_words, size_t place) { return place < n_words ? words[place] : 0; }

// The rings of begin_early(), until open() or a fork.
struct EarlyRings {
    PerfRing ring, rare;
    uint64_t period_ns = 0;
    uint32_t tid = 0; // thread that called begin_early(); 0: none, or recording has begun
    bool is_late = false; // recording has begun, perhaps in a constructor that ran earlier
};
constinit EarlyRings early;

SampleEvent kind_of(const LoadEvent &found) { return found.precise_ip ? SampleEvent::kLoads : SampleEvent::kOps; }

} // namespace

uint64_t Samples::mean_period_ns() const { return period_ns_of(head_.frequency_hz); }

uint64_t Samples::random_period(uint64_t mean_ns) {
    random_ ^= random_ << 13, random_ ^= random_ >> 17, random_ ^= random_ << 5; // xorshift32
    const uint64_t spread = mean_ns / kPeriodSpread;
    return mean_ns - spread + (2 * spread * random_ >> 32);
}

// Returns the weight of the next sample of ring_.
uint32_t Samples::represented_by_next() {
    if (!period_ns_) return 1;
    in_period_++;
    return weights_.next(period_ns_, mean_period_ns());
}

bool Samples::vary_period() {
    if (!pthread_equal(owner_, pthread_self()) || held_.exchange(true, std::memory_order_acquire)) return false;
    if (in_period_ < period_length_ || !period_ns_ || turns_at_ != kNever) {
        let_go();
        return false;
    }
    in_period_ = 0;
    const uint32_t first = std::max(kFirstSamples, head_.frequency_hz / kFirstPart);
    period_length_ = std::min(2 * period_length_, first << kMostDoublings);
    PerfRing other; // opened before the ring is closed, because the kernel or a sandbox may refuse it
    const uint64_t period_ns = random_period(mean_period_ns());
    if (ring_.is_open() && other.open(task_clock_event(period_ns), ring_.pages(), ring_.pages()) == 0) {
        if (ring_.head() == ring_.tail()) {
            ring_.swap(other);
            period_ns_ = period_ns;
        }
        other.close();
    }
    let_go();
    return true;
}

int Samples::open_rings(SampleEvent kind, uint64_t mean_ns) {
    const uint32_t hz = head_.frequency_hz;
    perf_event_attr event = has_loads(kind) ? load_event(sampling_->load_event.value_or(LoadEvent()), hz)
                                            : task_clock_event(random_period(mean_ns));
    const bool is_first = head_.index == 0;
    if (const int error = ring_.open(event, is_first ? kFirstPages : kPages, kLeastPages)) return error;
    head_.event = kind;
    head_.period = has_loads(kind) ? event.sample_period : 0;
    period_ns_ = has_loads(kind) ? 0 : event.sample_period;
    in_period_ = 0;
    period_length_ = std::max(kFirstSamples, hz / kFirstPart);
    if (!has_loads(kind)) event.sample_period = mean_period_ns();
    event.sample_period *= kRare;
    if (is_first) rare_.open(event, kRarePages, kLeastPages);
    return 0;
}

void Samples::begin_early() {
    if (early.is_late) return;
    early.period_ns = period_ns_of(Sampling::kUsualHz);
    perf_event_attr event = task_clock_event(early.period_ns);
    if (early.ring.open(event, kFirstPages, kLeastPages)) return;
    event.sample_period *= kRare;
    early.rare.open(event, kRarePages, kLeastPages);
    early.tid = static_cast<uint32_t>(getpid());
}

// If the rings of begin_early() sample this thread at its frequency, uses them and returns true. Otherwise ends their
// events and returns false.
bool Samples::take_over_early(uint32_t tid) {
    early.is_late = true;
    if (!early.tid) return false;
    const bool is_child = early.tid != static_cast<uint32_t>(getpid()); // of a fork: it lacks the mappings
    const bool is_fit = !is_child && tid == early.tid && head_.frequency_hz == Sampling::kUsualHz;
    early.tid = 0;
    if (is_fit) {
        ring_.swap(early.ring);
        rare_.swap(early.rare);
        period_ns_ = early.period_ns;
        period_length_ = std::max(kFirstSamples, head_.frequency_hz / kFirstPart);
        head_.event = SampleEvent::kTaskClock;
    } else if (is_child) {
        early.ring.forget_after_fork();
        early.rare.forget_after_fork();
    } else {
        early.ring.close();
        early.rare.close();
    }
    return is_fit;
}

int Samples::open(const Sampling &sampling, const std::string &directory, uint32_t index, uint32_t tid) {
    sampling_ = &sampling;
    head_.index = index;
    head_.frequency_hz = sampling.frequency_hz;
    owner_ = pthread_self();
    random_ = static_cast<uint32_t>(clock::raw() ^ tid) | 1;
    weights_.begin_at(random_ % mean_period_ns());
    loads_error_ = !sampling.loads ? 0 : !sampling.load_event ? ENODEV : open_rings(kind_of(*sampling.load_event), 0);
    if (loads_error_) head_.frequency_hz = Sampling::kUsualHz;
    first_time_ = clock::now();
    if ((!sampling.loads || loads_error_) && !(index == 0 && take_over_early(tid)))
        if (const int error = open_rings(SampleEvent::kTaskClock, mean_period_ns())) return error;
    begin_log(directory, tid);
    return 0;
}

void Samples::open_on(PerfRing &ring, SampleEvent event, const std::string &directory, uint32_t index) {
    ring_.swap(ring);
    head_.index = index;
    head_.event = event;
    begin_log(directory, 0);
}

void Samples::begin_log(const std::string &directory, uint32_t tid) {
    directory_ = &directory;
    is_begun_ = true;
    head_.tid = tid;
    head_.registers = kRegisters;
    head_.stack_bytes = kRegisterCount ? kStackBytes : 0;
    head_.n_values = kValueCount;
}

size_t Samples::look(const PerfRing &ring) {
    const uint64_t head = ring.head(), place = ring.tail();
    if (head == place || !ring.is_open()) return 0;
    const uint64_t length = ring.length(place, head);
    place_after_ = length ? place + length : head;
    const size_t n_words = std::min<uint64_t>((place_after_ - place) / 8, kMostWords);
    for (size_t i = 0; i < n_words; i++) record_[i] = ring.word(place + i * 8);
    return n_words;
}

void Samples::take_until(uint64_t end, const Place &place) {
    if (held_.exchange(true, std::memory_order_acquire)) return;
    clock::Reading now = {};
    if (!log_.is_open()) log_.create(*directory_, head_);
    if (!ring_.has_room(kLongestRecord, ring_.head())) missing_until_ = clock::now();
    while (const size_t n_words = look(ring_)) {
        const auto type = static_cast<uint32_t>(record_[0]);
        if (type == PERF_RECORD_LOST) {
            log_.header().n_lost += word_at(record_, n_words, 2);
        } else if (type == PERF_RECORD_SAMPLE && n_words > 2) {
            const uint64_t counter = counter_of(record_, now), time = recorded_time(counter);
            if (time > end) break;
            last_time_ = time;
            const uint32_t n = represented_by_next();
            if (n && !clock::was_paused(counter) && is_wanted(record_, n_words) && !is_left_out())
                log_sample(record_, n_words, time, weight_ * n, place);
        }
        pass(ring_);
    }
    log_rare_until(end, place);
    let_go();
}

// Logs the samples of rare_ from the time in which ring_ was full. Drops the others, because ring_ covers their time.
void Samples::log_rare_until(uint64_t end, const Place &place) {
    clock::Reading now = {};
    while (const size_t n_words = look(rare_)) {
        if (static_cast<uint32_t>(record_[0]) == PERF_RECORD_SAMPLE && n_words > 2) {
            const uint64_t counter = counter_of(record_, now), time = recorded_time(counter);
            if (time > end) return;
            const bool is_missing = time > last_time_ && time <= missing_until_ && !clock::was_paused(counter);
            if (is_missing && is_wanted(record_, n_words)) log_sample(record_, n_words, time, kRare, place);
        }
        pass(rare_);
    }
}

// Returns the counter's value at a record's time. The first call reads both clocks into `now`.
uint64_t Samples::counter_of(const uint64_t *record, clock::Reading &now) {
    if (!now.ticks) now = clock::read_both();
    const uint64_t ns = record[1];
    return now.ticks - (now.monotonic_ns > ns ? clock::from_ns(now.monotonic_ns - ns) : 0);
}

uint64_t Samples::recorded_time(uint64_t counter) const { return std::max(clock::recorded(counter), first_time_); }

bool Samples::is_left_out() {
    if (++n_skipped_ < weight_) return true;
    n_skipped_ = 0;
    if (++n_kept_ == kKeptBeforeHalving) {
        n_kept_ /= 2;
        weight_ *= 2;
    }
    return false;
}

// True if the sample must be logged. Among samples of loads, false for other operations and for the kernel's loads.
bool Samples::is_wanted(const uint64_t *record, size_t n_words) const {
    if (!has_loads(head_.event)) return true;
    const auto misc = static_cast<uint32_t>(record[0] >> 32) & PERF_RECORD_MISC_CPUMODE_MASK;
    return misc == PERF_RECORD_MISC_USER && format::is_load(record[n_words - 1]);
}

// Logs the sample in `record`, which holds, after its header: time, address of a load, callchain { n, addresses },
// registers { abi, values }, stack { size, words, used size }, cycles and source of a load.
void Samples::log_sample(const uint64_t *record, size_t n_words, uint64_t time, uint32_t weight, const Place &place) {
    const bool is_load = has_loads(head_.event);
    size_t next = 2;
    format::LoadRecord load = {};
    if (is_load) load.address = word_at(record, n_words, next++);
    const uint64_t n_addresses = std::min<uint64_t>(word_at(record, n_words, next++), n_words);
    const uint64_t *addresses = record + next;
    next += n_addresses;
    uint64_t registers[kRegisterCount + 1] = {};
    const uint64_t *stack = nullptr;
    uint64_t n_stack = 0, stack_pointer = 0, executed = 0;
    const bool has_registers = kRegisterCount && word_at(record, n_words, next++) != PERF_SAMPLE_REGS_ABI_NONE;
    if (has_registers) {
        for (unsigned i = 0; i < kRegisterCount; i++) registers[i] = word_at(record, n_words, next++);
        stack_pointer = registers[kStackPointer];
        executed = registers[kProgramCounter];
    }
    if (kRegisterCount) {
        const uint64_t room = word_at(record, n_words, next++) / 8;
        if (room && next + room < n_words) {
            stack = record + next;
            n_stack = std::min<uint64_t>({word_at(record, n_words, next + room) / 8, room, kStackWords});
            next += room + 1;
        }
    }
    if (is_load) {
        load.cycles = word_at(record, n_words, next++);
        load.source = word_at(record, n_words, next);
    }
    const auto word_of = [&](uint64_t value, bool was_executed) {
        if (value - stack_pointer < kStackBytes && stack_pointer) return format::kStackWord | (value - stack_pointer);
        return code_map::word_of(value, was_executed, time);
    };

    constexpr size_t kHeadWords = sizeof(format::SampleRecord) / 8, kBitWords = kStackWords / 64;
    constexpr size_t kLoadWords = sizeof(format::LoadRecord) / 8;
    uint64_t *words =
        log_.reserve(kHeadWords + kLoadWords + kMostCallers + kUnwoundCount + kValueCount + kBitWords + kStackWords);
    if (!words) {
        log_.header().n_dropped++;
        return;
    }
    format::SampleRecord head = {};
    head.state = place.state;
    head.flags = place.is_shared ? format::kSharedWork : 0;
    head.time = time;
    head.region = place.region;
    head.construct = place.construct;
    head.kernel = place.kernel;
    head.weight = weight;
    uint64_t *to = words + kHeadWords;
    if (is_load) {
        memcpy(to, &load, sizeof load);
        to += kLoadWords;
    }
    for (uint64_t i = 0; i < n_addresses && head.n_chain < kMostCallers; i++) {
        if (addresses[i] >= static_cast<uint64_t>(PERF_CONTEXT_MAX)) continue; // a marker of the kernel, not an address
        *to++ = code_map::word_of(addresses[i], true, time);
        head.n_chain++;
    }
    if (head.n_chain == 0 && executed) {
        *to++ = code_map::word_of(executed, true, time);
        head.n_chain++;
    }
    for (unsigned i = 0; i < kUnwoundCount; i++)
        *to++ = word_of(registers[kUnwound[i]], kUnwound[i] == kProgramCounter);
    for (unsigned i = 0; i < kRegisterCount; i++) {
        if (i == kProgramCounter) continue;
        const bool is_value = has_registers && format::may_lead_to_data(registers[i], kRegisters);
        *to++ = is_value ? registers[i] : format::kNoValue;
    }
    if (kRegisterCount) {
        uint64_t *bits = to;
        to += kBitWords;
        for (unsigned i = 0; i < kBitWords; i++) bits[i] = 0;
        for (unsigned i = 0; i < n_stack; i++)
            if (const uint64_t kept = word_of(stack[i], false)) {
                bits[i / 64] |= 1ull << (i % 64);
                *to++ = kept;
            }
    }
    memcpy(words, &head, sizeof head);
    log_.append(static_cast<size_t>(to - words));
}

bool Samples::has_any() {
    if (held_.exchange(true, std::memory_order_acquire)) return false;
    const bool any = ring_.is_open() && ring_.head() != ring_.tail();
    let_go();
    return any;
}

void Samples::discard() {
    if (held_.exchange(true, std::memory_order_acquire)) return;
    while (look(ring_)) pass(ring_);
    while (look(rare_)) pass(rare_);
    let_go();
}

void Samples::close_rings() {
    ring_.close();
    rare_.close();
}

bool Samples::hold() {
    for (unsigned i = 0; i < 1000; i++) // another thread holds the lock for a moment, and after stop() until the end
        if (!held_.exchange(true, std::memory_order_acquire)) return true;
    return false;
}

void Samples::suspend() {
    if (!is_begun_ || !hold()) return;
    turns_at_ = kNever;
    close_rings();
    let_go();
}

int Samples::resume() {
    if (!is_begun_ || !hold()) return 0;
    turns_at_ = kNever;
    weights_.forget_outside();
    close_rings(); // of a window
    const int error = open_rings(head_.event, mean_period_ns());
    const bool is_first = error && !std::exchange(was_refused_, true);
    let_go();
    return is_first ? error : 0;
}

void Samples::begin_windows(uint64_t now) {
    if (!is_begun_ || !hold()) return;
    close_rings();
    turned_ = now;
    processor_ns_ = clock::read_ns(CLOCK_THREAD_CPUTIME_ID);
    // A random time, so that windows are not in step with the program.
    turns_at_ = has_loads(head_.event) ? kNever : now + clock::from_ns(random_period(kWindow * kWindowDistance / 4));
    let_go();
}

bool Samples::turn(uint64_t now) {
    if (!hold()) return false;
    const uint64_t processor_ns = clock::read_ns(CLOCK_THREAD_CPUTIME_ID);
    const bool is_window = ring_.is_open();
    if (is_window ||
        open_rings(head_.event, std::clamp(mean_period_ns() / kWindowDistance, kLeastPeriod, kMostPeriod)) == 0) {
        if (!is_window) weights_.add_outside(processor_ns - processor_ns_, kWindowDistance - 1);
        if (!log_.is_open()) log_.create(*directory_, head_);
        if (log_.is_open()) log_.header().window_ns += clock::to_ns(now - turned_);
    }
    if (is_window) close_rings();
    processor_ns_ = processor_ns;
    turned_ = now;
    const uint64_t until_next = is_window ? random_period(kWindow * (kWindowDistance - 1)) : kWindow;
    turns_at_ = is_window || ring_.is_open() ? now + clock::from_ns(until_next) : kNever;
    let_go();
    return true;
}

void Samples::stop() {
    if (!held_.exchange(true, std::memory_order_acquire)) log_.close();
}

void Samples::close() {
    stop();
    is_begun_ = false;
    ring_.close();
    rare_.close();
}

} // namespace ompass

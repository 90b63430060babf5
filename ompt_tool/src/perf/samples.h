// SPDX-License-Identifier: Apache-2.0
// Samples of a thread's position. By default, the kernel takes 100 samples per second of the thread's processor time
// and writes them into a ring. The thread copies them to its log when it closes a state interval, with the interval's
// state and construct. The tool sends no signal, unwinds no stack and resolves no symbol: a sample keeps the words of
// the stack that may lead to callers.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <string>

#include "log/sample_log.h"
#include "perf/load_event.h"
#include "perf/perf_ring.h"
#include "perf/sample_weights.h"
#include "process/clock.h"

namespace ompass {

// The requested samples (OMPASS_SAMPLE).
struct Sampling {
    static constexpr uint32_t kUsualHz = 100, kUsualLoadsHz = 1000;

    uint32_t frequency_hz = kUsualHz; // 0: no samples
    bool loads = false; // samples of loads, if there is a `load_event`
    std::optional<LoadEvent> load_event;
};

class Samples {
public:
    // The state and constructs that samples belong to.
    struct Place {
        uint8_t state; // format::State, or format::kOutsideStates
        bool is_shared; // see format::kSharedWork
        uint32_t region, construct, kernel;
    };

    // Starts sampling the calling thread. Returns 0 or the error of PerfRing::open(). If the kernel refuses samples of
    // loads, samples time instead, and loads_error() returns the reason. `sampling` and `directory` must outlive this
    // object.
    int open(const Sampling &sampling, const std::string &directory, uint32_t index, uint32_t tid);
    // Starts sampling the first thread of the process at the usual frequency, before it uses OpenMP. open() takes over
    // these samples if that thread starts recording. Call begin_early() once, on that thread.
    static void begin_early();
    // Starts with a ring that already holds samples of `event`; for tests.
    void open_on(PerfRing &ring, format::SampleEvent event, const std::string &directory, uint32_t index);
    int loads_error() const { return loads_error_; } // 0: not refused, or not requested

    // data_head and data_tail of this page differ while there are samples to take. Never null.
    const volatile perf_event_mmap_page *page() const { return ring_.page(); }

    // Logs the samples up to `end` (ticks), which must not be in the future.
    void take_until(uint64_t end, const Place &place);
    // True if there are samples to take and no other thread is taking them. Any thread may call it.
    bool has_any();
    void discard(); // discards the samples in the ring

    // Gives the ring a new random period if it has had the present one for long enough, so that samples do not stay in
    // step with periodic tasks. Returns true if page() may have changed. Does nothing on a thread other than the owner.
    bool vary_period();

    // suspend() ends the events, which add to the cost of each switch. resume() starts them again. At the kernel's
    // first refusal, it returns the error of PerfRing::open(), else 0. Owner only.
    void suspend();
    int resume();
    // Ends the events, except in short windows. Samples in a window also represent the thread's processor time since the
    // last window. turn_window() begins or ends a window if it is time to do so, and returns true if page() may have
    // changed. Take all samples before a call. resume() and suspend() end the windows. Owner only.
    void begin_windows(uint64_t now);
    bool turn_window(uint64_t now) { return now >= turns_at_ && turn(now); }

    void stop(); // ends the log. Any thread may call it while the owner takes no samples.
    void close(); // ends the log and frees all memory. Owner only.

private:
    static constexpr size_t kMostWords = 256; // more than any record of the kernel has

    bool hold(); // takes the lock of the rings and the log; false if another thread keeps it
    void let_go() { held_.store(false, std::memory_order_release); }
    int open_rings(format::SampleEvent event, uint64_t mean_ns); // `mean_ns`: mean period of samples of time
    void close_rings();
    bool turn(uint64_t now); // begins or ends a window
    bool take_over_early(uint32_t tid);
    uint64_t mean_period_ns() const;
    uint64_t random_period(uint64_t mean_ns);
    uint32_t represented_by_next();
    void begin_log(const std::string &directory, uint32_t tid);
    // Copies the next record of `ring` to record_, at most kMostWords. Returns its length there; 0: there is none.
    size_t look(const PerfRing &ring);
    void pass(PerfRing &ring) { ring.release(place_after_); } // releases the record of the last look()
    static uint64_t counter_of(const uint64_t *record, clock::Reading &now);
    uint64_t recorded_time(uint64_t counter) const;
    void log_rare_until(uint64_t end, const Place &place);
    bool is_wanted(const uint64_t *record, size_t n_words) const;
    void log_sample(const uint64_t *record, size_t n_words, uint64_t time, uint32_t weight, const Place &place);
    bool is_left_out(); // long runs keep one of `weight_` samples

    PerfRing ring_;
    PerfRing rare_; // first thread: one in kRare samples, used while ring_ is full
    uint64_t last_time_ = 0; // time of the last sample taken from ring_
    uint64_t first_time_ = 0; // earlier samples, which begin_early() took, get this time
    uint64_t missing_until_ = 0; // samples from last_time_ to this time may be missing in ring_
    SampleLog log_; // created at the first sample, because many threads have none
    format::SamplesHeader head_ = {}; // header of the log
    const std::string *directory_ = nullptr;
    const Sampling *sampling_ = nullptr;
    int loads_error_ = 0;
    bool is_begun_ = false;
    bool was_refused_ = false; // by a resume()
    pthread_t owner_ = {};
    uint32_t random_ = 1;
    uint64_t period_ns_ = 0; // period of ring_; 0: samples of loads, or a test's ring
    uint32_t in_period_ = 0; // samples since ring_ has this period
    uint32_t period_length_ = 0; // samples after which the period changes
    SampleWeights weights_;
    static constexpr uint64_t kNever = ~uint64_t{0};
    uint64_t turns_at_ = kNever; // time of the next turn(); kNever: no windows
    uint64_t turned_ = 0; // time of the last turn()
    uint64_t processor_ns_ = 0; // the thread's processor time at the end of the last window
    uint32_t weight_ = 1;
    uint32_t n_skipped_ = 0;
    uint32_t n_kept_ = 0; // sum of the weights of logged samples, in units of weight_
    std::atomic<bool> held_{false}; // lock of the rings and the log; stop() keeps it
    uint64_t place_after_ = 0; // end of the record of the last look()
    uint64_t record_[kMostWords];
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Where a thread was, taken by the kernel some hundred times a second of its time on a processor. The kernel writes samples
// into a ring; the thread copies them to its log where it closes a state interval, and so knows what they belong to. No signal is
// sent, and nothing is unwound or named in the program: a sample keeps the few words of the stack that may lead to callers.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "log/sample_log.h"
#include "perf/load_event.h"
#include "perf/perf_ring.h"
#include "process/clock.h"

namespace ompass {

// What is asked for (OMPASS_SAMPLE).
struct Sampling {
    static constexpr uint32_t kUsualHz = 100, kUsualLoadsHz = 1000;

    uint32_t frequency_hz = kUsualHz; // 0: no samples
    bool loads = false; // of loads, where `load_event` is there
    std::optional<LoadEvent> load_event;
};

class Samples {
public:
    // To what samples belong.
    struct Place {
        uint8_t state; // format::State, or format::kOutsideStates
        bool is_shared; // see format::kSharedWork
        uint32_t region, construct, kernel;
    };

    // Begins for the calling thread. Returns 0, or what the kernel said (errno). Where it refuses loads, samples are of
    // time; loads_error() says why. Both arguments must last as long as this.
    int open(const Sampling &sampling, const std::string &directory, uint32_t index, uint32_t tid);
    // The same on a ring that another has filled with records of samples of that event; for tests.
    void open_on(PerfRing &ring, format::SampleEvent event, const std::string &directory, uint32_t index);
    int loads_error() const { return loads_error_; } // 0: not refused, or not asked for

    // Two numbers that differ while there are samples to be taken: data_head and data_tail. Never null.
    const volatile perf_event_mmap_page *page() const { return ring_.page(); }

    // Logs those up to `end` (ticks), which may not lie in the future.
    void take_until(uint64_t end, const Place &place);
    // Any thread: is there one that nobody has taken? Not while another one looks.
    bool has_any();
    void discard(); // those that there are

    // Ends the events, which make each switch of the thread dearer, and begins them again. By the owner.
    void suspend();
    void resume();

    void stop(); // no more are taken; the log ends here. Any thread may call it while the owner takes none.
    void close(); // the same, by the owner, which gives all memory back

private:
    static constexpr size_t kMostWords = 256; // of a record of the kernel, and more than one has

    int open_rings(format::SampleEvent event);
    void begin_log(const std::string &directory, uint32_t tid);
    // Copies the record of `ring` that is next to record_, at most kMostWords of it; its length there, 0: there is none.
    size_t look(const PerfRing &ring);
    void pass(PerfRing &ring) { ring.release(place_after_); } // the record looked at
    uint64_t time_of(const uint64_t *record, clock::Reading &now) const;
    void stand_in_until(uint64_t end, const Place &place);
    bool is_wanted(const uint64_t *record, size_t n_words) const;
    void log_sample(const uint64_t *record, size_t n_words, uint64_t time, uint32_t weight, const Place &place);
    bool is_left_out(); // of a long run, one in weight_ is kept

    PerfRing ring_;
    PerfRing rare_; // of the first thread: one in kRare samples, which stand for those that ring_ has no room for
    uint64_t last_time_ = 0; // of the samples of ring_ that were taken; those after it
    uint64_t missing_until_ = 0; // may be missing, up to here
    SampleLog log_; // begun with the first sample: many threads are too short for one
    format::SamplesHeader head_ = {}; // what its header will say
    const std::string *directory_ = nullptr;
    const Sampling *sampling_ = nullptr;
    int loads_error_ = 0;
    bool is_begun_ = false;
    uint32_t weight_ = 1;
    uint32_t n_skipped_ = 0;
    uint32_t n_kept_ = 0; // at this weight
    std::atomic<bool> held_{false}; // who holds it may take samples: the owner for a moment, for good whoever stops it
    uint64_t place_after_ = 0; // the record looked at
    uint64_t record_[kMostWords];
};

} // namespace ompass

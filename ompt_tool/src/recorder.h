// SPDX-License-Identifier: Apache-2.0
// Starts, pauses and ends the recording of the process, and creates the states of its threads. The accounting handles
// events.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "accounting/thread_state.h"
#include "format/format.h"
#include "options.h"
#include "run_switch.h"

namespace ompass {

namespace recorder {

extern constinit thread_local ThreadState *this_thread __attribute__((tls_model("initial-exec")));

// Starts recording unless it has started or is switched off. Returns true if the process is recorded. Thread-safe.
bool start(const char *runtime_version);
void stop(format::EndReason reason);
void pause();
void resume();
// Records whether wrappers measure creations, in this run and in forked children. Called when the runtime starts.
void note_wrappers(bool measured);
void flush(); // renews the clock calibration
void dump(); // makes a dump, if only the last part of the trace is kept

const Options &options();
const std::string &directory();
inline constexpr uint32_t kMaxThreads = 1u << 16;
extern ThreadState *threads[kMaxThreads]; // by index; written before the thread's first task is created
inline ThreadState *thread_of_index(uint32_t index) { return __atomic_load_n(&threads[index], __ATOMIC_ACQUIRE); }

// Creates the calling thread's state. If OpenMP does not know the thread, its log is completed when the thread ends.
// Returns null if the thread cannot be recorded.
ThreadState *make_thread(format::ThreadKind kind);
// In the child of a fork, starts a run and returns the calling thread; otherwise returns null. Called while recording
// is off.
ThreadState *thread_while_off(format::ThreadKind kind);
// Completes the log of an ending thread. Unmaps the log unless a region, kernel or phase of the thread is still open.
void end_thread(ThreadState &thread);
void sync_switch(ThreadState &thread, uint32_t now); // acts on a changed run_switch
// Acts on a changed run_switch, a due checkpoint and a requested dump. Called before an event if seen_switch differs
// from `now`. Also starts the task whose first part is under way: the event shows that the part is not empty.
void notice(ThreadState &thread, uint32_t now);
// Attributes the calling thread's latest samples to its open state interval.
void take_samples_of_this_thread();

// Returns the calling thread if its events are recorded. Returns null while recording is off, and in kernels of a host
// plugin, which count as work of the device. Callbacks call this function first, unless they take a short path.
// `begins`: true if the event starts a run in the child of a fork.
inline ThreadState *thread(format::ThreadKind kind = format::ThreadKind::kOther, bool begins = false) {
    ThreadState *state = this_thread;
    const uint32_t now = current_switch();
    if (__builtin_expect(state != nullptr && state->seen_switch == now, 1)) return state;
    if (switch_of(now) == kOff) return begins ? thread_while_off(kind) : nullptr;
    if (state == nullptr) return make_thread(kind);
    if (state->target.n_kernels) return nullptr;
    notice(*state, now);
    return state;
}

} // namespace recorder
} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The recording of the process: when it begins and ends, where it goes, and which threads are in it.
// Owns process-wide switches and the making of threads; the accounting owns what an event does to a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "format/format.h"
#include "options.h"
#include "run_switch.h"
#include "thread_state.h"

namespace ompass {

namespace recorder {

extern constinit thread_local ThreadState *this_thread __attribute__((tls_model("initial-exec")));

// Begins recording unless it began before or is switched off; true when recording. Thread-safe.
bool start(const char *runtime_version);
void stop(format::EndReason reason);
void pause();
void resume();
// Creations are measured, or not: in this run, and in those that children of a fork begin. When the runtime has started.
void note_brackets(bool measured);
void flush(); // renews what is only written now and then

const Options &options();
const std::string &directory();
inline constexpr uint32_t kMaxThreads = 1u << 16;
extern ThreadState *threads[kMaxThreads]; // by index; written before the thread's first task exists
inline ThreadState *thread_of_index(uint32_t index) { return __atomic_load_n(&threads[index], __ATOMIC_ACQUIRE); }

// The calling thread's state, made at the first call. Null when not recording.
ThreadState *make_thread(format::ThreadKind kind);
// While nothing is recorded: null, but in the child of a fork begins its own run.
ThreadState *thread_while_off(format::ThreadKind kind);
// The thread ends: its log is complete, and its address space given back, unless a region still holds it.
void end_thread(ThreadState &thread);
void sync_switch(ThreadState &thread, uint32_t now); // acts on a changed run_switch
// Takes the calling thread's samples so far, as part of its open stretch.
void take_samples_of_this_thread();

// The thread when events are to be recorded, else null. The first line of every callback. `begins`: the event is worth a
// run of its own in the child of a fork.
inline ThreadState *thread(format::ThreadKind kind = format::ThreadKind::kOther, bool begins = false) {
    ThreadState *state = this_thread;
    const uint32_t now = current_switch();
    if (__builtin_expect(state != nullptr && state->seen_switch == now, 1)) return state;
    if (switch_of(now) == kOff) return begins ? thread_while_off(kind) : nullptr;
    if (state == nullptr) return make_thread(kind);
    sync_switch(*state, now);
    return state;
}

} // namespace recorder
} // namespace ompass

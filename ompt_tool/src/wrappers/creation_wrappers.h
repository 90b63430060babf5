// SPDX-License-Identifier: Apache-2.0
// The shared state of the wrappers that measure calls.
#pragma once

#include <cstdint>

#include "recorder.h"

namespace ompass::wrappers {

extern bool active;

// Returns the calling thread if a wrapper must measure the call, else null. `is_own`: the call is for the recorded
// runtime.
inline ThreadState *recording_thread(bool is_own) {
    if (!active || !is_own) return nullptr;
    ThreadState *thread = recorder::this_thread;
    if (!thread) return nullptr;
    const uint32_t now = recorder::current_switch();
    if (__builtin_expect(thread->seen_switch != now, 0)) {
        if (recorder::switch_of(now) != recorder::kOn || thread->target.n_kernels) return nullptr;
        recorder::notice(*thread, now);
    }
    return thread->counting ? thread : nullptr;
}

// Lets the wrappers forward creations in regions to the extension, which reports them. They forward by tail calls, so
// the extension sees the program's return address. Has no effect in builds without tail calls, or with assertions.
void forward_in_regions();

// Sets `active` if `is_enabled` and the program's calls reach the wrappers. Called when the runtime starts.
void activate(bool is_enabled);

} // namespace ompass::wrappers

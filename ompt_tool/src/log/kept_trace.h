// SPDX-License-Identifier: Apache-2.0
// kept.log: the last part of the trace of all threads, for runs with OMPASS_KEEP_LAST. The file consists of places of
// equal size, in which the threads store their full windows. Once the file has its full size, a new window replaces the
// oldest one of all threads. So all threads keep about the same period, and an idle thread takes no space.
//
// A reader must begin at a checkpoint. A thread cannot write a checkpoint into every window, because a single event may
// fill several windows: a wait records each time that the kernel switches its thread out. Readers need a thread's
// windows since its last checkpoint, so these windows are replaced only if there is no other window.
//
// While one thread stores a window, the others wait to store theirs. Callers may hold locks of other logs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "format/format.h"

namespace ompass::kept_trace {

// The limits of the kept trace: the last `ticks`, and `bytes` for all logs of the process together. 0: no limit.
struct Extent {
    uint64_t bytes = 0, ticks = 0;
    bool is_limited() const { return bytes || ticks; }
};

// Makes kept.log in the run directory. Called when recording begins.
void begin(const std::string &directory, Extent extent);
bool is_on();

// Returns the size of a window, the same for all threads.
size_t window_bytes();

// Stores a thread's full window, whose last event was at `end`. Overwrites the oldest window that readers do not need,
// if that window is older than the limit. Otherwise appends the window. If the file cannot grow, overwrites the oldest
// window that readers do not need, or else the oldest of all. Loses the window if the file can hold none.
void store(format::ExtentHeader &window, uint32_t thread, uint64_t end);

// Notes that the thread has written a checkpoint at `time`, which begins in the thread's window `first`. Readers of
// later events do not need the thread's windows before `first`.
void note_checkpoint(uint32_t thread, uint64_t first, uint64_t time);

// Drops windows until `bytes` more fit. Returns false if they do not fit even when all windows are dropped.
bool make_room(uint64_t bytes);

// Moves kept.log from the run's directory to another one, calls `copy`, and begins a new file with the windows that
// readers of later events need. No thread can store a window meanwhile. Returns the result of `copy`, or false if the
// move fails. On failure errno has the reason.
bool move_to(const std::string &from, const std::string &to, const std::function<bool()> &copy);

// Called around a fork (see LogFile). The child stores no windows.
void lock_for_fork();
void unlock_after_fork();
void forget();

} // namespace ompass::kept_trace

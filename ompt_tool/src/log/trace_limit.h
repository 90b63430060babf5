// SPDX-License-Identifier: Apache-2.0
// Stops all traces of the process at OMPASS_LIMIT_MB or on a full disk. Any thread may call these functions. Threads
// call allows() once per window of events.
#pragma once

#include <cstdint>

namespace ompass::trace_limit {

enum class Reason : uint32_t { kLimit = 1, kDisk = 2, kKept = 3 }; // values of ProcessHeader::limit_reached

// Allows events again. Called when a recording begins. `limit_bytes`: limit for all logs together; 0: no limit.
void reset(uint64_t limit_bytes);

// True if events may take `bytes` more. Otherwise stops tracing; from then on false for all threads.
bool allows(uint64_t bytes);

// Ends tracing on all threads. Records the first reason, and prints a message if it is kLimit.
void stop_tracing(Reason reason);

// Records that a thread has no trace, because a run that keeps only the last events has no room for the thread's
// window.
void note_lack_of_room();

bool stopped();

} // namespace ompass::trace_limit

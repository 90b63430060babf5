// SPDX-License-Identifier: Apache-2.0
// Decides whether the traces of the process may still grow: OMPASS_LIMIT_MB, and a full disk. One answer for all
// threads. Called once per window of events, by any thread.
#pragma once

#include <cstdint>

namespace ompass::trace_limit {

enum class Reason : uint32_t { kLimit = 1, kDisk = 2, kKept = 3 }; // values of ProcessHeader::limit_reached

// Allows events when a recording begins, up to `limit_bytes` for all logs together; 0: no limit.
void reset(uint64_t limit_bytes);

// True if events may take `bytes` more. After the first refusal always false.
bool allows(uint64_t bytes);

// Ends tracing on all threads. Records the first reason, and prints it if the limit was reached.
void stop_tracing(Reason reason);

// Records that a thread has no trace, because the space of a run that keeps the last events has no room for its window.
void note_lack_of_room();

bool stopped();

} // namespace ompass::trace_limit

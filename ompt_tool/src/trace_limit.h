// SPDX-License-Identifier: Apache-2.0
// Whether the traces of the process may still grow: OMPASS_LIMIT_MB, and a disk that refused. One answer for all threads;
// asked once per window of events, by any thread.
#pragma once

#include <cstdint>

namespace ompass::trace_limit {

enum class Reason : uint32_t { kLimit = 1, kDisk = 2 }; // as ProcessHeader::limit_reached has it

// When a recording begins: events may be written, up to `limit_bytes` of logs in all; 0: without a limit.
void reset(uint64_t limit_bytes);

// May events take `bytes` more? False for good after the first refusal.
bool allows(uint64_t bytes);

// From now on no thread writes events. The first reason goes into the record, a reached limit to stderr too.
void stop_tracing(Reason reason);

bool stopped();

} // namespace ompass::trace_limit

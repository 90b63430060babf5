// SPDX-License-Identifier: Apache-2.0
#include "log/trace_limit.h"

#include <atomic>

#include "log/log_file.h"
#include "log/process_log.h"
#include "messages.h"

namespace ompass::trace_limit {

namespace {

std::atomic<uint64_t> limit{0};
std::atomic<bool> has_stopped{false};

} // namespace

void reset(uint64_t limit_bytes) {
    limit = limit_bytes;
    has_stopped = false;
}

bool allows(uint64_t bytes) {
    if (stopped()) return false;
    const uint64_t most = limit.load(std::memory_order_relaxed);
    if (most == 0 || LogFile::total_bytes() + bytes <= most) return true;
    stop_tracing(Reason::kLimit);
    return false;
}

void stop_tracing(Reason reason) {
    if (has_stopped.exchange(true)) return;
    process_log::header()->limit_reached = static_cast<uint32_t>(reason);
    if (reason == Reason::kLimit)
        say("the trace reached OMPASS_LIMIT_MB, %.6g MB; no more events are written; the profile is still recorded.",
            static_cast<double>(limit.load()) / (1 << 20));
}

void note_lack_of_room() {
    uint32_t none = 0;
    __atomic_compare_exchange_n(&process_log::header()->limit_reached, &none, static_cast<uint32_t>(Reason::kKept),
                                false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool stopped() { return has_stopped.load(std::memory_order_relaxed); }

} // namespace ompass::trace_limit

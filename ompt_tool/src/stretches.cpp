// SPDX-License-Identifier: Apache-2.0
// Hardware counters, charged as time is: by stretches.
#include "stretches.h"

namespace ompass {

static void advance_counters(ThreadState &thread, uint64_t *charged) {
    uint64_t rises[format::kMaxCounters];
    const unsigned n = counters::advance(thread.counter_set, thread.counters, rises);
    if (!charged) return;
    for (unsigned i = 0; i < n; i++) {
        charged[i] += rises[i];
        if (thread.tracing) thread.log.untimed(format::kCounter, i, rises[i]);
    }
}

void charge_counters(ThreadState &thread) {
    const TaskState *task = thread.current;
    advance_counters(thread, task->local ? task->local->slot->counters : thread.region->slot->counters);
}

void skip_counters(ThreadState &thread) { advance_counters(thread, nullptr); }

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
#include "accounting/phases.h"

#include "process/clock.h"

namespace ompass {

// Ends the recorded phase, and begins the one that the program marked last.
static void change_phase(ThreadState &thread, uint64_t now) {
    Kernels::Named &open = thread.kernels.phase;
    if (open.slot) open.slot->own_ticks += now;
    open = thread.kernels.marked_phase;
    if (open.slot) open.slot->own_ticks -= now, open.slot->n_completed++;
    thread.last_inner_event = now;
    if (thread.tracing) thread.log.timed(format::kPhase, open.construct, now);
}

void mark_phase(ThreadState &thread, Kernels::Named phase, uint64_t now) {
    thread.kernels.marked_phase = phase;
    if (thread.counting) change_phase(thread, now);
}

void resume_phase(ThreadState &thread) {
    if (thread.kernels.phase.slot != thread.kernels.marked_phase.slot) change_phase(thread, clock::now());
}

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The effect of the phases that a thread marks. A phase that begins in a pause is recorded from the end of the pause on.
#pragma once

#include "accounting/thread_state.h"

namespace ompass {

// Ends the thread's phase, and begins `phase` unless its slot is null.
void mark_phase(ThreadState &thread, Kernels::Named phase, uint64_t now);

// Begins the phase that the program marked last, if it differs from the recorded one. Called at the end of a pause.
void resume_phase(ThreadState &thread);

} // namespace ompass

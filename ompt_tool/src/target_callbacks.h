// SPDX-License-Identifier: Apache-2.0
// OMPT's callbacks about devices: target constructs, data operations, launches of kernels, and the devices themselves.
#pragma once

#include <omp-tools.h>

namespace ompass::target_callbacks {

// Registers the callbacks. Called once, when the runtime starts.
void add(ompt_set_callback_t set);

// Makes the devices deliver the rest of their traces. Called when the runtime ends.
void flush();

} // namespace ompass::target_callbacks

// SPDX-License-Identifier: Apache-2.0
// Detects that a preloaded OpenMP runtime replaces the runtime for which the program was built.
#pragma once

namespace ompass {

// True if LD_PRELOAD names the OpenMP runtime in use, which then replaces libgomp. Any thread may call this function,
// even before this library's constructors have run.
bool runs_on_preloaded_runtime();

} // namespace ompass

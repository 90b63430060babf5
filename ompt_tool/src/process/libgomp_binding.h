// SPDX-License-Identifier: Apache-2.0
// Detects that a program runs on another OpenMP runtime than the one that it was built for.
#pragma once

namespace ompass {

// True if LD_PRELOAD names the OpenMP runtime in use, so it replaces libgomp. Any thread, also before this
// library's constructors have run.
bool runs_on_preloaded_runtime();

} // namespace ompass

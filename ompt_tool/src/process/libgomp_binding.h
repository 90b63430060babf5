// SPDX-License-Identifier: Apache-2.0
// Detects a program that runs on another OpenMP runtime than the one that it was built for.
#pragma once

namespace ompass {

// True if LD_PRELOAD names the OpenMP runtime in use, which then replaces libgomp. Any thread may call it, even before
// this library's constructors have run.
bool runs_on_preloaded_runtime();

} // namespace ompass

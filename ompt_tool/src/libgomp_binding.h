// SPDX-License-Identifier: Apache-2.0
// Recognises a program that runs on another OpenMP runtime than the one that it was built for.
#pragma once

namespace ompass {

// True if LD_PRELOAD names the OpenMP runtime in use, as it does where another one takes libgomp's place. Any thread may
// call it, also before this library's constructors have run.
bool runs_on_preloaded_runtime();

} // namespace ompass

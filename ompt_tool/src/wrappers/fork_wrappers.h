// SPDX-License-Identifier: Apache-2.0
// The return address of the call that begins a parallel region, where OMPT reports an address in the runtime.
#pragma once

namespace ompass::wrappers {

// Returns the program's return address of the call under way that begins a region with an if clause, or null. Only the
// first call returns it.
const void *take_forked_at();

} // namespace ompass::wrappers

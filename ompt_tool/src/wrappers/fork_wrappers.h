// SPDX-License-Identifier: Apache-2.0
// The return address of the call that begins a parallel region, for regions with an if clause in flang's programs.
#pragma once

namespace ompass::wrappers {

// Returns the program's return address of the call under way that begins a region with an if clause, or null. Later
// calls return null.
const void *take_forked_at();

} // namespace ompass::wrappers

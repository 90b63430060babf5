// SPDX-License-Identifier: Apache-2.0
// The return address of the call that begins a parallel region, for regions with an if clause in flang programs.
#pragma once

namespace ompass::wrappers {

// Returns the program's return address of the call that begins the current region; null unless the region has an if
// clause. A second call returns null, so inner regions do not get this address.
const void *take_forked_at();

} // namespace ompass::wrappers

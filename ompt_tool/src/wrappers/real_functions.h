// SPDX-License-Identifier: Apache-2.0
// Finds the runtime function that a wrapper replaces.
#pragma once

#include "messages.h"
#include "process/exported.h"
#include "process/runtimes.h"

namespace ompass {

// The runtime's function that one of our functions calls.
template <typename Function>
struct Next {
    Function *function;
    bool is_own; // true if the function belongs to the recorded runtime
};

// Returns the runtime's function for the library that calls ours. Inlined, so the return address is in that library.
template <typename Function>
[[gnu::always_inline]] inline Next<Function> next_of(Router &router, const char *name) {
    const Router::Target target = router.target(name, __builtin_return_address(0));
    if (__builtin_expect(target.function == nullptr, 0)) end_for_lack_of(name);
    return {reinterpret_cast<Function *>(target.function), target.is_own};
}

} // namespace ompass

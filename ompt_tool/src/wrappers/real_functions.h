// SPDX-License-Identifier: Apache-2.0
// For functions of this library that replace a runtime function and call it.
#pragma once

#include "messages.h"
#include "process/runtimes.h"

#define OMPASS_EXPORT extern "C" __attribute__((visibility("default")))

// Tail call (`OMPASS_JUMP f(x);`): the called function sees our caller as its caller. gcc makes tail calls if it optimizes.
#ifdef __clang__
#define OMPASS_JUMP [[clang::musttail]] return
#else
#define OMPASS_JUMP return
#endif

namespace ompass {

// The runtime's function that one of our functions calls.
template <typename Function>
struct Next {
    Function *function;
    bool is_own; // it belongs to the recorded runtime
};

// Returns the runtime's function for the library that called the function that this is inlined into.
template <typename Function>
[[gnu::always_inline]] inline Next<Function> next_of(Behind &behind, const char *name) {
    const Behind::Call call = behind.of(name, __builtin_return_address(0));
    if (__builtin_expect(call.function == nullptr, 0)) end_for_lack_of(name);
    return {reinterpret_cast<Function *>(call.function), call.is_own};
}

} // namespace ompass

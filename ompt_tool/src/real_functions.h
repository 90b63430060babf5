// SPDX-License-Identifier: Apache-2.0
// Finds the runtime's functions behind those of this library that have the same names.
#pragma once

#include "runtimes.h"

#define OMPASS_EXPORT extern "C" __attribute__((visibility("default")))

// Return by this and a call: the function called sees our caller's address for its own. gcc does so when it optimizes.
#ifdef __clang__
#define OMPASS_JUMP [[clang::musttail]] return
#else
#define OMPASS_JUMP return
#endif

namespace ompass {

// True if this address is in our own library. Our functions' names may stand for the runtime's, so the functions
// themselves cannot be compared.
bool is_ours(const void *address);

// Reports that no library has the function, which the program calls, and aborts.
[[noreturn]] void end_for_lack_of(const char *name);

// Where a call of one of our functions goes on.
template <typename Function>
struct Next {
    Function *function;
    bool is_own; // the runtime is the one that is recorded
};

// Returns the function behind ours for the library that called the function that asks.
template <typename Function>
[[gnu::always_inline]] inline Next<Function> next_of(Behind &behind, const char *name) {
    const Behind::Call call = behind.of(name, __builtin_return_address(0));
    if (__builtin_expect(call.function == nullptr, 0)) end_for_lack_of(name);
    return {reinterpret_cast<Function *>(call.function), call.is_own};
}

} // namespace ompass

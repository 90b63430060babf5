// SPDX-License-Identifier: Apache-2.0
// Finds the runtime's functions behind those of this library that have the same names.
#pragma once

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

// Returns the function of this name in the first library that was loaded after ours and has it, or else in any other library
// of the process. Aborts where there is none: the program calls a function that its runtime does not have.
void *find_real(const char *name);

// Returns the function of this name in the runtime that runs the program's regions; null where that one has none, though
// another library of the process may.
void *find_in_use(const char *name);

// Returns the runtime's function behind ours, found at the first call. Any thread may call it; all find the same.
template <typename Function>
[[gnu::always_inline]] inline Function *real(Function *&known, const char *name) {
    Function *function = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
    if (__builtin_expect(function == nullptr, 0)) {
        function = reinterpret_cast<Function *>(find_real(name));
        __atomic_store_n(&known, function, __ATOMIC_RELEASE);
    }
    return function;
}

} // namespace ompass

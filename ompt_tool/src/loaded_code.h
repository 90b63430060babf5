// SPDX-License-Identifier: Apache-2.0
// Finds code among the loaded libraries without the lock that dlopen holds while constructors run: dlsym and dladdr take it,
// and would never return on a thread for which such a constructor waits. Any thread may call these functions.
// libompass.so and libomp_ext.so are both built with this file. It includes nothing of either.
#pragma once

#include <cstdint>

namespace ompass {

struct Library {
    uintptr_t begin = 0, end = 0; // its mapped range
    const char *path = ""; // as the loader names it, empty for the program; valid until the library is unloaded
    bool holds(const void *code) const {
        const auto address = reinterpret_cast<uintptr_t>(code);
        return address >= begin && address < end;
    }
};

// Returns the library with this address; one with an empty range when there is none.
Library library_of(const void *address);

// Returns the first function of this name that a library other than ours exports, in the order in which they were loaded;
// null when there is none.
void *find_exported(const char *name);

// Returns the same of the libraries that were loaded after ours.
void *find_next(const char *name);

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Finds the OpenMP runtime of a call in a process with several runtimes, such as gcc's libgomp for the program and
// LLVM's for a library, or copies in wheels. Each of our functions receives the calls of all libraries. This file finds
// the runtime that each call would reach without us. Any thread may call these functions. They do not take dlopen's
// lock.
// Compiled into libompass.so and libomp_ext.so, so it includes no header of only one of them.
#pragma once

#include <cstdint>

#include "process/loaded_code.h"

namespace ompass {

// The runtime function that a call would reach without ours, and its runtime.
struct Destination {
    Library runtime; // an empty range: none
    void *function; // null: neither that runtime nor another library has it
    bool is_own; // the runtime is our own, which we observe or schedule
    void *own; // the function that a call would reach if our own runtime served the caller; null: none
    bool is_for_all; // true if all callers reach this function, now and later
};

// Returns the destination of a call from `caller`. A null caller stands for a caller that is not linked with a runtime.
// With `runtime_only`, ignores functions of libraries that are not runtimes.
Destination destination_of(const char *name, const void *caller, bool runtime_only = false);

// Calls take(i, destination) for each of `n` names, with a null caller.
void find_destinations(size_t n, const char *(*name_of)(size_t i),
                       void (*take)(size_t i, const Destination &destination));

// Returns Destination::own for this name.
void *find_in_own_runtime(const char *name);

// Returns our own runtime: the first of the LLVM family, unless claim_runtime named another.
Library own_runtime();

// Makes the runtime that contains this address our own.
void claim_runtime(const void *code);

// Finds a runtime other than our own that the program or a library calls. Writes its path into `path`, cut to `size`;
// writes nothing if there is none. A runtime that another one has replaced does not count.
void find_other_runtime(char *path, size_t size);

// Routes calls of one of our functions, each to the runtime function that the calling library would reach without us.
class Router {
public:
    struct Target {
        void *function; // null: none
        bool is_own;
    };
    // Returns the function for a call from `caller`.
    [[gnu::always_inline]] inline Target target(const char *name, const void *caller) {
        void *function = __atomic_load_n(&own_for_all_, __ATOMIC_ACQUIRE);
        return __builtin_expect(function != nullptr, 1) ? Target{function, true} : find_target(name, caller);
    }

private:
    struct Route {
        uintptr_t begin, end;
        bool is_own;
        void *function; // written last
    };
    Target find_target(const char *name, const void *caller);

    static constexpr uint32_t kRoutes = 6; // calls from further libraries search each time
    void *own_for_all_ = nullptr;
    uint32_t n_routes_ = 0;
    Route routes_[kRoutes] = {};
};

} // namespace ompass

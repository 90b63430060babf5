// SPDX-License-Identifier: Apache-2.0
// Finds the OpenMP runtime of a call, where a process has several: gcc's libgomp for the program and LLVM's for a
// library, or the copies that wheels bring along. A function in front of a runtime's gets the calls of all libraries, and
// this finds the one that a call would have reached without us.
// libompass.so and libomp_ext.so are both built with this file. It includes nothing of either.
#pragma once

#include <cstdint>

#include "loaded_code.h"

namespace ompass {

// The function and the runtime that a call reaches behind one of our functions.
struct Destination {
    Library runtime; // an empty range: there is none
    void *function; // null: neither that runtime nor another library has it
    bool is_own; // the runtime is the one that we observe or schedule
    void *own; // the function behind ours of the runtime that we observe or schedule; null: there is none
    bool is_for_all; // whoever calls reaches this, now and later
};

// Returns the destination of a call from `caller`; null: of any caller that has no runtime of its own. `runtime_only`: only
// a function of the runtime counts, and not another library's. Any thread, without the loader's lock.
Destination destination_of(const char *name, const void *caller, bool runtime_only = false);

// The same for `n` names and any caller at once: calls take with the destination of name_of(i).
void find_destinations(size_t n, const char *(*name_of)(size_t i),
                       void (*take)(size_t i, const Destination &destination));

// Returns the function behind ours of the runtime that we observe or schedule; null where there is none.
void *find_in_own_runtime(const char *name);

// Returns the first runtime of the LLVM family: we observe or schedule that one, unless claim_runtime named another.
Library own_runtime();

// Makes the runtime with this address ours for good.
void claim_runtime(const void *code);

// Writes the path of a runtime, other than our own, that the program or a library calls into `path`, cut to the size. Writes
// nothing where there is none: a runtime that another one has replaced is called by nobody.
void find_other_runtime(char *path, size_t size);

// The functions behind one of ours, by the library that calls it. Any thread.
class Behind {
public:
    struct Call {
        void *function; // null: there is none
        bool is_own;
    };
    // Returns where a call from `caller` goes.
    [[gnu::always_inline]] inline Call of(const char *name, const void *caller) {
        void *function = __atomic_load_n(&own_for_all_, __ATOMIC_ACQUIRE);
        return __builtin_expect(function != nullptr, 1) ? Call{function, true} : by_library(name, caller);
    }

private:
    struct Route {
        uintptr_t begin, end;
        bool is_own;
        void *function; // written last
    };
    Call by_library(const char *name, const void *caller);

    static constexpr uint32_t kRoutes = 6; // more libraries are looked up at each call
    void *own_for_all_ = nullptr;
    uint32_t n_routes_ = 0;
    Route routes_[kRoutes] = {};
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// Wrappers of runtime functions in which a thread may wait, but which OMPT does not report. They measure the calls
// (accounting/unreported_waits.h). They work only if this library is preloaded or linked. While nothing is recorded,
// they measure nothing.
#include <cstdint>

#include "accounting/unreported_waits.h"
#include "wrappers/creation_wrappers.h"
#include "wrappers/real_functions.h"

using namespace ompass;

// ---------------------------------------------------------------- loops with dependences between iterations

OMPASS_EXPORT void __kmpc_doacross_wait(void *location, int32_t thread_id, const int64_t *iteration) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_doacross_wait)>(router, "__kmpc_doacross_wait");
    ThreadState *thread = wrappers::recording_thread(is_own);
    if (!thread) OMPASS_JUMP next(location, thread_id, iteration);
    UnreportedCall call(thread, format::kDoacross, __builtin_return_address(0));
    next(location, thread_id, iteration);
    call.count();
}

// The arguments of gcc's functions are the loop variables, one for each level of the loop. A wrapper that measures the
// call forwards sixteen of them. While nothing is recorded, a tail call forwards all.
#define OMPASS_SIXTEEN(X) X a, X b, X c, X d, X e, X f, X g, X h, X i, X j, X k, X l, X m, X n, X o, X p

// In a team of one thread, LLVM's runtimes read data of the loop that they did not store. The wrapper then drops the
// call, because one thread runs the iterations in order and need not wait.
#define OMPASS_DOACROSS_WAIT(name)                                                                                     \
    OMPASS_EXPORT void name(OMPASS_SIXTEEN(uintptr_t)) {                                                               \
        static Router n_threads;                                                                                       \
        static Router router;                                                                                          \
        const auto [next, is_own] = next_of<decltype(name)>(router, #name);                                            \
        if (next_of<int()>(n_threads, "omp_get_num_threads").function() == 1) return;                                  \
        ThreadState *thread = wrappers::recording_thread(is_own);                                                      \
        if (!thread) OMPASS_JUMP next(OMPASS_SIXTEEN());                                                               \
        UnreportedCall call(thread, format::kDoacross, __builtin_return_address(0));                                   \
        next(OMPASS_SIXTEEN());                                                                                        \
        call.count();                                                                                                  \
    }

OMPASS_DOACROSS_WAIT(GOMP_doacross_wait)
OMPASS_DOACROSS_WAIT(GOMP_doacross_ull_wait)

// ---------------------------------------------------------------- taskyield

OMPASS_EXPORT int32_t __kmpc_omp_taskyield(void *location, int32_t thread_id, int32_t end) {
    static Router router;
    const auto [next, is_own] = next_of<decltype(__kmpc_omp_taskyield)>(router, "__kmpc_omp_taskyield");
    ThreadState *thread = wrappers::recording_thread(is_own);
    if (!thread) OMPASS_JUMP next(location, thread_id, end);
    UnreportedCall call(thread, format::kTaskyield, __builtin_return_address(0));
    const int32_t result = next(location, thread_id, end);
    call.count();
    return result;
}

OMPASS_EXPORT void GOMP_taskyield() {
    static Router router;
    const auto [next, is_own] = next_of<decltype(GOMP_taskyield)>(router, "GOMP_taskyield");
    ThreadState *thread = wrappers::recording_thread(is_own);
    if (!thread) OMPASS_JUMP next();
    UnreportedCall call(thread, format::kTaskyield, __builtin_return_address(0));
    next();
    call.count();
}

// SPDX-License-Identifier: Apache-2.0
// Functions with a thread number as an argument. Compiled code reads the number when a task begins, but an untied task
// may have moved to another thread since. So each hook corrects the number and calls the runtime. The hooks of other
// files do the same for their functions.
#include "runtime/libomp_abi.h"
#include "scheduler/scheduler.h"

namespace omp_ext {

using namespace abi;

OMP_EXT_HOOK(void, __kmpc_push_num_threads, (void *location, int32_t thread, int32_t n), (location, thread, n)) {
    real___kmpc_push_num_threads()(location, number_of_this_thread(thread), n);
}

OMP_EXT_HOOK(void, __kmpc_push_proc_bind, (void *location, int32_t thread, int kind), (location, thread, kind)) {
    real___kmpc_push_proc_bind()(location, number_of_this_thread(thread), kind);
}

OMP_EXT_HOOK(void, __kmpc_push_num_teams, (void *location, int32_t thread, int32_t n_teams, int32_t n_threads),
             (location, thread, n_teams, n_threads)) {
    real___kmpc_push_num_teams()(location, number_of_this_thread(thread), n_teams, n_threads);
}

// Makes a thread that leaves a cancelled region join the barrier in which other threads wait. Programs of clang call
// __kmpc_cancel_barrier themselves. Programs of gcc leave at once; the runtime forwards their calls here.
static int32_t pass_barrier_if_left(int32_t is_cancelled, int32_t construct, const void *caller) {
    constexpr int32_t kRegion = 1;
    if (is_cancelled && construct == kRegion && this_worker && is_in_runtime(caller))
        leave_cancelled_region(*this_worker);
    return is_cancelled;
}

OMP_EXT_HOOK(int32_t, __kmpc_cancel, (void *location, int32_t thread, int32_t construct),
             (location, thread, construct)) {
    return pass_barrier_if_left(real___kmpc_cancel()(location, number_of_this_thread(thread), construct), construct,
                                __builtin_return_address(0));
}

OMP_EXT_HOOK(int32_t, __kmpc_cancellationpoint, (void *location, int32_t thread, int32_t construct),
             (location, thread, construct)) {
    return pass_barrier_if_left(real___kmpc_cancellationpoint()(location, number_of_this_thread(thread), construct),
                                construct, __builtin_return_address(0));
}

OMP_EXT_HOOK(void *, __kmpc_alloc, (int32_t thread, size_t bytes, void *allocator), (thread, bytes, allocator)) {
    return real___kmpc_alloc()(number_of_this_thread(thread), bytes, allocator);
}

OMP_EXT_HOOK(void *, __kmpc_aligned_alloc, (int32_t thread, size_t alignment, size_t bytes, void *allocator),
             (thread, alignment, bytes, allocator)) {
    return real___kmpc_aligned_alloc()(number_of_this_thread(thread), alignment, bytes, allocator);
}

OMP_EXT_HOOK(void *, __kmpc_calloc, (int32_t thread, size_t n, size_t bytes, void *allocator),
             (thread, n, bytes, allocator)) {
    return real___kmpc_calloc()(number_of_this_thread(thread), n, bytes, allocator);
}

OMP_EXT_HOOK(void *, __kmpc_realloc,
             (int32_t thread, void *memory, size_t bytes, void *allocator, void *free_allocator),
             (thread, memory, bytes, allocator, free_allocator)) {
    return real___kmpc_realloc()(number_of_this_thread(thread), memory, bytes, allocator, free_allocator);
}

OMP_EXT_HOOK(void, __kmpc_free, (int32_t thread, void *memory, void *allocator), (thread, memory, allocator)) {
    real___kmpc_free()(number_of_this_thread(thread), memory, allocator);
}

} // namespace omp_ext

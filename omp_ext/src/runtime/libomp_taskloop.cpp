// SPDX-License-Identifier: Apache-2.0
// Divides taskloops into chunks, because the runtime would queue the chunks itself.
#include "runtime/libomp_abi.h"
#include "runtime/loop_division.h"
#include "scheduler/scheduler.h"

namespace omp_ext {

namespace {

uint64_t count_iterations(uint64_t lower, uint64_t upper, int64_t stride) {
    if (stride == 1) return upper - lower + 1;
    if (stride < 0) return (lower - upper) / (uint64_t{0} - static_cast<uint64_t>(stride)) + 1;
    return (upper - lower) / static_cast<uint64_t>(stride) + 1;
}

} // namespace

namespace abi {

void run_loop(Worker &worker, void *block, bool is_deferred, uint64_t *lower, uint64_t *upper, int64_t stride,
              int32_t schedule, uint64_t parameter, bool is_strict, void *duplicate_privates) {
    Task &pattern = *task_of(block);
    auto *copy_privates = reinterpret_cast<void (*)(void *copy, void *original, int32_t is_last)>(duplicate_privates);
    const ptrdiff_t lower_offset = reinterpret_cast<char *>(lower) - static_cast<char *>(block);
    const ptrdiff_t upper_offset = reinterpret_cast<char *>(upper) - static_cast<char *>(block);
    const uint64_t first = *lower;
    const uint64_t n_iterations = count_iterations(first, *upper, stride); // 0: upper == lower - 1
    if (n_iterations > 0) {
        const Division division = divide(n_iterations, schedule, parameter, is_strict, worker.team->n_workers);
        uint64_t start = first;
        for (uint64_t i = 0; i < division.n_chunks; i++) {
            const bool is_last = i + 1 == division.n_chunks;
            const uint64_t size = is_last ? division.last_size : division.size + (i < division.n_longer);
            Task *chunk = duplicate(worker, pattern);
            auto *bytes = static_cast<char *>(chunk->block);
            const uint64_t end = start + (size - 1) * static_cast<uint64_t>(stride);
            *reinterpret_cast<uint64_t *>(bytes + lower_offset) = start;
            *reinterpret_cast<uint64_t *>(bytes + upper_offset) = end;
            if (copy_privates) copy_privates(chunk->block, block, is_last);
            start = end + static_cast<uint64_t>(stride);
            if (is_deferred)
                submit(worker, *chunk);
            else
                submit_at_once(worker, *chunk);
        }
    }
    discard(worker, pattern);
}

} // namespace abi

using namespace abi;

OMP_EXT_HOOK(void, __kmpc_taskloop,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter,
              duplicate_privates)) {
    Worker *worker = this_worker;
    if (!worker || !is_ours(block)) {
        if (worker) worker->current->flags |= kHasForeign;
        return real___kmpc_taskloop()(location, number_of_this_thread(thread), block, if_value, lower, upper, stride,
                                      nogroup, schedule, parameter, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*worker, block, if_value != 0, lower, upper, stride, schedule, parameter, false, duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

OMP_EXT_HOOK(void, __kmpc_taskloop_5,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, int32_t is_strict,
              void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter, is_strict,
              duplicate_privates)) {
    Worker *worker = this_worker;
    if (!worker || !is_ours(block)) {
        if (worker) worker->current->flags |= kHasForeign;
        return real___kmpc_taskloop_5()(location, number_of_this_thread(thread), block, if_value, lower, upper, stride,
                                        nogroup, schedule, parameter, is_strict, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*worker, block, if_value != 0, lower, upper, stride, schedule, parameter, is_strict != 0,
             duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

} // namespace omp_ext

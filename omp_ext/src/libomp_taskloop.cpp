// SPDX-License-Identifier: Apache-2.0
// taskloop: the loop is divided here, since the runtime would queue the chunks itself.
#include "libomp_abi.h"
#include "scheduler.h"

namespace omp_ext {

namespace {

// How the iterations of a loop are divided into chunks.
struct Division {
    uint64_t n_chunks;
    uint64_t size; // iterations of a chunk
    uint64_t n_longer; // chunks, from the first, that have one iteration more
    uint64_t last_size; // of the last chunk
};

enum : int32_t { kNoSchedule = 0, kGrainsize = 1, kNumTasks = 2 };

// OpenMP 5.2, 12.6: grainsize: chunks of at least the grainsize and less than twice it, or with `strict` of exactly it
// but for the last. num_tasks: that many chunks, or one per iteration if there are fewer.
Division divide(uint64_t n_iterations, int32_t schedule, uint64_t parameter, bool is_strict, int n_threads) {
    if (schedule == kGrainsize && parameter > 0) {
        if (is_strict) {
            const uint64_t n_chunks = (n_iterations + parameter - 1) / parameter;
            return {n_chunks, parameter, 0, n_iterations - (n_chunks - 1) * parameter};
        }
        schedule = kNumTasks;
        parameter = n_iterations / parameter; // rounded down: no chunk is smaller than the grainsize
    } else if (schedule == kNoSchedule || parameter == 0) {
        parameter = static_cast<uint64_t>(n_threads) * 10;
    }
    const uint64_t n_chunks = parameter == 0 ? 1 : parameter < n_iterations ? parameter : n_iterations;
    const uint64_t size = n_iterations / n_chunks, n_longer = n_iterations % n_chunks;
    return {n_chunks, size, n_longer, size};
}

uint64_t count_iterations(uint64_t lower, uint64_t upper, int64_t stride) {
    if (stride == 1) return upper - lower + 1;
    if (stride < 0) return (lower - upper) / (uint64_t{0} - static_cast<uint64_t>(stride)) + 1;
    return (upper - lower) / static_cast<uint64_t>(stride) + 1;
}

} // namespace

namespace abi {

void run_loop(Member &member, void *block, bool is_deferred, uint64_t *lower, uint64_t *upper, int64_t stride,
              int32_t schedule, uint64_t parameter, bool is_strict, void *duplicate_privates) {
    Task &pattern = *task_of(block);
    auto *copy_privates = reinterpret_cast<void (*)(void *copy, void *original, int32_t is_last)>(duplicate_privates);
    const ptrdiff_t lower_offset = reinterpret_cast<char *>(lower) - static_cast<char *>(block);
    const ptrdiff_t upper_offset = reinterpret_cast<char *>(upper) - static_cast<char *>(block);
    const uint64_t first = *lower;
    const uint64_t n_iterations = count_iterations(first, *upper, stride); // 0: upper == lower - 1
    if (n_iterations > 0) {
        const Division division = divide(n_iterations, schedule, parameter, is_strict, member.team->n_members);
        uint64_t start = first;
        for (uint64_t i = 0; i < division.n_chunks; i++) {
            const bool is_last = i + 1 == division.n_chunks;
            const uint64_t size = is_last ? division.last_size : division.size + (i < division.n_longer);
            Task *chunk = duplicate(member, pattern);
            auto *bytes = static_cast<char *>(chunk->block);
            const uint64_t end = start + (size - 1) * static_cast<uint64_t>(stride);
            *reinterpret_cast<uint64_t *>(bytes + lower_offset) = start;
            *reinterpret_cast<uint64_t *>(bytes + upper_offset) = end;
            if (copy_privates) copy_privates(chunk->block, block, is_last);
            start = end + static_cast<uint64_t>(stride);
            if (is_deferred)
                submit(member, *chunk);
            else
                submit_at_once(member, *chunk);
        }
    }
    discard(member, pattern);
}

} // namespace abi

using namespace abi;

OMP_EXT_HOOK(void, __kmpc_taskloop,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter,
              duplicate_privates)) {
    Member *member = this_member;
    if (!member || !is_ours(block)) {
        if (member) member->current->flags |= kHasForeign;
        return real___kmpc_taskloop()(location, thread, block, if_value, lower, upper, stride, nogroup, schedule,
                                      parameter, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*member, block, if_value != 0, lower, upper, stride, schedule, parameter, false, duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

OMP_EXT_HOOK(void, __kmpc_taskloop_5,
             (void *location, int32_t thread, void *block, int32_t if_value, uint64_t *lower, uint64_t *upper,
              int64_t stride, int32_t nogroup, int32_t schedule, uint64_t parameter, int32_t is_strict,
              void *duplicate_privates),
             (location, thread, block, if_value, lower, upper, stride, nogroup, schedule, parameter, is_strict,
              duplicate_privates)) {
    Member *member = this_member;
    if (!member || !is_ours(block)) {
        if (member) member->current->flags |= kHasForeign;
        return real___kmpc_taskloop_5()(location, thread, block, if_value, lower, upper, stride, nogroup, schedule,
                                        parameter, is_strict, duplicate_privates);
    }
    if (!nogroup) __kmpc_taskgroup(location, thread);
    run_loop(*member, block, if_value != 0, lower, upper, stride, schedule, parameter, is_strict != 0,
             duplicate_privates);
    if (!nogroup) __kmpc_end_taskgroup(location, thread);
}

} // namespace omp_ext

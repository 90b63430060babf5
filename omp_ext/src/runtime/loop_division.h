// SPDX-License-Identifier: Apache-2.0
// Divides the iterations of a taskloop into chunks.
#pragma once

#include <cstdint>

namespace omp_ext {

// Chunk sizes of a loop.
struct Division {
    uint64_t n_chunks;
    uint64_t size; // iterations of a chunk
    uint64_t n_longer; // the first n_longer chunks have one iteration more
    uint64_t last_size; // iterations of the last chunk
};

enum : int32_t { kNoSchedule = 0, kGrainsize = 1, kNumTasks = 2 };

// Divides as OpenMP 5.2, 12.6 requires. grainsize: each chunk has at least the grainsize and less than twice as many
// iterations; a loop with fewer iterations is one chunk. With `strict`, all chunks except the last have exactly the
// grainsize. num_tasks: that many chunks, or one per iteration if there are fewer iterations. Without either clause,
// divides as num_tasks does, with ten chunks per thread.
inline Division divide(uint64_t n_iterations, int32_t schedule, uint64_t parameter, bool is_strict, int n_threads) {
    if (schedule == kGrainsize && parameter > 0) {
        if (is_strict) {
            const uint64_t n_chunks = n_iterations / parameter + (n_iterations % parameter != 0);
            return {n_chunks, parameter, 0, n_iterations - (n_chunks - 1) * parameter};
        }
        parameter = n_iterations / parameter; // rounded down: no chunk is smaller than the grainsize
    } else if (schedule == kNoSchedule || parameter == 0) {
        parameter = static_cast<uint64_t>(n_threads) * 10;
    }
    const uint64_t n_chunks = parameter == 0 ? 1 : parameter < n_iterations ? parameter : n_iterations;
    const uint64_t size = n_iterations / n_chunks, n_longer = n_iterations % n_chunks;
    return {n_chunks, size, n_longer, size};
}

} // namespace omp_ext

// SPDX-License-Identifier: Apache-2.0
// Sample sort with tasks. Each parallel phase halves its range of blocks or buckets; the upper half becomes a task.
#pragma once

#include <cstddef>
#include <cstdint>

#include "range_tasks.hpp"
#include "samplesort.hpp"

namespace bots {

template <TaskKind kKind>
void sample_sort_parallel(SampleSort &sort, std::int64_t grain, int n_threads) {
    const auto for_all = [grain](std::size_t n, const auto &visit) {
        for_range<kKind>(static_cast<std::int64_t>(n), {.leaf = 1, .grain = grain},
                         [&visit](std::int64_t first, std::int64_t last) {
                             for (std::int64_t i = first; i < last; i++) visit(static_cast<std::size_t>(i));
                         });
    };
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    if (sort.n_blocks() > 0) {
        sort.choose_pivots();
        for_all(sort.n_blocks(), [&sort](std::size_t block) { sort.sort_block(block); });
        for_all(sort.n_buckets(), [&sort](std::size_t bucket) { sort.measure_bucket(bucket); });
        sort.place_buckets();
        for_all(sort.n_buckets(), [&sort](std::size_t bucket) { sort.sort_bucket(bucket); });
        for_all(sort.n_buckets(), [&sort](std::size_t bucket) { sort.return_bucket(bucket); });
    }
}

inline std::uint64_t count_sample_sort_tasks(const SampleSort &sort, std::int64_t grain, Cutoff cutoff) {
    const auto count = [grain, cutoff](std::size_t n) {
        return count_range_tasks(static_cast<std::int64_t>(n), {.leaf = 1, .grain = grain}, cutoff);
    };
    return count(sort.n_blocks()) + 3 * count(sort.n_buckets());
}

} // namespace bots

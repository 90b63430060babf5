// SPDX-License-Identifier: Apache-2.0
//
// Cilksort with a task for each quarter, each merge of the first round, and each half of a split merge. Where merges
// split depends on the elements, so every function returns the number of tasks that it and its tasks created; all
// tasks are at least microseconds long, beside which the counting vanishes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sort.hpp"
#include "tasks.hpp"

namespace bots {

// Merges sorted a and b into out: the median of the longer one splits both. Returns the tasks created.
// Up to `grain` elements are below the cut-off.
template <TaskKind kKind>
std::uint64_t merge_tasks(const Element *a, std::size_t n_a, const Element *b, std::size_t n_b, Element *out,
                          std::size_t grain) {
    const std::size_t n = n_a + n_b;
    if (n <= kMergeLeaf || goes_serial<kKind>(n <= grain)) {
        merge_leaf(a, n_a, b, n_b, out);
        return 0;
    }
    if (n_a < n_b) {
        std::swap(a, b);
        std::swap(n_a, n_b);
    }
    const std::size_t cut_a = n_a / 2;
    const std::size_t cut_b = static_cast<std::size_t>(std::lower_bound(b, b + n_b, a[cut_a]) - b);
    std::uint64_t low, high;
    BOTS_TASK(kKind, n <= grain, shared(low) firstprivate(a, b, out, cut_a, cut_b, grain),
              low = merge_tasks<kKind>(a, cut_a, b, cut_b, out, grain));
    BOTS_TASK(kKind, n <= grain, shared(high) firstprivate(a, b, out, n_a, n_b, cut_a, cut_b, grain),
              high = merge_tasks<kKind>(a + cut_a, n_a - cut_a, b + cut_b, n_b - cut_b, out + cut_a + cut_b, grain));
#pragma omp taskwait
    return 2 + low + high;
}

// Sorts [data, data + n); scratch has room for as many elements. Returns the tasks created.
template <TaskKind kKind>
std::uint64_t sort_tasks(Element *data, Element *scratch, std::size_t n, std::size_t grain) {
    if (n <= kSortLeaf || goes_serial<kKind>(n <= grain)) {
        sort_serial(data, scratch, n);
        return 0;
    }
    const std::size_t quarter = n / 4;
    const std::size_t half = 2 * quarter;
    std::uint64_t created[4]; // by each quarter; a task writes one element
    for (std::size_t i = 0; i < 4; i++) {
        const std::size_t n_part = i < 3 ? quarter : n - 3 * quarter;
        BOTS_TASK(kKind, n <= grain, shared(created) firstprivate(data, scratch, quarter, n_part, grain, i),
                  created[i] = sort_tasks<kKind>(data + i * quarter, scratch + i * quarter, n_part, grain));
    }
#pragma omp taskwait
    std::uint64_t low, high;
    BOTS_TASK(kKind, n <= grain, shared(low) firstprivate(data, scratch, quarter, grain),
              low = merge_tasks<kKind>(data, quarter, data + quarter, quarter, scratch, grain));
    BOTS_TASK(kKind, n <= grain, shared(high) firstprivate(data, scratch, n, quarter, half, grain),
              high = merge_tasks<kKind>(data + half, quarter, data + half + quarter, n - half - quarter, scratch + half,
                                        grain));
#pragma omp taskwait
    const std::uint64_t last = merge_tasks<kKind>(scratch, half, scratch + half, n - half, data, grain);
    return 6 + created[0] + created[1] + created[2] + created[3] + low + high + last;
}

template <TaskKind kKind>
std::uint64_t sort_parallel(Element *data, Element *scratch, std::size_t n, std::size_t grain, int n_threads) {
    std::uint64_t created = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    created = sort_tasks<kKind>(data, scratch, n, grain);
    return created;
}

} // namespace bots

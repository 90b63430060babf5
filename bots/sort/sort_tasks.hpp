// SPDX-License-Identifier: Apache-2.0
// Cilksort with a task for each quarter, each merge of the first round, and each half of a split merge. The elements
// decide where merges split, so every function returns the number of tasks that it and its tasks created. The counting
// costs little, because all tasks take at least microseconds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "anywhere.hpp"
#include "sort.hpp"
#include "tasks.hpp"

namespace bots {

// The cut-off: sorts and merges of up to `grain` elements are below it. Programs with other leaves or cut-offs pass
// another type with the same members.
struct SortCuts {
    std::size_t grain;

    static constexpr std::size_t kSmallestSort = kSortLeaf; // sorts up to this size are never divided
    static constexpr std::size_t kSmallestMerge = kMergeLeaf;
    std::size_t sort_grain() const { return grain; }
    std::size_t merge_grain() const { return grain; }
    static void sort(Element *data, Element *scratch, std::size_t n) { sort_serial(data, scratch, n); }
};

// Merges sorted a and b into out: the median of the longer range splits both. Returns the number of tasks created.
// `domains`: Anywhere, or the DomainRange for `out`.
template <TaskKind kKind, class Cuts, class Domains>
std::uint64_t merge_tasks(const Element *a, std::size_t n_a, const Element *b, std::size_t n_b, Element *out, Cuts cuts,
                          Domains domains) {
    const std::size_t n = n_a + n_b;
    const bool below = n <= cuts.merge_grain();
    if (n <= Cuts::kSmallestMerge || goes_serial<kKind>(below)) {
        merge_leaf(a, n_a, b, n_b, out);
        return 0;
    }
    if (n_a < n_b) {
        std::swap(a, b);
        std::swap(n_a, n_b);
    }
    const std::size_t cut_a = n_a / 2;
    const std::size_t cut_b = static_cast<std::size_t>(std::lower_bound(b, b + n_b, a[cut_a]) - b);
    const Halves<Domains> halves(domains);
    std::uint64_t low, high;
    halves.first.place_children();
    BOTS_TASK(kKind, below, shared(low) firstprivate(a, b, out, cut_a, cut_b, cuts, halves),
              low = merge_tasks<kKind>(a, cut_a, b, cut_b, out, cuts, halves.first));
    halves.second.place_children();
    BOTS_TASK(kKind, below, shared(high) firstprivate(a, b, out, n_a, n_b, cut_a, cut_b, cuts, halves),
              high = merge_tasks<kKind>(a + cut_a, n_a - cut_a, b + cut_b, n_b - cut_b, out + cut_a + cut_b, cuts,
                                        halves.second));
#pragma omp taskwait
    return 2 + low + high;
}

// Sorts [data, data + n). `data` and `scratch`, of the same size, are spread over `domains`. Returns the number of
// tasks created.
template <TaskKind kKind, class Cuts, class Domains>
std::uint64_t sort_tasks(Element *data, Element *scratch, std::size_t n, Cuts cuts, Domains domains) {
    const bool below = n <= cuts.sort_grain();
    if (n <= Cuts::kSmallestSort || goes_serial<kKind>(below)) {
        Cuts::sort(data, scratch, n);
        return 0;
    }
    const std::size_t quarter = n / 4;
    const std::size_t half = 2 * quarter;
    const Halves<Domains> halves(domains);
    std::uint64_t created[4]; // tasks created by each quarter; each task writes one element
    for (std::size_t i = 0; i < 4; i++) {
        const std::size_t n_part = i < 3 ? quarter : n - 3 * quarter;
        const Domains part = domains.part(i, 4);
        part.place_children();
        BOTS_TASK(kKind, below, shared(created) firstprivate(data, scratch, quarter, n_part, cuts, i, part),
                  created[i] = sort_tasks<kKind>(data + i * quarter, scratch + i * quarter, n_part, cuts, part));
    }
#pragma omp taskwait
    std::uint64_t low, high;
    halves.first.place_children();
    BOTS_TASK(kKind, below, shared(low) firstprivate(data, scratch, quarter, cuts, halves),
              low = merge_tasks<kKind>(data, quarter, data + quarter, quarter, scratch, cuts, halves.first));
    halves.second.place_children();
    BOTS_TASK(kKind, below, shared(high) firstprivate(data, scratch, n, quarter, half, cuts, halves),
              high = merge_tasks<kKind>(data + half, quarter, data + half + quarter, n - half - quarter, scratch + half,
                                        cuts, halves.second));
#pragma omp taskwait
    const std::uint64_t last = merge_tasks<kKind>(scratch, half, scratch + half, n - half, data, cuts, domains);
    return 6 + created[0] + created[1] + created[2] + created[3] + low + high + last;
}

template <TaskKind kKind, class Cuts, class Domains = Anywhere>
std::uint64_t sort_parallel(Element *data, Element *scratch, std::size_t n, Cuts cuts, int n_threads,
                            Domains domains = {}) {
    std::uint64_t created = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    created = sort_tasks<kKind>(data, scratch, n, cuts, domains);
    return created;
}

} // namespace bots

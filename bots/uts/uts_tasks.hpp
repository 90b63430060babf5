// SPDX-License-Identifier: Apache-2.0
// The tree search with a task for every child. How many tasks: count_descendants of the root. Every thread sums up what
// its tasks count.
#pragma once

#include <algorithm>
#include <vector>

#include "tasks.hpp"
#include "uts.hpp"

namespace bots {

inline constexpr int kMaxNestedTasks = 3000; // fits on a stack of 4 MiB, the least default of runtimes

// The counts of one thread, alone on their cache line.
struct alignas(64) ThreadTreeCounts {
    TreeCounts counts;
};

// Counts the subtree of a node, which the caller keeps until the call returns; adds to the counts of the threads that
// execute it. `levels`: levels of the tree, from this one down, that are above the cut-off. Tasks wait for their
// children, so a thread's stack may hold a task of every level at once: no more than kMaxNestedTasks levels.
template <TaskKind kKind>
void search_tasks(const Tree &tree, const TreeNode &node, int levels, ThreadTreeCounts *of_thread) {
    TreeCounts &counts = of_thread[omp_get_thread_num()].counts;
    if (goes_serial<kKind>(levels <= 0)) return search_serial(tree, node, counts);
    const int n = tree.n_children(node);
    counts.count(node, n);
    if (n == 0) return;
    for (int i = 0; i < n; i++) {
        BOTS_TASK(kKind, levels <= 0, shared(tree, node) firstprivate(i, levels, of_thread),
                  search_tasks<kKind>(tree, child_of(node, i), levels - 1, of_thread));
    }
#pragma omp taskwait
}

// With a thread for each element of `of_thread`, which the caller provides so that the search allocates nothing.
template <TaskKind kKind>
TreeCounts search_parallel(const Tree &tree, int levels, std::vector<ThreadTreeCounts> &of_thread) {
    std::fill(of_thread.begin(), of_thread.end(), ThreadTreeCounts{});
    const TreeNode root = root_of(tree.rule());
#pragma omp parallel num_threads(static_cast<int>(of_thread.size()))
#pragma omp single
    search_tasks<kKind>(tree, root, levels, of_thread.data());
    TreeCounts total;
    for (const ThreadTreeCounts &part : of_thread) total.add(part.counts);
    return total;
}

} // namespace bots

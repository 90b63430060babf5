// SPDX-License-Identifier: Apache-2.0
// The tree search with a task for every child. count_descendants of the root returns the number of tasks. Every
// thread sums up the counts of its tasks.
#pragma once

#include <algorithm>
#include <vector>

#include "tasks.hpp"
#include "uts.hpp"

namespace bots {

inline constexpr int kMaxNestedTasks = 3000; // fit on a stack of 4 MiB, the smallest default of the runtimes

// The counts of one thread, on a separate cache line.
struct alignas(64) ThreadTreeCounts {
    TreeCounts counts;
};

// Counts the subtree of a node, which must exist until the call returns; adds to the counts of the executing threads.
// `levels`: levels of the tree, from this one down, that are above the cut-off. Tasks wait for their children, so a
// thread's stack can hold a task of every level at once: at most kMaxNestedTasks levels.
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

// Counts the whole tree on one thread per element of `of_thread`, which the caller provides so that the search
// allocates nothing.
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

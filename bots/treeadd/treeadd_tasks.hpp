// SPDX-License-Identifier: Apache-2.0
// Adding up a tree with tasks, and the number of these tasks. Each of a node's two subtrees is a task. The task group
// is a template parameter, so any runtime can execute them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "treeadd.hpp"

namespace bots {

// Returns the sum of a subtree. `Group`: the TaskGroup of tasks.hpp or of another runtime. `levels`: levels of the
// tree, from this node on, that are above the cut-off.
template <class Group>
std::uint64_t add_tasks(const TreeNode *node, int levels) {
    const bool below = levels <= 0;
    if (node->left == nullptr) return node->value;
    if (Group::goes_serial(below)) return add_serial(node);
    std::uint64_t left, right;
    Group group;
    group.run(below, [&left, node, levels] { left = add_tasks<Group>(node->left, levels - 1); });
    group.run(below, [&right, node, levels] { right = add_tasks<Group>(node->right, levels - 1); });
    group.wait();
    return node->value + left + right;
}

// Returns the number of tasks that add_tasks creates from the root of a tree with `tree_levels` levels.
constexpr std::uint64_t count_add_tasks(int tree_levels, std::int64_t levels) {
    return (std::uint64_t{2} << std::min<std::int64_t>(tree_levels - 1, levels)) - 2;
}

} // namespace bots

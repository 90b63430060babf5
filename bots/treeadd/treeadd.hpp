// SPDX-License-Identifier: Apache-2.0
// Adds the values in the nodes of a complete binary tree, following pointers.
//
//   work  Theta(2^levels)
//   span  Theta(levels)
//
// Sources: Rogers, Carlisle, Reppy, Hendren, "Supporting dynamic data structures on distributed-memory machines"
// (TOPLAS 1995), for the benchmark (Olden); Contreras and Martonosi, "Characterizing and improving the performance of
// Intel Threading Building Blocks" (IISWC 2008), for its 12,290 tasks. The tasks are in treeadd_tasks.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "random.hpp"

namespace bots {

struct TreeNode {
    const TreeNode *left; // a leaf has no children, any other node has two
    const TreeNode *right;
    std::uint64_t value;
};

inline std::uint64_t add_serial(const TreeNode *node) {
    std::uint64_t sum = node->value;
    if (node->left != nullptr) sum += add_serial(node->left) + add_serial(node->right);
    return sum;
}

// The tree, with random values from a fixed seed, and the sum of its values. Nodes lie in memory in preorder.
class Tree {
public:
    explicit Tree(int levels)
        : levels_(levels), nodes_(std::make_unique_for_overwrite<TreeNode[]>(n_nodes())), random_(kSeed) {
        TreeNode *next = nodes_.get();
        grow(next, levels);
    }

    const TreeNode *root() const { return nodes_.get(); }
    int levels() const { return levels_; }
    std::size_t n_nodes() const { return (std::size_t{1} << levels_) - 1; }

    std::string check(std::uint64_t sum, std::uint64_t passes) const {
        if (sum == passes * expected_) return "";
        return std::to_string(passes) + " sums of " + std::to_string(expected_) + " are not " + std::to_string(sum);
    }
    std::string describe() const {
        return "a sum of " + std::to_string(expected_) + " over " + std::to_string(n_nodes()) + " nodes";
    }

private:
    static constexpr std::uint64_t kSeed = 1995;

    // Writes a subtree of `levels` levels to the nodes from next on; moves next past it. Returns the subtree's root.
    const TreeNode *grow(TreeNode *&next, int levels) {
        TreeNode *const node = next++;
        node->value = random_.draw() >> 32;
        expected_ += node->value;
        node->left = levels > 1 ? grow(next, levels - 1) : nullptr;
        node->right = levels > 1 ? grow(next, levels - 1) : nullptr;
        return node;
    }

    int levels_;
    std::unique_ptr<TreeNode[]> nodes_;
    Random random_;
    std::uint64_t expected_ = 0;
};

} // namespace bots

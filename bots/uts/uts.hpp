// SPDX-License-Identifier: Apache-2.0
// Unbalanced tree search: counts the nodes and leaves of a tree that exists only as a rule. A node is a SHA-1 digest;
// its i-th child is the digest of the node followed by i; the digest also determines the number of children. Only a
// search shows how large a subtree is.
//
//   work  Theta(nodes), one compression of SHA-1 each
//   span  Theta(depth of the tree * children of a node)
//
// Sources: Olivier et al., "UTS: an unbalanced tree search benchmark" (LCPC 2006), for the trees; Dinan et al.,
// "Dynamic load balancing of unbalanced computations using message passing" (IPDPS 2007); the sample trees and their
// sizes come from the UTS distribution, version 2.1; as an OpenMP task benchmark in Duran et al. (ICPP 2009). The
// tasks are in uts_tasks.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "sha1.hpp"

namespace bots {

// The rule for the number of children of a node.
enum class TreeKind : std::uint8_t {
    kBinomial, // `root_children` for the root; for other nodes `binomial_children` with `binomial_probability`, else 0
    kGeometricLinear, // geometrically distributed; the mean falls linearly with depth, to 0 at max_depth
    kGeometricCyclic, // the same; the mean oscillates with depth, and is 0 at depths > 5 * max_depth
    kGeometricFixed, // the same; the mean is `root_children` at depths < max_depth, otherwise 0
    kHybrid, // kGeometricLinear at depths < max_depth / 2, kBinomial at greater depths
};

struct TreeRule {
    std::string_view name; // from the UTS distribution, except "tiny"
    TreeKind kind;
    std::uint32_t seed;
    double root_children; // in geometric trees, the mean
    int max_depth; // of the geometric rules, see TreeKind
    double binomial_probability;
    int binomial_children;
    std::uint64_t n_nodes; // published, like the next two fields; counted by this program for "tiny"
    std::uint64_t n_leaves;
    int depth; // of the tree
};

// In the order of the option --tree. "tiny" is T1 with six levels.
inline constexpr std::array<TreeRule, 10> kTrees = {{
    {"tiny", TreeKind::kGeometricFixed, 19, 4, 6, 0, 0, 16'000, 12'839, 6},
    {"T1", TreeKind::kGeometricFixed, 19, 4, 10, 0, 0, 4'130'071, 3'305'118, 10},
    {"T2", TreeKind::kGeometricCyclic, 502, 6, 16, 0, 0, 4'117'769, 2'342'762, 81},
    {"T3", TreeKind::kBinomial, 42, 2000, 0, 0.124875, 8, 4'112'897, 3'599'034, 1572},
    {"T4", TreeKind::kHybrid, 1, 6, 16, 0.234375, 4, 4'132'453, 3'108'986, 134},
    {"T5", TreeKind::kGeometricLinear, 34, 4, 20, 0, 0, 4'147'582, 2'181'318, 20},
    {"T1L", TreeKind::kGeometricFixed, 29, 4, 13, 0, 0, 102'181'082, 81'746'377, 13},
    {"T2L", TreeKind::kGeometricCyclic, 220, 7, 23, 0, 0, 96'793'510, 53'791'152, 67},
    {"T3L", TreeKind::kBinomial, 7, 2000, 0, 0.200014, 5, 111'345'631, 89'076'904, 17'844},
    {"T1XL", TreeKind::kGeometricFixed, 29, 4, 15, 0, 0, 1'635'119'272, 1'308'100'063, 15},
}};

// `index`: a value of the option --tree.
constexpr const TreeRule &tree_rule(std::int64_t index) { return kTrees[static_cast<std::size_t>(index)]; }

inline constexpr int kMaxChildren = 100; // largest number of children, except for the root of a binomial tree

struct TreeNode {
    Digest state;
    int depth;
};

inline TreeNode root_of(const TreeRule &rule) { return {sha1(std::array<std::uint32_t, 5>{0, 0, 0, 0, rule.seed}), 0}; }

inline TreeNode child_of(const TreeNode &node, int i) {
    const auto &[a, b, c, d, e] = node.state;
    return {sha1(std::array<std::uint32_t, 6>{a, b, c, d, e, static_cast<std::uint32_t>(i)}), node.depth + 1};
}

// Returns the node's random number, uniform in [0, 1).
inline double uniform_of(const TreeNode &node) { return (node.state[4] & 0x7fffffffu) / 2147483648.0; }

// A tree: its rule, and a table of the values that depend on the depth only.
class Tree {
public:
    explicit Tree(const TreeRule &rule) : rule_(rule) {
        for (int depth = 0; !is_binomial(depth) && mean_children(depth) > 0; depth++) {
            const double success = 1 / (1 + mean_children(depth));
            log_failure_.push_back(std::log(1 - success));
        }
    }

    int n_children(const TreeNode &node) const {
        const auto depth = static_cast<std::size_t>(node.depth);
        if (is_binomial(node.depth)) {
            if (depth == 0) return static_cast<int>(rule_.root_children);
            return uniform_of(node) < rule_.binomial_probability ? rule_.binomial_children : 0;
        }
        if (depth >= log_failure_.size()) return 0;
        const double children = std::floor(std::log(1 - uniform_of(node)) / log_failure_[depth]);
        return static_cast<int>(std::min<double>(children, kMaxChildren));
    }

    const TreeRule &rule() const { return rule_; }

private:
    bool is_binomial(int depth) const {
        return rule_.kind == TreeKind::kBinomial || (rule_.kind == TreeKind::kHybrid && 2 * depth >= rule_.max_depth);
    }

    double mean_children(int depth) const {
        if (depth == 0) return rule_.root_children;
        switch (rule_.kind) {
        case TreeKind::kGeometricFixed: return depth < rule_.max_depth ? rule_.root_children : 0;
        case TreeKind::kGeometricCyclic:
            if (depth > 5 * rule_.max_depth) return 0;
            return std::pow(rule_.root_children, std::sin(2 * std::numbers::pi * depth / rule_.max_depth));
        default: return rule_.root_children * (1 - static_cast<double>(depth) / rule_.max_depth);
        }
    }

    TreeRule rule_;
    std::vector<double> log_failure_; // by depth, while geometric nodes can have children: log(1 - success)
};

// The result of a search.
struct TreeCounts {
    std::uint64_t n_nodes = 0;
    std::uint64_t n_leaves = 0;
    int depth = 0; // of the deepest node, from the tree's root

    void count(const TreeNode &node, int n_children) {
        n_nodes++;
        if (n_children > 0) return;
        n_leaves++;
        depth = std::max(depth, node.depth);
    }
    void add(const TreeCounts &other) {
        n_nodes += other.n_nodes;
        n_leaves += other.n_leaves;
        depth = std::max(depth, other.depth);
    }
};

// Counts the subtree of a node; adds to `counts`.
inline void search_serial(const Tree &tree, const TreeNode &node, TreeCounts &counts) {
    const int n = tree.n_children(node);
    counts.count(node, n);
    for (int i = 0; i < n; i++) search_serial(tree, child_of(node, i), counts);
}

// Returns the number of nodes from 1 to `levels` levels below the given node.
inline std::uint64_t count_descendants(const Tree &tree, const TreeNode &node, std::int64_t levels) {
    if (levels <= 0) return 0;
    const int n = tree.n_children(node);
    auto descendants = static_cast<std::uint64_t>(n);
    for (int i = 0; levels > 1 && i < n; i++) descendants += count_descendants(tree, child_of(node, i), levels - 1);
    return descendants;
}

inline std::string describe_tree(const TreeRule &rule, const TreeCounts &counts) {
    return std::string(rule.name) + " has " + std::to_string(counts.n_nodes) + " nodes, " +
           std::to_string(counts.n_leaves) + " leaves, depth " + std::to_string(counts.depth);
}

inline std::string check_tree(const TreeRule &rule, const TreeCounts &counts) {
    if (counts.n_nodes == rule.n_nodes && counts.n_leaves == rule.n_leaves && counts.depth == rule.depth) return "";
    return describe_tree(rule, counts) + "; expected " + std::to_string(rule.n_nodes) + " nodes, " +
           std::to_string(rule.n_leaves) + " leaves, depth " + std::to_string(rule.depth);
}

} // namespace bots

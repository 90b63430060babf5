// SPDX-License-Identifier: Apache-2.0
// The groups of a task graph: a group holds the tasks of one construct that were created in the same parent group.
// Folds groups deeper than a limit while the trace is read; ompass.graph folds more for display.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "task_graph.h"

namespace ompass {

class GroupTree {
public:
    GroupTree(uint32_t depth, std::vector<GraphGroup> &groups) : depth_(depth), groups_(groups) {
        groups_.emplace_back(); // the program
        children_.emplace_back();
    }

    // Returns the group for the tasks of `construct` that tasks of the group `parent` create.
    uint32_t intern(uint32_t parent, uint32_t construct, bool is_region = false) {
        if (is_region || groups_[parent].depth <= depth_) return child_group(parent, construct);
        const GraphGroup &level = groups_[parent]; // absorbs deeper groups
        const uint32_t group = level.construct == construct ? parent : child_group(level.parent, construct);
        groups_[group].folded = true;
        return group;
    }

private:
    uint32_t child_group(uint32_t parent, uint32_t construct) {
        for (const auto &[known, group] : children_[parent])
            if (known == construct) return group;
        const auto group = static_cast<uint32_t>(groups_.size());
        children_[parent].emplace_back(construct, group);
        children_.emplace_back();
        groups_.push_back({.parent = parent, .construct = construct, .depth = groups_[parent].depth + 1});
        return group;
    }

    uint32_t depth_;
    std::vector<GraphGroup> &groups_;
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> children_; // by group: construct, group
};

} // namespace ompass

// SPDX-License-Identifier: Apache-2.0
// The graph of concom, as arrays of neighbours, and its components. The graph is undirected. The ends of its edges are
// random nodes, drawn uniformly with a fixed seed, so loops and parallel edges occur.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "random.hpp"

namespace bots {

class Graph {
public:
    // `degree`: mean number of neighbours of a node.
    Graph(std::size_t n_nodes, std::size_t degree) : begin_(n_nodes + 1), neighbours_(n_nodes * degree / 2 * 2) {
        for_each_edge([this](std::uint32_t a, std::uint32_t b) {
            begin_[a + 1]++;
            begin_[b + 1]++;
        });
        std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
        std::vector<std::size_t> end(begin_.begin(), begin_.end() - 1); // end of each node's neighbours so far
        for_each_edge([&](std::uint32_t a, std::uint32_t b) {
            neighbours_[end[a]++] = b;
            neighbours_[end[b]++] = a;
        });
    }

    std::size_t n_nodes() const { return begin_.size() - 1; }
    std::size_t n_arcs() const { return neighbours_.size(); } // twice the number of edges

    std::span<const std::uint32_t> neighbours(std::uint32_t node) const {
        return {neighbours_.data() + begin_[node], begin_[node + 1] - begin_[node]};
    }

    // Calls visit(a, b) for every edge, always in the same order.
    template <class Visit>
    void for_each_edge(const Visit &visit) const {
        Random random(kSeed);
        const auto draw = [&] { return static_cast<std::uint32_t>((random.draw() >> 32) * n_nodes() >> 32); };
        for (std::size_t i = 0; i < n_arcs() / 2; i++) {
            const std::uint32_t a = draw();
            visit(a, draw());
        }
    }

private:
    static constexpr std::uint64_t kSeed = 19590101;

    std::vector<std::size_t> begin_;        // index of each node's first neighbour, and of the last node's end
    std::vector<std::uint32_t> neighbours_; // the neighbours of node 0, of node 1, ...
};

// The labelling of a graph's nodes. A search stores the nodes that it has reached in order[0] to order[n_reached - 1],
// wave by wave.
struct Components {
    std::span<std::uint32_t> label; // by node: the number of its component, from 1 on; 0: not reached
    std::span<std::uint32_t> order; // room for all nodes
};

// Returns the labels that a search must find. Computes them in another way: by a union-find forest over all edges, in
// which the root of a set is its least member.
inline std::vector<std::uint32_t> labels_by_union_find(const Graph &graph) {
    std::vector<std::uint32_t> parent(graph.n_nodes());
    std::iota(parent.begin(), parent.end(), 0u);
    const auto find = [&parent](std::uint32_t node) {
        while (parent[node] != node) node = parent[node] = parent[parent[node]];
        return node;
    };
    graph.for_each_edge([&](std::uint32_t a, std::uint32_t b) {
        a = find(a);
        b = find(b);
        parent[std::max(a, b)] = std::min(a, b);
    });
    std::vector<std::uint32_t> labels(graph.n_nodes());
    std::uint32_t n_components = 0;
    for (std::uint32_t node = 0; node < graph.n_nodes(); node++) {
        const std::uint32_t root = find(node);
        labels[node] = root == node ? ++n_components : labels[root];
    }
    return labels;
}

// A graph, its labels, and their verification.
class ConcomInput {
public:
    ConcomInput(std::int64_t n_nodes, std::int64_t degree)
        : graph_(static_cast<std::size_t>(n_nodes), static_cast<std::size_t>(degree)), label_(graph_.n_nodes()),
          order_(graph_.n_nodes()) {}

    void forget() { std::fill(label_.begin(), label_.end(), 0u); }

    std::string check(std::uint32_t n_components) {
        if (expected_.empty()) expected_ = labels_by_union_find(graph_);
        for (std::size_t node = 0; node < label_.size(); node++)
            if (label_[node] != expected_[node])
                return "node " + std::to_string(node) + " is in component " + std::to_string(expected_[node]) +
                       ", not " + std::to_string(label_[node]);
        const std::uint32_t expected = *std::max_element(expected_.begin(), expected_.end());
        if (n_components == expected) return "";
        return "there are " + std::to_string(expected) + " components, not " + std::to_string(n_components);
    }

    std::string describe(std::uint32_t n_components) const {
        return std::to_string(n_components) + " components of " + std::to_string(graph_.n_nodes()) + " nodes with " +
               std::to_string(graph_.n_arcs() / 2) + " edges";
    }

    const Graph &graph() const { return graph_; }
    Components components() { return {label_, order_}; }

private:
    Graph graph_;
    std::vector<std::uint32_t> label_;
    std::vector<std::uint32_t> order_;
    std::vector<std::uint32_t> expected_; // the right labels; empty until a result is checked
};

} // namespace bots

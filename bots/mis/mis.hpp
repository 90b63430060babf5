// SPDX-License-Identifier: Apache-2.0
// A maximal independent set: no two of its vertices are neighbours, and no other vertex can join it. A greedy walk over
// the vertices by random rank defines the set: a vertex is in the set if no neighbour of lower rank is. The program
// does not walk in that order. A task that needs a vertex first decides the neighbours of lower rank, and then the
// vertex. The chains of such neighbours are short. Two tasks that decide the same vertex reach the same decision, so
// the set does not depend on the schedule.
//
//   work  Theta(vertices + edges), expected
//   span  Theta(log vertices), with high probability, when each vertex is a task
//
// Sources: Blelloch, Fineman, Shun, "Greedy sequential maximal independent set and matching are parallel on average"
// (SPAA 2012) for the chains; Acar, Chargueraud, Rainey, "Parallel work inflation, memory effects, and their empirical
// analysis", case study 2, for the benchmark: a 2-d grid of 140 million vertices. The tasks are in mis_tasks.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "random.hpp"

namespace bots {

using Vertex = std::uint32_t;

// A graph, as the lists of neighbours of all vertices in one array.
struct Graph {
    std::vector<std::uint32_t> begin; // index of each vertex's first neighbour, and of the last vertex's end
    std::vector<Vertex> neighbours;

    std::size_t n_vertices() const { return begin.size() - 1; }
};

// Returns a grid of side x side vertices. Each is joined to the vertices above, below, left and right of it.
inline Graph make_grid(std::size_t side) {
    Graph graph;
    graph.begin.reserve(side * side + 1);
    graph.neighbours.reserve(4 * side * side);
    graph.begin.push_back(0);
    for (std::size_t row = 0; row < side; row++) {
        for (std::size_t column = 0; column < side; column++) {
            const std::size_t vertex = row * side + column;
            if (row > 0) graph.neighbours.push_back(static_cast<Vertex>(vertex - side));
            if (column > 0) graph.neighbours.push_back(static_cast<Vertex>(vertex - 1));
            if (column + 1 < side) graph.neighbours.push_back(static_cast<Vertex>(vertex + 1));
            if (row + 1 < side) graph.neighbours.push_back(static_cast<Vertex>(vertex + side));
            graph.begin.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
        }
    }
    return graph;
}

class IndependentSet {
public:
    explicit IndependentSet(std::size_t side)
        : graph_(make_grid(side)), states_(std::make_unique<std::atomic<State>[]>(graph_.n_vertices())) {}

    std::size_t n_vertices() const { return graph_.n_vertices(); }

    void clear() {
        for (std::size_t vertex = 0; vertex < n_vertices(); vertex++) set_state(static_cast<Vertex>(vertex), kUnknown);
    }

    // Decides the vertices [first, last), and others on which they depend.
    void decide(std::int64_t first, std::int64_t last) {
        for (std::int64_t vertex = first; vertex < last; vertex++)
            if (state(static_cast<Vertex>(vertex)) == kUnknown) decide(static_cast<Vertex>(vertex));
    }

    // Checks that every vertex is in the set if and only if no neighbour of lower rank is. Then the set is independent
    // and maximal, and equals the set of the greedy walk by rank.
    std::string check() const {
        for (std::size_t i = 0; i < n_vertices(); i++) {
            const auto vertex = static_cast<Vertex>(i);
            const std::uint64_t own_rank = rank(vertex);
            bool expected = true;
            for_neighbours(vertex, [&](Vertex other) {
                if (state(other) == kIn && rank(other) < own_rank) expected = false;
                return true;
            });
            if (state(vertex) == kUnknown) return "vertex " + std::to_string(i) + " is undecided";
            if ((state(vertex) == kIn) != expected)
                return "vertex " + std::to_string(i) + (expected ? " is not" : " is") + " in the set";
        }
        return "";
    }

    std::string describe() const {
        std::size_t n_in = 0;
        for (std::size_t vertex = 0; vertex < n_vertices(); vertex++) n_in += state(static_cast<Vertex>(vertex)) == kIn;
        return std::to_string(n_in) + " of " + std::to_string(n_vertices()) + " vertices";
    }

private:
    enum State : std::uint8_t { kUnknown, kIn, kOut };

    static constexpr std::uint64_t kSeed = 2012;

    // Returns the vertex's place in a total order that looks random: mix is a bijection.
    static std::uint64_t rank(Vertex vertex) { return mix(kSeed + vertex); }

    // All threads that decide a vertex write the same state. It publishes no other data, so relaxed order suffices.
    State state(Vertex vertex) const { return states_[vertex].load(std::memory_order_relaxed); }
    void set_state(Vertex vertex, State state) { states_[vertex].store(state, std::memory_order_relaxed); }

    // Calls visit for the neighbours until it returns false. Returns true if visit never returned false.
    template <class Visit>
    bool for_neighbours(Vertex vertex, const Visit &visit) const {
        for (std::size_t i = graph_.begin[vertex]; i < graph_.begin[vertex + 1]; i++)
            if (!visit(graph_.neighbours[i])) return false;
        return true;
    }

    State decide(Vertex vertex) {
        const std::uint64_t own_rank = rank(vertex);
        const bool is_in = for_neighbours(vertex, [&](Vertex other) {
            State of_other = state(other);
            if (of_other == kIn) return false; // a neighbour of any rank is in: this vertex is out
            if (of_other == kUnknown && rank(other) < own_rank) of_other = decide(other);
            return of_other != kIn;
        });
        const State result = is_in ? kIn : kOut;
        set_state(vertex, result);
        return result;
    }

    Graph graph_;
    std::unique_ptr<std::atomic<State>[]> states_;
};

} // namespace bots

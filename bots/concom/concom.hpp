// SPDX-License-Identifier: Apache-2.0
// Connected components of a random graph, by a breadth-first search from every node that no earlier search has reached.
// Components are numbered in the order of their least nodes.
//
//   work  Theta(nodes + edges)
//   span  Theta(nodes + sum over the components of their depth * log nodes); the first term is the scan for starts.
//         Almost all nodes of a random graph are in one component, whose search has a span of about log^2 nodes
//
// Sources: Cormen, Leiserson, Rivest, Stein, "Introduction to algorithms", for the search; Bollobas, "Random graphs",
// for the shape of the input; the code of the Barcelona OpenMP Tasks Suite (Duran et al., ICPP 2009) for the benchmark.
// Their program searches depth first, with a task per node and a stack as deep as the longest path of the graph. This
// program needs no such stack. The tasks are in concom_tasks.hpp, the input in graph.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph.hpp"

namespace bots {

// Searches the component of `start`, a node that is not reached yet, and appends its nodes to the order from
// `n_reached` on. Calls `see_wave` with the number of nodes of each wave. Returns the new n_reached.
template <class SeeWave>
std::size_t search_component_serial(const Graph &graph, const Components &components, std::uint32_t start,
                                    std::uint32_t number, std::size_t n_reached, const SeeWave &see_wave) {
    components.label[start] = number;
    std::size_t next = n_reached;
    components.order[n_reached++] = start;
    while (next < n_reached) {
        const std::size_t wave_end = n_reached;
        see_wave(wave_end - next);
        for (; next < wave_end; next++) {
            for (const std::uint32_t neighbour : graph.neighbours(components.order[next])) {
                if (components.label[neighbour] != 0) continue;
                components.label[neighbour] = number;
                components.order[n_reached++] = neighbour;
            }
        }
    }
    return n_reached;
}

// Labels all nodes, none of which may have a label yet. Calls `search` with a start node, the component's number and
// the number of nodes reached before the search. `search` returns the number reached after it. Returns the number of
// components.
template <class Search>
std::uint32_t for_each_component(const Graph &graph, const Components &components, const Search &search) {
    std::uint32_t n_components = 0;
    std::size_t n_reached = 0;
    for (std::uint32_t start = 0; start < graph.n_nodes(); start++)
        if (components.label[start] == 0) n_reached = search(start, ++n_components, n_reached);
    return n_components;
}

} // namespace bots

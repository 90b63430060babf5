// SPDX-License-Identifier: Apache-2.0
// The search for components with tasks: each wave of a breadth-first search is a range that is halved into tasks, down
// to single nodes. The first task that writes a node's label appends the node to the next wave. count_concom_tasks
// returns the number of tasks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "concom.hpp"
#include "range_tasks.hpp"
#include "tasks.hpp"

namespace bots {

template <TaskKind kKind>
class ComponentSearch {
public:
    // `grain`: nodes in the largest part of a wave that is below the cut-off.
    ComponentSearch(const Graph &graph, const Components &components, std::int64_t grain)
        : graph_(graph), components_(components), cut_{1, grain} {}

    std::uint32_t label_all(int n_threads) {
        std::uint32_t n_components = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        n_components = for_each_component(
            graph_, components_, [this](std::uint32_t start, std::uint32_t number, std::size_t n_reached) {
                components_.label[start] = number;
                components_.order[n_reached] = start;
                n_reached_.store(n_reached + 1, std::memory_order_relaxed);
                for (std::size_t wave = n_reached, end = n_reached + 1; wave < end;) {
                    const auto body = [this, wave, number](std::int64_t first, std::int64_t last) {
                        reach(wave + static_cast<std::size_t>(first), wave + static_cast<std::size_t>(last), number);
                    };
                    for_range<kKind>(static_cast<std::int64_t>(end - wave), cut_, body);
                    wave = std::exchange(end, n_reached_.load(std::memory_order_relaxed));
                }
                return n_reached_.load(std::memory_order_relaxed);
            });
        return n_components;
    }

private:
    // Reaches the neighbours of a part of a wave, order[first] to order[last - 1]. It reads many labels before claiming
    // nodes: the processor overlaps reads, but waits for the memory of each atomic exchange.
    void reach(std::size_t first, std::size_t last, std::uint32_t number) {
        std::array<std::uint32_t, 256> candidates; // nodes that had no label when read
        std::size_t n_candidates = 0;
        for (std::size_t i = first; i < last; i++) {
            for (const std::uint32_t neighbour : graph_.neighbours(components_.order[i])) {
                const std::atomic_ref<std::uint32_t> label(components_.label[neighbour]);
                if (label.load(std::memory_order_relaxed) != 0) continue;
                if (n_candidates == candidates.size()) claim(std::exchange(n_candidates, 0), candidates, number);
                candidates[n_candidates++] = neighbour;
            }
        }
        claim(n_candidates, candidates, number);
    }

    // Labels the candidates that still have no label, and appends them to the order.
    void claim(std::size_t n_candidates, std::array<std::uint32_t, 256> &candidates, std::uint32_t number) {
        std::size_t n_claimed = 0;
        for (std::size_t i = 0; i < n_candidates; i++) {
            const std::atomic_ref<std::uint32_t> label(components_.label[candidates[i]]);
            std::uint32_t none = 0;
            if (label.compare_exchange_strong(none, number, std::memory_order_relaxed))
                candidates[n_claimed++] = candidates[i];
        }
        if (n_claimed == 0) return;
        const std::size_t at = n_reached_.fetch_add(n_claimed, std::memory_order_relaxed);
        std::copy_n(candidates.begin(), n_claimed, components_.order.begin() + static_cast<std::ptrdiff_t>(at));
    }

    const Graph &graph_;
    Components components_;
    RangeCut cut_;
    alignas(64) std::atomic<std::size_t> n_reached_ = 0;
};

// Returns the number of tasks that label_all creates. The sizes of the waves do not depend on the order of their nodes,
// so a serial search finds the same sizes. It labels `components`, in which no node may have a label.
inline std::uint64_t count_concom_tasks(const Graph &graph, const Components &components, std::int64_t grain,
                                        Cutoff cutoff) {
    std::uint64_t n_tasks = 0;
    for_each_component(graph, components, [&](std::uint32_t start, std::uint32_t number, std::size_t n_reached) {
        return search_component_serial(graph, components, start, number, n_reached, [&](std::size_t n_in_wave) {
            n_tasks += count_range_tasks(static_cast<std::int64_t>(n_in_wave), {1, grain}, cutoff);
        });
    });
    return n_tasks;
}

} // namespace bots

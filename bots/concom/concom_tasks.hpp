// SPDX-License-Identifier: Apache-2.0
//
// The search for components with tasks: each wave of a breadth-first search is divided until its parts are at the
// cut-off, down to single nodes without one. A node belongs to the task that is the first to write its label. How many
// tasks: count_concom_tasks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "concom.hpp"
#include "tasks.hpp"

namespace bots {

template <TaskKind kKind>
class ComponentSearch {
public:
    // `grain`: nodes of a wave up to which it is not divided.
    ComponentSearch(const Graph &graph, const Components &components, std::size_t grain)
        : graph_(graph), components_(components), grain_(grain) {}

    std::uint32_t label_all(int n_threads) {
        std::uint32_t n_components = 0;
#pragma omp parallel num_threads(n_threads)
#pragma omp single
        n_components = for_each_component(graph_, components_,
                                          [this](std::uint32_t start, std::uint32_t number, std::size_t n_reached) {
                                              components_.label[start] = number;
                                              components_.order[n_reached] = start;
                                              n_reached_.store(n_reached + 1, std::memory_order_relaxed);
                                              for (std::size_t wave = n_reached, end = n_reached + 1; wave < end;) {
                                                  reach(wave, end - wave, number);
                                                  wave = std::exchange(end, n_reached_.load(std::memory_order_relaxed));
                                              }
                                              return n_reached_.load(std::memory_order_relaxed);
                                          });
        return n_components;
    }

private:
    // Reaches the neighbours of n nodes of a wave, from order[first] on.
    void reach(std::size_t first, std::size_t n, std::uint32_t number) {
        const bool below = n <= grain_;
        if (n == 1 || goes_serial<kKind>(below)) return reach_in_turn(first, n, number);
        const std::size_t half = n / 2;
        BOTS_TASK(kKind, below, firstprivate(first, half, number), reach(first, half, number));
        BOTS_TASK(kKind, below, firstprivate(first, n, half, number), reach(first + half, n - half, number));
#pragma omp taskwait
    }

    void reach_in_turn(std::size_t first, std::size_t n, std::uint32_t number) {
        std::array<std::uint32_t, 256> reached; // by this call, and not in the order yet
        std::size_t n_new = 0;
        const auto publish = [&] {
            const std::size_t at = n_reached_.fetch_add(n_new, std::memory_order_relaxed);
            std::copy_n(reached.begin(), n_new, components_.order.begin() + static_cast<std::ptrdiff_t>(at));
            n_new = 0;
        };
        for (std::size_t i = first; i < first + n; i++) {
            for (const std::uint32_t neighbour : graph_.neighbours(components_.order[i])) {
                const std::atomic_ref<std::uint32_t> label(components_.label[neighbour]);
                std::uint32_t none = 0;
                if (label.load(std::memory_order_relaxed) != 0 ||
                    !label.compare_exchange_strong(none, number, std::memory_order_relaxed))
                    continue;
                if (n_new == reached.size()) publish();
                reached[n_new++] = neighbour;
            }
        }
        if (n_new > 0) publish();
    }

    const Graph &graph_;
    Components components_;
    std::size_t grain_;
    alignas(64) std::atomic<std::size_t> n_reached_ = 0;
};

// Tasks that a wave of n nodes is divided into.
constexpr std::uint64_t count_wave_tasks(std::size_t n, std::size_t grain) {
    if (n <= std::max<std::size_t>(grain, 1)) return 0;
    const std::size_t half = n / 2;
    const std::uint64_t in_half = count_wave_tasks(half, grain);
    return 2 + in_half + (n - half == half ? in_half : count_wave_tasks(n - half, grain));
}

// Tasks that label_all creates: the waves of a search are the same whatever the order of their nodes, so this searches
// once more, serially, into components that are not reached yet.
inline std::uint64_t count_concom_tasks(const Graph &graph, const Components &components, std::size_t grain) {
    std::uint64_t n_tasks = 0;
    for_each_component(graph, components, [&](std::uint32_t start, std::uint32_t number, std::size_t n_reached) {
        return search_component_serial(graph, components, start, number, n_reached,
                                       [&](std::size_t n_in_wave) { n_tasks += count_wave_tasks(n_in_wave, grain); });
    });
    return n_tasks;
}

} // namespace bots

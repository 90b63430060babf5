// SPDX-License-Identifier: Apache-2.0
// The health simulation with a task for the step of each child village, and the number of these tasks.
#pragma once

#include <cstdint>

#include "anywhere.hpp"
#include "health.hpp"
#include "tasks.hpp"

namespace bots {

// Executes one time step of a village and its subtree. treat_patients runs while the children's steps run. `levels`:
// levels of the tree, from this one down, that are above the cut-off.
// `domains`: Anywhere, or the DomainRange for the subtree.
template <TaskKind kKind, class Domains>
void simulate_tasks(Village &village, int levels, Domains domains) {
    if (goes_serial<kKind>(levels <= 0)) return simulate_serial_kernel(village);
    for (std::size_t i = 0; i < village.n_children; i++) {
        Village *const child = &child_of(village, i);
        const Domains part = domains.part(i, village.n_children);
        part.place_children();
        BOTS_TASK(kKind, levels <= 0, firstprivate(child, levels, part),
                  simulate_tasks<kKind>(*child, levels - 1, part));
    }
    treat_patients_kernel(village);
    if (village.n_children > 0) {
#pragma omp taskwait
    }
    receive_patients_kernel(village);
}

template <TaskKind kKind, class Domains = Anywhere>
void simulate_parallel(Village &root, std::int64_t steps, int levels, int n_threads, Domains domains = {}) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t step = 0; step < steps; step++) simulate_tasks<kKind>(root, levels, domains);
}

// Returns the number of tasks that simulate_parallel creates: in every step, one for every child of a village above the
// cut-off.
constexpr std::uint64_t count_health_tasks(const Shape &shape, std::int64_t steps, std::int64_t levels) {
    std::uint64_t n_in_level = 1;
    std::uint64_t n_in_step = 0;
    for (int i = 0; i < shape.levels - 1 && i < levels; i++) {
        n_in_level *= shape.n_children;
        n_in_step += n_in_level;
    }
    return n_in_step * static_cast<std::uint64_t>(steps);
}

} // namespace bots

// SPDX-License-Identifier: Apache-2.0
// Diffusion of heat with tasks, and the number of these tasks. Every step halves the plate into bands of rows, and each
// half is a task.
#pragma once

#include <cstddef>
#include <cstdint>

#include "anywhere.hpp"
#include "heat.hpp"
#include "tasks.hpp"

namespace bots {

// Calls visit(first, last) for bands of rows that make up [first, last); bands of up to `grain` rows are below the
// cut-off. `domains`: Anywhere, or the DomainRange for the rows.
template <TaskKind kKind, class Visit, class Domains>
void for_bands(const Visit &visit, std::size_t first, std::size_t last, std::size_t grain, Domains domains) {
    const std::size_t n = last - first;
    if (n == 1 || goes_serial<kKind>(n <= grain)) return visit(first, last);
    const std::size_t middle = first + domains.cut(n);
    const Halves<Domains> halves(domains);
    halves.first.place_children();
    BOTS_TASK(kKind, n <= grain, shared(visit) firstprivate(first, middle, grain, halves),
              for_bands<kKind>(visit, first, middle, grain, halves.first));
    halves.second.place_children();
    BOTS_TASK(kKind, n <= grain, shared(visit) firstprivate(middle, last, grain, halves),
              for_bands<kKind>(visit, middle, last, grain, halves.second));
#pragma omp taskwait
}

template <TaskKind kKind, class Domains>
void diffuse_parallel(Plate &plate, std::int64_t n_steps, std::size_t grain, int n_threads, Domains domains) {
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::int64_t step = 0; step < n_steps; step++)
        for_bands<kKind>([&plate, step](std::size_t first, std::size_t last) { plate.sweep(step, first, last); }, 1,
                         plate.n() + 1, grain, domains);
}

// Returns the number of tasks that for_bands creates over n rows when bands of up to `grain` rows create none.
template <class Domains>
std::uint64_t count_band_tasks(std::size_t n, std::size_t grain, Domains domains) {
    if (n == 1 || n <= grain) return 0;
    const std::size_t n_low = domains.cut(n);
    return 2 + count_band_tasks(n_low, grain, domains.first_half()) +
           count_band_tasks(n - n_low, grain, domains.second_half());
}

} // namespace bots

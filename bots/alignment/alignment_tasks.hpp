// SPDX-License-Identifier: Apache-2.0
// The alignment of all pairs of sequences, with a task per pair. One thread creates all tasks.
#pragma once

#include <cstddef>
#include <vector>

#include "proteins.hpp"
#include "tasks.hpp"

namespace bots {

// Aligns all pairs. `aligners`: one per thread of the team. A task uses the aligner of the thread that executes it; it
// has no scheduling point at which another task could use the same aligner.
template <TaskKind kKind>
void align_all_parallel(Proteins &proteins, std::vector<Aligner> &aligners) {
    Proteins *const all = &proteins;
    Aligner *const of_thread = aligners.data();
    const auto n_threads = static_cast<int>(aligners.size());
#pragma omp parallel num_threads(n_threads)
#pragma omp single
    for (std::size_t i = 1; i < all->n_sequences(); i++)
        for (std::size_t j = 0; j < i; j++)
            BOTS_TASK(kKind, false, firstprivate(all, of_thread, i, j),
                      all->alignment(i, j) = of_thread[omp_get_thread_num()].align(all->sequence(i), all->sequence(j)));
}

} // namespace bots
